"""From a gradient to a word: the nearest admissible candidate to where the gradient points.

Zheng et al. 2020, section 3.2, white box: with e the embedding of a word and g the gradient of F
there, a step of fixed length leads to the target vector e - alpha * g / ||g||; the word is replaced
by the candidate whose embedding is nearest to it. Against victims that read only characters, the
step is taken at the character whose gradient is the largest.
"""

from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Collection
from functools import partial
from typing import Literal, get_args

import numpy as np

from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.white_box.gradients import CharacterGradients, WordGradients
from robustparse.errors import InputError, check_choice, check_least
from robustparse.types import Floats, Ids

Distance = Literal["euclidean", "cosine"]

_ROUNDING = 1e-9  # relative, far above that of a product of a few thousand numbers


class Substitution(ABC):
    """Chooses substitutes in one sentence, and remembers those that were put in.

    For every sentence a search takes a copy, `deepcopy`, of one that remembers nothing.

    Args:
        alpha: length of the step.
        distance: to the target vector.

    Attributes:
        characters: whether it looks at the gradient towards characters.
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
        """Return the candidate to put at a position, none of those barred.

        0 where the gradient is 0 or none is admissible. The word at the position counts as replaced
        for further choices until `settle` says whether it is.
        """

    @abstractmethod
    def settle(self, positions: Collection[int]) -> None:
        """Remember the choices since the last time at these positions, forget the others."""

    def _target(self, vector: Floats, gradient: Floats) -> Floats:
        """Return the target, `(dim,)`; a request's gradient is that of -F, which points there."""
        target: Floats = vector + self.alpha * gradient / np.linalg.norm(gradient)
        return target

    def _distances(self, vectors: Floats, target: Floats) -> Floats:
        """From vectors `(n, dim)` to the target, `(n,)`; to a zero vector the cosine is 0."""
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
    """The nearest candidate, except for every word replaced before in the same sentence.

    Words are the same if they differ only in casing. Ties break by candidate index.

    Args:
        alpha: length of the step, in units of the embeddings (paper: 15; released code: 10 for
            sentences, 15 for phrases).
        distance: to the target vector: `euclidean` (the default of the released code) or `cosine`.
    """

    def __init__(self, *, alpha: float = 15.0, distance: Distance = "euclidean") -> None:
        super().__init__(alpha, distance)
        self._replaced: set[str] = set()
        self._chosen: dict[int, str] = {}  # by position, what would be replaced

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
        standing = problem.word(state, position).lower()
        target = self._target(gradients.vectors[position], gradient)
        rows = problem.rows[first:end]
        ranks, rounding = self._ranks(gradients, rows, target)
        ranks[[choice - 1 for choice in barred]] = np.inf
        used = {standing, *self._replaced, *self._chosen.values()}
        # Few words were replaced, and many are candidates: look only at those that come out first.
        while np.isfinite(lowest := ranks.min()):
            close = np.flatnonzero(ranks <= lowest + rounding)
            vectors = gradients.embeddings.of(rows[close])
            nearest = int(close[self._distances(vectors, target).argmin()])
            if problem.words[first + nearest].lower() not in used:
                self._chosen[position] = standing
                return nearest + 1
            ranks[nearest] = np.inf
        return 0

    def settle(self, positions: Collection[int]) -> None:
        """See `Substitution.settle`."""
        self._replaced.update(self._chosen[position] for position in positions)
        self._chosen.clear()

    def _ranks(self, gradients: WordGradients, rows: Ids, target: Floats) -> tuple[Floats, float]:
        """Rank rows `(n,)` by their distances to the target, without taking differences.

        Returns:
            ||v||^2 - 2 v t, or minus the cosine, `(n,)`, and by how much rounding may mix them up.
        """
        products, squares = gradients.embeddings.products(rows, target)
        length = float(target @ target)
        if self.distance == "euclidean":
            return squares - 2.0 * products, _ROUNDING * (float(squares.max()) + length)
        lengths = np.sqrt(squares * length)
        return -np.divide(products, lengths, out=np.zeros(len(rows)), where=lengths > 0), _ROUNDING


class NearestCharacter(Substitution):
    """The nearest substitute of one character of the word, always at the same place of a word.

    The place is the one with the largest gradient (L2) when the word is first changed. Candidates
    are words with another character there, as `CharacterEdits(edits=["substitute"], sample=None)`
    makes them. Characters unknown to the victim and those tried last for the same word are left
    out, and so is the present one.

    Args:
        alpha: length of the step (100 in the released code, for lack of a value in the paper).
        distance: as in `NearestWord`.
        recent: how many characters tried last for the word are left out (5).
    """

    characters = True

    def __init__(
        self, *, alpha: float = 100.0, distance: Distance = "euclidean", recent: int = 5
    ) -> None:
        super().__init__(alpha, distance)
        check_least("substitution", 0, recent=recent)
        self.recent = recent
        self._places: dict[int, int] = {}
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
        if position not in self._places:
            self._places[position] = int(np.linalg.norm(characters, axis=1).argmax())
        place = self._places[position]
        first, end = problem.ptr[position : position + 2].tolist()
        if not characters[place].any() or first == end:
            return 0
        target = self._target(gradients.character_vectors[position, place], characters[place])
        original = gradients.spell(problem.original[position : position + 1])
        spelled = gradients.spell(problem.rows[first:end])
        differs = (spelled != original).any(axis=2)
        known = spelled[:, place].any(axis=1)
        distances = self._distances(spelled[:, place], target)
        distances[~known | ~differs[:, place] | (differs.sum(axis=1) > 1)] = np.inf
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
