"""Chooses the candidate nearest to the target of a gradient step.

Zheng et al. 2020, section 3.2, white box: let e be the embedding of a word and g the gradient of F
at e. A step of fixed length leads to the target vector e - alpha * g / ||g||; the word is replaced
by the candidate whose embedding is nearest to the target. For victims that read only characters,
the step is taken at the character with the largest gradient.
"""

from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Collection
from functools import partial
from typing import Literal, get_args

import numpy as np

from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.gradients import CharacterGradients, WordGradients
from robustparse.errors import InputError, check_choice, check_least
from robustparse.types import Floats, Ids

Distance = Literal["euclidean", "cosine"]

_ROUNDING = 1e-9  # relative; far above the rounding error of a sum of a few thousand products


class Substitution(ABC):
    """Chooses substitutes in one sentence and remembers those that were applied.

    A search makes a fresh `deepcopy` for every sentence.

    Args:
        alpha: length of the step.
        distance: the distance to the target vector.

    Attributes:
        characters: whether it needs the gradient at characters.
    """

    characters: bool = False

    def __init__(self, alpha: float, distance: Distance) -> None:
        if not 0.0 < alpha < np.inf:
            raise InputError(f"must be above 0, got {alpha}", key="substitution: alpha")
        check_choice("substitution: distance", distance, get_args(Distance))
        self.alpha, self.distance = alpha, distance

    @abstractmethod
    def choose(
        self,
        problem: Problem,
        state: State,
        position: int,
        gradients: WordGradients,
        barred: Collection[int] = (),
    ) -> int:
        """Return the candidate to put at a position, except the barred ones.

        Returns 0 if the gradient is 0 or no candidate is admissible. Until the next `settle`, the
        word at the position counts as replaced.
        """

    @abstractmethod
    def settle(self, positions: Collection[int]) -> None:
        """Remember the choices at these positions since the last call, and forget the others."""

    def _target(self, vector: Floats, gradient: Floats) -> Floats:
        """Return the target vector, `(dim,)`; requested gradients are those of -F."""
        target: Floats = vector + self.alpha * gradient / np.linalg.norm(gradient)
        return target

    def _distances(self, vectors: Floats, target: Floats) -> Floats:
        """Return the distances of vectors `(n, dim)` to the target, `(n,)`.

        The cosine with a zero vector is 0.
        """
        distances: Floats
        if self.distance == "euclidean":
            away = vectors - target
            distances = np.sqrt(np.einsum("ij,ij->i", away, away))
            return distances
        lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(target)
        products = np.einsum("ij,j->i", vectors, target)  # the same for equal rows, unlike BLAS
        cosines = np.divide(products, lengths, out=np.zeros(len(vectors)), where=lengths > 0)
        distances = 1.0 - cosines
        return distances


class NearestWord(Substitution):
    """Chooses the nearest candidate, except words that were replaced before in the same sentence.

    Words that differ only in case count as equal. Ties go to the first candidate.

    Args:
        alpha: length of the step, in units of the embeddings (paper: 15; released code: 10 for
            sentences, 15 for phrases).
        distance: `euclidean` (the default of the released code) or `cosine`.
    """

    def __init__(self, *, alpha: float = 15.0, distance: Distance = "euclidean") -> None:
        super().__init__(alpha, distance)
        self._replaced: set[str] = set()
        self._chosen: dict[int, str] = {}  # position -> word that the choice would replace

    def choose(
        self,
        problem: Problem,
        state: State,
        position: int,
        gradients: WordGradients,
        barred: Collection[int] = (),
    ) -> int:
        """See `Substitution.choose`."""
        gradient = gradients.at_words[position]
        first, end = problem.ptr[position : position + 2].tolist()
        if not gradient.any() or first == end:
            return 0
        current = problem.word(state, position).lower()
        target = self._target(gradients.vectors[position], gradient)
        rows = problem.rows[first:end]
        ranks, rounding = self._ranks(gradients, rows, target)
        ranks[[choice - 1 for choice in barred]] = np.inf
        used = {current, *self._replaced, *self._chosen.values()}
        # Few words were replaced, but candidates are many: compare only the nearest ones.
        while np.isfinite(lowest := ranks.min()):
            close = np.flatnonzero(ranks <= lowest + rounding)
            vectors = gradients.embeddings.of(rows[close])
            nearest = int(close[self._distances(vectors, target).argmin()])
            if problem.words[first + nearest].lower() not in used:
                self._chosen[position] = current
                return nearest + 1
            ranks[nearest] = np.inf
        return 0

    def settle(self, positions: Collection[int]) -> None:
        """See `Substitution.settle`."""
        self._replaced.update(self._chosen[position] for position in positions)
        self._chosen.clear()

    def _ranks(self, gradients: WordGradients, rows: Ids, target: Floats) -> tuple[Floats, float]:
        """Return values that order rows `(n,)` by distance to the target, computed from products.

        Returns:
            ||v||^2 - 2 v t, or minus the cosine, `(n,)`, and the possible rounding error.
        """
        products, squares = gradients.embeddings.products(rows, target)
        length = float(target @ target)
        if self.distance == "euclidean":
            return squares - 2.0 * products, _ROUNDING * (float(squares.max()) + length)
        lengths = np.sqrt(squares * length)
        return -np.divide(products, lengths, out=np.zeros(len(rows)), where=lengths > 0), _ROUNDING


class NearestCharacter(Substitution):
    """Chooses the nearest substitute for one character of a word, always at the same index.

    The index is that of the largest gradient (L2) when the word is first changed. Candidates are
    words with another character there, made by `CharacterEdits(edits=["substitute"], sample=None)`.
    The current character, those tried last for the word, and those unknown to the victim are left
    out.

    Args:
        alpha: length of the step (100 in the released code; the paper has no value).
        distance: see `NearestWord`.
        recent: how many of the characters tried last for the word are left out (5).
    """

    characters = True

    def __init__(
        self, *, alpha: float = 100.0, distance: Distance = "euclidean", recent: int = 5
    ) -> None:
        super().__init__(alpha, distance)
        check_least("substitution", 0, recent=recent)
        self.recent = recent
        self._indices: dict[int, int] = {}  # position -> index of the character to change
        self._tried: dict[int, deque[int]] = defaultdict(partial(deque, maxlen=self.recent))
        self._chosen: dict[int, int] = {}

    def choose(
        self,
        problem: Problem,
        state: State,
        position: int,
        gradients: WordGradients,
        barred: Collection[int] = (),
    ) -> int:
        """See `Substitution.choose`."""
        assert isinstance(gradients, CharacterGradients)
        characters = gradients.at_characters[position]
        if position not in self._indices:
            self._indices[position] = int(np.linalg.norm(characters, axis=1).argmax())
        index = self._indices[position]
        first, end = problem.ptr[position : position + 2].tolist()
        if not characters[index].any() or first == end:
            return 0
        target = self._target(gradients.character_vectors[position, index], characters[index])
        original = gradients.spell(problem.original[position : position + 1])
        spelled = gradients.spell(problem.rows[first:end])
        differs = (spelled != original).any(axis=2)
        known = spelled[:, index].any(axis=1)
        distances = self._distances(spelled[:, index], target)
        distances[~known | ~differs[:, index] | (differs.sum(axis=1) > 1)] = np.inf
        tried = (*self._tried[position], int(state[position]), *barred)
        distances[[choice - 1 for choice in tried if choice]] = np.inf
        if not np.isfinite(distances.min()):
            return 0
        self._chosen[position] = int(distances.argmin()) + 1
        return self._chosen[position]

    def settle(self, positions: Collection[int]) -> None:
        """See `Substitution.settle`."""
        for position in positions:
            self._tried[position].append(self._chosen[position])
        self._chosen.clear()
