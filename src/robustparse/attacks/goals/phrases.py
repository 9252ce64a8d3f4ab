"""The goal of phrase-level attacks: errors in one phrase, caused by changes in another phrase.

Zheng et al. 2020, section 3.3. The phrases of a sentence are gold subtrees of medium length. The
attack changes words of one phrase, the source, and succeeds if the parser makes more errors in
another phrase, the target, which is unchanged. The head of the target's root never counts.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from robustparse.attacks.goals.attachment import TreeGoal, restored
from robustparse.attacks.goals.goal import Verdict
from robustparse.attacks.problem import Problem
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError, check_choice, check_least
from robustparse.metrics import PunctuationPolicy
from robustparse.types import Example, Heads, Ids, Predictions, States


class Span(NamedTuple):
    """The first word, the last word and the root of a subtree, counted from 0."""

    first: int
    last: int
    root: int

    def words(self) -> slice:
        """Return the positions of its words."""
        return slice(self.first, self.last + 1)


class PhraseParse(NamedTuple):
    """A gold parse with its phrases.

    Args:
        heads: `int16 (words,)`, 0 is ROOT.
        labels: the victim's ids, `int32 (words,)`.
        spans: the phrases, from left to right.
        pairs: source and target, as indices into `spans`.
    """

    heads: Heads
    labels: Ids
    spans: tuple[Span, ...]
    pairs: tuple[tuple[int, int], ...]


def phrases(heads: Sequence[int], shortest: int, longest: int) -> tuple[Span, ...]:
    """Return the outermost subtrees of admissible length, from left to right.

    Heads count words from 1. Subtrees with a gap (non-projective ones) are left out.
    """
    first, last = list(range(len(heads))), list(range(len(heads)))
    size = [1] * len(heads)
    for word in range(len(heads)):
        above = int(heads[word]) - 1
        while above >= 0:
            first[above], last[above] = min(first[above], word), max(last[above], word)
            size[above] += 1
            above = int(heads[above]) - 1
    # By falling length, so that a span comes after those that contain it.
    spans = sorted(map(Span, first, last, range(len(heads))), key=lambda s: s.first - s.last)
    kept: list[Span] = []
    for span in spans:
        contiguous = size[span.root] == span.last - span.first + 1
        inside = any(outer.first <= span.first and span.last <= outer.last for outer in kept)
        if contiguous and shortest <= size[span.root] <= longest and not inside:
            kept.append(span)
    return tuple(sorted(kept))


def phrase_pairs(spans: Sequence[Span], gap: int) -> tuple[tuple[int, int], ...]:
    """Return ordered pairs of phrases with at least `gap` words between them, as indices."""
    return tuple(
        (source, target)
        for source, first in enumerate(spans)
        for target, second in enumerate(spans)
        if max(first.first, second.first) - min(first.last, second.last) > gap
    )


class PhraseDrop(TreeGoal):
    """Lower the attachment score of a phrase by changing another phrase.

    The score is the number of additional wrong heads in a target, compared with the clean parse,
    divided by the counted words of the sentence. If the changed source has several targets, the
    one with most errors decides. An attack succeeds from one additional wrong head on. Only counted
    words except the target's root are compared. A state with changes outside a source, or in two
    sources, does not succeed.

    Args:
        shortest: minimum words of a phrase (4).
        longest: maximum words of a phrase (12).
        gap: minimum number of words between source and target (the paper's k: 0 and 1).
        targets: `each`: one target must have more errors (paper: a pair succeeds); `union`: all
            targets of the source together must have more errors (released code, black box).
        punctuation: which words count.
    """

    def __init__(
        self,
        *,
        shortest: int = 4,
        longest: int = 12,
        gap: int = 0,
        targets: Literal["each", "union"] = "each",
        punctuation: PunctuationPolicy = "none",
    ) -> None:
        if not 2 <= shortest <= longest:
            raise InputError(
                f"got {shortest} and {longest}",
                key="goal: shortest, longest",
                expected="2 <= shortest <= longest",
            )
        check_least("goal", 0, gap=gap)
        check_choice("goal: targets", targets, ("each", "union"))
        check_choice("goal: punctuation", punctuation, get_args(PunctuationPolicy))
        self.shortest, self.longest, self.gap = shortest, longest, gap
        self.targets = targets
        self.punctuation = punctuation

    def gold(self, examples: Sequence[Example], victim: Victim) -> list[Any]:
        """Return gold parses with their phrases; see `TreeGoal.gold`."""
        golds = []
        for parse in super().gold(examples, victim):
            spans = phrases(parse.heads.tolist(), self.shortest, self.longest)
            pairs = phrase_pairs(spans, self.gap)
            golds.append(PhraseParse(parse.heads, parse.labels, spans, pairs))
        return golds

    def applies(self, problem: Problem) -> bool:
        """Tell whether the sentence has a pair of phrases."""
        return bool(problem.gold.pairs)

    def judge(
        self, problem: Problem, clean: Predictions, states: States, predictions: Predictions
    ) -> Verdict:
        """See `Goal.judge`."""
        gold: PhraseParse = problem.gold
        heads, _ = restored(clean, states, predictions)
        added = (heads != gold.heads).astype(np.int64) - (clean[0][0] != gold.heads)
        added = added * problem.counted
        # Additional errors in each phrase, except at its root, (spans, n).
        errors = [added[:, s.words()].sum(axis=1) - added[:, s.root] for s in gold.spans]
        changed = states != 0
        scores = np.zeros(len(states))
        for source in dict.fromkeys(source for source, _ in gold.pairs):
            in_source = changed[:, gold.spans[source].words()].sum(axis=1)
            rows = (in_source > 0) & (in_source == changed.sum(axis=1))
            by_target = [errors[target] for first, target in gold.pairs if first == source]
            combine = np.sum if self.targets == "union" else np.max
            scores[rows] = combine(by_target, axis=0)[rows]
        return Verdict(scores / max(1, problem.counted.sum()), scores >= 1)
