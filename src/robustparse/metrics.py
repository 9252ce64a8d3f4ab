"""Attachment scores: sums only, so that any sharding of the sentences gives the same figure.

UAS and LAS are the shares of counted words with the right head, and the right head and label; UCM
and LCM the shares of sentences in which every counted word has them (Kübler et al. 2009, 6.1), of
those in which a word counts at all.
"""

import unicodedata
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torchmetrics import Metric

from robustparse.errors import InputError, check_choice
from robustparse.types import DependencyTree, Example, Sentence

PunctuationPolicy = Literal["none", "penn", "unicode"]

# The tags that Wang et al. 2021 and the Penn Treebank's evaluations leave out.
PENN_PUNCTUATION = frozenset({".", "``", "''", ":", ","})
# Characters of Unicode's categories P that Penn tags otherwise, if not always.
_PENN_OTHERWISE = frozenset("%&#@*/\\()[]{}-_'")


def counted_words(sentence: Sentence, policy: PunctuationPolicy = "none") -> NDArray[np.bool_]:
    """Which words of the original sentence count in its scores.

    Args:
        sentence: the original sentence wherever it is known: of a perturbed one, ``unicode`` judges
            the forms that were put in.
        policy: ``none`` counts every word (the habit for Universal Dependencies), ``penn`` leaves
            out words tagged as Penn punctuation, ``unicode`` leaves out words whose characters all
            have a Unicode category P (SuPar, Zheng et al. 2020).

    Returns:
        Booleans of shape ``(words,)``.

    Raises:
        InputError: the policy needs Penn tags and the sentence has none.
    """
    if policy == "none":
        return np.ones(len(sentence), dtype=np.bool_)
    if policy == "unicode":
        return np.array([not _is_punctuation(word) for word in sentence.words], dtype=np.bool_)
    check_choice("punctuation", policy, get_args(PunctuationPolicy))
    if not sentence.xpos:
        raise InputError(
            "punctuation policy 'penn' needs Penn tags in column 5, and the sentence "
            f"{' '.join(sentence.words)[:40]!r} has none; use 'unicode' or 'none'"
        )
    return np.array([tag not in PENN_PUNCTUATION for tag in sentence.xpos], dtype=np.bool_)


def unmatched_punctuation(examples: Sequence[Example], policy: PunctuationPolicy) -> str:
    """Return a remark where Penn tags are to tell punctuation and tell none; otherwise empty.

    Args:
        examples: the sentences of a file, each with tags where the policy needs them.
        policy: see ``counted_words``.
    """
    sentences = [example.sentence for example in examples]
    tags = {tag for sentence in sentences for tag in sentence.xpos} if policy == "penn" else set()
    if not tags or tags & PENN_PUNCTUATION:
        return ""
    words = sum(
        _is_punctuation(word) and not _PENN_OTHERWISE.issuperset(word)
        for sentence in sentences
        for word in sentence.words
    )
    if not words:
        return ""
    return (
        f"punctuation policy 'penn' leaves out no word, though {words} words of these sentences "
        f"are punctuation: no tag in column 5 is one of {' '.join(sorted(PENN_PUNCTUATION))}; use "
        "'unicode' or 'none'"
    )


def _is_punctuation(word: str) -> bool:
    return all(unicodedata.category(character).startswith("P") for character in word)


def right_words(
    predicted: DependencyTree, gold: DependencyTree
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which words have the right head, and which the right label, ``(words,)`` each."""
    same = [p == g for p, g in zip(predicted.labels, gold.labels, strict=True)]
    return np.array(predicted.heads) == np.array(gold.heads), np.array(same, dtype=np.bool_)


def count_correct(
    predicted: DependencyTree, gold: DependencyTree, counted: NDArray[np.bool_]
) -> tuple[int, int]:
    """Return the number of counted words with the right head, and with the right head and label."""
    heads, labels = right_words(predicted, gold)
    return int((heads & counted).sum()), int((heads & labels & counted).sum())


class AttachmentScore(Metric):
    """UAS, LAS, UCM and LCM in percent, from six sums.

    Example:
        >>> score = AttachmentScore()
        >>> right = torch.tensor([[True, False]])
        >>> score.update(right, right, torch.tensor([[True, True]]))
        >>> score.compute()["uas"]
        50.0
    """

    full_state_update = False
    heads: Tensor
    labels: Tensor
    words: Tensor
    heads_complete: Tensor
    labels_complete: Tensor
    sentences: Tensor

    def __init__(self) -> None:
        super().__init__()
        names = ("heads", "labels", "words", "heads_complete", "labels_complete", "sentences")
        for name in names:
            self.add_state(name, torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, right_heads: Tensor, right_labels: Tensor, counted: Tensor) -> None:
        """Add sentences.

        Args:
            right_heads: ``(batch, length)`` booleans, the head is the gold one.
            right_labels: ``(batch, length)`` booleans, the label is the gold one.
            counted: ``(batch, length)`` booleans, false on padding and uncounted words.
        """
        heads = right_heads & counted
        labels = heads & right_labels
        self.heads += heads.sum()
        self.labels += labels.sum()
        self.words += counted.sum()
        scored = counted.any(1)
        self.heads_complete += ((heads == counted).all(1) & scored).sum()
        self.labels_complete += ((labels == counted).all(1) & scored).sum()
        self.sentences += scored.sum()

    def compute(self) -> dict[str, float]:
        """``uas, las, ucm, lcm`` in percent; not a number where nothing was counted."""
        return {
            "uas": percent(self.heads, self.words),
            "las": percent(self.labels, self.words),
            "ucm": percent(self.heads_complete, self.sentences),
            "lcm": percent(self.labels_complete, self.sentences),
        }


def percent(part: Tensor | int, whole: Tensor | int) -> float:
    """100 * part / whole; not a number where the whole is 0."""
    return 100.0 * float(part) / float(whole) if whole else float("nan")
