"""Attachment scores and accuracy, computed from sums, so that sharding does not change them.

UAS is the fraction of counted words with the right head, LAS with the right head and label. UCM and
LCM are the fractions of sentences in which this holds for every counted word (Kübler et al. 2009,
6.1), among sentences with at least one counted word.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torchmetrics import Metric

from robustparse.errors import InputError, check_choice
from robustparse.tagsets import Tagset
from robustparse.types import DependencyTree, Example, Sentence

PunctuationPolicy = Literal["none", "penn", "unicode", "upos"]

# Sums over sentences, and the scores as ratios of these sums.
SUMS = (
    *("counted", "correct_heads", "correct_labels"),
    *("sentences", "complete_heads", "complete_labels"),
)
_RATIOS = {
    "uas": ("correct_heads", "counted"),
    "las": ("correct_labels", "counted"),
    "ucm": ("complete_heads", "sentences"),
    "lcm": ("complete_labels", "sentences"),
}

# Tags that are left out by Wang et al. 2021 and in evaluations on the Penn Treebank.
PENN_PUNCTUATION = frozenset({".", "``", "''", ":", ","})
# Policies that decide by tags: tagset, its name for messages, and the tags that are left out.
_BY_TAG: dict[str, tuple[Tagset, str, frozenset[str]]] = {
    "penn": ("xpos", "Penn tags in column 5", PENN_PUNCTUATION),
    "upos": ("upos", "universal tags in column 4", frozenset({"PUNCT"})),
}
# Characters of Unicode's categories P that often have other Penn tags than those of punctuation.
_PENN_OTHERWISE = frozenset("%&#@*/\\()[]{}-_'")


def counted_words(sentence: Sentence, policy: PunctuationPolicy = "none") -> NDArray[np.bool_]:
    """Tell which words enter the scores of a sentence.

    Args:
        sentence: the original sentence if it is known; in a perturbed sentence, ``unicode`` would
            judge the substituted forms.
        policy: ``none`` counts every word (the custom for Universal Dependencies), ``penn`` leaves
            out words tagged as Penn punctuation, ``upos`` words with the universal tag PUNCT,
            ``unicode`` words whose characters all have a Unicode category P (SuPar, Zheng et al.
            2020).

    Returns:
        Booleans of shape ``(words,)``.

    Raises:
        InputError: the policy needs tags that the sentence does not have.
    """
    if policy == "none":
        return np.ones(len(sentence), dtype=np.bool_)
    if policy == "unicode":
        return np.array([not _is_punctuation(word) for word in sentence.words], dtype=np.bool_)
    check_choice("punctuation", policy, get_args(PunctuationPolicy))
    tagset, kind, punctuation = _BY_TAG[policy]
    if not (tags := sentence.tagged(tagset)):
        instead = "'upos', " if sentence.upos else ""
        raise InputError(
            f"{policy} needs {kind}, but {' '.join(sentence.words)[:40]!r} has none",
            key="punctuation",
            remedy=f"use {instead}'unicode' or 'none'",
        )
    return np.array([tag not in punctuation for tag in tags], dtype=np.bool_)


def unmatched_punctuation(examples: Sequence[Example], policy: PunctuationPolicy) -> str:
    """Return a warning if no tag marks punctuation under a policy by tags; otherwise ``""``."""
    if policy not in _BY_TAG:
        return ""
    sentences = [example.sentence for example in examples]
    tagset, kind, punctuation = _BY_TAG[policy]
    tags = {tag for sentence in sentences for tag in sentence.tagged(tagset)}
    if not tags or tags & punctuation:
        return ""
    words = sum(
        _is_punctuation(word) and not _PENN_OTHERWISE.issuperset(word)
        for sentence in sentences
        for word in sentence.words
    )
    if not words:
        return ""
    return (
        f"punctuation policy '{policy}' leaves out no word, though {words} words of these "
        f"sentences are punctuation: none of the {kind} is one of "
        f"{' '.join(sorted(punctuation))}; use 'unicode' or 'none'"
    )


def _is_punctuation(word: str) -> bool:
    return all(unicodedata.category(character).startswith("P") for character in word)


def attachment_sums(right_heads: Any, right_labels: Any, counted: Any) -> dict[str, Any]:
    """Compute the sums that define all attachment scores.

    Args:
        right_heads, right_labels: ``(batch, length)`` booleans, arrays or tensors: equal to gold.
        counted: ``(batch, length)`` booleans, false on padding and uncounted words.

    Returns:
        A scalar array or tensor for each name in `SUMS`.
    """
    heads = right_heads & counted
    labels = heads & right_labels
    scored = counted.any(1)
    sums = (
        counted.sum(),
        heads.sum(),
        labels.sum(),
        scored.sum(),
        ((heads == counted).all(1) & scored).sum(),
        ((labels == counted).all(1) & scored).sum(),
    )
    return dict(zip(SUMS, sums, strict=True))


def attachment_scores(sums: Mapping[str, Tensor | int]) -> dict[str, float]:
    """Compute the scores, in percent, of the given sums; NaN if nothing is counted."""
    return {
        name: percent(sums[part], sums[whole])
        for name, (part, whole) in _RATIOS.items()
        if part in sums
    }


def tree_sums(
    predicted: DependencyTree, gold: DependencyTree, counted: NDArray[np.bool_]
) -> dict[str, int]:
    """Compute `attachment_sums` of one parse; ``counted`` has one boolean per word."""
    heads = np.array(predicted.heads) == np.array(gold.heads)
    same = [p == g for p, g in zip(predicted.labels, gold.labels, strict=True)]
    sums = attachment_sums(heads[None], np.array(same, dtype=np.bool_)[None], counted[None])
    return {name: int(value) for name, value in sums.items()}


class AttachmentScore(Metric):
    """UAS, LAS, UCM and LCM in percent, from the sums of `attachment_sums`.

    Example:
        >>> score = AttachmentScore()
        >>> right = torch.tensor([[True, False]])
        >>> score.update(right, right, torch.tensor([[True, True]]))
        >>> score.compute()["uas"]
        50.0
    """

    full_state_update = False

    def __init__(self) -> None:
        super().__init__()
        for name in SUMS:
            self.add_state(name, torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, right_heads: Tensor, right_labels: Tensor, counted: Tensor) -> None:
        """Add sentences; arguments as in `attachment_sums`."""
        for name, value in attachment_sums(right_heads, right_labels, counted).items():
            setattr(self, name, getattr(self, name) + value)

    def compute(self) -> dict[str, float]:
        """Compute ``uas, las, ucm, lcm``, see `attachment_scores`."""
        return attachment_scores({name: getattr(self, name) for name in SUMS})


class Accuracy(Metric):
    """The share of texts with the right answer, in percent.

    Args:
        name: the name of the score.

    Example:
        >>> score = Accuracy()
        >>> score.update(torch.tensor([True, False]))
        >>> score.compute()
        {'accuracy': 50.0}
    """

    full_state_update = False
    counted: Tensor
    correct: Tensor

    def __init__(self, name: str = "accuracy") -> None:
        super().__init__()
        self.name = name
        for state in ("counted", "correct"):
            self.add_state(state, torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, right: Tensor) -> None:
        """Add texts: ``(batch,)`` booleans."""
        self.counted = self.counted + len(right)
        self.correct = self.correct + right.sum()

    def compute(self) -> dict[str, float]:
        """Compute the score; NaN without texts."""
        return {self.name: percent(self.correct, self.counted)}


def percent(part: Tensor | int, whole: Tensor | int) -> float:
    """Return 100 * part / whole; NaN if the whole is 0."""
    return 100.0 * float(part) / float(whole) if whole else float("nan")


def score_name(score: str) -> str:
    """Return a score's name for use within a sentence, such as LAS or strict F1."""
    words = score.split("_")
    return " ".join(word.upper() if len(word) <= 3 else word for word in words)


def score_label(score: str) -> str:
    """Return a score's name for headings: LAS for ``las``, Exact match for ``exact_match``."""
    name = score_name(score)
    return name[:1].upper() + name[1:]
