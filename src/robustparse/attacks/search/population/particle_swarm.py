"""Particle swarm optimisation over words (Zang et al. 2020, section 3.3; Yoo et al. 2020).

Every particle is a state with a velocity for each of its words. In each iteration it turns towards
the best state it has been in, then towards the best state of all, where a velocity says how
likely each word comes along; particles that are still close to the sentence as it was are then
changed in one more word. A word's velocity falls where particle and elite agree and rises where
they differ.

A turn of states that keep every constraint on single words keeps them too. Constraints on whole
sentences judge the words of a turned particle from left to right in the original sentence: it goes
without those that do not pass. One that would keep none of its words stays where it was.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from robustparse.attacks.problem import Problem
from robustparse.attacks.search.population.population import Population, draw
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

_FASTEST = 3.0  # velocities begin in (-3, 3), and each elite pulls by this much
_SLOW, _FAST = 0.2, 0.8  # ends of the inertia's and of both elites' schedules


@dataclass(frozen=True, eq=False)
class _Neighbourhood:
    """The best single changes of some states.

    Args:
        judged: all single changes.
        best: which of them is the best at each word, `int64 (states, words)`, -1 where there is
            none.
        gains: how far it raises the score, at least 0, `float64 (states, words)`; all 1 for a
            state that no change helps.
    """

    judged: Judged
    best: Indices
    gains: Floats

    def drawn(self, states: Population, bases: Indices, rng: np.random.Generator) -> Population:
        """Return the states at `bases`, each changed in one word drawn in proportion to the gains.

        One that draws a word without a change stays as it is.
        """
        words = draw(self.gains[bases], rng)
        rows = self.best[bases, words]
        result, changed = states.part(bases), np.flatnonzero(rows >= 0)
        result.put(changed, self.judged, rows[changed])
        return result


class ParticleSwarm(Search):
    """Moves changed sentences towards the best ones found.

    A sentence without any candidate costs no query, unless directions are those of TextAttack.

    Figures are those of the authors' released code (thunlp/SememePSO-Attack): an elite pulls by 3,
    all words of a particle begin with one velocity, and velocities are not cut off. The code draws
    the word that a first particle or a mutant changes in two ways: for IMDB by the gain of the
    word's best candidate, as here, but words may be changed again; for SST by the number of its
    candidates, up to ten.

    Args:
        population: particles (60).
        iterations: how often they move (20).
        direction: how a particle turns towards an elite: `paper`, as in the authors' code, keeps
            the particle and takes each word of the elite with probability sigmoid(velocity);
            `textattack` keeps the elite and takes each word of the particle with that probability,
            and returns without success the best particle, not the best state asked about.
    """

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
            return start  # nothing to ask about, a thousand times
        alone = Population(start[None], clean.scores, clean.success)
        around, over = yield from _neighbourhood(problem, alone)
        particles = around.drawn(alone, np.zeros(self.population, dtype=np.int64), rng)
        leader, known = particles.best(), alone.better(around.judged)
        if over or particles.success[leader]:
            return self._end(particles, known)
        elites = particles.part(np.arange(len(particles)))
        velocities = np.repeat(
            rng.uniform(-_FASTEST, _FASTEST, (self.population, 1)), len(start), axis=1
        )
        for iteration in range(self.iterations):
            lead = elites.states[leader]
            turned = self._turned(iteration, particles, velocities, elites, lead, rng)
            answer = yield Score(turned, base=start)
            particles = _arrived(particles, answer)
            known = known.better(particles)
            if answer.over or particles.success.any():
                return self._end(particles, known)
            changed = (particles.states != 0).mean(axis=1)
            mutating = np.flatnonzero(rng.random(len(particles)) < 1 - 2 * changed)
            chosen = particles.part(mutating)
            around, over = yield from _neighbourhood(problem, chosen)
            mutants = around.drawn(chosen, np.arange(len(chosen)), rng)
            particles.put(mutating, mutants, np.arange(len(chosen)))
            best, known = particles.best(), known.better(around.judged)
            if over or particles.success[best]:
                return self._end(particles, known)
            # The leader's own elite is the best state that any particle has been in.
            if particles.scores[best] > elites.scores[leader]:
                leader = best
            better = np.flatnonzero(particles.scores > elites.scores)
            elites.put(better, particles, better)
        return self._end(elites.part(np.array([leader])), known)

    def _end(self, particles: Population, known: Judged) -> Any:
        """Return the particle that succeeds, or else the best state asked about.

        TextAttack returns the best particle in either case.
        """
        best = particles.best()
        if particles.success[best] or self.direction == "textattack":
            return particles.states[best]
        return known.states[0]

    def _turned(
        self,
        iteration: int,
        particles: Population,
        velocities: Floats,
        elites: Population,
        leader: States,
        rng: np.random.Generator,
    ) -> States:
        """Where the particles turn to, `(particles, words)`; velocities change in place."""
        done = iteration / self.iterations
        inertia = own = _FAST - (_FAST - _SLOW) * done
        common = _SLOW + (_FAST - _SLOW) * done
        states = particles.states.copy()
        pull = _pull(states, elites.states) + _pull(states, leader[None])
        velocities[:] = inertia * velocities + (1 - inertia) * pull
        likely = 1 / (1 + np.exp(-velocities))
        for chance, elite in ((own, elites.states), (common, leader[None])):
            turning = rng.random(len(particles)) < chance
            drawn = rng.random(likely.shape) < likely
            from_elite = drawn if self.direction == "paper" else ~drawn
            turned = np.where(from_elite, elite, states)
            states[turning] = turned[turning]
        return states


def _arrived(particles: Population, answer: Answer) -> Population:
    """Return the particles where constraints let them turn, without those the budget cut off."""
    places = answer.places
    end = len(particles) if not answer.over else int(places.max(initial=-1)) + 1
    arrived = particles.part(np.arange(end))
    arrived.put(places, answer, np.arange(len(places)))
    return arrived


def _pull(states: States, elites: States) -> Floats:
    """How an elite changes velocities: down where the words agree, up where they differ."""
    return np.where(states == elites, -_FASTEST, _FASTEST)


def _neighbourhood(problem: Problem, states: Population) -> Searching[tuple[_Neighbourhood, bool]]:
    """Yield the best change at every word of each state; and whether the budget is spent."""
    bases, positions = np.nonzero(problem.changeable(states.states))
    answer = yield Expand(states.states, positions, bases=bases)
    places, rows = answer.best_of_each()
    bases, positions = bases[places], positions[places]
    best = np.full(states.states.shape, -1, dtype=np.int64)
    best[bases, positions] = rows
    gains = np.zeros(states.states.shape)
    gains[bases, positions] = np.maximum(0.0, answer.scores[rows] - states.scores[bases])
    gains[~gains.any(axis=1)] = 1.0
    return _Neighbourhood(answer, best, gains), answer.over
