"""What LEAP changes in a particle swarm: draws, inertia, turns and mutants."""

import numpy as np
import pytest

from robustparse.attacks.search import leap
from robustparse.attacks.search.leap import LEAP
from robustparse.attacks.search.particle_swarm import Neighbourhood
from robustparse.attacks.search.population import Population
from robustparse.attacks.search.requests import Judged


def test_flights_are_levy_stable() -> None:
    """By the characteristic function exp(-|t|^1.5) of a symmetric distribution."""
    steps = leap._levy(200_000, None, np.random.default_rng(0))
    for t in (0.3, 1.0, 2.0):
        assert np.cos(t * steps).mean() == pytest.approx(np.exp(-(t**1.5)), abs=0.03)
        assert np.sin(t * steps).mean() == pytest.approx(0, abs=0.01)
    inside = leap._levy(2000, (0.5, 0.8), np.random.default_rng(1))
    assert inside.min() >= 0.5
    assert inside.max() <= 0.8
    assert np.histogram(inside, 3)[0].min() > 400


def test_first_velocities_are_uniform_or_flights_within_the_limits() -> None:
    velocities = LEAP(population=4000)._velocities(np.random.default_rng(0))
    assert velocities.shape == (4000,)
    assert np.abs(velocities).max() <= 3.0
    assert abs(velocities.mean()) < 0.1
    # A flight is mostly short: the middle third has more than a third.
    assert (np.abs(velocities) < 1).mean() > 0.45


def test_inertia_rises_with_the_score_up_to_the_first_average() -> None:
    begun = np.array([0.2, 0.4, 0.6])
    scores = np.array([0.1, 0.2, 0.3, 0.4, 0.9])
    inertia = LEAP()._inertia(3, scores, begun, np.random.default_rng(0))
    # 0.2 at the lowest first score, 0.8 at the average of 0.4; below, the line goes on.
    assert inertia[:3] == pytest.approx([-0.1, 0.2, 0.5])
    assert ((inertia[3:] >= 0.5) & (inertia[3:] <= 0.8)).all()
    same = LEAP()._inertia(0, scores, np.full(3, 0.4), np.random.default_rng(0))
    assert ((same >= 0.5) & (same <= 0.8)).all()


def test_words_share_the_probability_of_a_turn() -> None:
    velocities = np.array([[0.0, np.log(3.0)], [1000.0, 0.0]])
    assert LEAP()._likely(velocities) == pytest.approx(np.array([[0.25, 0.75], [1.0, 0.0]]))


def test_mutants_take_the_best_change_of_all() -> None:
    states = np.array([[0, 0], [1, 0]], dtype=np.int16)
    chosen = Population(states, np.array([0.1, 0.2]), np.zeros(2, dtype=bool))
    changed = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.int16)
    judged = Judged(changed, np.array([0.3, 0.6, 0.1]), np.array([False, True, False]))
    # The second state's only change does not help: its gains are alike, and it is taken.
    around = Neighbourhood(judged, np.array([[0, 1], [-1, 2]]), np.array([[0.2, 0.5], [1.0, 1.0]]))
    mutants = LEAP()._mutants(around, chosen, np.random.default_rng(0))
    assert mutants.states.tolist() == [[0, 1], [1, 0]]  # a word without a change stays
    assert mutants.success.tolist() == [True, False]
    assert LEAP()._unmoved(chosen) is chosen.states
