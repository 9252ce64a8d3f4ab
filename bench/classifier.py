"""Small text classifiers as victims of the attack engine.

They belong to the benches alone: what robustparse trains and ships are parsers. A classifier is the
mean of the word embeddings, or one BiLSTM layer and its maximum over time, and a linear layer; its
file (``classifier_network.read_classifier``) has id 0 for padding and 1 for the unknown word.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from classifier_network import UNKNOWN, Classifier, read_classifier
from robustparse.errors import InputError


class ClassifierVictim:
    """Fulfils the protocols of ``robustparse.attacks.victim`` with a classifier.

    A row is the id of a word; labels are the numbers of the classes, written out.

    Args:
        model: the classifier.
        vocabulary: word -> id.
    """

    unknown = UNKNOWN
    batch_words = 8192  # what the caches of a core hold with a small network
    training_tags: Mapping[str, Mapping[str, str]] = {}
    training_words: Set[str] = frozenset()

    def __init__(self, model: Classifier, vocabulary: Mapping[str, int]) -> None:
        self.model, self.vocabulary = model, vocabulary
        self.classes = model.out.out_features

    @classmethod
    def load(cls, path: Path, dtype: torch.dtype = torch.float32) -> "ClassifierVictim":
        """Read a classifier file.

        Raises:
            InputError: the file is none.
        """
        try:
            return cls(*read_classifier(path, dtype))
        except (OSError, KeyError, RuntimeError, TypeError) as error:
            raise InputError(f"classifier {path}: cannot be read ({error})") from error

    def intern(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Word ids, ``(words,)``."""
        return np.array([self.vocabulary.get(word.lower(), UNKNOWN) for word in words], np.int32)

    def intern_tags(self, tags: Sequence[str]) -> NDArray[np.int32]:
        """Tags are not read: zeros, ``(tags,)``."""
        return np.zeros(len(tags), dtype=np.int32)

    def name_ids(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Numbers of classes, -1 for what is none."""
        known = {str(number): number for number in range(self.classes)}
        return np.array([known.get(name, -1) for name in names], dtype=np.int32)

    def answers(self, predictions: Sequence[NDArray[Any]], lengths: Sequence[int]) -> list[str]:
        """Name the most probable class of each text."""
        return [str(number) for number in predictions[0].argmax(axis=1).tolist()]

    def predict(
        self, words: NDArray[np.int32], tags: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64]]:
        """Probabilities, ``(n, classes)``; softmax in float64."""
        ids, sizes = _tensors(words, lengths)
        return (torch.softmax(self.model(self.model.emb(ids), sizes).double(), -1).numpy(),)

    def gradient(
        self,
        words: NDArray[np.int32],
        tags: NDArray[np.int32],
        lengths: NDArray[np.int32],
        gold: Sequence[Any],
        loss: str,
        among: Sequence[NDArray[np.bool_]],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Gradients of the cross-entropy of the *predicted* label, as TextAttack takes them."""
        if loss != "cross_entropy":
            raise InputError(f"a classifier has no {loss} loss: choose cross_entropy")
        ids, sizes = _tensors(words, lengths)
        vectors = self.model.emb(ids).detach().requires_grad_()
        with torch.enable_grad():
            logits = self.model(vectors, sizes)
            value = nn.functional.cross_entropy(logits, logits.argmax(-1), reduction="sum")
            (gradient,) = torch.autograd.grad(value, vectors)
        norms = torch.linalg.vector_norm(gradient, dim=-1)
        return (
            gradient.double().numpy(),
            vectors.detach().double().numpy(),
            norms.double().numpy(),
        )

    def vectors(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        """Embeddings, ``(rows, dim)``."""
        return self.model.emb(torch.from_numpy(rows.astype(np.int64))).double().numpy()

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """No gradients; the classifier has no dropout and always is in evaluation mode."""
        with torch.no_grad():
            yield


def _tensors(words: NDArray[np.int32], lengths: NDArray[np.int32]) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(words.astype(np.int64)), torch.from_numpy(lengths.astype(np.int64))
