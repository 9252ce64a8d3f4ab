"""From words to one vector each: the base of every encoder.

An encoder is configured by plain data, gets its layers when the vocabulary is known, and splits
its work in two, so that deltas can be added in between: ``embed`` looks words up, ``forward``
reads the sentence.

An encoder of your own is a subclass in a module of yours, named by its class path; see
``docs/guides/own_parts.md``. It keeps every argument of its constructor as an attribute of
the same name, from which a checkpoint makes it again.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models.encoders.word_table import SEPARATOR, FormTable
from robustparse.types import Sentence


class Encoder(nn.Module, ABC):
    """Embeds words and reads sentences.

    A *unit* has an embedding of its own: a word or ROOT, or a sub-word piece.

    Attributes:
        dim: of the embeddings, to which deltas are added.
        form_dim: how many of these, from the front, depend on the form, not on the tag.
        out_dim: of the vectors that ``forward`` returns.
        reads_tags: whether part-of-speech tags are part of the input.
        contextual: whether vectors, ROOT's included, depend on all words of the text.
        separator: the word that stands between two texts which are read as one.
        limit: units of words that are read at once, ROOT's not counted; None reads any number.
    """

    dim: int
    form_dim: int
    out_dim: int
    reads_tags = False
    contextual = True
    separator = SEPARATOR
    limit: int | None = None

    @abstractmethod
    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers, whose sizes follow from the vocabulary."""

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore what ``build`` would read from files: ``saved`` is a checkpoint's arguments."""

    def differences(self, saved: Mapping[str, Any]) -> list[str]:
        """Name the files whose content gives the weights another meaning than a checkpoint's have.

        As in ``restore``, ``saved`` is the arguments of the checkpoint's encoder.
        """
        return []

    @abstractmethod
    def intern(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the row of each word, ``(words,)``, by which ``embed`` knows it.

        Rows 0 and 1 are padding and the unknown word.
        """

    def words_of(self, rows: Sequence[int]) -> list[str]:
        """Return the word of each row, the inverse of ``intern``; models that copy words need it.

        Raises:
            InputError: the encoder does not tell all words apart, as by default.
        """
        raise InputError(
            f"{type(self).__name__} does not tell which word a row stands for",
            key="encoder",
            expected="an encoder that defines words_of",
            remedy="choose another encoder, or do not copy words",
        )

    def intern_tags(self, tags: Sequence[str]) -> NDArray[np.int32]:
        """Return the id of each tag, ``(tags,)``; zeros unless tags are read."""
        return np.zeros(len(tags), dtype=np.int32)

    def check(self, sentence: Sentence) -> None:
        """Refuse a sentence that this encoder cannot read.

        Raises:
            InputError: names the obstacle.
        """
        tags, words = len(sentence.tags), len(sentence)
        if self.reads_tags and tags != words:
            raise InputError(
                f"the model reads part-of-speech tags, and the sentence has {tags} for {words} "
                "words",
                expected="one a word in column 5 (or 4) of the file, or Sentence(words, xpos=...)",
            )

    def warnings(self, sentences: Iterable[Sentence]) -> list[str]:
        """List doubts about sentences that can be read, as where none of their tags is known."""
        return []

    def embedded(self, words: Sequence[str]) -> NDArray[np.bool_] | None:
        """Tell which words have an embedding of their own, ``(words,)``; None if no word has."""
        return None

    @abstractmethod
    def embed(self, words: Tensor, tags: Tensor) -> Tensor:
        """Rows ``(batch, length)`` and tag ids -> embeddings ``(batch, units, dim)``.

        ROOT comes first; ``forward`` ignores the embeddings of padding.
        """

    @abstractmethod
    def forward(self, embeddings: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """``(batch, units, dim)`` -> ``(batch, 1 + length, out_dim)``; dropout is in here.

        Args:
            embeddings: the result of ``embed``, plus a delta where there is one.
            words: the rows given to ``embed``, ``(batch, length)``.
            lengths: ``(batch,)`` words a sentence, ROOT not counted.
        """

    def unit_words(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Return the word of each unit, ``(batch, units)``, counted from 1; 0 for none."""
        places = torch.arange(1 + words.shape[1], device=words.device)
        return places * (places <= lengths[:, None])

    def units(self, words: Tensor) -> Tensor:
        """Return how many units each word has, of any shape; 0 on padding."""
        return (words > 0).long()

    def delta_mask(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Mark the units of words, ``(batch, units)`` booleans: only there may a delta stand."""
        return self.unit_words(words, lengths) > 0

    def pretrained_parameters(self) -> list[nn.Parameter]:
        """Return the parameters that learn at the ``pretrained_learning_rate``."""
        return []


class TableEncoder(Encoder):
    """An encoder whose rows are those of a ``table`` of word forms, which ``build`` makes."""

    table: FormTable

    def intern(self, words: Sequence[str]) -> NDArray[np.int32]:
        """See ``Encoder.intern``."""
        return self.table.intern(words)

    def words_of(self, rows: Sequence[int]) -> list[str]:
        """See ``Encoder.words_of``."""
        return self.table.words_of(rows)


def ends(states: Tensor, lengths: Tensor) -> Tensor:
    """Join the vectors of ROOT and of the last word, for the first state of a decoder.

    The last states of a bidirectional LSTM, in both directions, are among these numbers.

    Args:
        states: ``(batch, 1 + length, dim)``.
        lengths: ``(batch,)`` words a text.

    Returns:
        ``(batch, 2 * dim)``.
    """
    rows = torch.arange(len(states), device=states.device)
    return torch.cat([states[:, 0], states[rows, lengths]], dim=-1)
