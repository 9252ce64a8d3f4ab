"""Resident memory over an attack on many sentences, which must stay flat.

    python bench/memory.py --checkpoint best.ckpt --folder UD_English-EWT --json

The sentences of the test split are attacked again and again under new ids, into a folder that is
deleted afterwards, by default with a low-cost attack: random words of the training data, two trials
a sentence; or with any recipe (``--attack RECIPE.yaml``, and ``--attack.…`` as ``robustparse
attack`` takes them). What is drawn from (seed, id) differs from round to round. What may
grow is bounded by the distinct words: the parser's table of word forms. Everything else (live
sentences, their caches, the sample for the victim's share, memories of constraints) has a fixed
size, except for one id a sentence.
"""

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from jsonargparse import ArgumentParser

from robustparse.api.data_sources import DataFile
from robustparse.api.inputs import load_models
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.training_words import TrainingWords
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.search.random_substitution import RandomSubstitution
from robustparse.data.conllu import ENDINGS
from robustparse.data.datamodule import SAMPLE
from robustparse.data.splits import find_split
from robustparse.evaluation.attack_folder import attack_into
from robustparse.evaluation.attack_sums import AttackSums
from robustparse.models.victim import ModelVictim
from robustparse.types import Example

POINTS = 20  # measurements over the run


def main() -> None:
    parser = ArgumentParser(description="Resident memory over a long attack.")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    parser.add_function_arguments(attacked, sub_configs=True)
    options = parser.instantiate(parser.parse_args()).as_dict()
    as_json = options.pop("json")
    figures = attacked(**options)
    if as_json:
        print(json.dumps(figures))


def attacked(
    checkpoint: str,
    attack: Attack | None = None,
    folder: str | None = None,
    sentences: int = 10_000,
) -> dict[str, Any]:
    """Memory over an attack.

    Args:
        checkpoint: of the parser.
        attack: the recipe; by default random substitution.
        folder: of the treebank; by default the sample is taken.
        sentences: how many are attacked.
    """
    torch.set_num_threads(1)
    victim = ModelVictim(load_models(checkpoint, device="cpu"))
    data = SAMPLE if folder is None else str(find_split(folder, "test", ENDINGS))
    examples = repeated(DataFile(data).examples(victim, "none"), sentences)
    return measured(attack or random_substitution(), victim, examples)


def repeated(examples: Sequence[Example], count: int) -> list[Example]:
    """So many sentences, by going through a few again and again."""
    rounds = (example for _ in range(count) for example in examples)
    return [replace(example, id=number) for number, example in enumerate(islice(rounds, count))]


def random_substitution() -> Attack:
    """Two trials a sentence."""
    search = RandomSubstitution(trials=2)
    return Attack(TrainingWords(), search, [AttackableTags()], goal=AttachmentDrop())


def measured(attack: Attack, victim: ModelVictim, examples: Sequence[Example]) -> dict[str, Any]:
    """Resident memory by sentences finished, and the parser's word forms at both ends."""
    finished, mebibytes, forms = [], [], []

    def measure(tally: AttackSums) -> None:
        if tally.sums["sentences"] % max(1, len(examples) // POINTS) == 0:
            finished.append(tally.sums["sentences"])
            mebibytes.append(round(resident(), 1))
            forms.append(len(victim.model.encoder.table))
            found = f"{finished[-1]:>8} sentences {mebibytes[-1]:>8.1f} MiB {forms[-1]:>8} words"
            print(found, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        run = {"attack": "memory", "victims": ["bench"], "seed": 0}
        task = victim.model.task
        summary = attack_into(Path(folder), task, attack, examples, victim, run, measure)
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
