"""The genetic algorithm against traces worked out by hand, and what populations share.

Random numbers are scripted, each list one draw, so that every step can be followed on paper. States
are written as one code a word: 0 the word itself, 1 and 2 its candidates.
"""

import numpy as np
import pytest
from search_fakes import Scripted, TableClassifier, trace

from robustparse.attacks.search.genetic import Genetic
from robustparse.attacks.search.particle_swarm import ParticleSwarm
from robustparse.attacks.search.population import draw
from robustparse.attacks.search.requests import Search
from robustparse.errors import InputError

LEXICON = {"p": ["a", "b"], "q": ["c"]}
TABLE = {"p q": 0.1, "a q": 0.2, "b q": 0.3, "p c": 0.05, "b c": 0.6}

FIRST_GENERATION = (
    # Weights (2, 1). Member 0 picks p (0.3 of 3), member 1 picks q (2.7 of 3).
    [0.1, 0.9],
    # c does not help member 1: q is out, it picks p.
    [0.5],
    # Both are "b q" now. Parents of the only child: 0 and 1; p from the second, q from the first.
    *([0.2], [0.9], [0.4, 0.9]),
)


@pytest.mark.parametrize(
    ("generations", "outcome", "words", "status"),
    [
        (1, "last", "b q", "failed"),
        (1, "best", "b c", "succeeded"),
        (2, "last", "b c", "succeeded"),
    ],
)
def test_genetic(generations: int, outcome: str, words: str, status: str) -> None:
    # A parent is drawn for the case that the child is not asked about; the child picks q, as the
    # weight of p is 0 since it was changed for the better.
    rng = Scripted(*FIRST_GENERATION, [0.0], [0.3])
    search = Genetic(population=2, generations=generations, outcome=outcome)
    result = trace(search, "p q", LEXICON, TableClassifier(TABLE), rng=rng)
    assert result.requests == [
        "Propose 0 1",
        "Expand 10 20 01",
        "Expand 10 20",
        "Score 20",
        "Expand 21",
    ]
    # "b c" succeeds; if it is one of the last children, `last` does not look at it.
    assert (result.words, result.status) == (words, status)
    assert (result.charged, result.unique) == (8, 5)


def test_genetic_does_not_ask_about_a_child_that_is_its_parent() -> None:
    # Both parents are "b q", so that no other mixture can differ: the second one is taken.
    rng = Scripted(*FIRST_GENERATION, [0.7], [0.3])
    search = Genetic(population=2, generations=2, repeats="redraw")
    result = trace(search, "p q", LEXICON, TableClassifier(TABLE), rng=rng)
    assert result.requests[3:] == ["Score", "Expand 21"]
    assert (result.words, result.charged, result.unique) == ("b c", 7, 5)


def test_genetic_redraws_a_child_that_is_its_first_parent() -> None:
    # Without q's penalty one member becomes "b q", the other "p c".
    table = TABLE | {"p c": 0.2, "b c": 0.4}
    rng = Scripted(
        [0.1, 0.9],
        *([0.2], [0.9]),  # parents "b q" and "p c"
        [0.9, 0.9],  # all words of the first: the parent itself
        [0.9, 0.2],  # again: q from the second
        [0.0],
        # Weight left: none. p was changed in the first parent, q in the second.
    )
    search = Genetic(population=2, generations=1, repeats="redraw")
    result = trace(search, "p q", LEXICON, TableClassifier(table), rng=rng)
    assert result.requests[1:] == ["Expand 10 20 01", "Score 21"]
    assert (result.words, result.charged, result.unique) == ("b c", 5, 5)


def test_genetic_loses_tries_on_words_without_candidates() -> None:
    # Weights (1, 1): the first pick, q, has no candidates, the second, p, does not help.
    rng = Scripted([0.9], [0.1])
    search = Genetic(population=1, generations=1)
    # With one member there are no children, and draws of nothing.
    rng.draws += [[], [], [], []]
    table = {"p q": 0.1, "a q": 0.05}
    result = trace(search, "p q", {"p": ["a"]}, TableClassifier(table), rng=rng)
    assert result.requests[1:] == ["Expand 10", "Score"]
    assert (result.words, result.charged) == ("p q", 2)


def test_selection_favours_strong_members_or_weak_ones() -> None:
    scores = np.array([0.1, 0.3, 0.0])
    assert Genetic()._fitness(scores).tolist() == [0.1, 0.3, 0.0]
    assert Genetic()._fitness(0 * scores).tolist() == [1.0, 1.0, 1.0]
    weak = Genetic(selection="textattack", temperature=0.5)._fitness(scores)
    expected = np.exp(-scores / 0.5)
    assert weak / weak.sum() == pytest.approx(expected / expected.sum())


def test_draw_is_in_proportion_to_weights() -> None:
    weights = np.repeat([[0.0, 3.0, 1.0, 0.0]], 4000, axis=0)
    counts = np.bincount(draw(weights, np.random.default_rng(0)), minlength=4)
    assert counts[[0, 3]].tolist() == [0, 0]
    assert abs(counts[1] - 3000) < 4 * np.sqrt(4000 * 0.75 * 0.25)
    # A point at the very end falls on the last column with a weight.
    assert draw(weights[:1], Scripted([1.0])).tolist() == [2]


@pytest.mark.parametrize("search", [Genetic(), ParticleSwarm()])
def test_without_any_candidate_nothing_is_asked(search: Search) -> None:
    result = trace(search, "r s", LEXICON, TableClassifier(TABLE))
    assert (result.words, result.status, result.charged) == ("r s", "failed", 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Genetic(population=0), "population must be >= 1"),
        (lambda: Genetic(generations=0), "generations must be >= 1"),
        (lambda: Genetic(selection="best"), "selection must be one of paper, textattack"),
        (lambda: Genetic(repeats="drop"), "repeats must be one of ask, redraw"),
        (lambda: Genetic(temperature=0.0), "temperature must be above 0"),
        (lambda: ParticleSwarm(population=0), "population must be >= 1"),
        (lambda: ParticleSwarm(iterations=0), "iterations must be >= 1"),
        (lambda: ParticleSwarm(direction="both"), "direction must be one of paper"),
    ],
)
def test_bad_settings(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
