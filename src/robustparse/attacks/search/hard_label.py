"""A search that sees labels only (Maheshwary et al. 2021, section 3).

A random text with another label is found first. Its words are then changed back as long as the
label stays, and a population of such texts is improved: fewer changed words, and words that are
nearer in meaning. Details are those of the authors' code (RishabhMaheshwary/hard-label-attack).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.requests import (
    Answer,
    Compare,
    Propose,
    Score,
    Search,
    Searching,
)
from robustparse.errors import check_least
from robustparse.types import Floats, Mask, States


class _Spent(Exception):  # noqa: N818
    """The query budget is spent."""


@dataclass
class _Progress:
    """What the search of one sentence has come to.

    Args:
        best: the successful state with the fewest changed words, or the original sentence.
        over: whether the query budget is spent.
    """

    best: State
    over: bool = False


class HardLabel(Search):
    """Finds a success by chance, then brings it nearer to the original sentence.

    Scores are not read, so that victims which answer labels only can be attacked. Similarity is
    that of the first constraint that measures it (`SentenceSimilarity`); without one, it is the
    share of unchanged words. A query budget (`budget` of the attack) ends the search with the best
    success.

    Args:
        attempts: random texts with all words changed, after those with fewer changes (2500).
        population: texts that are improved together (30).
        generations: rounds of improvement at most (1000).
        patience: rounds without a change of the best text that end the search (15).
    """

    needs = ()

    def __init__(
        self,
        *,
        attempts: int = 2500,
        population: int = 30,
        generations: int = 1000,
        patience: int = 15,
    ) -> None:
        check_least("search", 2, population=population)
        check_least("search", attempts=attempts, generations=generations, patience=patience)
        self.attempts, self.population = attempts, population
        self.generations, self.patience = generations, patience

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        problem = (yield Propose(np.flatnonzero(problem.eligible))).problem
        progress = _Progress(problem.start())
        try:
            if (yield from self._start(problem, progress, rng)):
                yield from self._reduce(problem, progress)
                yield from self._improve(problem, progress, rng)
        except _Spent:
            pass
        return progress.best

    def _start(
        self, problem: Problem, progress: _Progress, rng: np.random.Generator
    ) -> Searching[bool]:
        """Change one, two, ... and at last all words at random until the label changes."""
        counts = np.diff(problem.ptr)
        positions = rng.permutation(np.flatnonzero(counts))
        for attempt in range(1, len(positions) + self.attempts + 1 if len(positions) else 0):
            chosen = positions[:attempt]
            state = problem.start()
            state[chosen] = rng.integers(1, counts[chosen] + 1)
            states, success = yield from _asked(problem, progress, state[None])
            if success[0]:
                progress.best = states[0]
                return True
        return False

    def _reduce(self, problem: Problem, progress: _Progress) -> Searching[None]:
        """Change words back, beginning with the one that leaves the most similar text."""
        while True:
            changed = np.flatnonzero(progress.best)
            restored = np.repeat(progress.best[None], len(changed), axis=0)
            restored[np.arange(len(changed)), changed] = 0
            _, success = yield from _asked(problem, progress, restored)
            if not success.any():
                return
            similarities = yield from _similarities(restored[success])
            for position in changed[success][np.argsort(-similarities, kind="stable")]:
                state = progress.best.copy()
                state[position] = 0
                _, still = yield from _asked(problem, progress, state[None])
                if not still[0]:
                    break
                progress.best = state

    def _improve(
        self, problem: Problem, progress: _Progress, rng: np.random.Generator
    ) -> Searching[None]:
        """Evolve texts until the best one stays the same for some rounds."""
        changed, first = np.flatnonzero(progress.best), progress.best
        members = []
        for position in changed.tolist() if len(changed) > 1 else ():
            mutant = yield from self._mutated(problem, progress, first, position)
            members += [] if mutant is None else [mutant]
        same = 0
        for _ in range(self.generations if members else 0):
            fewest = min(np.count_nonzero(member) for member in members)
            best = [member for member in members if np.count_nonzero(member) == fewest][-1]
            same = same + 1 if (best == progress.best).all() else 0
            progress.best = best
            if same == self.patience or fewest == 1:
                return
            children = yield from self._children(problem, progress, members, rng)
            members = [best]
            for child in children:
                position = int(rng.choice(np.flatnonzero(child)))
                mutant = yield from self._mutated(problem, progress, child, position)
                members.append(child if mutant is None else mutant)

    def _mutated(
        self, problem: Problem, progress: _Progress, state: State, position: int
    ) -> Searching[State | None]:
        """Return the state with the original word, or else with the most similar candidate.

        Returns None if neither keeps the success, or if no candidate makes the text at least as
        similar to the original sentence as the best text is.
        """
        restored = state.copy()
        restored[position] = 0
        _, success = yield from _asked(problem, progress, restored[None])
        if success[0]:
            return restored
        choices = np.arange(1, problem.ptr[position + 1] - problem.ptr[position] + 1)
        choices = choices[choices != progress.best[position]]
        states = np.repeat(state[None], len(choices), axis=0)
        states[:, position] = choices
        states, success = yield from _asked(problem, progress, states)
        if not success.any():
            return None
        values = yield from _similarities(np.concatenate([progress.best[None], states[success]]))
        likeliest = int(values[1:].argmax())
        return states[success][likeliest] if values[1:][likeliest] >= values[0] else None

    def _children(
        self,
        problem: Problem,
        progress: _Progress,
        members: Sequence[State],
        rng: np.random.Generator,
    ) -> Searching[States]:
        """Mix parents, drawn by similarity; return the children that succeed."""
        parents = np.stack(members)
        weights = np.maximum((yield from _similarities(parents)), 1e-9)
        size = (2, self.population - 1)
        first, second = rng.choice(len(parents), size, p=weights / weights.sum())
        mixture = rng.random((self.population - 1, parents.shape[1])) < 0.5
        children = np.where(mixture, parents[first], parents[second])
        fewest = np.count_nonzero(progress.best)
        children = children[np.count_nonzero(children, axis=1) <= fewest]
        children, success = yield from _asked(problem, progress, children)
        return children[success]


def _asked(problem: Problem, progress: _Progress, states: States) -> Searching[tuple[States, Mask]]:
    """Return states as the constraints admit them, and whether each is a success."""
    success = np.zeros(len(states), dtype=np.bool_)
    if not len(states):
        return states, success
    if progress.over:
        raise _Spent
    answer = yield Score(states, base=problem.start())
    progress.over = answer.over
    states = states.copy()
    states[answer.origins], success[answer.origins] = answer.states, answer.success
    return states, success


def _similarities(states: States) -> Searching[Floats]:
    """Return the similarity of each state to the original sentence, `(n,)`."""
    values = 1.0 - (states != 0).mean(axis=1)
    for row, state in enumerate(states):
        changed = np.flatnonzero(state)
        if not len(changed):
            continue
        before = state.copy()
        before[changed[0]] = 0
        found = (yield Compare(before, state[None])).similarities
        if found is None:
            break
        values[row] = found[0]
    similarities: Floats = values
    return similarities
