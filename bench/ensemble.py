"""What attacking an ensemble costs against attacking one of its members.

    python bench/ensemble.py --checkpoint a.ckpt b.ckpt c.ckpt --folder UD_English-EWT --json

The test sentences are attacked by Zheng et al. 2020's search over training words, whose number of
queries hardly depends on the victim: each member by itself and all together, in turn. A cost is
processor time, which the load of the machine does not change much; a victim's is the least of the
rounds. `cost_ratio` is the ensemble's cost over the mean of its members'. Run it on an otherwise
idle machine all the same: caches are shared.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from robustparse.api.inputs import load_models
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.training_words import TrainingWords
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.data.conllu import find_split, read_treebank
from robustparse.models.base import Model
from robustparse.models.victim import ModelVictim
from robustparse.types import Example

WARMING = 8  # sentences of the round before the clock starts
TOGETHER = "together"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", nargs="+", required=True, help="the members")
    parser.add_argument("--folder", type=Path, required=True, help="the treebank")
    parser.add_argument("--sentences", type=int, help="the first N; by default all")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    if len(options.checkpoint) < 2:
        parser.error("--checkpoint: one model is no ensemble: name several")
    torch.set_num_threads(options.threads)
    examples = read_treebank(find_split(options.folder, "test"))[: options.sentences]
    models = load_models(options.checkpoint, device="cpu")
    figures = measured(models, examples, options.rounds)
    for name, seconds in figures["seconds"].items():
        print(f"{name:>10} {seconds:>8.2f} s {figures['queries'][name]:>8} queries")
    print("cost of the ensemble in costs of a member:", figures["cost_ratio"])
    if options.json:
        print(json.dumps(figures))


def measured(models: Sequence[Model], examples: Sequence[Example], rounds: int) -> dict[str, Any]:
    """Return seconds and queries of each victim, and the ratio of costs."""
    victims = {f"member {place}": [one] for place, one in enumerate(models, start=1)}
    victims[TOGETHER] = list(models)
    seconds: dict[str, float] = {}
    queries: dict[str, int] = {}
    for members in victims.values():
        attacked(members, examples[:WARMING])
    for _ in range(rounds):
        for name, members in victims.items():
            took, queries[name] = attacked(members, examples)
            seconds[name] = min(took, seconds.get(name, took))
    alone = [took for name, took in seconds.items() if name != TOGETHER]
    return {
        "sentences": len(examples),
        "members": len(models),
        "seconds": {name: round(took, 3) for name, took in seconds.items()},
        "queries": queries,
        "cost_ratio": round(seconds[TOGETHER] * len(alone) / sum(alone), 2),
    }


def attacked(models: list[Model], examples: Sequence[Example]) -> tuple[float, int]:
    """Return the processor time that an attack takes, in seconds, and its queries."""
    attack = Attack(
        TrainingWords(sample=50), Zheng2020(), [AttackableTags()], goal=AttachmentDrop()
    )
    begin = time.process_time()
    results = list(attack.run(examples, ModelVictim(models)))
    return time.process_time() - begin, sum(result.charged for result in results)


if __name__ == "__main__":
    main()
