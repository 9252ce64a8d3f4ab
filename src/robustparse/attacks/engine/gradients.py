"""Takes the gradients that white-box searches ask for, those of many sentences in one pass."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from robustparse.attacks.engine.search_run import SearchRun
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.engine.texts import read
from robustparse.attacks.search.requests import Gradient
from robustparse.attacks.search.white_box.gradients import Embeddings, Slope, SpelledSlope
from robustparse.attacks.victim import CharacterVictim, DifferentiableVictim, Victim
from robustparse.errors import InputError

_Asked = tuple[SearchRun, Gradient]


class Gradients:
    """Answers requests for gradients.

    Args:
        victim: the model under attack, whose weights stand still.
        room: texts of a pass, by the words of the longest.
        statistics: where the victim's seconds are added up.
    """

    def __init__(self, victim: Victim, room: Callable[[int], int], statistics: Statistics) -> None:
        self._victim, self._room, self._statistics = victim, room, statistics
        self._embeddings: Embeddings | None = None

    def take(self, sentences: Sequence[SearchRun]) -> None:
        """Answer those of the sentences that wait for a gradient.

        Raises:
            InputError: the victim gives no gradients, or not those asked for.
        """
        asked: list[_Asked] = [(one, one.sloped) for one in sentences if one.sloped is not None]
        if not asked:
            return
        if not isinstance(self._victim, DifferentiableVictim):
            raise InputError(
                f"attack: the search asks for gradients and {type(self._victim).__name__} gives "
                "none; choose a black-box search or another victim"
            )
        kinds = {(request.loss, request.characters) for _, request in asked}
        for kind in sorted(kinds):
            alike = [one for one in asked if (one[1].loss, one[1].characters) == kind]
            alike.sort(key=lambda one: -len(one[0].problem))
            while alike:
                size = self._room(len(alike[0][0].problem))
                self._answer(self._victim, alike[:size])
                alike = alike[size:]

    def _answer(self, victim: DifferentiableVictim, asked: Sequence[_Asked]) -> None:
        """One pass over requests of one kind, longest sentence first."""
        begin = time.perf_counter()
        self._embeddings = self._embeddings or Embeddings(victim.vectors)
        slopes = _slopes(victim, asked, self._embeddings)
        self._statistics.victim_seconds += time.perf_counter() - begin
        for (sentence, _), slope in zip(asked, slopes, strict=True):
            sentence.differentiate(slope)


def _slopes(
    victim: DifferentiableVictim, asked: Sequence[_Asked], embeddings: Embeddings
) -> list[Slope]:
    texts = read([(sentence.problem.source, request.state[None]) for sentence, request in asked])
    gold = [sentence.problem.gold for sentence, _ in asked]
    among = [
        np.ones(len(sentence.problem), dtype=np.bool_) if request.among is None else request.among
        for sentence, request in asked
    ]
    request = asked[0][1]
    gradients, vectors, norms = victim.gradient(
        texts.words, texts.tags, texts.lengths, gold, request.loss, among
    )
    sizes = texts.lengths.tolist()
    if not request.characters:
        return [
            Slope(gradients[row, :size], vectors[row, :size], norms[row, :size], embeddings)
            for row, size in enumerate(sizes)
        ]
    if not isinstance(victim, CharacterVictim):
        raise InputError(
            f"attack: the search asks for gradients of characters and {type(victim).__name__} "
            "gives none; choose another search or another victim"
        )
    at_characters, characters = victim.character_gradient(texts.words, gradients)
    return [
        SpelledSlope(
            gradients[row, :size],
            vectors[row, :size],
            norms[row, :size],
            embeddings,
            at_characters[row, :size],
            characters[row, :size],
            victim.character_vectors,
        )
        for row, size in enumerate(sizes)
    ]
