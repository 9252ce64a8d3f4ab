"""Goals: what an attack wants of the victim's answers, judged many at a time.

The reproduction default is the criterion of Zheng et al. 2020 as their released code applies it:
an attack succeeds when the parse of the changed sentence has fewer correct heads than the victim's
own parse of the original, both against the gold tree.
"""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.problem import Parse, Problem
from robustparse.errors import InputError
from robustparse.metrics import PunctuationPolicy


@dataclass(frozen=True, eq=False)
class Verdict:
    """Scores `float64 (n,)`, higher is nearer the goal, and success `bool (n,)`."""

    scores: NDArray[np.float64]
    success: NDArray[np.bool_]


class Goal(Protocol):
    """Judges a victim's answers; `punctuation` says which words count (`metrics.counted_words`)."""

    punctuation: PunctuationPolicy

    def judge(
        self,
        problem: Problem,
        clean: Parse,
        states: NDArray[np.int16],
        heads: NDArray[np.int16],
        labels: NDArray[np.int16],
    ) -> Verdict:
        """Judge n answers for one sentence.

        Args:
            problem: the sentence.
            clean: the victim's parse of the original sentence.
            states: what was asked about, `(n, words)`.
            heads: the victim's heads, `(n, words)`.
            labels: the victim's label ids, `(n, words)`.
        """
        ...


class AttachmentDrop(Goal):
    """Lower the attachment score of the sentence.

    The score is the number of wrong arcs among the counted words; an attack succeeds when it
    exceeds that of the clean parse.

    Args:
        metric: `uas` (an arc is wrong when its head is) or `las` (or its label).
        success: `reported` compares all counted arcs (Zheng et al. 2020, released code, the
            published figures). `strict` follows the paper's text and leaves out every arc connected
            to a changed word: an arc is compared only if none of its dependent, its gold head, its
            head in the clean parse and its head in the attacked parse was changed. The same arcs
            are counted on both sides; the score is then the wrong arcs of the clean parse plus
            the further errors among the arcs compared, which agrees with `reported` where
            nothing is left out.
        punctuation: which words count: `none` excludes nothing (Universal Dependencies), `penn`
            excludes by tag (Wang et al. 2021), `unicode` by form (Zheng et al. 2020).
    """

    def __init__(
        self,
        *,
        metric: Literal["uas", "las"] = "uas",
        success: Literal["reported", "strict"] = "reported",
        punctuation: PunctuationPolicy = "none",
    ) -> None:
        for key, value, allowed in (
            ("metric", metric, ("uas", "las")),
            ("success", success, ("reported", "strict")),
            ("punctuation", punctuation, ("none", "penn", "unicode")),
        ):
            if value not in allowed:
                raise InputError(f"goal: {key} must be one of {', '.join(allowed)}, got {value!r}")
        self.metric = metric
        self.success = success
        self.punctuation = punctuation

    def judge(
        self,
        problem: Problem,
        clean: Parse,
        states: NDArray[np.int16],
        heads: NDArray[np.int16],
        labels: NDArray[np.int16],
    ) -> Verdict:
        """See `Goal.judge`."""
        clean_wrong = self._wrong(problem, clean.heads, clean.labels) & problem.counted
        wrong = self._wrong(problem, heads, labels) & problem.counted
        clean_errors = float(clean_wrong.sum())
        if self.success == "reported":
            scores = wrong.sum(axis=1).astype(np.float64)
        else:
            compared = _untouched_arcs(problem, clean, states, heads)
            further = (wrong & compared).sum(axis=1) - (clean_wrong & compared).sum(axis=1)
            scores = clean_errors + further
        return Verdict(scores, scores > clean_errors)

    def _wrong(
        self, problem: Problem, heads: NDArray[Any], labels: NDArray[Any]
    ) -> NDArray[np.bool_]:
        """Which arcs differ from gold; heads and labels `(words,)` or `(n, words)`."""
        wrong: NDArray[np.bool_] = heads != problem.heads
        if self.metric == "las":
            wrong = wrong | (labels != problem.labels)
        return wrong


def _untouched_arcs(
    problem: Problem, clean: Parse, states: NDArray[np.int16], heads: NDArray[np.int16]
) -> NDArray[np.bool_]:
    """Arcs with no changed word at either end, in gold, clean and attacked parse, `(n, words)`."""
    # Column 0 is ROOT, which is never changed, so that heads index the columns directly.
    changed = np.zeros((len(states), len(problem) + 1), dtype=np.bool_)
    changed[:, 1:] = states != 0
    touched = changed[:, 1:] | changed[:, problem.heads] | changed[:, clean.heads]
    return ~(touched | np.take_along_axis(changed, heads.astype(np.int64), axis=1))
