"""What an attack did in detail, from its lines: sums and ratios, whatever order they come in.

Candidates before and after each constraint (Wang et al. 2021, Table 4), changed words that the
parser does not know (Table 7), success and loss by part of speech (Zheng et al. 2020, Table 3), and
means over all sentences beside means over successes (Yoo et al. 2020, Table 3, whose caption says
the latter and whose figures are the former).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from robustparse.evaluation.tally import Line, Tally
from robustparse.metrics import percent

TAG_CLASSES: dict[str, frozenset[str]] = {
    "JJ": frozenset({"JJ", "JJR", "JJS"}),
    "NN": frozenset({"NN", "NNS", "NNP", "NNPS"}),
    "RB": frozenset({"RB", "RBR", "RBS"}),
    "VB": frozenset({"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"}),
    "IN": frozenset({"IN"}),
}
"""The rows of Zheng et al. 2020, Table 3, as the Penn tags their code attacks."""

OTHER, MIXED = "other", "mixed"

NOT_MEASURED: dict[str, Any] = {
    "perplexity": {"clean": None, "attacked": None},
    "word_similarity": None,
    "sentence_similarity": None,
}
"""What takes a model beside the parser; `evaluation.quality` fills it in later."""


def breakdown(lines: Iterable[Line]) -> dict[str, Any]:
    """Return the keys of ``summary.json`` beyond `Tally.scores`; None where a line lacks what is
    needed.

    Args:
        lines: of ``examples.jsonl``, read once.
    """
    successes, candidates, unseen, tags = Tally(), Candidates(), UnseenWords(), Tags()
    for line in lines:
        if line["success"]:
            successes.add(line)
        for part in (candidates, unseen, tags):
            part.add(line)
    return {
        **means_over_successes(successes.sums),
        "candidates": candidates.figures(),
        "unseen": unseen.figures(),
        "by_tag": tags.figures(),
        **NOT_MEASURED,
    }


def means_over_successes(sums: Mapping[str, int]) -> dict[str, Any]:
    """Edits and queries a sentence, from the sums over sentences on which the attack succeeded."""
    n = sums["sentences"]
    return {
        "edits_per_success": sums["edits"] / n if n else None,
        "queries_per_success": {
            name: sums[name] / n if n else None for name in ("charged", "unique")
        },
    }


@dataclass
class Candidates:
    """Candidates by generator and stage (`attacks.counting.CandidateCounts`), added up."""

    slots: int = 0
    sums: dict[str, Counter[str]] = field(default_factory=dict)
    complete: bool = True

    def add(self, line: Line) -> None:
        """Add a sentence; lines of older versions do not count candidates."""
        if "candidates" not in line:
            self.complete = False
            return
        self.slots += line["candidates"]["slots"]
        for generator, counts in line["candidates"]["sums"].items():
            self.sums.setdefault(generator, Counter()).update(counts)

    def figures(self) -> dict[str, Any] | None:
        """Return sums, and means over the slots that candidates were made for."""
        if not self.complete:
            return None
        slots = self.slots
        return {
            "slots": slots,
            "sums": {generator: dict(counts) for generator, counts in self.sums.items()},
            "means": {
                generator: {stage: n / slots if slots else None for stage, n in counts.items()}
                for generator, counts in self.sums.items()
            },
        }


@dataclass
class UnseenWords:
    """Words at changed positions that the parser does not know (`attacks.unseen`), added up.

    A word that stands at several positions counts at each.
    """

    changed: int = 0
    sums: Counter[tuple[str, str]] = field(default_factory=Counter)
    missing: set[str] = field(default_factory=set)

    def add(self, line: Line) -> None:
        """Add a sentence."""
        self.changed += len(line["edited"])
        counts = line.get("unseen") or {}
        for name in ("oov", "oot"):
            if counts.get(name) is None:
                self.missing.add(name)
                continue
            for when, count in zip(("before", "after"), counts[name], strict=True):
                self.sums[name, when] += count

    def figures(self) -> dict[str, Any] | None:
        """Return counts before and after the attack."""
        if "oot" in self.missing:
            return None
        figures: dict[str, Any] = {"changed": self.changed}
        for name in ("oov", "oot"):
            figures[name] = {
                when: None if name in self.missing else self.sums[name, when]
                for when in ("before", "after")
            }
        return figures


@dataclass
class Tags:
    """Success and loss of attachment by the Penn tags of the changed words.

    A sentence belongs to a class if all its changed words have one of the class's tags on the
    original sentence, to `mixed` if they are of several classes; unchanged sentences belong
    nowhere. An attack on one class alone (Zheng et al. 2020) has one row.
    """

    groups: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    changed: Counter[str] = field(default_factory=Counter)
    complete: bool = True

    def add(self, line: Line) -> None:
        """Add a sentence."""
        if not line["edited"]:
            return
        if len(line.get("edited_tags", ())) != len(line["edited"]):
            self.complete = False
            return
        classes = [tag_class(tag) for tag in line["edited_tags"]]
        self.changed.update(classes)
        self.groups[classes[0] if len(set(classes)) == 1 else MIXED].add(line)

    def figures(self) -> dict[str, dict[str, Any]] | None:
        """By class, in the order of `TAG_CLASSES`; None if a changed sentence has no tags.

        Sentences, changed words (of all sentences, `mixed` ones included; None for `mixed`),
        success rate in percent of the sentences, and what UAS and LAS lost on them, in points.
        """
        if not self.complete:
            return None
        words = {**self.changed, MIXED: None}  # whose words belong to other classes
        names = [n for n in (*TAG_CLASSES, OTHER, MIXED) if n in self.groups or self.changed[n]]
        return {name: _row(self.groups[name].sums, words.get(name, 0)) for name in names}


def tag_class(tag: str) -> str:
    """Return the class of a Penn tag."""
    return next((name for name, tags in TAG_CLASSES.items() if tag in tags), OTHER)


def _row(sums: Mapping[str, int], changed: int | None) -> dict[str, Any]:
    counted, sentences = sums["counted"], sums["sentences"]

    def lost(which: str) -> float | None:
        right = sums[f"clean_{which}"] - sums[f"attacked_{which}"]
        return percent(right, counted) if counted else None

    return {
        "sentences": sentences,
        "changed": changed,
        "success_rate": percent(sums["success"], sentences) if sentences else None,
        "uas_drop": lost("heads"),
        "las_drop": lost("labels"),
    }
