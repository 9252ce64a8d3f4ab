"""The phrase-level attack's goal: errors in one phrase by changes in another one.

Zheng et al. 2020, section 3.3. The phrases of a sentence are gold subtrees of middling length.
Words are changed in one of them, the source; the attack succeeds if the parser then errs in another
one, the target, which itself stands as it was. The head of the target's root never counts.
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
    """A subtree: its first and last word and its root, all counted from 0."""

    first: int
    last: int
    root: int

    def words(self) -> slice:
        """Its words."""
        return slice(self.first, self.last + 1)


class PhraseParse(NamedTuple):
    """A gold parse with its phrases.

    Args:
        heads: `int16 (words,)`, 0 is ROOT.
        labels: the victim's ids, `int32 (words,)`.
        spans: the phrases, from left to right.
        pairs: source and target, as places in `spans`.
    """

    heads: Heads
    labels: Ids
    spans: tuple[Span, ...]
    pairs: tuple[tuple[int, int], ...]


def phrases(heads: Sequence[int], shortest: int, longest: int) -> tuple[Span, ...]:
    """Return the outermost of all subtrees of admissible length, from left to right.

    Heads count words from 1. A subtree with a gap, whose words are not all those from its first to
    its last, is none.
    """
    first, last = list(range(len(heads))), list(range(len(heads)))
    size = [1] * len(heads)
    for word in range(len(heads)):
        above = int(heads[word]) - 1
        while above >= 0:
            first[above], last[above] = min(first[above], word), max(last[above], word)
            size[above] += 1
            above = int(heads[above]) - 1
    # By falling length, so that what contains a span comes before it.
    spans = sorted(map(Span, first, last, range(len(heads))), key=lambda one: one.first - one.last)
    kept: list[Span] = []
    for span in spans:
        whole = size[span.root] == span.last - span.first + 1
        inside = any(one.first <= span.first and span.last <= one.last for one in kept)
        if whole and shortest <= size[span.root] <= longest and not inside:
            kept.append(span)
    return tuple(sorted(kept))


def phrase_pairs(spans: Sequence[Span], gap: int) -> tuple[tuple[int, int], ...]:
    """Ordered pairs of phrases with at least ``gap`` words between them, as places in `spans`."""
    return tuple(
        (source, target)
        for source, one in enumerate(spans)
        for target, other in enumerate(spans)
        if max(one.first, other.first) - min(one.last, other.last) > gap
    )


class PhraseDrop(TreeGoal):
    """Lower the attachment score of a phrase that is not the changed one.

    The score is by how many wrong heads a target has more than in the clean parse, of all targets
    that go with the changed source the most, divided by the counted words of the sentence; an
    attack succeeds from one such head on. Only counted words are compared, without the target's
    root. Changes outside a source, or in two of them, are no success.

    Args:
        shortest: words of a phrase at least (4).
        longest: words of a phrase at most (12).
        gap: at least this many words lie between source and target (the paper's k: 0 and 1).
        targets: `each`, some target must have more errors (paper: a pair succeeds); `union`, all
            targets of the source together must (released code, black box).
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
                expected="two numbers from 2 on, the longest not below the shortest",
            )
        check_least("goal", 0, gap=gap)
        check_choice("goal: targets", targets, ("each", "union"))
        check_choice("goal: punctuation", punctuation, get_args(PunctuationPolicy))
        self.shortest, self.longest, self.gap = shortest, longest, gap
        self.targets = targets
        self.punctuation = punctuation

    def gold(self, examples: Sequence[Example], victim: Victim) -> list[Any]:
        """Gold parses and their phrases; see `TreeGoal.gold`."""
        golds = []
        for parse in super().gold(examples, victim):
            spans = phrases(parse.heads.tolist(), self.shortest, self.longest)
            pairs = phrase_pairs(spans, self.gap)
            golds.append(PhraseParse(parse.heads, parse.labels, spans, pairs))
        return golds

    def applies(self, problem: Problem) -> bool:
        """Whether the sentence has a pair of phrases."""
        return bool(problem.gold.pairs)

    def judge(
        self, problem: Problem, clean: Predictions, states: States, predictions: Predictions
    ) -> Verdict:
        """See `Goal.judge`."""
        gold: PhraseParse = problem.gold
        heads, _ = restored(clean, states, predictions)
        further = (heads != gold.heads).astype(np.int64) - (clean[0][0] != gold.heads)
        further = further * problem.counted
        # Further errors in each phrase but at its root, (spans, n).
        errors = [further[:, s.words()].sum(axis=1) - further[:, s.root] for s in gold.spans]
        changed = states != 0
        scores = np.zeros(len(states))
        for source in dict.fromkeys(source for source, _ in gold.pairs):
            here = changed[:, gold.spans[source].words()].sum(axis=1)
            rows = (here > 0) & (here == changed.sum(axis=1))
            found = [errors[target] for one, target in gold.pairs if one == source]
            best = np.sum(found, axis=0) if self.targets == "union" else np.max(found, axis=0)
            scores[rows] = best[rows]
        return Verdict(scores / max(1, problem.counted.sum()), scores >= 1)
