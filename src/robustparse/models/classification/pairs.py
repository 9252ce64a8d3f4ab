"""Classifiers of pairs of texts, for entailment: a premise and a hypothesis.

The premise is the context of the text (`Sentence.context`). The words of a batch are those of the
hypothesis, and their marks number the premise, so that attacks, constraints and deltas see only the
hypothesis. Each distinct premise of a batch is read once.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from robustparse.data.batch import Batch
from robustparse.errors import InputError
from robustparse.models.classification.classifier import TextClassifier
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.word_table import UNKNOWN, in_order_met
from robustparse.types import Example, Sentence


class PairClassifier(TextClassifier):
    """Answers with a label for a text and its context; see `TextClassifier` for the arguments."""

    reads_pairs = True

    def __init__(self, encoder: Encoder, dropout: float, **base: Any) -> None:
        super().__init__(encoder, dropout, **base)
        if encoder.reads_tags:
            key = f"{type(self).__name__}: encoder"
            raise InputError("reads tags, and pairs have no tags", key=key)
        self._numbers: dict[str, int] = {}
        # Context 0 means no context; attacks never use it. It is read as an unknown word.
        self._contexts = [np.array([UNKNOWN], dtype=np.int64)]

    def intern_marks(self, marks: Sequence[str]) -> NDArray[np.int32]:
        """Return the number of each context, words separated by blanks, ``(marks,)``."""
        for mark in dict.fromkeys(marks):
            if mark not in self._numbers:
                self._numbers[mark] = len(self._contexts)
                self._contexts.append(self.intern(mark.split()).astype(np.int64))
        return np.array([self._numbers[mark] for mark in marks], dtype=np.int32)

    def contexts(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Return the distinct contexts of a batch.

        Returns:
            Their rows, ``(contexts, longest)``, 0 after the words; their lengths, ``(contexts,)``;
            and the context of each text, ``(batch,)``.
        """
        numbers, of_text = in_order_met(batch.marks[:, 0])
        contexts = [self._contexts[number] for number in numbers.tolist()]
        lengths = torch.tensor([len(rows) for rows in contexts])
        words = torch.zeros(len(contexts), int(lengths.max()), dtype=torch.long)
        for index, rows in enumerate(contexts):
            words[index, : len(rows)] = torch.from_numpy(rows)
        return words.to(of_text.device), lengths.to(of_text.device), of_text

    def read_contexts(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Read each distinct context.

        Returns:
            States, ``(contexts, 1 + longest, dim)``, ROOT first; then as in `contexts` their
            lengths, and the context of each text.
        """
        words, lengths, of_text = self.contexts(batch)
        states = self.encoder(self.encoder.embed(words, torch.zeros_like(words)), words, lengths)
        return states, lengths, of_text

    def check(self, examples: Sequence[Example]) -> None:
        """Reject texts that it cannot read, texts without a context, and unreadable contexts.

        Raises:
            InputError: names the first such text, counted from 1.
        """
        super().check(examples)
        for example in examples:
            if not example.sentence.context:
                raise InputError(
                    f"{type(self).__name__} reads pairs, and this is a single text",
                    key=f"sentence {example.id + 1}",
                    expected="premise, hypothesis and label, or Sentence(words, context=...)",
                )
            try:
                self.encoder.check(Sentence(tuple(self.codes(example.sentence.context))))
            except InputError as error:
                problem = f"its first text: {error}"
                raise InputError(problem, key=f"sentence {example.id + 1}") from None
