"""What an attack asks of the model it attacks: a protocol, so that attacks know no model.

A victim's predictions for n texts are arrays of n rows. Only the victim and the goal that judges
them know their columns: answers for each word, one column a word, or the probabilities of a
classifier, one column a class.
"""

from collections.abc import Collection, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from robustparse.data.reading import Reading
from robustparse.types import Example, Floats, Ids, Mask, Predictions, Sentence

Loss = Literal["margin", "cross_entropy"]
"""What white-box attacks raise: `margin` is -F of Zheng et al. 2020, equation 4, on the scores of
what it says of each word; `cross_entropy` is the loss the victim was trained with."""


def joined(parts: Sequence[Predictions]) -> Predictions:
    """Return the predictions of all parts, in their order; there is one part at least."""
    if len(parts) == 1:
        return parts[0]
    return tuple(map(np.concatenate, zip(*parts, strict=True)))


def labels_of(predictions: Predictions) -> Ids:
    """Return the labels that a classifier answers, `(n,)`.

    They are its second array, where it has one; else its most probable labels, on ties the one with
    the lower id.
    """
    probabilities, *labels = predictions
    return labels[0] if labels else probabilities.argmax(axis=1)


class Victim(Protocol):
    """A model under attack.

    It numbers words in a growing table of its own: a row is what it needs of one word form.
    """

    @property
    def unknown(self) -> int:
        """The row that stands for the unknown word."""

    @property
    def batch_words(self) -> int:
        """Padded words of a forward pass that suit it where it runs."""

    @property
    def training_tags(self) -> Mapping[str, Mapping[str, str]]:
        """Of each tagset (`upos`, `xpos`), lower-cased words seen twice or more in training and
        their most frequent tag, the most frequent word first.
        """

    @property
    def training_words(self) -> Set[str]:
        """Lower-cased words seen twice or more in training, tagged or not, in a fixed order."""

    def intern(self, words: Sequence[str]) -> Ids:
        """Rows of the words, `(len(words),)`."""

    def intern_marks(self, marks: Sequence[str]) -> Ids:
        """Ids of marks (`Sentence.marks`), `(len(marks),)`: tags of the original sentence, or
        contexts.
        """

    def name_ids(self, names: Sequence[str]) -> Ids:
        """Ids of the names that its answers are made of, `(len(names),)`; -1: never learnt."""

    def answers(self, predictions: Predictions, lengths: Sequence[int]) -> list[Any]:
        """Turn predictions into answers of the task's type, such as gold answers are.

        Args:
            predictions: for n texts, as `predict` makes them.
            lengths: words of each text, `(n,)`.
        """

    def predict(self, words: Ids, marks: Ids, lengths: Ids) -> Predictions:
        """Read n texts in one forward pass.

        Args:
            words: rows, `(n, length)`, 0 beyond a text's length.
            marks: ids of marks, `(n, length)`, 0 beyond a text's length.
            lengths: words of each text, `(n,)`.

        Returns:
            One array of n rows or several. With a column a word, `(n, length)`, what stands beyond
            a text's length is undefined. A classifier gives the probabilities of its classes,
            `float64 (n, classes)`, and nothing else, or then its labels, see `labels_of`.
        """

    def evaluating(self) -> AbstractContextManager[None]:
        """Return evaluation mode without gradients; on exit the victim is as it was found."""


@runtime_checkable
class CalledVictim(Victim, Protocol):
    """A victim that is called with a limited number of texts, such as a service.

    A forward pass is a call, so that no more answers are lost than those of a call.
    """

    @property
    def batch_texts(self) -> int:
        """Texts of a call, at most."""


@runtime_checkable
class ReadingVictim(Victim, Protocol):
    """A victim that may read other words than those of the texts that are reworded."""

    def reading(self, example: Example) -> Reading:
        """Return which text of an example is reworded, and what the victim reads of it."""


@runtime_checkable
class LexicalVictim(Victim, Protocol):
    """A victim that tells which words it knows."""

    def embedded(self, words: Sequence[str]) -> Mask | None:
        """Which words have an embedding of their own, `(words,)`; None if no word has one."""

    def seen_in_training(self, words: Sequence[str]) -> Mask:
        """Which words it learnt from in training, in whatever casing, `(words,)`."""


@runtime_checkable
class MorphologicalVictim(Victim, Protocol):
    """A victim that knows the morphological features of its training words."""

    @property
    def training_features(self) -> Mapping[str, Collection[tuple[str, str]]]:
        """Lower-cased words seen twice or more in training, and their analyses there: pairs of a
        universal tag and features (`Sentence.feats`). Empty where training had no features.
        """


class Reference(Protocol):
    """Another model of the victim's task, consulted about changed sentences."""

    def check(self, examples: Sequence[Example]) -> None:
        """Refuse sentences that it cannot read.

        Raises:
            InputError: names the first such sentence, counted from 1.
        """

    def answers(self, sentences: Sequence[Sentence]) -> list[Any]:
        """Answer sentences, each independently of the others."""

    def agrees(self, before: Any, after: Any, apart: Collection[int]) -> bool:
        """Tell whether two answers are the same outside the words `apart`, which count from 0."""


@runtime_checkable
class ReferringVictim(Victim, Protocol):
    """A victim that opens other models of its kind."""

    def reference(self, checkpoint: str) -> Reference:
        """Open another model.

        Raises:
            InputError: there is none at this path.
        """

    def check_reference(self, reference: Any, others: Sequence[Any]) -> None:
        """Refuse a model that cannot judge the victim's sentences, is the victim itself, or one of
        other references.

        Raises:
            InputError: names its path.
        """


@runtime_checkable
class DifferentiableVictim(Victim, Protocol):
    """A victim that white-box attacks see into."""

    def gradient(
        self,
        words: Ids,
        marks: Ids,
        lengths: Ids,
        gold: Sequence[Any],
        loss: Loss,
        among: Sequence[Mask],
    ) -> tuple[Floats, Floats, Floats]:
        """Gradients of n texts' losses towards the embeddings of their words, marks left out.

        Args:
            words: rows, `(n, length)`, 0 beyond a text's length.
            marks: ids of marks, `(n, length)`.
            lengths: words of each text, `(n,)`.
            gold: what the goal compares the predictions with, one a text (`Goal.gold`).
            loss: which loss.
            among: of each text, the words that enter the loss, `(words,)`; a classifier has one
                loss a text and takes no notice.

        Returns:
            The gradients and the embeddings, both `(n, length, dim)`, and the L2 norms of the
            gradients, `(n, length)`. Of a word in pieces: the sum of their gradients (towards a
            shift of them all), the mean of their embeddings, the norm over all their gradients.
            What stands beyond a text's length is undefined.

        Raises:
            InputError: the victim has no such loss.
        """

    def vectors(self, rows: Ids) -> Floats:
        """Embeddings of words as `gradient` gives them, `(rows, dim)`."""


@runtime_checkable
class MeasuredVictim(DifferentiableVictim, Protocol):
    """A victim that also tells the losses whose gradients it gives."""

    def followed(
        self,
        words: Ids,
        marks: Ids,
        lengths: Ids,
        gold: Sequence[Any],
        loss: Loss,
        among: Sequence[Mask],
    ) -> Floats:
        """Return the losses of n texts, `(n,)`; the arguments are those of `gradient`."""


@runtime_checkable
class CharacterVictim(DifferentiableVictim, Protocol):
    """A victim that reads characters, and lets white-box attacks see them too."""

    def character_gradient(self, words: Ids, gradients: Floats) -> tuple[Floats, Floats]:
        """Gradients towards the embeddings of the characters.

        Args:
            words: rows, `(n, length)`, 0 beyond a text's length.
            gradients: as `gradient` gave them, `(n, length, dim)`.

        Returns:
            The gradients and the embeddings, both `(n, length, characters, dim)`; gradients are 0
            beyond a word's last character.

        Raises:
            InputError: the victim reads no characters.
        """

    def character_vectors(self, rows: Ids) -> Floats:
        """Embeddings of the characters of words, `(rows, characters, dim)`.

        Zeros stand beyond a word's last character and for a character unknown to the victim.
        """
