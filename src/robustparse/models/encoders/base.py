"""The base class of encoders, which map words to one vector each.

An encoder is configured by plain data and gets its layers when the vocabulary is known. It works in
two steps, so that deltas can be added in between: ``embed`` looks up words, ``forward`` reads the
sentence.

A custom encoder is a subclass in your own module, named by its class path; see
``docs/guides/own_parts.md``. It must keep every argument of its constructor as an attribute of the
same name, from which it is made again when a checkpoint is loaded.
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

    A *unit* is whatever has its own embedding: a word, ROOT, or a sub-word piece.

    Attributes:
        dim: size of the embeddings, to which deltas are added.
        form_dim: how many of these dimensions, the first ones, depend on the form and not the tag.
        out_dim: size of the vectors that ``forward`` returns.
        reads_tags: whether part-of-speech tags are part of the input.
        contextual: whether vectors, including ROOT's, depend on all words of the text.
        separator: the word between two texts that are read as one.
        limit: maximum units of words that are read at once, without ROOT; None: no maximum.
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
        """Make the layers, whose sizes depend on the vocabulary."""

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take from a checkpoint's arguments what ``build`` would otherwise read from files."""

    def differences(self, saved: Mapping[str, Any]) -> list[str]:
        """Name the files that differ from those of a checkpoint, so that its weights do not fit.

        ``saved`` are the arguments of the checkpoint's encoder.
        """
        return []

    @abstractmethod
    def intern(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the row of each word, ``(words,)``; ``embed`` takes rows.

        Rows 0 and 1 are padding and the unknown word.
        """

    def words_of(self, rows: Sequence[int]) -> list[str]:
        """Return the word of each row, the inverse of ``intern``; models that copy words need it.

        Raises:
            InputError: the encoder cannot map rows to words (the default).
        """
        raise InputError(
            f"{type(self).__name__} cannot map rows to words",
            key="encoder",
            expected="an encoder that defines words_of",
            remedy="choose another encoder, or do not copy words",
        )

    def intern_tags(self, tags: Sequence[str]) -> NDArray[np.int32]:
        """Return the id of each tag, ``(tags,)``; zeros unless tags are read."""
        return np.zeros(len(tags), dtype=np.int32)

    def check(self, sentence: Sentence) -> None:
        """Reject a sentence that this encoder cannot read.

        Raises:
            InputError: names the reason.
        """
        tags, words = len(sentence.tags), len(sentence)
        if self.reads_tags and tags != words:
            raise InputError(
                f"the model reads part-of-speech tags, but the sentence has {tags} for {words} "
                "words",
                expected="one tag per word in column 5 (or 4) of the file, or "
                "Sentence(words, xpos=...)",
            )

    def warnings(self, sentences: Iterable[Sentence]) -> list[str]:
        """Return warnings about readable sentences, such as that none of their tags is known."""
        return []

    def embedded(self, words: Sequence[str]) -> NDArray[np.bool_] | None:
        """Tell which words have their own embedding, ``(words,)``; None if no word has one."""
        return None

    @abstractmethod
    def embed(self, words: Tensor, tags: Tensor) -> Tensor:
        """Look up embeddings: rows ``(batch, length)`` and tag ids -> ``(batch, units, dim)``.

        ROOT comes first; ``forward`` ignores the embeddings of padding.
        """

    @abstractmethod
    def forward(self, embeddings: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """Read sentences ``(batch, units, dim)`` -> ``(batch, 1 + length, out_dim)``, with dropout.

        Args:
            embeddings: the result of ``embed``, possibly plus a delta.
            words: the rows given to ``embed``, ``(batch, length)``.
            lengths: ``(batch,)`` words per sentence, without ROOT.
        """

    def unit_words(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Return the word of each unit, ``(batch, units)``, counted from 1; 0 for none."""
        places = torch.arange(1 + words.shape[1], device=words.device)
        return places * (places <= lengths[:, None])

    def units(self, words: Tensor) -> Tensor:
        """Return the number of units of each word, in the shape of ``words``; 0 on padding."""
        return (words > 0).long()

    def delta_mask(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Tell which units belong to words, ``(batch, units)``; only these may have a delta."""
        return self.unit_words(words, lengths) > 0

    def pretrained_parameters(self) -> list[nn.Parameter]:
        """Return the parameters that are trained with ``pretrained_learning_rate``."""
        return []


class TableEncoder(Encoder):
    """An encoder with a ``table`` of word forms, made by ``build``, that numbers the rows."""

    table: FormTable

    def intern(self, words: Sequence[str]) -> NDArray[np.int32]:
        """See ``Encoder.intern``."""
        return self.table.intern(words)

    def words_of(self, rows: Sequence[int]) -> list[str]:
        """See ``Encoder.words_of``."""
        return self.table.words_of(rows)


def ends(states: Tensor, lengths: Tensor) -> Tensor:
    """Concatenate the vectors of ROOT and of the last word, for the first state of a decoder.

    They include the last states of a bidirectional LSTM in both directions.

    Args:
        states: ``(batch, 1 + length, dim)``.
        lengths: ``(batch,)`` words per text.

    Returns:
        ``(batch, 2 * dim)``.
    """
    rows = torch.arange(len(states), device=states.device)
    return torch.cat([states[:, 0], states[rows, lengths]], dim=-1)
