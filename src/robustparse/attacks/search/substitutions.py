"""From a gradient to a word: the nearest admissible candidate to where the gradient points.

Zheng et al. 2020, section 3.2, white box: with e the embedding of a word and g the gradient of F
there, a step of fixed length leads to the target vector e - alpha * g / ||g||; the word is replaced
by the candidate whose embedding is nearest to it. Against parsers that read characters alone, the
step is taken at the character whose gradient is the largest.
"""

from collections import defaultdict, deque
from collections.abc import Collection
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.slopes import Embeddings, Slope, SpelledSlope
from robustparse.errors import InputError, check_choice

Distance = Literal["euclidean", "cosine"]

_ROUNDING = 1e-9  # relative, far above that of a product of a few thousand numbers


class Substitutes(Protocol):
    """Chooses substitutes in one sentence, and remembers those it chose."""

    def choose(
        self,
        problem: Problem,
        state: State,
        position: int,
        slope: Slope,
        barred: Collection[int] = (),
    ) -> int:
        """The candidate to put at a position, none of those barred.

        0 where the gradient is 0 or none is admissible.
        """
        ...


class Substitution(Protocol):
    """How a word is replaced.

    Attributes:
        characters: whether it looks at the gradient towards characters.
    """

    characters: bool

    def start(self) -> Substitutes:
        """Begin a sentence."""
        ...


class NearestWord(Substitution):
    """The nearest candidate, except for every word replaced before in the same sentence.

    Words are the same if they differ in casing alone. Ties break by candidate index.

    Args:
        alpha: length of the step, in units of the embeddings (paper: 15; released code: 10 for
            sentences, 15 for phrases).
        distance: to the target vector: `euclidean` (the default of the released code) or `cosine`.

    Raises:
        InputError: a setting is out of range.
    """

    characters = False

    def __init__(self, *, alpha: float = 15.0, distance: Distance = "euclidean") -> None:
        self.alpha, self.distance = _checked(alpha, distance)

    def start(self) -> Substitutes:
        """See `Substitution.start`."""
        return _Words(self)


class _Words(Substitutes):
    def __init__(self, rule: NearestWord) -> None:
        self._rule = rule
        self._replaced: set[str] = set()

    def choose(
        self,
        problem: Problem,
        state: State,
        position: int,
        slope: Slope,
        barred: Collection[int] = (),
    ) -> int:
        """See `Substitutes.choose`."""
        gradient = slope.gradient[position]
        first, end = problem.ptr[position : position + 2].tolist()
        if not gradient.any() or first == end:
            return 0
        standing = problem.word(state, position).lower()
        target = _target(slope.vectors[position], gradient, self._rule.alpha)
        rows = problem.rows[first:end]
        ranks, rounding = _ranks(slope.embeddings, rows, target, self._rule.distance)
        ranks[[choice - 1 for choice in barred]] = np.inf
        # Few words were replaced, and many are candidates: look only at those that come out first.
        while np.isfinite(lowest := ranks.min()):
            close = np.flatnonzero(ranks <= lowest + rounding)
            vectors = slope.embeddings.of(rows[close])
            nearest = int(close[_distances(vectors, target, self._rule.distance).argmin()])
            if problem.words[first + nearest].lower() not in {standing, *self._replaced}:
                self._replaced.add(standing)
                return nearest + 1
            ranks[nearest] = np.inf
        return 0


class NearestCharacter(Substitution):
    """The nearest substitute of one character of the word, always at the same place of a word.

    The place is the one with the largest gradient (L2) when the word is first changed. Candidates
    are words with another character there, as `CharacterEdits(edits=["substitute"], sample=None)`
    makes them. Characters unknown to the parser and those tried last for the same word are left
    out, and so is the one that stands there.

    Args:
        alpha: length of the step (100 in the released code, for lack of a figure in the paper).
        distance: as in `NearestWord`.
        recent: how many characters tried last for the word are left out (5).

    Raises:
        InputError: a setting is out of range.
    """

    characters = True

    def __init__(
        self, *, alpha: float = 100.0, distance: Distance = "euclidean", recent: int = 5
    ) -> None:
        if recent < 0:
            raise InputError(f"substitution: recent must be at least 0, got {recent}")
        self.alpha, self.distance = _checked(alpha, distance)
        self.recent = recent

    def start(self) -> Substitutes:
        """See `Substitution.start`."""
        return _Characters(self)


class _Characters(Substitutes):
    def __init__(self, rule: NearestCharacter) -> None:
        self._rule = rule
        self._places: dict[int, int] = {}
        self._tried: dict[int, deque[int]] = defaultdict(lambda: deque(maxlen=rule.recent))

    def choose(
        self,
        problem: Problem,
        state: State,
        position: int,
        slope: Slope,
        barred: Collection[int] = (),
    ) -> int:
        """See `Substitutes.choose`."""
        if not isinstance(slope, SpelledSlope):
            raise RuntimeError("a request for characters was answered without them")
        gradients = slope.character_gradient[position]
        if position not in self._places:
            self._places[position] = int(np.linalg.norm(gradients, axis=1).argmax())
        place = self._places[position]
        first, end = problem.ptr[position : position + 2].tolist()
        if not gradients[place].any() or first == end:
            return 0
        target = _target(
            slope.character_vectors[position, place], gradients[place], self._rule.alpha
        )
        distances = self._distances(problem, position, place, slope, target)
        tried = (*self._tried[position], int(state[position]), *barred)
        distances[[choice - 1 for choice in tried if choice]] = np.inf
        if not np.isfinite(distances.min()):
            return 0
        choice = int(distances.argmin()) + 1
        self._tried[position].append(choice)
        return choice

    def _distances(
        self,
        problem: Problem,
        position: int,
        place: int,
        slope: SpelledSlope,
        target: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Of the candidates' characters at a place; infinite where one may not be used."""
        original = slope.spell(problem.original[position : position + 1])
        spelled = slope.spell(problem.rows[problem.ptr[position] : problem.ptr[position + 1]])
        differs = (spelled != original).any(axis=2)
        known = spelled[:, place].any(axis=1)
        distances = _distances(spelled[:, place], target, self._rule.distance)
        distances[~known | ~differs[:, place] | (differs.sum(axis=1) > 1)] = np.inf
        return distances


def _target(
    vector: NDArray[np.float64], gradient: NDArray[np.float64], alpha: float
) -> NDArray[np.float64]:
    """The target vector, `(dim,)`; a request's gradient is that of -F and points the other way."""
    target: NDArray[np.float64] = vector + alpha * gradient / np.linalg.norm(gradient)
    return target


def _ranks(
    embeddings: Embeddings,
    rows: NDArray[np.int32],
    target: NDArray[np.float64],
    distance: Distance,
) -> tuple[NDArray[np.float64], float]:
    """Numbers of rows `(n,)` in the order of their distances to the target, without differences.

    Returns:
        ||v||^2 - 2 v t, or minus the cosine, `(n,)`, and by how much rounding may mix them up.
    """
    products, squares = embeddings.products(rows, target)
    length = float(target @ target)
    if distance == "euclidean":
        return squares - 2.0 * products, _ROUNDING * (float(squares.max()) + length)
    lengths = np.sqrt(squares * length)
    return -np.divide(products, lengths, out=np.zeros(len(rows)), where=lengths > 0), _ROUNDING


def _distances(
    vectors: NDArray[np.float64], target: NDArray[np.float64], distance: Distance
) -> NDArray[np.float64]:
    """From vectors `(n, dim)` to the target, `(n,)`; a zero vector has no direction: cosine 0."""
    distances: NDArray[np.float64]
    if distance == "euclidean":
        away = vectors - target
        distances = np.sqrt(np.einsum("ij,ij->i", away, away))
        return distances
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(target)
    products = np.einsum("ij,j->i", vectors, target)  # the same for equal rows, unlike BLAS
    cosines = np.divide(products, lengths, out=np.zeros(len(vectors)), where=lengths > 0)
    distances = 1.0 - cosines
    return distances


def _checked(alpha: float, distance: Distance) -> tuple[float, Distance]:
    if not 0.0 < alpha < np.inf:
        raise InputError(f"substitution: alpha must be above 0, got {alpha}")
    check_choice("substitution: distance", distance, get_args(Distance))
    return alpha, distance
