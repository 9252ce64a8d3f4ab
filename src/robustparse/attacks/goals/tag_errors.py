"""Goals against taggers: wrong tags, lost spans, or another label of the text."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from robustparse.attacks.goals.goal import Goal, Verdict
from robustparse.attacks.problem import DELETED, Problem
from robustparse.attacks.victim import Victim
from robustparse.data.tags.schemes import INSIDE, in_spans, spans
from robustparse.errors import InputError, check_choice, check_least
from robustparse.metrics import PunctuationPolicy
from robustparse.types import Example, Ids, Indices, Mask, Predictions, States, TagSequence

Metric = Literal["spans", "words", "label"]
Edit = Literal["context", "entities", "all"]


class GoldTags(NamedTuple):
    """The gold tags of one sentence, as ids of the victim.

    Args:
        tags: ``(words,)``, -1 for an unknown tag.
        spans: ``(spans, 2)`` first word and end of each span.
        inside: ``(spans,)`` the id of the tag that would continue each span; -1 if there is none.
        label: the id of the label of the text, -1 without one.
    """

    tags: Ids
    spans: Indices
    inside: Ids
    label: int

    def found(self, tags: Ids) -> Mask:
        """Tell which words begin a gold span that is in the tags too; both are ``(n, words)``."""
        wrong, found = tags != self.tags, np.zeros(tags.shape, dtype=np.bool_)
        for (begin, end), inside in zip(self.spans.tolist(), self.inside.tolist(), strict=True):
            right = ~wrong[:, begin]
            if inside >= 0:
                # An I- tag that continues no span begins one, as in `spans`.
                before = tags[:, begin - 1] if begin else np.full(len(tags), -1)
                continues = (before == inside) | (before == self.tags[begin])
                right |= (tags[:, begin] == inside) & ~continues
            found[:, begin] = right & ~wrong[:, begin + 1 : end].any(axis=1)
            if inside >= 0 and end < tags.shape[1]:
                found[:, begin] &= tags[:, end] != inside
        return found


class TagErrors(Goal):
    """Make the victim's tags of a sentence wrong.

    The score is the share of wrong parts. An attack succeeds if it adds at least `least` wrong
    parts, and at least the fraction `share` of all parts.

    Args:
        metric: the parts: ``spans`` of the gold answer, wrong if they are lost, moved or change
            their class (tags without prefixes, such as parts of speech, are spans of one word);
            ``words``, wrong if their tag is; or ``label``, the label of the text. With ``label``,
            the score is 1 minus the probability of the gold label, an attack succeeds if the
            answered label is wrong, and `success`, `least`, `share` and `punctuation` are ignored.
        success: ``reported`` compares all parts; ``strict`` only words that are not changed, and
            spans without a changed word. The score is then that of the clean answer plus the
            additional errors among the compared parts.
        edit: the words that may be changed: ``context`` allows only words outside of gold spans,
            ``entities`` only words inside, ``all`` any word. Words whose tags have no B- or I-
            prefix are context.
        least: minimum number of additional wrong parts for a success.
        share: minimum share of additional wrong parts for a success.
        punctuation: which words are left out; see `AttachmentDrop`.

    Raises:
        InputError: an argument is out of range.
    """

    tasks = ("tags",)
    per_word = True

    def __init__(
        self,
        *,
        metric: Metric = "spans",
        success: Literal["reported", "strict"] = "reported",
        edit: Edit = "context",
        least: int = 1,
        share: float = 0.0,
        punctuation: PunctuationPolicy = "none",
    ) -> None:
        check_choice("goal: metric", metric, get_args(Metric))
        check_choice("goal: success", success, ("reported", "strict"))
        check_choice("goal: edit", edit, get_args(Edit))
        check_choice("goal: punctuation", punctuation, get_args(PunctuationPolicy))
        check_least("goal", least=least)
        if not 0.0 <= share <= 1.0:
            raise InputError(f"must be in [0, 1], got {share}", key="goal: share")
        self.metric, self.success, self.edit = metric, success, edit
        self.least, self.share = least, share
        self.punctuation = punctuation

    def gold(self, examples: Sequence[Example], victim: Victim) -> list[Any]:
        """Return the `GoldTags` of each example.

        Raises:
            InputError: a gold answer is of another type, or has no label that the victim knows.
        """
        self.check_gold(examples, TagSequence)
        golds = []
        for example in examples:
            tags = example.gold.tags
            found = spans(tags)
            bounds = np.array([(each.begin, each.end) for each in found], np.int64).reshape(-1, 2)
            ids = victim.name_ids(
                [*tags, *(INSIDE + each.kind for each in found), f" {example.gold.label}"]
            )
            gold = GoldTags(ids[: len(tags)], bounds, ids[len(tags) : -1], int(ids[-1]))
            if self.metric == "label" and gold.label < 0:
                raise InputError(
                    f"sentence {example.id + 1}: label {example.gold.label!r}",
                    key="goal: metric",
                    expected="a label that the tagger was trained with",
                )
            golds.append(gold)
        return golds

    def editable(self, example: Example) -> Mask:
        """See `Goal.editable`; `edit` decides."""
        inside = np.array(in_spans(example.gold.tags), dtype=np.bool_)
        choices = {"context": ~inside, "entities": inside, "all": np.ones_like(inside)}
        return choices[self.edit]

    def applies(self, problem: Problem) -> bool:
        """Tell whether the sentence has anything to attack."""
        return self.metric == "label" or bool(self._parts(problem).any())

    def judge(
        self, problem: Problem, clean: Predictions, states: States, predictions: Predictions
    ) -> Verdict:
        """See `Goal.judge`."""
        if self.metric == "label":
            probabilities = predictions[1]
            wrong = probabilities.argmax(axis=1) != problem.gold.label
            return Verdict(1.0 - probabilities[:, problem.gold.label], wrong)
        compared = np.broadcast_to(self._parts(problem), (len(states), len(self._parts(problem))))
        if self.success == "strict":
            compared = compared & ~self._edited(problem, states)
        wrong = self._wrong(problem, _restored(clean, states, predictions))
        before = self._wrong(problem, clean[0])
        further = (wrong & compared).sum(axis=1) - (before & compared).sum(axis=1)
        parts = max(1, int(self._parts(problem).sum()))
        errors = int((before[0] & self._parts(problem)).sum()) + further
        enough = further >= max(self.least, self.share * parts)
        return Verdict(errors / parts, enough)

    def _parts(self, problem: Problem) -> Mask:
        """Tell which words or gold spans count, ``(parts,)``."""
        counted: Mask = problem.counted
        return counted if self.metric == "words" else counted[problem.gold.spans[:, 0]]

    def _edited(self, problem: Problem, states: States) -> Mask:
        """Tell which parts have a changed word, ``(n, parts)``."""
        changed: Mask = states != 0
        if self.metric == "words":
            return changed
        each = [changed[:, begin:end].any(axis=1) for begin, end in problem.gold.spans.tolist()]
        return np.stack(each, axis=1) if each else np.zeros((len(states), 0), dtype=np.bool_)

    def _wrong(self, problem: Problem, tags: Ids) -> Mask:
        """Tell which parts are wrong, ``(n, parts)``; tags are ``(n, words)``."""
        gold: GoldTags = problem.gold
        if self.metric == "words":
            wrong: Mask = tags != gold.tags
            return wrong
        return ~gold.found(tags)[:, gold.spans[:, 0]]


def _restored(clean: Predictions, states: States, predictions: Predictions) -> Ids:
    """Map tags back to the positions of the original sentence, ``(n, words)``.

    A deleted word keeps its tag of the clean answer.
    """
    tags: Ids = predictions[0][:, : states.shape[1]]
    shortened = np.flatnonzero((states == DELETED).any(axis=1))
    if not len(shortened):
        return tags
    tags = tags.copy()
    for row in shortened.tolist():
        kept = np.flatnonzero(states[row] != DELETED)
        of_kept = tags[row, : len(kept)].copy()
        tags[row] = clean[0][0]
        tags[row, kept] = of_kept
    return tags
