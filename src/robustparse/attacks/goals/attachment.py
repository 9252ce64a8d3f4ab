"""Goals against dependency parsers: the base class, and a lower attachment score of the sentence.

The default criterion is that of Zheng et al. 2020 as in their released code: an attack succeeds if
the parse of the changed sentence has fewer correct heads than the victim's parse of the original,
both compared with the gold tree.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.goals.goal import Goal, Verdict
from robustparse.attacks.goals.tag_errors import TagErrors
from robustparse.attacks.problem import DELETED, Problem
from robustparse.attacks.victim import Victim
from robustparse.errors import check_choice, check_least
from robustparse.metrics import PunctuationPolicy
from robustparse.types import (
    DependencyTree,
    Example,
    Heads,
    Ids,
    Mask,
    Predictions,
    States,
    TagSequence,
)


class Parse(NamedTuple):
    """The parse of one sentence: heads `(words,)` (0 is ROOT) and label ids `(words,)`."""

    heads: Heads
    labels: Ids


class TreeGoal(Goal):
    """A goal against parsers; the gold answer of a problem is a `Parse`."""

    tasks: ClassVar[tuple[str, ...]] = ("dependency",)
    per_word = True

    def gold(self, examples: Sequence[Example], victim: Victim) -> list[Any]:
        """Return gold heads and the victim's ids of the gold labels, -1 for an unknown label."""
        self.check_gold(examples, DependencyTree)
        labels = victim.name_ids([label for example in examples for label in example.gold.labels])
        golds, begin = [], 0
        for example in examples:
            end = begin + len(example.gold.heads)
            golds.append(Parse(np.array(example.gold.heads, np.int16), labels[begin:end]))
            begin = end
        return golds


class AttachmentDrop(TreeGoal):
    """Lower the attachment score of the sentence.

    The score is the fraction of counted words with a wrong arc. An attack succeeds if it exceeds
    the score of the clean parse.

    Args:
        metric: `uas` (an arc is wrong if its head is wrong), `las` (if its head or label is wrong),
            or `mean`: the score is the mean of both fractions (Wang et al. 2021, equation 3), and
            success is that of `las`.
        success: `reported` compares all counted arcs (Zheng et al. 2020, released code and
            published figures). `strict` follows the paper's text and leaves out arcs connected to a
            changed word: an arc is compared only if its dependent, its gold head, its head in the
            clean parse and its head in the attacked parse are all unchanged. The same arcs are
            compared in both parses. The score is then that of the clean parse plus the additional
            errors among the compared arcs; it equals `reported` if no arc is left out.
        least: minimum number of additional wrong arcs for a success. Against taggers, `success`,
            `least` and `punctuation` are those of `TagErrors`.
        punctuation: which words are left out of the score: `none` leaves out none (Universal
            Dependencies), `penn` decides by Penn tag (Wang et al. 2021), `upos` by universal tag,
            `unicode` by form (Zheng et al. 2020).
    """

    tasks = ("dependency", "tags")

    def __init__(
        self,
        *,
        metric: Literal["uas", "las", "mean"] = "uas",
        success: Literal["reported", "strict"] = "reported",
        least: int = 1,
        punctuation: PunctuationPolicy = "none",
    ) -> None:
        check_choice("goal: metric", metric, ("uas", "las", "mean"))
        check_choice("goal: success", success, ("reported", "strict"))
        check_choice("goal: punctuation", punctuation, get_args(PunctuationPolicy))
        check_least("goal", least=least)
        self.metric = metric
        self.success = success
        self.least = least
        self.punctuation = punctuation

    def against(self, gold: Any) -> Goal:
        """Return the same goal for spans if the gold answer is a tag sequence."""
        if not isinstance(gold, TagSequence):
            return self
        return TagErrors(success=self.success, least=self.least, punctuation=self.punctuation)

    def judge(
        self, problem: Problem, clean: Predictions, states: States, predictions: Predictions
    ) -> Verdict:
        """See `Goal.judge`."""
        before = Parse(clean[0][0], clean[1][0])
        heads, labels = restored(clean, states, predictions)
        compared = np.broadcast_to(problem.counted, heads.shape)
        if self.success == "strict":
            compared = compared & _untouched_arcs(problem, before, states, heads)
        counts = []
        for metric in ("uas", "las") if self.metric == "mean" else (self.metric,):
            wrong_before = _wrong(problem, metric, *before)
            further = (_wrong(problem, metric, heads, labels) & compared).sum(axis=1)
            further = further - (wrong_before & compared).sum(axis=1)
            counts.append(((wrong_before & problem.counted).sum(), further))
        wrong = np.mean([errors + further for errors, further in counts], axis=0)
        scores = wrong / max(1, problem.counted.sum())
        return Verdict(scores, counts[-1][1] >= self.least)


def _wrong(problem: Problem, metric: str, heads: NDArray[Any], labels: NDArray[Any]) -> Mask:
    """Tell which arcs differ from gold; heads and labels are `(words,)` or `(n, words)`."""
    wrong: Mask = heads != problem.gold.heads
    if metric == "las":
        wrong = wrong | (labels != problem.gold.labels)
    return wrong


def _untouched_arcs(problem: Problem, clean: Parse, states: States, heads: Heads) -> Mask:
    """Tell which arcs have no changed word at either end, in the gold, the clean and the attacked
    parse, `(n, words)`.
    """
    # Column 0 is ROOT, which is never changed, so heads index the columns directly.
    changed = np.zeros((len(states), len(problem) + 1), dtype=np.bool_)
    changed[:, 1:] = states != 0
    touched = changed[:, 1:] | changed[:, problem.gold.heads] | changed[:, clean.heads]
    return ~(touched | np.take_along_axis(changed, heads.astype(np.int64), axis=1))


def restored(clean: Predictions, states: States, predictions: Predictions) -> tuple[Heads, Ids]:
    """Return heads and labels `(n, words)` in positions of the whole sentence, deletions undone.

    A deleted word keeps its arc of the clean parse, so that a deletion is judged by its effect on
    the other words.
    """
    heads, labels = predictions
    shortened = np.flatnonzero((states == DELETED).any(axis=1))
    if not len(shortened):
        return heads, labels
    heads, labels = heads.copy(), labels.copy()
    for row in shortened.tolist():
        kept = np.flatnonzero(states[row] != DELETED)
        # Positions of ROOT and of the remaining words in the original sentence.
        positions = np.concatenate([[0], kept + 1]).astype(heads.dtype)
        new_heads = positions[heads[row, : len(kept)]]
        new_labels = labels[row, : len(kept)].copy()
        heads[row], labels[row] = clean[0][0], clean[1][0]
        heads[row, kept], labels[row, kept] = new_heads, new_labels
    return heads, labels
