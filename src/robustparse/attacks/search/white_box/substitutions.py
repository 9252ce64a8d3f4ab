"""From a gradient to a word: the nearest admissible candidate to where the gradient points.

Zheng et al. 2020, section 3.2, white box: with e the embedding of a word and g the gradient of F
there, a step of fixed length leads to the target vector e - alpha * g / ||g||; the word is replaced
by the candidate whose embedding is nearest to it. Against parsers that read characters alone, the
step is taken at the character whose gradient is the largest.
"""

from collections import defaultdict, deque
from collections.abc import Collection
from typing import Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.white_box.distances import (
    Distance,
    distances_to,
    ranks_of,
    target_of,
)
from robustparse.attacks.search.white_box.gradients import CharacterGradients, WordGradients
from robustparse.errors import InputError, check_choice, check_least


class Substitutes(Protocol):
    """Chooses substitutes in one sentence, and remembers those that were put in."""

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
        ...

    def settle(self, positions: Collection[int]) -> None:
        """Remember the choices since the last time at these positions, forget the others."""
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
        self._chosen: dict[int, str] = {}  # by position, what would be replaced

    def choose(
        self,
        problem: Problem,
        state: State,
        position: int,
        gradients: WordGradients,
        barred: Collection[int] = (),
    ) -> int:
        """See `Substitutes.choose`."""
        gradient = gradients.at_words[position]
        first, end = problem.ptr[position : position + 2].tolist()
        if not gradient.any() or first == end:
            return 0
        standing = problem.word(state, position).lower()
        target = target_of(gradients.vectors[position], gradient, self._rule.alpha)
        rows = problem.rows[first:end]
        ranks, rounding = ranks_of(gradients.embeddings, rows, target, self._rule.distance)
        ranks[[choice - 1 for choice in barred]] = np.inf
        replaced = {*self._replaced, *self._chosen.values()}
        # Few words were replaced, and many are candidates: look only at those that come out first.
        while np.isfinite(lowest := ranks.min()):
            close = np.flatnonzero(ranks <= lowest + rounding)
            vectors = gradients.embeddings.of(rows[close])
            nearest = int(close[distances_to(vectors, target, self._rule.distance).argmin()])
            if problem.words[first + nearest].lower() not in {standing, *replaced}:
                self._chosen[position] = standing
                return nearest + 1
            ranks[nearest] = np.inf
        return 0

    def settle(self, positions: Collection[int]) -> None:
        """See `Substitutes.settle`."""
        self._replaced.update(self._chosen[position] for position in positions)
        self._chosen.clear()


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
    """

    characters = True

    def __init__(
        self, *, alpha: float = 100.0, distance: Distance = "euclidean", recent: int = 5
    ) -> None:
        check_least("substitution", 0, recent=recent)
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
        self._chosen: dict[int, int] = {}

    def choose(
        self,
        problem: Problem,
        state: State,
        position: int,
        gradients: WordGradients,
        barred: Collection[int] = (),
    ) -> int:
        """See `Substitutes.choose`."""
        if not isinstance(gradients, CharacterGradients):
            raise RuntimeError("a request for characters was answered without them")
        characters = gradients.at_characters[position]
        if position not in self._places:
            self._places[position] = int(np.linalg.norm(characters, axis=1).argmax())
        place = self._places[position]
        first, end = problem.ptr[position : position + 2].tolist()
        if not characters[place].any() or first == end:
            return 0
        target = target_of(
            gradients.character_vectors[position, place], characters[place], self._rule.alpha
        )
        distances = self._distances(problem, position, place, gradients, target)
        tried = (*self._tried[position], int(state[position]), *barred)
        distances[[choice - 1 for choice in tried if choice]] = np.inf
        if not np.isfinite(distances.min()):
            return 0
        choice = int(distances.argmin()) + 1
        self._chosen[position] = choice
        return choice

    def settle(self, positions: Collection[int]) -> None:
        """See `Substitutes.settle`."""
        for position in positions:
            self._tried[position].append(self._chosen[position])
        self._chosen.clear()

    def _distances(
        self,
        problem: Problem,
        position: int,
        place: int,
        gradients: CharacterGradients,
        target: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Of the candidates' characters at a place; infinite where one may not be used."""
        original = gradients.spell(problem.original[position : position + 1])
        spelled = gradients.spell(problem.rows[problem.ptr[position] : problem.ptr[position + 1]])
        differs = (spelled != original).any(axis=2)
        known = spelled[:, place].any(axis=1)
        distances = distances_to(spelled[:, place], target, self._rule.distance)
        distances[~known | ~differs[:, place] | (differs.sum(axis=1) > 1)] = np.inf
        return distances


def _checked(alpha: float, distance: Distance) -> tuple[float, Distance]:
    if not 0.0 < alpha < np.inf:
        raise InputError(f"must be above 0, got {alpha}", key="substitution: alpha")
    check_choice("substitution: distance", distance, get_args(Distance))
    return alpha, distance
