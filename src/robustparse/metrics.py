"""Attachment scores and exact match, computed from sums, so that sharding does not change them.

UAS is the fraction of counted words with the right head, LAS with the right head and label. UCM and
LCM are the fractions of sentences in which this holds for every counted word (Kübler et al. 2009,
6.1), among sentences with at least one counted word.
"""

import operator
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torchmetrics import Metric

from robustparse.errors import InputError, check_choice
from robustparse.tagsets import Tagset
from robustparse.types import DependencyTree, Example, Sentence

PunctuationPolicy = Literal["none", "penn", "unicode", "upos"]
AttachmentName = Literal["uas", "las", "ucm", "lcm"]

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


class _Score(Metric):
    """The base of scores in percent that are ratios of ``sums``, which add up over processes."""

    full_state_update = False
    higher_is_better = True
    is_differentiable = False
    plot_lower_bound = 0.0
    plot_upper_bound = 100.0
    sums: ClassVar[tuple[str, ...]]

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name in self.sums:
            self.add_state(name, torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw a score by Matplotlib.

        Args:
            val: what ``compute`` or ``forward`` returned, or a list of such values over time; None:
                what ``compute`` returns.
            ax: the axes to draw on; None makes a new figure.

        Returns:
            The figure, None if ``ax`` is given, and the axes.
        """
        return self._plot(val, ax)

    def _add(self, sums: Mapping[str, Any]) -> None:
        for name, value in sums.items():
            setattr(self, name, getattr(self, name) + value)

    def _value(self, score: float) -> Tensor:
        return torch.tensor(score, device=self.device)


class AttachmentScore(_Score):
    """UAS, LAS, UCM and LCM of dependency trees, in percent; NaN if no word counts.

    Args:
        score: the score to compute, ``uas``, ``las``, ``ucm`` or ``lcm``; None: all, by name.
        settings: as in ``torchmetrics.Metric``.

    Raises:
        InputError: there is no score of that name.

    Example:
        >>> heads, labels = torch.tensor([[2, 0, 2]]), torch.tensor([[4, 0, 1]])
        >>> las = AttachmentScore("las")
        >>> las.update((torch.tensor([[2, 0, 1]]), labels), (heads, labels))
        >>> round(las.compute().item(), 2)
        66.67
    """

    sums = SUMS

    def __init__(self, score: AttachmentName | None = None, **settings: Any) -> None:
        super().__init__(**settings)
        if score is not None:
            check_choice("AttachmentScore: score", score, _RATIOS)
        self.score = score

    def update(self, preds: Any, target: Any, mask: Any = None) -> None:
        """Add sentences.

        Args:
            preds: ``(heads, labels)``, integers of shape ``(batch, length)``, where head 0 is ROOT;
                for ``uas`` and ``ucm``, ``heads`` suffice. Or a list of `DependencyTree`.
            target: the gold trees, in the same form.
            mask: the words that count, ``(batch, length)``; None: those whose gold head is not
                negative. With lists, booleans for each tree, such as from `counted_words`; None:
                all words.

        Raises:
            InputError: the shapes differ, trees have different lengths, labels are missing, or
                there are neither tensors nor trees.
        """
        if isinstance(preds, Tensor) or (len(preds) == 2 and isinstance(preds[0], Tensor)):
            heads, labels = self._heads_and_labels(preds)
            gold_heads, gold_labels = self._heads_and_labels(target)
            counted = _mask(gold_heads >= 0, mask)
            _check_same([heads, gold_heads, labels, gold_labels, counted], "AttachmentScore")
            if heads.is_floating_point() or heads.ndim != 2:
                problem = f"got {heads.dtype} of the shape {tuple(heads.shape)}"
                raise InputError(
                    problem, key="AttachmentScore", expected="integers, (batch, length)"
                )
            self._add(attachment_sums(heads == gold_heads, labels == gold_labels, counted))
            return
        if other := [each for each in (*preds, *target) if not isinstance(each, DependencyTree)]:
            expected = "two tensors, heads and labels, or a list of DependencyTree"
            raise InputError(f"got {other[0]!r:.60}", key="AttachmentScore", expected=expected)
        masks = [np.ones(len(tree.heads), np.bool_) for tree in target] if mask is None else mask
        _check_same([preds, target, masks], "AttachmentScore")
        for predicted, gold, counts in zip(preds, target, masks, strict=True):
            _check_same([predicted.heads, gold.heads, counts], "AttachmentScore")
            self._add(tree_sums(predicted, gold, np.asarray(counts, dtype=np.bool_)))

    def _heads_and_labels(self, trees: Any) -> tuple[Tensor, Tensor]:
        if not isinstance(trees, Tensor):
            return trees[0], trees[1]
        if self.score in ("uas", "ucm"):
            return trees, trees
        raise InputError(
            "got heads without labels",
            key="AttachmentScore",
            remedy='pass (heads, labels), or ask for AttachmentScore("uas")',
        )

    def compute(self) -> Any:
        """Compute the score, or a dictionary of all four."""
        scores = attachment_scores({name: getattr(self, name) for name in SUMS})
        values = {name: self._value(score) for name, score in scores.items()}
        return values if self.score is None else values[self.score]


class ExactMatch(_Score):
    """The share of texts whose whole answer is right, in percent; NaN without texts.

    For answers of one label this is the accuracy. A ``MetricCollection`` with several ``equal``
    needs ``compute_groups=False``: torchmetrics would merge those that agree on the first batch.

    Args:
        equal: tells whether a predicted and a gold answer, in this order, are the same; used for
            lists of answers. For logical forms, ``partial(exact_match, language="lambda")`` with
            `robustparse.grammars.exact_match`.
        settings: as in ``torchmetrics.Metric``.

    Example:
        >>> score = ExactMatch()
        >>> score.update(torch.tensor([[3, 1], [2, 0]]), torch.tensor([[3, 1], [2, 2]]))
        >>> score.update(["answer ( x )"], ["answer ( x )"])
        >>> round(score.compute().item(), 2)
        66.67
    """

    sums = ("counted", "correct")
    counted: Tensor
    correct: Tensor

    def __init__(self, equal: Callable[[Any, Any], Any] = operator.eq, **settings: Any) -> None:
        super().__init__(**settings)
        self.equal = equal

    def update(self, preds: Any, target: Any, mask: Any = None) -> None:
        """Add texts.

        Args:
            preds: integers, ``(batch,)`` or ``(batch, length)``; or scores of classes,
                ``(batch, classes)`` or ``(batch, classes, length)``, of which the largest counts.
                Or a list of answers of any kind.
            target: integers, ``(batch,)`` or ``(batch, length)``; or a list of answers.
            mask: for tensors, the positions that count, in the shape of ``target``; a text without
                any is left out. None: all positions.

        Raises:
            InputError: shapes or lengths differ, predictions are neither integers nor scores of
                classes, or lists have a mask.
        """
        owner = type(self).__name__
        if not _are_tensors(preds, target, mask, owner):
            _check_same([preds, target], owner)
            self._add_texts(map(self.equal, preds, target))
            return
        if preds.is_floating_point() and preds.ndim == target.ndim + 1:
            preds = preds.argmax(1)
        counted = _mask(torch.ones_like(target, dtype=torch.bool), mask)
        _check_same([preds, target, counted], owner)
        if preds.is_floating_point():
            expected = "integers, or scores of classes, with one more dimension than the target"
            raise InputError(f"got {preds.dtype}", key=f"{owner}: preds", expected=expected)
        right = (preds == target) | ~counted
        right, counted = (each.unsqueeze(-1).flatten(1) for each in (right, counted))
        right = right.all(1)[counted.any(1)]
        self._add({"counted": len(right), "correct": right.sum()})

    def _add_texts(self, right: Iterable[Any]) -> None:
        answers = list(map(bool, right))
        self._add({"counted": len(answers), "correct": sum(answers)})

    def compute(self) -> Tensor:
        """Compute the score, ``()``."""
        return self._value(percent(self.correct, self.counted))


class RobustAccuracy(ExactMatch):
    """The share of texts that are answered correctly in every version, clean and adversarial.

    In percent; NaN without texts. Each text is added once, together with all its versions.

    Args:
        equal: as in `ExactMatch`.
        settings: as in ``torchmetrics.Metric``.

    Example:
        >>> score = RobustAccuracy()
        >>> score.update(torch.tensor([[1, 1, 1], [0, 0, 1]]), torch.tensor([1, 0]))
        >>> score.compute().item()
        50.0
    """

    def update(self, preds: Any, target: Any, mask: Any = None) -> None:
        """Add texts.

        Args:
            preds: labels, ``(batch, versions)``, that of the clean text first; or scores of
                classes, ``(batch, classes, versions)``. Or for each text a list of answers.
            target: gold labels, ``(batch,)``; or a list of answers.
            mask: for tensors, the versions that exist, ``(batch, versions)``; None: all.

        Raises:
            InputError: as in `ExactMatch`, or a text has no list of answers, or an empty one.
        """
        if _are_tensors(preds, target, mask, "RobustAccuracy"):
            if target.ndim != 1 or preds.ndim != (3 if preds.is_floating_point() else 2):
                sizes = f"{tuple(preds.shape)} and {tuple(target.shape)}"
                expected = "labels, (batch, versions), or scores, (batch, classes, versions); and "
                expected += "gold labels, (batch,)"
                raise InputError(f"got {sizes}", key="RobustAccuracy", expected=expected)
            versions = target.unsqueeze(-1).expand(-1, preds.shape[-1])
            super().update(preds, versions, mask)
            return
        _check_same([preds, target], "RobustAccuracy")
        if any(isinstance(answers, str) or not len(answers) for answers in preds):
            expected = "a list of answers for each text, that to the clean text first"
            raise InputError(f"got {preds!r:.60}", key="RobustAccuracy: preds", expected=expected)
        pairs = zip(preds, target, strict=True)
        self._add_texts(all(self.equal(each, gold) for each in answers) for answers, gold in pairs)


def _mask(default: Tensor, given: Any) -> Tensor:
    """Return a mask that the user gives, also as a list or an array; if none, the default."""
    return default if given is None else torch.as_tensor(given, device=default.device).bool()


def _are_tensors(preds: Any, target: Any, mask: Any, owner: str) -> bool:
    """Tell whether predictions and targets are tensors.

    Raises:
        InputError: only one of them is, one is a single string, or lists have a mask.
    """
    if mask is not None and not isinstance(preds, Tensor):
        raise InputError("got a mask for lists", key=owner, remedy="leave out what does not count")
    single = isinstance(preds, str) or isinstance(target, str)
    if single or isinstance(preds, Tensor) != isinstance(target, Tensor):
        kinds = f"{type(preds).__name__} and {type(target).__name__}"
        raise InputError(f"got {kinds}", key=owner, expected="two tensors, or two lists")
    return isinstance(preds, Tensor)


def _check_same(parts: Sequence[Any], owner: str) -> None:
    """Reject tensors of different shapes, or sequences of different lengths.

    Raises:
        InputError: names the shapes or lengths.
    """
    tensors = all(isinstance(part, Tensor) for part in parts)
    sizes = [tuple(part.shape) if tensors else len(part) for part in parts]
    if len(set(sizes)) > 1:
        problem = f"got predictions and targets of different sizes, {', '.join(map(str, sizes))}"
        raise InputError(problem, key=owner, expected="equal shapes, or lists of equal lengths")


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
