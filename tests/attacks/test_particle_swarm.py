"""The particle swarm against traces worked out by hand.

Random numbers are scripted, each list one draw, so that every step can be followed on paper. States
are written as one code a word: 0 the word itself, 1 and 2 its candidates.
"""

import numpy as np
import pytest
from search_fakes import Scripted, TableClassifier, trace

from robustparse.attacks.search.particle_swarm import ParticleSwarm
from robustparse.attacks.search.population import Population

LEXICON = {"p": ["a", "b"], "q": ["c"]}
TABLE = {"p q": 0.1, "a q": 0.2, "b q": 0.3, "p c": 0.05, "b c": 0.6}
# With two words that have no candidates.
LONG = {f"{text} r s": score for text, score in TABLE.items()} | {"p c r s": 0.2}

# Gains of p and q in LONG: 0.2 (b) and 0.1 (c). Particle 0 becomes "b q r s" (0.3), particle 1
# "p c r s" (0.2). Velocities begin at 0.
SWARM = (
    [0.1, 0.9],
    [0.5, 0.5],
    # Particle 0 is its own elite and the leader: its velocities fall to 0.2 (-3 - 3) = -1.2, whose
    # sigmoid is 0.23. Particle 1 is its own elite and differs from the leader in p and q: 0 there,
    # whose sigmoid is 0.5, and -1.2 on r and s. No turn to the own elite (0.9 > 0.8).
    *([0.9, 0.9], [0.0] * 8),
    # Particle 1 turns to the leader (0.1 < 0.2); only p is drawn.
    *([0.9, 0.1], [0.9] * 4 + [0.4, 0.6, 0.9, 0.9]),
)


def test_swarm_turns_as_in_the_paper() -> None:
    rng = Scripted(*SWARM)
    search = ParticleSwarm(population=2, iterations=1)
    result = trace(search, "p q r s", LEXICON, TableClassifier(LONG), rng=rng)
    # p, drawn, comes from the leader, q stays: "b c r s".
    assert result.requests == ["Propose 0 1 2 3", "Expand 1000 2000 0100", "Score 2000 2100"]
    assert (result.words, result.status) == ("b c r s", "succeeded")
    assert (result.charged, result.unique) == (6, 5)


def test_swarm_turns_as_in_textattack_and_mutates() -> None:
    # p, drawn, stays, the rest comes from the leader: "p q r s". A quarter of particle 0's words
    # is changed, none of particle 1's: they mutate with chances 0.5 and 1. Particle 1 draws c.
    rng = Scripted(*SWARM, [0.6, 0.9], [0.9])
    search = ParticleSwarm(population=2, iterations=1, direction="textattack")
    result = trace(search, "p q r s", LEXICON, TableClassifier(LONG), rng=rng)
    assert result.requests[2:] == ["Score 2000 0000", "Expand 1000 2000 0100"]
    assert (result.words, result.status) == ("b q r s", "failed")
    assert (result.charged, result.unique) == (9, 4)


def test_swarm_follows_elites_that_are_replaced() -> None:
    """Inertia and the own elite's chance are 0.8, 0.6, 0.4, the leader's chance is 0.2, 0.4, 0.6.

    A velocity v becomes inertia * v + (1 - inertia) * (pull of the own elite + pull of the leader),
    where a pull is -3 if the words are equal and 3 if not. Velocities of p, q, r, s by iteration:

    particle 0: -1.2 0 0 -1.2; -3.12 -2.4 -2.4 -3.12; -4.848 -4.56 2.64 -4.848
    particle 1: -1.2 four times; -0.72 -0.72 -3.12 -3.12; -3.888 -0.288 -4.848 -4.848

    Sigmoids of 0, -0.72, 2.64 and -0.288 are 0.5, 0.33, 0.93 and 0.43; a draw below takes the word
    of the elite.
    """
    scores = {"p q": 0.1, "a q": 0.15, "b q": 0.3, "p c": 0.25, "b c": 0.28}
    table = {f"{text} r s": score for text, score in scores.items()}
    table |= {"p q d s": 0.12, "b q d s": 0.15}
    all_four = [0.0] * 4
    rng = Scripted(
        # Gains of p, q, r: 0.2 (b), 0.15 (c), 0.02 (d), 0.37 in all. Particle 0 draws 0.359, r;
        # particle 1 draws 0.259, q, and leads. Velocities begin at 0.
        *([0.97, 0.7], [0.5, 0.5]),
        # Nobody turns to the own elite. Particle 0 turns to the leader: q stays (0.6), r comes
        # along (0.4): the sentence as it was.
        *([0.9, 0.9], all_four * 2, [0.1, 0.3], [0.9, 0.6, 0.4, 0.9, *all_four]),
        # Unchanged, it mutates; particle 1 does not, as 0.6 is above 0.5. It draws 0.185, p: after
        # that "b q r s" (0.3) is its elite in place of "p q d s", and leads before "p c r s".
        *([0.9, 0.6], [0.5]),
        # Particle 1 turns to the new leader: p comes along (0.3), q stays (0.35). By this move its
        # elite is "b c r s" (0.28) in place of "p c r s" (0.25).
        *([0.7, 0.7], all_four * 2, [0.5, 0.3], [*all_four, 0.3, 0.35, 0.9, 0.9]),
        # Particle 0 mutates; no change helps "b q r s", so all words are as likely: r, "b q d s".
        *([0.4, 0.0], [0.7]),
        # Both turn to their own elites: particle 0's is still "b q r s", r goes back (0.92);
        # particle 1 is where its own is. It also turns to the leader, but q stays (0.45).
        *(
            [0.3, 0.3],
            [0.9, 0.9, 0.92, 0.9, *all_four],
            [0.7, 0.5],
            [*all_four, 0.0, 0.45, 0.9, 0.9],
        ),
        # Particle 0 mutates for the worse once more: q.
        *([0.4, 0.0], [0.3]),
    )
    search = ParticleSwarm(population=2, iterations=3)
    lexicon = {**LEXICON, "r": ["d"]}
    result = trace(search, "p q r s", lexicon, TableClassifier(table), rng=rng)
    assert result.requests == [
        *("Propose 0 1 2 3", "Expand 1000 2000 0100 0010"),
        *("Score 0000 0100", "Expand 1000 2000 0100 0010"),
        *("Score 2000 2100", "Expand 2100 2010"),
        *("Score 2000 2100", "Expand 2100 2010"),
    ]
    # Both particles end as "b c r s"; the outcome is the leader's elite.
    assert (result.words, result.status) == ("b q r s", "failed")
    assert (result.charged, result.unique) == (19, 7)


@pytest.mark.parametrize("budget", [6, 7])
@pytest.mark.parametrize(("direction", "words"), [("paper", "b q r s"), ("textattack", "b c r s")])
def test_swarm_out_of_budget(budget: int, direction: str, words: str) -> None:
    """The best state of all is the leader, where TextAttack returns the best particle."""
    stay = ([0.9], [0.0] * 4, [0.9], [0.0] * 4)
    # One particle becomes "b q r s" (0.3), does not turn, and mutates, for the worse: query 6. It
    # is asked about again in the next iteration: query 7.
    draws = ([0.1], [0.5], *stay, [0.4], [0.3], *(stay if budget > 6 else ()))
    search = ParticleSwarm(population=1, iterations=2, direction=direction)
    victim = TableClassifier(LONG | {"b c r s": 0.05})
    result = trace(search, "p q r s", LEXICON, victim, rng=Scripted(*draws), budget=budget)
    asked = ["Expand 1000 2000 0100", "Score 2000", "Expand 2100", "Score 2100"]
    assert result.requests[1:] == asked[: budget - 3]
    assert (result.words, result.status, result.charged) == (words, "failed", budget)


@pytest.mark.parametrize(
    ("table", "drawn", "budget", "ours", "theirs"),
    [
        ({"a q": 0.05}, 0.1, 2, "p q", "a q"),  # worse than the sentence as it was
        ({"b q": 0.6, "p c": 0.2}, 0.9, 4, "b q", "p c"),  # the success is not drawn
    ],
)
@pytest.mark.parametrize("direction", ["paper", "textattack"])
def test_swarm_out_of_budget_before_it_moves(
    table: dict, drawn: float, budget: int, ours: str, theirs: str, direction: str
) -> None:
    """TextAttack returns the particle that was drawn, whatever was asked about beside it."""
    search = ParticleSwarm(population=1, direction=direction)
    victim = TableClassifier(TABLE | table)
    result = trace(search, "p q", LEXICON, victim, rng=Scripted([drawn]), budget=budget)
    assert result.requests[1:] == ["Expand 10 20 01"]
    assert (result.words, result.charged) == (ours if direction == "paper" else theirs, budget)


@pytest.mark.parametrize(("iteration", "own", "common"), [(0, 0.8, 0.2), (15, 0.35, 0.65)])
def test_particles_turn_to_their_own_elite_first_and_to_the_common_one_later(
    iteration: int, own: float, common: float
) -> None:
    """Zang et al. 2020, section 3.3: both chances and the inertia are linear in the iteration."""
    count, nothing = 4000, np.zeros(4000)
    particles, elites = (
        Population(np.full((count, 2), choice, np.int16), nothing, nothing > 0) for choice in (1, 2)
    )
    velocities = np.full((count, 2), 1000.0)  # a turn takes every word along
    rng, leader = np.random.default_rng(0), np.array([3, 3], np.int16)
    search = ParticleSwarm(population=count, iterations=20)
    inertia = search._inertia(iteration, nothing, nothing, rng)[:, None]
    turned = search._moved(iteration, particles, (velocities, inertia), elites, leader, rng)
    assert velocities == pytest.approx(own * 1000 + (1 - own) * 6)  # inertia falls as own does
    shares = np.bincount(turned[:, 0], minlength=4) / count
    expected = [0, (1 - own) * (1 - common), own * (1 - common), common]
    assert np.abs(shares - expected).max() < 0.03


def test_swarm_without_any_candidate_asks_on() -> None:
    # As TextAttack, which charges every particle in every iteration: 1 + 20 * 60.
    search = ParticleSwarm(direction="textattack")
    result = trace(search, "r s", LEXICON, TableClassifier({}))
    assert (result.status, result.charged, result.unique) == ("failed", 1201, 1)
