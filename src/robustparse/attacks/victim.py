"""Protocols for the model under attack, so that attacks do not depend on model classes.

A victim's predictions for n texts are arrays of n rows. Only the victim and the goal know their
columns: one per word for answers about words, one per class for a classifier's probabilities.
"""

from collections.abc import Collection, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from robustparse.data.reading import Reading
from robustparse.types import Example, Floats, Ids, Mask, Predictions, Sentence, TextRows

Loss = Literal["margin", "cross_entropy"]
"""The loss that white-box attacks raise: `margin` is -F of Zheng et al. 2020, equation 4, on the
victim's scores for each word; `cross_entropy` is the training loss."""


Scores = Literal["probabilities", "none"]
"""What a victim's answers say about how sure it is; with `none`, scores are 0 or 1."""


def joined(batches: Sequence[Predictions]) -> Predictions:
    """Concatenate the predictions of one or more batches."""
    if len(batches) == 1:
        return batches[0]
    return tuple(map(np.concatenate, zip(*batches, strict=True)))


def labels_of(predictions: Predictions) -> Ids:
    """Return the label ids of a classifier's predictions, `(n,)`.

    These are its second array if there is one, otherwise its most probable labels; ties go to the
    lower id.
    """
    probabilities, *labels = predictions
    return labels[0] if labels else probabilities.argmax(axis=1)


class Victim(Protocol):
    """A model under attack.

    It numbers word forms in a table that grows as needed; a row is the number of one form.
    """

    @property
    def unknown(self) -> int:
        """The row of the unknown word."""

    @property
    def batch_words(self) -> int:
        """Padded words per forward pass that suit the victim's device."""

    @property
    def training_tags(self) -> Mapping[str, Mapping[str, str]]:
        """Map each tagset (`upos`, `xpos`) to {word: most frequent tag} for lower-cased words seen
        at least twice in training, most frequent word first.
        """

    @property
    def training_words(self) -> Set[str]:
        """Lower-cased words seen at least twice in training, tagged or not, in a fixed order."""

    def intern(self, words: Sequence[str]) -> Ids:
        """Rows of the words, `(len(words),)`."""

    def intern_marks(self, marks: Sequence[str]) -> Ids:
        """Ids of marks (`Sentence.marks`), `(len(marks),)`: tags of the original sentence, or
        contexts.
        """

    def name_ids(self, names: Sequence[str]) -> Ids:
        """Ids of label names or forms in its answers, `(len(names),)`; -1 for unknown ones."""

    def answers(self, predictions: Predictions, lengths: Sequence[int]) -> list[Any]:
        """Convert predictions to answers of the task's type, the type of gold answers.

        Args:
            predictions: for n texts, as `predict` returns them.
            lengths: words of each text, `(n,)`.
        """

    def predict(self, texts: TextRows) -> Predictions:
        """Predict n texts in one forward pass.

        Returns:
            One or more arrays of n rows. In arrays with a column per word, `(n, length)`, values
            beyond a text's length are undefined. A classifier returns the probabilities of its
            classes, `float64 (n, classes)`, optionally followed by its labels, see `labels_of`.
        """

    def evaluating(self) -> AbstractContextManager[None]:
        """Enter evaluation mode without gradients; on exit restore the previous mode."""


@runtime_checkable
class CalledVictim(Victim, Protocol):
    """A victim that takes a limited number of texts per call, such as a web service.

    Each forward pass is one call, so that an interruption loses the answers of one call at most.
    """

    @property
    def batch_texts(self) -> int:
        """Maximum texts per call."""


@runtime_checkable
class ScoringVictim(Victim, Protocol):
    """A victim that declares whether its answers have probabilities; others have them."""

    @property
    def scores(self) -> Scores:
        """`none` if it answers labels or forms only."""


@runtime_checkable
class CountingVictim(Victim, Protocol):
    """A victim that counts what it does, such as the requests that it sends."""

    def counts(self) -> dict[str, int]:
        """Return all counts since it was made."""


def counts_of(victim: Victim) -> dict[str, int]:
    """Return the counts of a victim; empty if it does not count."""
    return victim.counts() if isinstance(victim, CountingVictim) else {}


@runtime_checkable
class ReadingVictim(Victim, Protocol):
    """A victim whose input words may differ from those of the text that is reworded."""

    def reading(self, example: Example) -> Reading:
        """Return the text to reword and the words that the victim reads for it."""


@runtime_checkable
class LexicalVictim(Victim, Protocol):
    """A victim that can tell which words it knows."""

    def embedded(self, words: Sequence[str]) -> Mask | None:
        """Tell which words have their own embedding, `(words,)`; None if no word has one."""

    def seen_in_training(self, words: Sequence[str]) -> Mask:
        """Tell which words occurred in training, ignoring case, `(words,)`."""


@runtime_checkable
class MorphologicalVictim(Victim, Protocol):
    """A victim that knows the morphological features of its training words."""

    @property
    def training_features(self) -> Mapping[str, Collection[tuple[str, str]]]:
        """Map lower-cased words seen at least twice in training to their analyses there, pairs of
        universal tag and features (`Sentence.feats`). Empty if training had no features.
        """


class Reference(Protocol):
    """Another model for the victim's task that judges changed sentences."""

    def check(self, examples: Sequence[Example]) -> None:
        """Reject sentences that it cannot read.

        Raises:
            InputError: names the first such sentence, counted from 1.
        """

    def answers(self, sentences: Sequence[Sentence]) -> list[Any]:
        """Predict sentences, each independently of the others."""

    def agrees(self, before: Any, after: Any, apart: Collection[int]) -> bool:
        """Tell whether two answers are equal, ignoring the words at positions `apart` (from 0)."""


@runtime_checkable
class ReferringVictim(Victim, Protocol):
    """A victim that can open other models for its task."""

    def reference(self, checkpoint: str) -> Reference:
        """Open another model.

        Raises:
            InputError: there is no checkpoint at this path.
        """

    def check_reference(self, reference: Any, others: Sequence[Any]) -> None:
        """Reject a reference that cannot judge the victim's sentences, or that equals the victim or
        another reference.

        Raises:
            InputError: names its path.
        """


@runtime_checkable
class DifferentiableVictim(Victim, Protocol):
    """A victim that gives white-box attacks its gradients."""

    def gradient(
        self, texts: TextRows, gold: Sequence[Any], loss: Loss, among: Sequence[Mask]
    ) -> tuple[Floats, Floats, Floats]:
        """Compute the gradients of n texts' losses at the embeddings of their words, not of marks.

        Args:
            texts: the texts.
            gold: what the goal compares the predictions with, one per text (`Goal.gold`).
            loss: which loss.
            among: for each text, the words that enter the loss, `(words,)`. A classifier has one
                loss per text and ignores it.

        Returns:
            The gradients and the embeddings, both `(n, length, dim)`, and the L2 norms of the
            gradients, `(n, length)`. A word of several pieces has the sum of their gradients (the
            derivative for a common shift), the mean of their embeddings, and the norm over all
            their gradients. Values beyond a text's length are undefined.

        Raises:
            InputError: the victim has no such loss.
        """

    def vectors(self, rows: Ids) -> Floats:
        """Return the embeddings of words as in `gradient`, `(rows, dim)`."""


@runtime_checkable
class MeasuredVictim(DifferentiableVictim, Protocol):
    """A victim that also returns the losses behind its gradients."""

    def followed(
        self, texts: TextRows, gold: Sequence[Any], loss: Loss, among: Sequence[Mask]
    ) -> Floats:
        """Return the losses of n texts, `(n,)`; the arguments are those of `gradient`."""


@runtime_checkable
class CharacterVictim(DifferentiableVictim, Protocol):
    """A victim that reads characters and gives white-box attacks their gradients, too."""

    def character_gradient(self, words: Ids, gradients: Floats) -> tuple[Floats, Floats]:
        """Compute the gradients at the embeddings of the characters.

        Args:
            words: rows, `(n, length)`, 0 beyond a text's length.
            gradients: as returned by `gradient`, `(n, length, dim)`.

        Returns:
            The gradients and the embeddings, both `(n, length, characters, dim)`; gradients are 0
            beyond a word's last character.

        Raises:
            InputError: the victim does not read characters.
        """

    def character_vectors(self, rows: Ids) -> Floats:
        """Return the embeddings of the characters of words, `(rows, characters, dim)`.

        They are zero beyond a word's last character and for characters unknown to the victim.
        """
