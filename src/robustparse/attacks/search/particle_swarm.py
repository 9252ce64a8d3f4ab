"""Particle swarm optimisation over words (Zang et al. 2020, section 3.3; Yoo et al. 2020).

A particle is a state with one velocity per word. In each iteration it moves towards the best state
that it has visited, then towards the best state of all particles; these states are its elites. The
velocity of a word gives the probability that the word is copied from the elite. Particles that are
still close to the original sentence are then changed in one more word. A velocity falls if particle
and elite agree on the word, and rises if they differ.

If the states satisfy the word constraints, so does a moved particle. Sentence constraints judge the
changes of a moved particle from left to right in the original sentence, and rejected changes are
left out. A particle that would lose all its changes does not move.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from robustparse.attacks.problem import Problem
from robustparse.attacks.search.population import Population, draw
from robustparse.attacks.search.requests import (
    Answer,
    Expand,
    Judged,
    Propose,
    Score,
    Search,
    Searching,
)
from robustparse.errors import check_choice, check_least
from robustparse.types import Floats, Indices, States

FASTEST = 3.0  # initial velocities are in (-3, 3); each elite changes them by this much
_SLOW, _FAST = 0.2, 0.8  # limits of the schedules of inertia and of both elites


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The best single changes of some states.

    Args:
        judged: all single changes.
        best: the row of the best change of each word, `int64 (states, words)`, -1 if there is none.
        gains: the increase in score by this change, at least 0, `float64 (states, words)`; all 1
            for a state that no change improves.
    """

    judged: Judged
    best: Indices
    gains: Floats

    def drawn(self, states: Population, bases: Indices, rng: np.random.Generator) -> Population:
        """Return the states at `bases`, each changed in one word drawn in proportion to the gains.

        A state stays unchanged if it draws a word without a change.
        """
        words = draw(self.gains[bases], rng)
        rows = self.best[bases, words]
        result, changed = states.select(bases), np.flatnonzero(rows >= 0)
        result.put(changed, self.judged, rows[changed])
        return result


class ParticleSwarm(Search):
    """Moves changed sentences towards the best ones.

    A sentence without candidates costs no query, unless `direction` is `textattack`.

    Constants are those of the authors' released code (thunlp/SememePSO-Attack): an elite changes
    velocities by 3, all words of a particle start with the same velocity, and velocities are not
    clipped. To choose the word that an initial particle or a mutant changes, their code for IMDB
    draws by the gain of the word's best candidate, as here, except that words may be changed again;
    their code for SST draws by the number of its candidates, up to ten.

    Args:
        population: number of particles (60).
        iterations: number of moves (20).
        direction: how a particle moves towards an elite: `paper`, as in the authors' code, copies
            each word of the elite with probability sigmoid(velocity); `textattack` starts from the
            elite and copies each word of the particle with that probability, and without success
            returns the best particle instead of the best scored state.
    """

    needs = ("probabilities",)

    def __init__(
        self,
        *,
        population: int = 60,
        iterations: int = 20,
        direction: Literal["paper", "textattack"] = "paper",
    ) -> None:
        check_least("search", population=population, iterations=iterations)
        check_choice("search: direction", direction, ("paper", "textattack"))
        self.population, self.iterations, self.direction = population, iterations, direction

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        start = problem.start()
        problem = (yield Propose(np.flatnonzero(problem.eligible))).problem
        if not len(problem.rows) and self.direction == "paper":
            return start  # no particle could ever be changed
        alone = Population(start[None], clean.scores, clean.success)
        around, over = yield from _neighbourhood(problem, alone)
        particles = around.drawn(alone, np.zeros(self.population, dtype=np.int64), rng)
        leader, known = particles.best(), alone.better(around.judged)
        if over or particles.success[leader]:
            return self._end(particles, known)
        elites = particles.select(np.arange(len(particles)))
        velocities = np.repeat(self._velocities(rng)[:, None], len(start), axis=1)
        begun = particles.scores
        for iteration in range(self.iterations):
            inertia = self._inertia(iteration, particles.scores, begun, rng)[:, None]
            lead = elites.states[leader]
            moved = self._moved(iteration, particles, (velocities, inertia), elites, lead, rng)
            answer = yield Score(moved, base=start)
            particles = _admitted(particles, answer)
            known = known.better(particles)
            if answer.over or particles.success.any():
                return self._end(particles, known)
            changed = (particles.states != self._unmoved(elites)).mean(axis=1)
            mutating = np.flatnonzero(rng.random(len(particles)) < 1 - 2 * changed)
            chosen = particles.select(mutating)
            around, over = yield from _neighbourhood(problem, chosen)
            mutants = self._mutants(around, chosen, rng)
            particles.put(mutating, mutants, np.arange(len(chosen)))
            best, known = particles.best(), known.better(around.judged)
            if over or particles.success[best]:
                return self._end(particles, known)
            # The leader's elite is the best state that any particle has visited.
            if particles.scores[best] > elites.scores[leader]:
                leader = best
            better = np.flatnonzero(particles.scores > elites.scores)
            elites.put(better, particles, better)
        return self._end(elites.select(np.array([leader])), known)

    def _velocities(self, rng: np.random.Generator) -> Floats:
        """Draw the first velocity of each particle, `(particles,)`."""
        return rng.uniform(-FASTEST, FASTEST, (self.population, 1))[:, 0]

    def _inertia(
        self, iteration: int, scores: Floats, begun: Floats, rng: np.random.Generator
    ) -> Floats:
        """Return how much of its velocity each particle keeps, `(particles,)`.

        `scores` and `begun` are the particles' current and first scores.
        """
        done = iteration / self.iterations
        return np.full(len(scores), _FAST - (_FAST - _SLOW) * done)

    def _likely(self, velocities: Floats) -> Floats:
        """Return the probability that a word is copied from an elite, `(particles, words)`."""
        likely: Floats = 1 / (1 + np.exp(-velocities))
        return likely

    def _unmoved(self, elites: Population) -> States:
        """Return the states from which particles must differ little in order to be changed."""
        return np.zeros_like(elites.states)

    def _mutants(
        self, around: Neighbourhood, chosen: Population, rng: np.random.Generator
    ) -> Population:
        """Return the chosen particles, each with a changed word."""
        return around.drawn(chosen, np.arange(len(chosen)), rng)

    def _end(self, particles: Population, known: Judged) -> Any:
        """Return the successful particle, or else the best scored state.

        TextAttack returns the best particle in either case.
        """
        best = particles.best()
        if particles.success[best] or self.direction == "textattack":
            return particles.states[best]
        return known.states[0]

    def _moved(
        self,
        iteration: int,
        particles: Population,
        motion: tuple[Floats, Floats],
        elites: Population,
        leader: States,
        rng: np.random.Generator,
    ) -> States:
        """Return the moved particles, `(particles, words)`; change the velocities in place.

        `motion` holds the velocities and the inertia, `(particles, words)` and `(particles, 1)`.
        """
        velocities, inertia = motion
        done = iteration / self.iterations
        own = _FAST - (_FAST - _SLOW) * done
        common = _SLOW + (_FAST - _SLOW) * done
        states = particles.states.copy()
        pull = _pull(states, elites.states) + _pull(states, leader[None])
        velocities[:] = inertia * velocities + (1 - inertia) * pull
        likely = self._likely(velocities)
        for chance, elite in ((own, elites.states), (common, leader[None])):
            moving = rng.random(len(particles)) < chance
            drawn = rng.random(likely.shape) < likely
            from_elite = drawn if self.direction == "paper" else ~drawn
            moved = np.where(from_elite, elite, states)
            states[moving] = moved[moving]
        return states


def _admitted(particles: Population, answer: Answer) -> Population:
    """Replace particles by their scored moves; drop those that the budget cut off."""
    end = len(particles) if not answer.over else int(answer.origins.max(initial=-1)) + 1
    admitted = particles.select(np.arange(end))
    admitted.put(answer.origins, answer, np.arange(len(answer.origins)))
    return admitted


def _pull(states: States, elites: States) -> Floats:
    """Return the change of velocities: negative where words agree, positive where they differ."""
    return np.where(states == elites, -FASTEST, FASTEST)


def _neighbourhood(problem: Problem, states: Population) -> Searching[tuple[Neighbourhood, bool]]:
    """Score all single changes of some states; also return whether the budget is spent."""
    bases, positions = np.nonzero(problem.changeable(states.states))
    answer = yield Expand(states.states, positions, bases=bases)
    index, rows = answer.best_of_each()
    bases, positions = bases[index], positions[index]
    best = np.full(states.states.shape, -1, dtype=np.int64)
    best[bases, positions] = rows
    gains = np.zeros(states.states.shape)
    gains[bases, positions] = np.maximum(0.0, answer.scores[rows] - states.scores[bases])
    gains[~gains.any(axis=1)] = 1.0
    return Neighbourhood(answer, best, gains), answer.over
