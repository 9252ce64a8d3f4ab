"""LEAP (Xiao et al. 2023): particle swarm optimisation with Levy flights and adaptive inertia."""

import math

import numpy as np

from robustparse.attacks.search.particle_swarm import (
    FASTEST,
    Neighbourhood,
    ParticleSwarm,
)
from robustparse.attacks.search.population import Population
from robustparse.types import Floats, States

# The exponent of the Levy distribution, and the constant of Mantegna 1994 that belongs to it.
_ALPHA, _SCALE = 1.5, 2.737
_SLOW, _FAST = 0.2, 0.8  # limits of the inertia of particles below the average
_FLIGHT = (0.5, 0.8)  # limits of the inertia of the others, which is a Levy flight


class LEAP(ParticleSwarm):
    """Moves changed sentences towards the best ones, now and then by a large step.

    It differs from `ParticleSwarm` in five things: first velocities are Levy flights; a particle
    that scores below the average of the first particles has an inertia that rises with its score,
    and any other one a Levy flight; the probabilities that words are copied from an elite are a
    softmax over the words of a sentence, so that about one word is; a particle is changed in one
    more word if it is close to its own best state; and that change is the best of all. It takes
    the arguments of `ParticleSwarm`.
    """

    def _velocities(self, rng: np.random.Generator) -> Floats:
        uniform = rng.uniform(-FASTEST, FASTEST, (2, self.population))
        flights = _levy(self.population, (-FASTEST, FASTEST), rng)
        return np.where(uniform[0] < _levy(self.population, None, rng), uniform[1], flights)

    def _inertia(
        self, iteration: int, scores: Floats, begun: Floats, rng: np.random.Generator
    ) -> Floats:
        average, lowest = begun.mean(), begun.min()
        flights = _levy(len(scores), _FLIGHT, rng)
        if np.isclose(average, lowest):
            return flights
        rising = _SLOW + (_FAST - _SLOW) * (scores - lowest) / (average - lowest)
        return np.where(scores < average, rising, flights)

    def _likely(self, velocities: Floats) -> Floats:
        exponentials = np.exp(velocities - velocities.max(axis=1, keepdims=True))
        likely: Floats = exponentials / exponentials.sum(axis=1, keepdims=True)
        return likely

    def _unmoved(self, elites: Population) -> States:
        return elites.states

    def _mutants(
        self, around: Neighbourhood, chosen: Population, rng: np.random.Generator
    ) -> Population:
        words = around.gains.argmax(axis=1)
        rows = around.best[np.arange(len(chosen)), words]
        mutants = chosen.select(np.arange(len(chosen)))
        changed = np.flatnonzero(rows >= 0)
        mutants.put(changed, around.judged, rows[changed])
        return mutants


def _levy(count: int, limits: tuple[float, float] | None, rng: np.random.Generator) -> Floats:
    """Draw steps of a Levy flight, `(count,)`, those outside the limits again (Mantegna 1994)."""
    steps = _steps(count, rng)
    if limits is not None:
        while len(again := np.flatnonzero((steps < limits[0]) | (steps > limits[1]))):
            steps[again] = _steps(len(again), rng)
    return steps


def _steps(count: int, rng: np.random.Generator) -> Floats:
    half = (_ALPHA + 1) / 2
    sine = math.sin(math.pi * _ALPHA / 2)
    spread = math.gamma(_ALPHA + 1) * sine
    spread /= math.gamma(half) * _ALPHA * 2 ** ((_ALPHA - 1) / 2)
    factor = _ALPHA * math.gamma(half / _ALPHA) / math.gamma(1 / _ALPHA)
    factor *= (_ALPHA * math.gamma(half) / (math.gamma(_ALPHA + 1) * sine)) ** (1 / _ALPHA)
    normal = rng.normal(size=(2, count))
    ratio = normal[0] * spread ** (1 / _ALPHA) / np.abs(normal[1]) ** (1 / _ALPHA)
    # The authors' code lacks the absolute value here, which makes steps to the left far longer.
    steps: Floats = ratio * ((factor - 1.0) * np.exp(-np.abs(ratio) / _SCALE) + 1.0)
    return steps
