"""Running totals: forward passes, texts, words, seconds, and a sample of states to replay."""

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from robustparse.attacks.engine.texts import Asked, texts_of
from robustparse.attacks.problem import Problem
from robustparse.attacks.victim import Victim
from robustparse.types import Ids, States


@dataclass(eq=False)
class Statistics:
    """Running totals of one attack run.

    Args:
        forwards: forward passes of the victim.
        texts: texts predicted, closing predictions included.
        words: words of those texts, without padding.
        unique_words: words of the distinct states asked about, closing predictions not included.
        seconds: the run's wall-clock time, without what its consumer does between two results.
        model_seconds: of these, spent in other models (candidates, constraints), by class name.
        sample_size: sentences whose states are kept for `victim_seconds_alone`.
        sample: the distinct states asked about of a uniform sample of the sentences.
        seen: sentences the sample was drawn from.
    """

    forwards: int = 0
    texts: int = 0
    words: int = 0
    unique_words: int = 0
    seconds: float = 0.0
    model_seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    sample_size: int = 32
    sample: list[Asked] = field(default_factory=list)
    seen: int = 0
    _draws: np.random.Generator = field(
        default_factory=lambda: np.random.Generator(np.random.Philox(0))
    )

    def count_pass(self, lengths: Ids, closing: int) -> None:
        """Count a forward pass of the victim.

        Args:
            lengths: words of each text, `(n,)`.
            closing: words of the closing predictions among them.
        """
        words = int(lengths.sum())
        self.forwards += 1
        self.texts += len(lengths)
        self.words += words
        self.unique_words += words - closing

    def add_sentence(self, problem: Problem, asked: Sequence[States]) -> None:
        """Count a sentence; it may enter the sample (reservoir sampling)."""
        self.seen += 1
        if self.seen <= self.sample_size:
            place = self.seen - 1
        else:
            place = int(self._draws.integers(self.seen))
        if place < self.sample_size:
            states = np.concatenate([problem.start()[None][:0], *asked])
            self.sample[place : place + 1] = [(problem, states)]


def victim_seconds_alone(victim: Victim, statistics: Statistics) -> float:
    """Seconds that only the victim takes for the run's distinct states, packed best.

    The sampled sentences' texts are predicted again, sorted by length in full batches; the time is
    scaled by words without padding. Call it inside `victim.evaluating()`.

    Args:
        victim: the model that was attacked.
        statistics: of the run.
    """
    batches = _full_batches(statistics.sample, victim)
    sampled = sum(int(lengths.sum()) for _, _, lengths in batches)
    if not sampled:
        return 0.0
    victim.predict(*batches[0])  # the first pass may allocate, and is not counted
    begin = time.perf_counter()
    for batch in batches:
        victim.predict(*batch)
    return (time.perf_counter() - begin) * statistics.unique_words / sampled


def _full_batches(sample: list[Asked], victim: Victim) -> list[tuple[Ids, Ids, Ids]]:
    """Words, marks `(n, length)` and lengths `(n,)` of each batch, longest first."""
    if not any(len(states) for _, states in sample):
        return []
    texts = texts_of(sample, victim.unknown)
    order = np.argsort(-texts.lengths, kind="stable")
    batches = []
    while len(order):
        longest = texts.lengths[order[0]]
        rows, order = np.split(order, [max(1, victim.batch_words // longest)])
        part = (texts.words[rows, :longest], texts.marks[rows, :longest], texts.lengths[rows])
        batches.append(part)
    return batches
