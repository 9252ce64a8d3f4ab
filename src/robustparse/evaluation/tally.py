"""One line a sentence, and the sums over lines from which every reported score comes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robustparse.attacks.results import AttackResult
from robustparse.metrics import percent
from robustparse.types import DependencyTree

Line = Mapping[str, Any]


def result_line(result: AttackResult) -> dict[str, Any]:
    """Return a finished sentence as ``examples.jsonl`` holds it.

    ``clean`` and ``attacked`` are parses with their scores against gold; ``counted`` is the number
    of words that enter the scores; ``targeted`` says whether the goal finds anything to attack in
    the sentence, a pair of phrases for one, ``skipped`` whether the sentence reaches it as it is;
    ``candidates`` says how many were made and passed each constraint, ``unseen`` how many changed
    words the parser does not know; ``edited_tags`` are the Penn tags of changed words on the
    original sentence, none where the corpus has none.
    """
    xpos = result.example.sentence.xpos
    gold = result.example.gold
    return {
        "id": result.id,
        "tokens": list(result.example.sentence.words),
        "adversarial_tokens": list(result.words),
        "edited": list(result.edited),
        "gold": {"heads": list(gold.heads), "labels": list(gold.labels)},
        "clean": _parse(result.clean, result),
        "attacked": _parse(result.attacked, result),
        "counted": sum(result.counted),
        "targeted": result.targeted,
        "skipped": result.skipped,
        "success": result.success,
        "queries": {"charged": result.charged, "unique": result.unique},
        "edited_tags": [xpos[position] for position in result.edited] if xpos else [],
        "candidates": result.candidates.record(),
        "unseen": None if result.unseen is None else result.unseen.record(),
    }


def _parse(tree: DependencyTree, result: AttackResult) -> dict[str, Any]:
    gold, counted = result.example.gold, sum(result.counted)
    right = np.array([one == other for one, other in zip(tree.heads, gold.heads, strict=True)])
    named = np.array([one == other for one, other in zip(tree.labels, gold.labels, strict=True)])
    heads = int((right & result.counted).sum())
    labels = int((right & named & result.counted).sum())
    return {
        "heads": list(tree.heads),
        "labels": list(tree.labels),
        "correct_heads": heads,
        "correct_labels": labels,
        "uas": round(percent(heads, counted), 4) if counted else None,
        "las": round(percent(labels, counted), 4) if counted else None,
    }


@dataclass
class Tally:
    """Sums over lines; adding two tallies, or lines in any order, gives the same scores.

    Skipped sentences count in the attachment scores and edits, and enter neither success rates nor
    queries.
    """

    sums: dict[str, int] = field(default_factory=dict)

    NAMES = (
        "sentences",
        "words",
        "counted",
        "clean_heads",
        "clean_labels",
        "attacked_heads",
        "attacked_labels",
        "skipped",
        "targeted",
        "success",
        "edits",
        "charged",
        "unique",
    )

    def __post_init__(self) -> None:
        self.sums = {name: self.sums.get(name, 0) for name in self.NAMES}

    def add(self, line: Line) -> None:
        """Add a sentence; lines of older versions do not say that one was skipped."""
        tried = not line.get("skipped", False)
        amounts = (
            1,
            len(line["tokens"]),
            line["counted"],
            line["clean"]["correct_heads"],
            line["clean"]["correct_labels"],
            line["attacked"]["correct_heads"],
            line["attacked"]["correct_labels"],
            int(not tried),
            int(tried and line.get("targeted", True)),
            int(line["success"]),
            len(line["edited"]),
            line["queries"]["charged"] * tried,
            line["queries"]["unique"] * tried,
        )
        for name, amount in zip(self.NAMES, amounts, strict=True):
            self.sums[name] += amount

    def scores(self) -> dict[str, Any]:
        """Return the keys of ``summary.json`` that follow from the lines; scores and rates in
        percent.
        """
        s = self.sums
        n, tried = s["sentences"], s["sentences"] - s["skipped"]
        return {
            "n_sentences": n,
            "n_skipped": s["skipped"],
            "n_words": s["words"],
            "clean": self._attachment("clean"),
            "attacked": self._attachment("attacked"),
            "success_rate": _or_none(percent(s["success"], tried), tried),
            "targeted": {
                "n_sentences": s["targeted"],
                "success_rate": _or_none(percent(s["success"], s["targeted"]), s["targeted"]),
            },
            "edits_per_sentence": s["edits"] / n if n else None,
            "edit_rate": _or_none(percent(s["edits"], s["words"]), s["words"]),
            "queries_per_sentence": {
                "charged": s["charged"] / tried if tried else None,
                "unique": s["unique"] / tried if tried else None,
            },
        }

    def _attachment(self, which: str) -> dict[str, float | None]:
        counted = self.sums["counted"]
        return {
            "uas": _or_none(percent(self.sums[f"{which}_heads"], counted), counted),
            "las": _or_none(percent(self.sums[f"{which}_labels"], counted), counted),
        }


def _or_none(value: float, whole: int) -> float | None:
    return value if whole else None
