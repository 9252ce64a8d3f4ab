"""Resident memory over an attack on many sentences, which must stay flat.

    python bench/memory.py --checkpoint best.ckpt --folder UD_English-EWT --json

The sentences of the test split are attacked again and again under new ids, into a folder that is
deleted afterwards, with a low-cost attack: random words of the training data, two trials a
sentence. The words proposed differ from round to round, as they are drawn from (seed, id). What may
grow is bounded by the distinct words: the parser's table of word forms. Everything else (live
sentences, their caches, the sample for the victim's share, memories of filters) has a fixed size,
but for one id a sentence.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.training_words import TrainingWords
from robustparse.attacks.constraints.tags import AttackableTags
from robustparse.attacks.goals import AttachmentDrop
from robustparse.attacks.search.random_substitution import RandomSubstitution
from robustparse.cli.inputs import SAMPLE, load_examples, load_parser
from robustparse.data.conllu import find_split
from robustparse.evaluation.robustness import attack_into
from robustparse.evaluation.tally import Tally
from robustparse.parsers.victim import ParserVictim
from robustparse.types import Example

POINTS = 20  # measurements over the run


def main() -> None:
    parser = argparse.ArgumentParser(description="Resident memory over a long attack.")
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--folder", help="of the treebank; by default the sample is taken")
    parser.add_argument("--sentences", type=int, default=10_000)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    torch.set_num_threads(1)
    module = load_parser(options.checkpoint, None, "cpu")
    data = SAMPLE if options.folder is None else str(find_split(options.folder, "test"))
    examples = repeated(load_examples(data, None, 0, module), options.sentences)
    figures = measured(ParserVictim(module), examples)
    if options.json:
        print(json.dumps(figures))


def repeated(examples: Sequence[Example], count: int) -> list[Example]:
    """So many sentences, by going through a few again and again."""
    rounds = (example for _ in range(count) for example in examples)
    return [replace(example, id=number) for number, example in enumerate(islice(rounds, count))]


def measured(victim: ParserVictim, examples: Sequence[Example]) -> dict[str, Any]:
    """Resident memory by sentences finished, and the parser's word forms at both ends."""
    attack = Attack(
        AttachmentDrop(), TrainingWords(), RandomSubstitution(trials=2), [AttackableTags()]
    )
    finished, mebibytes, forms = [], [], []

    def measure(tally: Tally) -> None:
        if tally.sums["sentences"] % max(1, len(examples) // POINTS) == 0:
            finished.append(tally.sums["sentences"])
            mebibytes.append(round(resident(), 1))
            forms.append(len(victim.parser.encoder.table))
            found = f"{finished[-1]:>8} sentences {mebibytes[-1]:>8.1f} MiB {forms[-1]:>8} words"
            print(found, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        run = {"attack": "memory", "victims": ["bench"], "seed": 0}
        summary = attack_into(Path(folder), attack, examples, victim, run, measure)
    middle = len(mebibytes) // 2
    return {
        "sentences": finished,
        "rss_mib": mebibytes,
        "word_forms": forms,
        "growth_second_half_mib": round(mebibytes[-1] - mebibytes[middle], 1),
        "sentences_per_second": summary["sentences_per_second"],
    }


def resident() -> float:
    """MiB of this process in memory (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


if __name__ == "__main__":
    main()
