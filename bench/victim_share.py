"""How much of an attack's time its victim needs, by the clock and at best.

    python bench/victim_share.py --checkpoint best.ckpt --attack pwws --data test.conllu --json

The share by the clock is that of ``summary.json``: the time in the victim's predictions over the
run's time outside other models. At best it is the time in which the victim answers the same texts
again, all at once in full batches of equal length, over the same time of the run.
"""

import argparse
import json
import time
from typing import Any

import numpy as np
import torch

from robustparse.api.sources import Checkpoints, DataFile
from robustparse.attacks.engine.statistics import Statistics
from robustparse.models.victim import ModelVictim
from robustparse.recipes.recipe import Recipe
from robustparse.types import Ids, Predictions

Batch = tuple[Ids, Ids, Ids]
"""Words and marks, ``(n, length)``, and lengths, ``(n,)``."""


class RecordedVictim(ModelVictim):
    """A victim that keeps the texts that it is asked about, by their lengths."""

    asked: dict[int, list[tuple[Ids, Ids]]]

    def predict(self, words: Ids, marks: Ids, lengths: Ids) -> Predictions:
        """See `ModelVictim.predict`."""
        for row, length in enumerate(lengths.tolist()):
            text = (words[row, :length], marks[row, :length])
            self.asked.setdefault(length, []).append(text)
        return super().predict(words, marks, lengths)

    def full_batches(self) -> list[Batch]:
        """Return all texts, those of one length together."""
        batches = []
        for length, texts in self.asked.items():
            size = max(1, self.batch_words // length)
            for begin in range(0, len(texts), size):
                words, marks = (
                    np.stack(part) for part in zip(*texts[begin : begin + size], strict=True)
                )
                batches.append((words, marks, np.full(len(words), length, dtype=np.int32)))
        return batches


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Attack, and answer the same texts once more."""
    attack = Recipe.read(options.attack).attack()
    opened = Checkpoints([options.checkpoint]).open(options.device)
    victim, statistics = RecordedVictim(opened.models), Statistics()
    victim.asked = {}
    data = DataFile(options.data, limit=options.limit)
    examples = data.examples(victim, attack.punctuation)
    for _ in attack.run(examples, victim, statistics):
        pass
    batches = victim.full_batches()
    with victim.evaluating():
        ModelVictim.predict(victim, *batches[0])  # the first pass may allocate
        begin = time.perf_counter()
        for batch in batches:
            ModelVictim.predict(victim, *batch)
        at_best = time.perf_counter() - begin
    outside = statistics.seconds - sum(statistics.model_seconds.values())
    return {
        "sentences": len(examples),
        "texts": statistics.texts,
        "forwards": statistics.forwards,
        "seconds": statistics.seconds,
        "victim_share_of_seconds": statistics.victim_seconds / outside,
        "victim_share_at_best": at_best / outside,
    }


def main() -> None:
    """Print the figures; with ``--json`` as one object on the last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--attack", default="pwws", help="name or path of the recipe")
    parser.add_argument("--data", default="sample")
    parser.add_argument("--limit", type=int, default=100, help="the first N sentences")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    figures = measure(options)
    for name, value in figures.items():
        print(f"{name:>24} {value:10.2f}")
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
