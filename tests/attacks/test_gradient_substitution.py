"""Nearest words and characters against all candidates looked at one by one."""

from typing import Any

import numpy as np
import pytest
from attack_fakes import FakeVictim, corpus, example
from numpy.typing import NDArray

from robustparse.attacks.candidates.characters import CharacterEdits
from robustparse.attacks.candidates.generator import CandidateGenerator
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.engine.problem_builder import ProblemBuilder
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.problem import Problem
from robustparse.attacks.search.gradient_substitution import NearestCharacter, NearestWord
from robustparse.attacks.search.gradients import (
    CharacterGradients,
    Embeddings,
    WordGradients,
)
from robustparse.errors import InputError

WIDTH = 8
KNOWN = "abcdefgh"


class Namer(FakeVictim):
    """Rows of words, random embeddings of words and characters."""

    def __init__(self) -> None:
        super().__init__()
        rng = np.random.default_rng(5)
        self.table = rng.normal(size=(4000, 3))
        self.letters = {letter: rng.normal(size=4) for letter in KNOWN}

    def embed(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        return self.table[rows]

    def spell(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        spelled = np.zeros((len(rows), WIDTH, 4))
        for row, number in enumerate(rows.tolist()):
            for place, letter in enumerate(self.names[number][:WIDTH]):
                spelled[row, place] = self.letters.get(letter, 0.0)
        return spelled


def problem_of(one: Any, candidates: CandidateGenerator, victim: FakeVictim) -> Problem:
    builder = ProblemBuilder(victim, candidates, [], AttachmentDrop(), 0, Statistics())
    (problem,) = builder.build([one])
    (extended,) = builder.extend([problem], [np.arange(len(problem))])
    return extended


def far(vector: np.ndarray, target: np.ndarray, distance: str) -> float:
    if distance == "euclidean":
        return float(np.sqrt(((vector - target) ** 2).sum()))
    return 1 - float(vector @ target) / float(np.linalg.norm(vector) * np.linalg.norm(target))


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
def test_the_nearest_word_by_brute_force(distance: str) -> None:
    examples, lexicon = corpus(15)
    rng = np.random.default_rng(0)
    refused = 0
    for one in examples:
        victim = Namer()
        problem = problem_of(one, Lexicon(lexicon), victim)
        substitutes = NearestWord(alpha=1.5, distance=distance)
        state, replaced = problem.start(), set()
        for _ in range(12):
            position = int(rng.integers(len(problem)))
            gradient = rng.normal(size=(len(problem), 3))
            vectors = rng.normal(size=(len(problem), 3))
            gradients = WordGradients(
                gradient, vectors, np.ones(len(problem)), Embeddings(victim.embed)
            )
            standing = problem.text(state)[position]
            step = gradient[position] / np.sqrt((gradient[position] ** 2).sum())
            target = vectors[position] + 1.5 * step
            words = problem.words[problem.ptr[position] : problem.ptr[position + 1]]
            allowed = {
                choice: far(victim.table[victim.rows[word]], target, distance)
                for choice, word in enumerate(words, start=1)
                if word not in {standing, *replaced}
            }
            expected = min(allowed, key=allowed.__getitem__) if allowed else 0
            assert substitutes.choose(problem, state, position, gradients) == expected
            if expected and rng.random() < 0.8:
                replaced.add(standing)
                state[position] = expected
                substitutes.settle([position])
            substitutes.settle([])  # refused: the word still stands
            refused += not expected and len(words) > 0
    assert refused  # where all candidates have been used up


def at_words(problem: Problem, victim: Namer, gradient: Any) -> WordGradients:
    gradient = np.array(gradient, dtype=np.float64)
    embeddings = Embeddings(victim.embed)
    return WordGradients(gradient, np.zeros_like(gradient), np.ones(len(problem)), embeddings)


def test_casing_makes_no_other_word() -> None:
    victim = Namer()
    problem = problem_of(example("Cat cat", "NN NN"), Lexicon({"cat": ["dog", "cow"]}), victim)
    assert problem.words == ("Dog", "Cow", "dog", "cow")
    victim.table[victim.intern(["Dog", "dog"])] = (9.0, 0.0, 0.0)
    victim.table[victim.intern(["Cow", "cow"])] = (5.0, 0.0, 0.0)
    substitutes = NearestWord()
    gradients = at_words(problem, victim, [[1, 0, 0], [1, 0, 0]])
    assert substitutes.choose(problem, problem.start(), 0, gradients) == 1
    substitutes.settle([0])
    changed = np.array([1, 0], dtype=np.int16)
    assert substitutes.choose(problem, changed, 0, gradients) == 2  # "Dog" is replaced,
    substitutes.settle([0])
    changed[0] = 2
    assert substitutes.choose(problem, changed, 1, gradients) == 2  # and so is "dog"
    assert substitutes.choose(problem, changed, 0, gradients) == 0


def test_ties_break_by_index_and_zero_gradients_choose_nothing() -> None:
    victim = Namer()
    problem = problem_of(example("a", "NN"), Lexicon({"a": ["x", "y", "z"]}), victim)
    victim.table[victim.intern(["y", "z"])] = (9.0, 0.0, 0.0)
    victim.table[victim.intern(["x"])] = (-9.0, 0.0, 0.0)
    substitutes = NearestWord(alpha=9)
    assert (
        substitutes.choose(problem, problem.start(), 0, at_words(problem, victim, [[0] * 3])) == 0
    )
    found = substitutes.choose(problem, problem.start(), 0, at_words(problem, victim, [[2, 0, 0]]))
    assert found == 2


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
def test_ties_among_many_words_break_by_index(distance: str) -> None:
    """Unknown words share a vector, and matrix products of it may be rounded apart."""
    rng = np.random.default_rng(3)
    victim = Namer()
    names = [f"x{number}" for number in range(1900)]
    problem = problem_of(example("a", "NN"), Lexicon({"a": names}), victim)
    victim.table = np.repeat(rng.normal(size=(20, 67)), 200, axis=0)[rng.permutation(4000)]
    embeddings = Embeddings(victim.embed)
    for _ in range(5):
        gradient, vectors = rng.normal(size=(2, 1, 67))
        gradients = WordGradients(gradient, vectors, np.ones(1), embeddings)
        target = vectors[0] + 1.5 * gradient[0] / np.linalg.norm(gradient[0])
        far_off = [far(row, target, distance) for row in victim.table[problem.rows]]
        same = {row for row in range(1900) if np.isclose(far_off[row], min(far_off), rtol=1e-12)}
        chosen = NearestWord(alpha=1.5, distance=distance)
        assert len(same) > 50
        assert chosen.choose(problem, problem.start(), 0, gradients) == min(same) + 1


def test_barred_choices_are_passed_over() -> None:
    victim = Namer()
    problem = problem_of(example("a", "NN"), Lexicon({"a": ["x", "y", "z"]}), victim)
    victim.table[victim.intern(["x", "y", "z"])] = np.diag([3.0, 2.0, 1.0])
    gradients = at_words(problem, victim, [[5, 3, 1]])
    found = [
        NearestWord(alpha=4).choose(problem, problem.start(), 0, gradients, barred)
        for barred in ((), {1}, {1, 2}, {1, 2, 3})
    ]
    assert found == [1, 2, 3, 0]


def at_characters(problem: Problem, victim: Namer, gradient: np.ndarray) -> CharacterGradients:
    nothing = np.zeros((len(problem), 3))
    vectors = victim.spell(problem.original)
    return CharacterGradients(
        nothing,
        nothing,
        np.ones(len(problem)),
        Embeddings(victim.embed),
        gradient,
        vectors,
        victim.spell,
    )


def test_the_nearest_character_by_brute_force() -> None:
    rng = np.random.default_rng(1)
    victim = Namer()
    edits = CharacterEdits(edits=["substitute"], sample=None, alphabet=KNOWN + "xyz")
    problem = problem_of(example("badge feed x", "NN VB NN"), edits, victim)
    substitutes = NearestCharacter(alpha=0.7, recent=2)
    state = problem.start()
    places: dict[int, int] = {}
    tried: dict[int, list[str]] = {0: [], 1: [], 2: []}
    for _ in range(40):
        position = int(rng.integers(3))
        original = problem.sentence.words[position]
        gradient = np.zeros((3, WIDTH, 4))
        gradient[position, : len(original)] = rng.normal(size=(len(original), 4))
        place = places.setdefault(position, int(np.square(gradient[position]).sum(axis=1).argmax()))
        gradients = at_characters(problem, victim, gradient)
        vector = gradients.character_vectors[position, place]
        step = gradient[position, place]
        target = vector + 0.7 * step / np.sqrt((step**2).sum())
        standing = problem.text(state)[position]
        barred = {original[place], standing[place], *tried[position][-2:]}
        best = min(
            (letter for letter in KNOWN if letter not in barred),
            key=lambda letter: far(victim.letters[letter], target, "euclidean"),
        )
        chosen = state.copy()
        chosen[position] = substitutes.choose(problem, state, position, gradients)
        assert problem.text(chosen)[position] == original[:place] + best + original[place + 1 :]
        admitted = rng.random() < 0.8
        substitutes.settle([position] if admitted else [])
        if admitted:
            state = chosen
            tried[position].append(best)


def test_characters_after_what_the_parser_reads_are_not_changed() -> None:
    victim = Namer()
    edits = CharacterEdits(edits=["substitute"], sample=None, alphabet="ab")
    problem = problem_of(example("aaaaaaaaa", "NN"), edits, victim)  # one letter over the width
    gradient = np.zeros((1, WIDTH, 4))
    gradient[0, 0] = victim.letters["a"] - victim.letters["b"]  # away from "b", towards nothing new
    gradients = at_characters(problem, victim, gradient)
    choice = NearestCharacter().choose(problem, problem.start(), 0, gradients)
    assert problem.words[choice - 1] == "baaaaaaaa"
    flat = at_characters(problem, victim, np.zeros((1, WIDTH, 4)))
    assert NearestCharacter().choose(problem, problem.start(), 0, flat) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NearestWord(alpha=0), "alpha must be above 0, got 0"),
        (lambda: NearestWord(distance="manhattan"), "distance must be one of euclidean, cosine"),
        (lambda: NearestCharacter(alpha=-1), "alpha must be above 0, got -1"),
        (lambda: NearestCharacter(recent=-1), "recent must be >= 0, got -1"),
    ],
)
def test_bad_settings(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
