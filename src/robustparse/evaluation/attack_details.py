"""Detailed statistics of an attack: counts over its records, in any order.

They are candidates before and after each constraint (Wang et al. 2021, Table 4), changed words that
the victim does not know (Table 7), success and loss by part of speech (Zheng et al. 2020, Table 3)
and by relation, success by gold class and within a number of queries, strict success, and means
over all sentences, over successes and over failures. (The caption of Table 3 of Yoo et al. 2020
says successes; the values are means over all sentences.)
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

from robustparse.attacks.engine.candidate_counts import ALL, JUDGED
from robustparse.evaluation.accumulator import Accumulator
from robustparse.evaluation.attack_sums import AttackSums
from robustparse.evaluation.records import ExampleRecord
from robustparse.metrics import percent
from robustparse.tagsets import CLASSES, class_of
from robustparse.tasks.task import Task

OTHER, MIXED = "other", "mixed"

BUDGETS = (10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000)
"""Numbers of queries within which successes are counted."""

NOT_MEASURED: dict[str, Any] = {
    "perplexity": {"clean": None, "attacked": None},
    "word_similarity": None,
    "sentence_similarity": None,
}
"""Measures that need other models than the victim; `evaluation.measure` fills them in later."""


class AttackDetails(Accumulator):
    """The keys of ``summary.json`` that `AttackSums.scores` does not have.

    Args:
        task: the task of the victim.
    """

    def __init__(self, task: Task) -> None:
        self._task, self._successes = task, AttackSums(task)
        self._outcomes = Outcomes(task)
        self._candidates, self._unseen = Candidates(), UnseenWords()
        self._tags = Groups(task, lambda record: map(_class_of, record["edited_tags"]))
        self._relations = Groups(task, task.answers.relations)
        # The number of successes, by the number of words and by the number of edited words.
        self._perturbed: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, record: ExampleRecord) -> None:
        """Add a sentence."""
        if record["success"]:
            self._successes.add(record)
            self._perturbed[str(len(record["tokens"]))][str(len(record["edited"]))] += 1
        for counts in (self._outcomes, self._candidates, self._unseen, self._tags, self._relations):
            counts.add(record)

    def summary(self) -> dict[str, Any]:
        """Return the keys; a value is None if a record lacks what it needs."""
        sums = self._successes.sums
        successes = sums["sentences"]
        # The papers' "perturbed words %" (Jin et al. 2020, Table 3). The sum is exact, so that it
        # does not depend on the order of the sentences.
        perturbed = sum(
            Fraction(100.0 * int(edits) / int(words)) * n
            for words, by_edits in self._perturbed.items()
            for edits, n in by_edits.items()
        )
        return {
            "edits_per_success": sums["edits"] / successes if successes else None,
            "queries_per_success": {
                name: sums[name] / successes if successes else None
                for name in ("charged", "unique")
            },
            "perturbed_words": float(perturbed) / successes if successes else None,
            **self._outcomes.summary(),
            "candidates": self._candidates.summary(),
            "unseen": self._unseen.summary(),
            "by_tag": self._tags.summary((*CLASSES, OTHER)),
            "by_relation": self._relations.summary(),
            **NOT_MEASURED,
        }


class Outcomes(Accumulator):
    """Successes by gold class and by number of queries, the queries of failures, strict successes.

    Skipped sentences are left out, as in the success rate. With a lower budget of queries, the
    texts that took more would be failures; so one run gives the success rate for every budget.

    Args:
        task: the task of the victim.
    """

    def __init__(self, task: Task) -> None:
        self._task, self._tried, self._succeeded = task, Counter[str](), Counter[str]()
        self._took, self._missed = Counter[str](), Counter[str]()  # by queries charged
        self._failed = Counter[str]()
        self._strict = Counter[str]()  # beyond the changed words, by score

    def add(self, record: ExampleRecord) -> None:
        """Add a sentence."""
        if record["skipped"]:
            return
        self._strict.update(self._task.answers.strict_success(record))
        kind, queries = self._task.answers.kind(record) or "", record["queries"]
        self._tried[kind] += 1
        if record["success"]:
            self._succeeded[kind] += 1
            self._took[str(queries["charged"])] += 1
        else:
            self._missed[str(queries["charged"])] += 1
            self._failed.update(charged=queries["charged"], unique=queries["unique"])

    def summary(self) -> dict[str, Any]:
        """Return means over failures, and success rates in percent; None if nothing is known."""
        tried = self._tried.total()
        failures = tried - self._succeeded.total()
        classes = {
            name: {"sentences": n, "success_rate": percent(self._succeeded[name], n)}
            for name, n in sorted(self._tried.items())
            if name
        }
        strict = {name: percent(count, tried) for name, count in self._strict.items()}
        return {
            "strict_success_rate": strict or None,
            "queries_per_failure": {
                name: self._failed[name] / failures if failures else None
                for name in ("charged", "unique")
            },
            "success_by_class": classes or None,
            "success_within": {str(most): percent(n, tried) for most, n in self._within()} or None,
        }

    def _within(self) -> Iterator[tuple[int, int]]:
        """Yield (budget, successes within it), up to the first budget that covers all sentences."""
        most = max(map(int, self._took | self._missed), default=0)
        for budget in BUDGETS if self._tried else ():
            yield budget, sum(n for queries, n in self._took.items() if int(queries) <= budget)
            if budget >= most:
                return


@dataclass
class Candidates(Accumulator):
    """Sums of `attacks.engine.candidate_counts.CandidateCounts`, by generator and stage."""

    slots: int = 0
    sums: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    judged: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, record: ExampleRecord) -> None:
        """Add a sentence."""
        self.slots += record["candidates"]["slots"]
        for generator, counts in record["candidates"]["sums"].items():
            self.sums[generator].update(counts)
        for tag, counts in record["candidates"].get("judged_by_tag", {}).items():
            self.judged[_class_of(tag)].update(counts)

    def summary(self) -> dict[str, Any]:
        """Return sums, and means over the slots that candidates were made for.

        If constraints judged changed sentences, ``vetoed`` says how many each rejected.
        """
        slots = self.slots
        figures: dict[str, Any] = {
            "slots": slots,
            "sums": {generator: dict(counts) for generator, counts in self.sums.items()},
            "means": {
                generator: {stage: n / slots if slots else None for stage, n in counts.items()}
                for generator, counts in self.sums.items()
            },
        }
        stages = list(self.sums.get(ALL, ()))
        if JUDGED in stages:
            figures["vetoed"] = self._vetoed(stages[stages.index(JUDGED) :])
        return figures

    def _vetoed(self, stages: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the number of judged sentences and the percentage that each constraint rejected.

        There is a value for all sentences and for each class of the changed word (`tagsets`).
        """
        classes = {ALL: self.sums[ALL]}
        classes |= {name: self.judged[name] for name in (*CLASSES, OTHER) if name in self.judged}
        return {
            constraint: {
                name: {
                    "judged": counts[before],
                    "percent": percent(counts[before] - counts[constraint], counts[before])
                    if counts[before]
                    else None,
                }
                for name, counts in classes.items()
            }
            for before, constraint in pairwise(stages)
        }


def _class_of(tag: str) -> str:
    return class_of(tag) or OTHER


@dataclass
class UnseenWords(Accumulator):
    """Words at changed positions that the victim does not know (`attacks.results`), added up.

    A word counts at each of its positions.
    """

    changed: int = 0
    sums: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    missing: Counter[str] = field(default_factory=Counter)

    def add(self, record: ExampleRecord) -> None:
        """Add a sentence."""
        self.changed += len(record["edited"])
        counts = record["unseen"] or {}
        for name in ("oov", "oot"):
            if (both := counts.get(name)) is None:
                self.missing[name] += 1
                continue
            for when, count in zip(("before", "after"), both, strict=True):
                self.sums[name][when] += count

    def summary(self) -> dict[str, Any] | None:
        """Return counts before and after; None if the victim does not know its training words."""
        if "oot" in self.missing:
            return None
        counts: dict[str, Any] = {"changed": self.changed}
        for name in ("oov", "oot"):
            counts[name] = {
                when: None if name in self.missing else self.sums[name][when]
                for when in ("before", "after")
            }
        return counts


class Groups(Accumulator):
    """Success and loss by the kind of the changed words, such as their part of speech.

    A sentence belongs to the group of a kind if all its changed words are of that kind, and to
    `mixed` if they are of several kinds. Unchanged sentences have no group.

    Args:
        task: the task of the victim.
        kinds: returns the kinds of the changed words of a record.
    """

    def __init__(self, task: Task, kinds: Callable[[ExampleRecord], Iterable[str]]) -> None:
        self._kinds = kinds
        self._groups: dict[str, AttackSums] = defaultdict(lambda: AttackSums(task))
        self._changed: Counter[str] = Counter()
        self._incomplete = 0

    def add(self, record: ExampleRecord) -> None:
        """Add a sentence."""
        if not record["edited"]:
            return
        kinds = list(self._kinds(record))
        if len(kinds) != len(record["edited"]):
            self._incomplete += 1
            return
        self._changed.update(kinds)
        self._groups[kinds[0] if len(set(kinds)) == 1 else MIXED].add(record)

    def summary(self, order: Sequence[str] = ()) -> dict[str, dict[str, Any]] | None:
        """Return a row for each kind; None if the kinds of a changed sentence are not known.

        A row holds the number of sentences, the changed words of that kind (in `mixed` sentences
        too; None for `mixed`), the success rate in percent, and the points that each score lost.

        Args:
            order: the order of the rows before `mixed`; by default the most frequent kind first.
        """
        if self._incomplete:
            return None
        words = {**self._changed, MIXED: None}  # its words are counted under their kinds
        kinds = order or sorted(self._changed, key=lambda kind: (-self._changed[kind], kind))
        names = [n for n in (*kinds, MIXED) if n in self._groups or self._changed[n]]
        return {
            name: {
                "sentences": self._groups[name].sums["sentences"],
                "changed": words.get(name, 0),
                "success_rate": self._groups[name].success_rate(),
                **{f"{score}_drop": lost for score, lost in self._groups[name].drops().items()},
            }
            for name in names
        }
