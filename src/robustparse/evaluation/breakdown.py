"""What an attack did in detail, from its lines: sums and ratios, whatever order they come in.

Candidates before and after each constraint (Wang et al. 2021, Table 4), changed words that the
victim does not know (Table 7), success and loss by part of speech (Zheng et al. 2020, Table 3) and
by relation, and means over all sentences as well as over successes (Yoo et al. 2020, Table 3, whose
caption says the latter and whose values are the former) and over failures; success by gold class
and within a number of queries.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from robustparse.attacks.engine.funnel import ALL, JUDGED
from robustparse.evaluation.tally import Line, Tally
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
"""What takes other models than the victim; `evaluation.measure` fills it in later."""


def breakdown(task: Task, lines: Iterable[Line]) -> dict[str, Any]:
    """Compute the keys of ``summary.json`` beyond `Tally.scores`; None where a line lacks what is
    needed.

    Args:
        task: of the victim.
        lines: of ``examples.jsonl``, read once.
    """
    successes, tags, strict = Tally(task), Groups(task), StrictSuccess(task)
    candidates, unseen, outcomes = Candidates(), UnseenWords(), Outcomes(task)
    relations, perturbed = Groups(task), []
    for line in lines:
        if line["success"]:
            successes.add(line)
            perturbed.append(100.0 * len(line["edited"]) / len(line["tokens"]))
        for part in (candidates, unseen, strict, outcomes):
            part.add(line)
        tags.add(line, [class_of(tag) or OTHER for tag in line["edited_tags"]])
        relations.add(line, task.relations(line))
    return {
        "strict_success_rate": strict.summary(),
        **means_over_successes(successes.sums),
        # The papers' "perturbed words %" (Jin et al. 2020, Table 3); `fsum` knows no order.
        "perturbed_words": math.fsum(perturbed) / len(perturbed) if perturbed else None,
        **outcomes.summary(),
        "candidates": candidates.summary(),
        "unseen": unseen.summary(),
        "by_tag": tags.summary((*CLASSES, OTHER)),
        "by_relation": relations.summary(),
        **NOT_MEASURED,
    }


class StrictSuccess:
    """Success where everything is left out that a changed word is part of (`Task.strict_success`).

    Args:
        task: of the victim.
    """

    def __init__(self, task: Task) -> None:
        self._task, self._tried, self._successes = task, 0, Counter[str]()

    def add(self, line: Line) -> None:
        """Add a sentence; skipped ones count no more than in the success rate."""
        if not line["skipped"]:
            self._tried += 1
            self._successes.update(self._task.strict_success(line))

    def summary(self) -> dict[str, float] | None:
        """Return the rate by each score, in percent of the sentences; None without any."""
        found = {name: percent(count, self._tried) for name, count in self._successes.items()}
        return found or None


def means_over_successes(sums: Mapping[str, int]) -> dict[str, Any]:
    """Compute edits and queries a sentence, from the sums over successes."""
    n = sums["sentences"]
    return {
        "edits_per_success": sums["edits"] / n if n else None,
        "queries_per_success": {
            name: sums[name] / n if n else None for name in ("charged", "unique")
        },
    }


class Outcomes:
    """Successes by gold class and by the queries that they took, and the queries of failures.

    Skipped sentences are left out, as in the success rate. An attack without a limit of queries
    would have ended the same with one, but for the texts that took more: so that the success within
    a budget follows from one run.

    Args:
        task: of the victim.
    """

    def __init__(self, task: Task) -> None:
        self._task, self._tried, self._most = task, Counter[str](), 0
        self._succeeded, self._took = Counter[str](), Counter[int]()
        self._failed = Counter[str]()

    def add(self, line: Line) -> None:
        """Add a sentence."""
        if line["skipped"]:
            return
        kind, queries = self._task.kind(line) or "", line["queries"]
        self._tried[kind] += 1
        self._most = max(self._most, queries["charged"])
        if line["success"]:
            self._succeeded[kind] += 1
            self._took[queries["charged"]] += 1
        else:
            self._failed.update(charged=queries["charged"], unique=queries["unique"])

    def summary(self) -> dict[str, Any]:
        """Return means over failures, and success rates in percent; None of what no line tells."""
        tried = self._tried.total()
        failures = tried - self._succeeded.total()
        classes = {
            name: {"sentences": n, "success_rate": percent(self._succeeded[name], n)}
            for name, n in sorted(self._tried.items())
            if name
        }
        return {
            "queries_per_failure": {
                name: self._failed[name] / failures if failures else None
                for name in ("charged", "unique")
            },
            "success_by_class": classes or None,
            "success_within": {str(most): percent(n, tried) for most, n in self._within()} or None,
        }

    def _within(self) -> Iterator[tuple[int, int]]:
        """Yield budgets up to the first that covers all sentences, with the successes within."""
        for budget in BUDGETS if self._tried else ():
            yield budget, sum(n for queries, n in self._took.items() if queries <= budget)
            if budget >= self._most:
                return


@dataclass
class Candidates:
    """Candidates by generator and stage (`attacks.engine.funnel.CandidateCounts`), added up."""

    slots: int = 0
    sums: dict[str, Counter[str]] = field(default_factory=dict)
    judged: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, line: Line) -> None:
        """Add a sentence."""
        self.slots += line["candidates"]["slots"]
        for generator, counts in line["candidates"]["sums"].items():
            self.sums.setdefault(generator, Counter()).update(counts)
        for tag, counts in line["candidates"].get("judged_by_tag", {}).items():
            self.judged.setdefault(class_of(tag) or OTHER, Counter()).update(counts)

    def summary(self) -> dict[str, Any]:
        """Return sums, and means over the slots that candidates were made for.

        Where constraints judge changed sentences, also what each of them vetoed.
        """
        slots = self.slots
        found: dict[str, Any] = {
            "slots": slots,
            "sums": {generator: dict(counts) for generator, counts in self.sums.items()},
            "means": {
                generator: {stage: n / slots if slots else None for stage, n in counts.items()}
                for generator, counts in self.sums.items()
            },
        }
        stages = list(self.sums.get(ALL, ()))
        if JUDGED in stages:
            found["vetoed"] = self._vetoed(stages[stages.index(JUDGED) :])
        return found

    def _vetoed(self, stages: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Compute what each constraint refused of the changed sentences that it judged.

        By the class of the changed word (`tagsets.CLASSES`), and of all: the number judged, and
        the share refused in percent.
        """
        classes = {ALL: self.sums[ALL]}
        classes |= {name: self.judged[name] for name in (*CLASSES, OTHER) if name in self.judged}
        return {
            constraint: {
                name: {
                    "judged": counts[before],
                    "percent": _refused(counts[before], counts[constraint]),
                }
                for name, counts in classes.items()
            }
            for before, constraint in pairwise(stages)
        }


def _refused(judged: int, left: int) -> float | None:
    return percent(judged - left, judged) if judged else None


@dataclass
class UnseenWords:
    """Words at changed positions that the victim does not know (`attacks.unseen`), added up.

    A word that stands at several positions counts at each.
    """

    changed: int = 0
    sums: Counter[tuple[str, str]] = field(default_factory=Counter)
    missing: set[str] = field(default_factory=set)

    def add(self, line: Line) -> None:
        """Add a sentence."""
        self.changed += len(line["edited"])
        counts = line["unseen"] or {}
        for name in ("oov", "oot"):
            if counts.get(name) is None:
                self.missing.add(name)
                continue
            for when, count in zip(("before", "after"), counts[name], strict=True):
                self.sums[name, when] += count

    def summary(self) -> dict[str, Any] | None:
        """Return counts before and after the attack; None if a victim did not tell."""
        if "oot" in self.missing:
            return None
        counts: dict[str, Any] = {"changed": self.changed}
        for name in ("oov", "oot"):
            counts[name] = {
                when: None if name in self.missing else self.sums[name, when]
                for when in ("before", "after")
            }
        return counts


class Groups:
    """Success and loss by what the changed words are.

    A sentence belongs to a group if all its changed words are of that kind, to `mixed` if they are
    of several kinds; unchanged sentences belong nowhere. An attack on one kind only (Zheng et al.
    2020) has one row.

    Args:
        task: of the victim.
    """

    def __init__(self, task: Task) -> None:
        self._groups: dict[str, Tally] = defaultdict(lambda: Tally(task))
        self._changed: Counter[str] = Counter()
        self._complete = True

    def add(self, line: Line, kinds: Sequence[str]) -> None:
        """Add a sentence with the kinds of its changed words."""
        if not line["edited"]:
            return
        if len(kinds) != len(line["edited"]):
            self._complete = False
            return
        self._changed.update(kinds)
        self._groups[kinds[0] if len(set(kinds)) == 1 else MIXED].add(line)

    def summary(self, order: Sequence[str] = ()) -> dict[str, dict[str, Any]] | None:
        """Return a row by kind; None if the kinds of a changed sentence are not known.

        Sentences, changed words (of all sentences, `mixed` ones included; None for `mixed`),
        success rate in percent of the sentences, and what each score lost on them, in points.

        Args:
            order: of the rows, which come before `mixed`; by default the most frequent kind first.
        """
        if not self._complete:
            return None
        words = {**self._changed, MIXED: None}  # whose words belong to other kinds
        kinds = order or sorted(self._changed, key=lambda kind: (-self._changed[kind], kind))
        names = [n for n in (*kinds, MIXED) if n in self._groups or self._changed[n]]
        return {name: _row(self._groups[name], words.get(name, 0)) for name in names}


def _row(tally: Tally, changed: int | None) -> dict[str, Any]:
    return {
        "sentences": tally.sums["sentences"],
        "changed": changed,
        "success_rate": tally.success_rate(),
        **{f"{name}_drop": lost for name, lost in tally.drops().items()},
    }
