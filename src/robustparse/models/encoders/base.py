"""From words to one vector each: what every encoder of a parser offers.

An encoder is configured by plain numbers, gets its layers when the vocabulary is known, and splits
its work in two, so that deltas can be added in between: ``embed`` looks words up, ``forward``
reads the sentence.
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
from robustparse.types import Sentence


class Encoder(nn.Module, ABC):
    """One interface for every encoder.

    A *unit* is what has an embedding of its own: a word or ROOT, or a sub-word piece.

    Attributes:
        dim: of the embeddings, to which deltas are added.
        form_dim: how many of these, from the front, depend on the form, not on the tag.
        out_dim: of the vectors that a parser scores.
        reads_tags: whether part-of-speech tags are part of the input.
    """

    dim: int
    form_dim: int
    out_dim: int
    reads_tags = False

    @abstractmethod
    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers, whose sizes follow from the vocabulary."""

    def take(self, held: Mapping[str, Any]) -> None:
        """Take what ``build`` would read from files out of a checkpoint's arguments."""

    def differences(self, held: Mapping[str, Any]) -> list[str]:
        """Return what was read from files and gives weights another meaning than a checkpoint's
        have.

        Args:
            held: the arguments of the checkpoint's encoder.
        """
        return []

    @abstractmethod
    def intern(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the rows of words, by which ``embed`` knows them."""

    def intern_tags(self, tags: Sequence[str]) -> NDArray[np.int32]:
        """Return the ids of tags, ``(tags,)``; zeros unless tags are read."""
        return np.zeros(len(tags), dtype=np.int32)

    def check(self, sentence: Sentence) -> None:
        """Refuse what this encoder cannot read.

        Raises:
            InputError: says what about the sentence is in the way.
        """
        if self.reads_tags and not sentence.tags:
            raise InputError(
                "the parser reads part-of-speech tags, and the sentence has none; expected them in "
                "column 5 (or 4) of the file, or in Sentence(words, xpos=...)"
            )
        if self.reads_tags and len(sentence.tags) != len(sentence):
            raise InputError(
                f"the sentence has {len(sentence)} words and {len(sentence.tags)} part-of-speech "
                "tags; expected one tag a word"
            )

    def unmatched(self, sentences: Iterable[Sentence]) -> str:
        """Return a remark where tags are read and no tag of these is known; otherwise empty."""
        return ""

    def embedded(self, words: Sequence[str]) -> NDArray[np.bool_] | None:
        """Which words have an embedding of their own, ``(words,)``; None if no word has one."""
        return None

    @abstractmethod
    def embed(self, words: Tensor, tags: Tensor) -> Tensor:
        """Rows ``(batch, length)`` and tag ids -> embeddings ``(batch, units, dim)``.

        ROOT comes first; padding embeds to whatever ``forward`` then ignores.
        """

    @abstractmethod
    def forward(self, embeddings: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """``(batch, units, dim)`` -> ``(batch, 1 + length, out_dim)``; dropout is in here.

        Args:
            embeddings: what ``embed`` gave, plus a delta where there is one.
            words: the rows it was given, ``(batch, length)``.
            lengths: ``(batch,)`` words a sentence, ROOT not counted.
        """

    def unit_words(self, words: Tensor, lengths: Tensor) -> Tensor:
        """``(batch, units)``: the word that a unit is of, counted from 1; 0 where it is of none."""
        places = torch.arange(1 + words.shape[1], device=words.device)
        return places * (places <= lengths[:, None])

    def delta_mask(self, words: Tensor, lengths: Tensor) -> Tensor:
        """``(batch, units)`` booleans: true where a delta may stand, on what words embed to."""
        return self.unit_words(words, lengths) > 0

    def pretrained_parameters(self) -> list[nn.Parameter]:
        """Those that learn at the optimisation's ``pretrained_learning_rate``."""
        return []
