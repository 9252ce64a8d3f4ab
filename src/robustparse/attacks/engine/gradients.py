"""Computes the gradients that white-box searches request, for many sentences in one pass."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.engine.victim_input import texts_of
from robustparse.attacks.problem import Problem
from robustparse.attacks.search.gradients import (
    CharacterGradients,
    Embeddings,
    WordGradients,
)
from robustparse.attacks.search.requests import Gradient
from robustparse.attacks.victim import (
    CharacterVictim,
    DifferentiableVictim,
    MeasuredVictim,
    Victim,
)
from robustparse.errors import InputError
from robustparse.types import Floats


class GradientPasses:
    """Answers requests for gradients.

    Args:
        victim: the model under attack.
        capacity: maps the length of the longest text to the number of texts per pass.
        wants_gold: see `Goal.wants_gold`.
        statistics: adds up the victim's time.
    """

    def __init__(
        self,
        victim: Victim,
        capacity: Callable[[int], int],
        wants_gold: bool,
        statistics: Statistics,
    ) -> None:
        self._victim, self._capacity = victim, capacity
        self._wants_gold, self._statistics = wants_gold, statistics
        self._embeddings: Embeddings | None = None

    def answers(
        self, problems: Sequence[Problem], requests: Sequence[Gradient]
    ) -> list[WordGradients]:
        """Answer one request for each problem.

        Raises:
            InputError: the victim has no gradients, or not the requested ones.
        """
        victim = self._victim
        if not isinstance(victim, DifferentiableVictim):
            raise InputError(
                f"the search needs gradients, which {type(victim).__name__} does not have",
                key="attack",
                remedy="choose a black-box search or another victim",
            )
        kinds: dict[tuple[str, bool, bool], list[int]] = defaultdict(list)
        # Requests of one kind share passes, longest sentences first.
        for row in sorted(range(len(requests)), key=lambda row: -len(problems[row])):
            request = requests[row]
            kinds[request.loss, request.characters, request.measured].append(row)
        by_row: dict[int, WordGradients] = {}
        self._embeddings = self._embeddings or Embeddings(victim.vectors)
        for rows in kinds.values():
            while rows:
                size = self._capacity(len(problems[rows[0]]))
                batch, rows = rows[:size], rows[size:]
                asked = [(problems[row], requests[row]) for row in batch]
                with self._statistics.in_victim():
                    answers = _gradients(victim, asked, self._embeddings, self._wants_gold)
                by_row.update(zip(batch, answers, strict=True))
        return [by_row[row] for row in range(len(requests))]


def _gradients(
    victim: DifferentiableVictim,
    asked: Sequence[tuple[Problem, Gradient]],
    embeddings: Embeddings,
    wants_gold: bool,
) -> list[WordGradients]:
    """Answer requests of one kind in one pass."""
    states = [(problem, request.state[None]) for problem, request in asked]
    texts = texts_of(states, victim.unknown)
    gold = [problem.gold for problem, _ in asked]
    among = [
        np.ones(len(problem), dtype=np.bool_) if request.among is None else request.among
        for problem, request in asked
    ]
    request = asked[0][1]
    arguments = (texts, gold, request.loss, among)
    at_words, vectors, norms = victim.gradient(*arguments)
    losses = _losses(victim, *arguments) if request.measured else np.full(len(asked), np.nan)
    if wants_gold:
        at_words, losses = -at_words, -losses
    fields = [
        (at_words[row, :size], vectors[row, :size], norms[row, :size], embeddings)
        for row, size in enumerate(texts.lengths.tolist())
    ]
    values = losses.tolist()
    if not request.characters:
        return [WordGradients(*word, loss=loss) for word, loss in zip(fields, values, strict=True)]
    if not isinstance(victim, CharacterVictim):
        raise InputError(
            "the search needs gradients at characters, which "
            f"{type(victim).__name__} does not have",
            key="attack",
            remedy="choose another search or another victim",
        )
    spell = victim.character_vectors
    characters, spelled = victim.character_gradient(texts.words, at_words)
    return [
        CharacterGradients(*word, at[: len(word[0])], vectors[: len(word[0])], spell, loss=loss)
        for word, at, vectors, loss in zip(fields, characters, spelled, values, strict=True)
    ]


def _losses(victim: DifferentiableVictim, *arguments: Any) -> Floats:
    """Return the losses of texts.

    Raises:
        InputError: the victim does not return losses.
    """
    if not isinstance(victim, MeasuredVictim):
        raise InputError(
            f"the search needs losses, which {type(victim).__name__} does not return",
            key="attack",
            remedy="set `keep: all` of the search, or choose another victim",
        )
    return victim.followed(*arguments)
