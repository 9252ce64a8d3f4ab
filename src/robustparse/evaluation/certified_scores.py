"""Clean and certified scores of sentences, summed up record by record."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from robustparse.evaluation.accumulator import Accumulator
from robustparse.evaluation.certificate_records import (
    Bounds,
    CertificateRecord,
    CertificateRun,
    CertifiedSummary,
    Parts,
)
from robustparse.evaluation.records import Percentages
from robustparse.metrics import percent
from robustparse.tasks.task import Task
from robustparse.types import DependencyTree

TREE = "tree"
"""The share of trees in which every counted head and label is right, or certified."""


class CertifiedScores(Accumulator):
    """Sums over certificates, in any order.

    Args:
        task: the task of the victim.
        edits: the numbers of edits that are certified.

    Attributes:
        sentences: the number of sentences so far.
    """

    def __init__(self, task: Task, edits: Sequence[int | str]) -> None:
        self.task, self.edits = task, [str(each) for each in edits]
        self.sentences = 0
        self._totals: Counter[str] = Counter()
        self._clean: Counter[str] = Counter()
        self._lower = {each: Counter[str]() for each in self.edits}
        self._upper = {each: Counter[str]() for each in self.edits}
        self._undecided: Counter[str] = Counter()
        self._tried: Counter[str] = Counter()

    def add(self, record: CertificateRecord) -> None:
        """Add the record of a sentence."""
        counted, sums = record["counted"], self.task.scores.sums
        self.sentences += 1
        self._totals.update(
            words=len(record["tokens"]),
            counted=counted,
            trees=counted > 0,
            inputs=max(record["tried"].values()),
            changeable=any(count != 1 for count in record["inputs"].values()),
        )
        self._clean.update({name: record["clean"][name] for name in sums})
        further = {name: record["clean"][name] for name in sums[len(self.task.scores.names) :]}
        self._clean[TREE] += 0 < counted == record["clean"][sums[-1]]
        for each in self.edits:
            certified = record["certified"][each]
            survived = record["survived"].get(each, certified)
            for total, parts in ((self._lower[each], certified), (self._upper[each], survived)):
                total.update({**further, **self._right(parts)})
                total[TREE] += 0 < counted == len(parts[self.task.scores.names[-1]])
            self._undecided[each] += each in record["undecided"]
            self._tried[each] += record["tried"][each]

    def clean(self) -> Percentages:
        """Compute the scores on the originals."""
        return self._scores(self._clean)

    def certified(self) -> dict[str, Bounds]:
        """Compute the certified scores by number of edits."""
        return {
            each: {
                "lower": self._scores(self._lower[each]),
                "upper": self._scores(self._upper[each]),
                "undecided": self._undecided[each],
                "inputs": self._tried[each],
            }
            for each in self.edits
        }

    def figures(self) -> dict[str, Any]:
        """Compute the keys of ``summary.json`` that follow from the sums."""
        return {
            "task": self.task.name,
            "n_sentences": self.sentences,
            "n_words": self._totals["words"],
            "n_changeable": self._totals["changeable"],
            "clean": self.clean(),
            "certified": self.certified(),
            "inputs": self._totals["inputs"],
        }

    def summary(
        self, run: CertificateRun, speed: Mapping[str, Any], versions: Mapping[str, str]
    ) -> CertifiedSummary:
        """Return the content of ``summary.json``.

        Args:
            run: what the run is distinguished by.
            speed: forward passes and times.
            versions: the versions of the libraries.
        """
        return cast(CertifiedSummary, {**self.figures(), **run, **speed, "versions": versions})

    def _right(self, parts: Parts) -> dict[str, int]:
        """Count the parts for each score; the keys are the names of the sums."""
        scores = self.task.scores
        pairs = zip(scores.names, scores.sums, strict=False)
        return {total: len(parts[name]) for name, total in pairs}

    def _scores(self, sums: Mapping[str, int]) -> Percentages:
        """Compute scores in percent from sums; for parsers, also that of whole trees."""
        scores, totals = self.task.scores, self._totals
        right = {name: sums[name] for name in scores.sums}
        values = scores.score({"counted": totals["counted"], **right})
        computed = {name: values[name] for name in scores.names}
        if self.task.answers.gold_type is DependencyTree:
            trees = totals["trees"]
            computed[TREE] = percent(sums[TREE], trees) if trees else None
        return computed
