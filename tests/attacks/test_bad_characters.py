"""Imperceptible edits as a screen shows them, and differential evolution written out."""

import unicodedata
from typing import Any

import numpy as np
import pytest
from search_fakes import Labelled
from test_drawn_candidates import slots
from test_label_flips import LABELS, Probabilities
from test_recipe_traces import CANDIDATES, Found, Steady, texts
from test_recipes import recipe

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.generator import Merged, Slot
from robustparse.attacks.candidates.imperceptible import ImperceptibleEdits
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.attacks.search.differential_evolution import DifferentialEvolution
from robustparse.errors import InputError
from robustparse.randomness import stream
from robustparse.types import Sentence

POPULATION, GENERATIONS, EDITS = 5, 4, 2


def proposed(word: str, *kinds: str) -> list[str]:
    (words,) = ImperceptibleEdits(kinds=list(kinds) or None).propose(slots(word), 0)
    return words


def shown(word: str) -> str:
    """What a reader sees: backspaces delete, and an override from right to left turns around."""
    screen: list[str] = []
    overrides: list[int] = []
    for character in word:
        if character == "\x08":
            screen.pop()
        elif character == "\u202e":
            overrides.append(len(screen))
        elif character == "\u202c" and overrides:
            begin = overrides.pop()
            screen[begin:] = screen[begin:][::-1]
        elif unicodedata.category(character) != "Cf":
            screen.append(character)
    return "".join(screen)


@pytest.mark.parametrize("word", ["a", "no", "shape", "e\u0301a"])
@pytest.mark.parametrize("kind", ["invisible", "reorderings", "deletions"])
def test_a_reader_sees_the_word(kind: str, word: str) -> None:
    found = proposed(word, kind)
    assert len(found) == len(set(found)) or kind == "reorderings"
    if kind != "reorderings" or word != "e\u0301a":  # marks of a letter stay with it
        assert {shown(one) for one in found} <= {word}
    letters = 2 if word == "e\u0301a" else len(word)
    counts = {"invisible": 3 * letters, "reorderings": letters - 1, "deletions": 94 * (letters + 1)}
    assert len(found) == counts[kind]


def test_all_kinds_together_and_samples_of_them() -> None:
    whole = proposed("shape")
    kinds = ("invisible", "reorderings", "deletions")
    assert whole == [word for kind in kinds for word in proposed("shape", kind)]
    (some,) = ImperceptibleEdits(sample=9).propose(slots("shape"), 0)
    assert len(set(some) & set(whole)) == 9
    assert ImperceptibleEdits(sample=9).fingerprint() != ImperceptibleEdits().fingerprint()


def test_blanks_are_exchanged_with_both_neighbours() -> None:
    words = ["no", "shape", "at"]
    places = [Slot(0, Sentence(tuple(words)), at) for at in range(3)]
    plain = ImperceptibleEdits(kinds=["reorderings"])
    blanks = ImperceptibleEdits(kinds=["reorderings"], blanks=True)
    assert (blanks.spans, plain.spans) == (True, False)
    for slot, found, some in zip(
        places, blanks.propose(places, 0), plain.propose(places, 0), strict=True
    ):
        assert found[: len(some)] == some
        more, after = found[len(some) :], words[slot.position + 1 :][:1]
        assert len(more) == (2 if after else 0)
        for candidate in more:
            assert isinstance(candidate, Merged)
            assert len(candidate.split()) == 2
            assert shown(candidate) == f"{slot.word} {after[0]}"
    assert plain.fingerprint() != blanks.fingerprint()


@pytest.mark.parametrize(
    "make",
    [
        lambda: ImperceptibleEdits(kinds=["ink"]),
        lambda: ImperceptibleEdits(kinds=[]),
        lambda: ImperceptibleEdits(sample=0),
        lambda: DifferentialEvolution(edits=0),
        lambda: DifferentialEvolution(population=2),
        lambda: DifferentialEvolution(generations=0),
    ],
)
def test_settings_out_of_range_are_refused(make) -> None:
    with pytest.raises(InputError):
        make()


def evolved(members: list[Any], fitness: list[float], rng: Any) -> list[Any]:
    """A trial for each member: some numbers of it, the others of the best one and a difference."""
    size, factor = len(members), rng.uniform(0.5, 1.0)
    away = rng.permuted(np.tile(np.arange(1, size), (size, 1)), axis=1)
    redrawn = rng.random((size, EDITS))
    taken, sure = rng.random((size, EDITS)), rng.integers(0, EDITS, size)
    leader, trials = members[int(np.argmax(fitness))], []
    for row, member in enumerate(members):
        one, other = (members[(row + away[row, which]) % size] for which in (0, 1))
        trial = list(member)
        for gene in range(EDITS):
            if taken[row, gene] < 0.7 or gene == sure[row]:
                mutant = leader[gene] + factor * (one[gene] - other[gene])
                trial[gene] = mutant if 0 <= mutant < 1 else redrawn[row, gene]
        trials.append(trial)
    return trials


def decoded(vector: Any, text: list[str], everything: list[tuple[int, str]]) -> list[str]:
    words = list(text)
    for gene in vector:
        edit = round(float(gene) * len(everything) - 1)
        if edit >= 0:
            at, word = everything[edit]
            words[at] = word
    return words


def by_hand(text: list[str], victim: Probabilities, number: int) -> Found:
    """Best1bin with vectors between -1 and the number of the last candidate."""
    y, rng = int(victim.of(text).argmax()), stream(0, number)
    everything = [(at, word) for at in range(len(text)) for word in CANDIDATES[text[at]]]
    if not everything:
        return " ".join(text), False, 1

    def score(words: list[str]) -> float:
        return 1.0 - float(victim.of(words)[y])

    size = POPULATION * EDITS
    slices = [rng.permutation(size) for _ in range(EDITS)]
    jitter = rng.random((size, EDITS))
    members = [
        [(slices[gene][row] + jitter[row, gene]) / size for gene in range(EDITS)]
        for row in range(size)
    ]
    best, charged, fitness = list(text), 1, [-np.inf] * size
    trials = members
    for generation in range(1 + GENERATIONS):
        if generation:
            trials = evolved(members, fitness, rng)
        made = [decoded(trial, text, everything) for trial in trials]
        charged += len(made)
        flips = [words for words in made if int(victim.of(words).argmax()) != y]
        if flips:
            return " ".join(max(flips, key=score)), True, charged
        best = max([best, *made], key=score)
        for row, words in enumerate(made):
            if score(words) >= fitness[row]:
                members = [*members[:row], trials[row], *members[row + 1 :]]
                fitness[row] = score(words)
    return " ".join(best), False, charged


@pytest.mark.parametrize("victim", [Probabilities, Steady])
def test_outcomes_and_queries_are_those_of_the_algorithm(victim: Any) -> None:
    search: Any = recipe("bad_characters").search
    search.edits, search.population, search.generations = EDITS, POPULATION, GENERATIONS
    asked, examples = victim(), []
    for number, text in enumerate(texts(40)):
        gold = LABELS[int(asked.of(text).argmax())]
        one: Any = Labelled(number, Sentence(tuple(text)), gold)
        examples.append(one)
    attack = Attack(Lexicon(CANDIDATES), search, goal=LabelFlip())
    results = {
        run.problem.id: (" ".join(run.words), run.success, run.queries.charged)
        for run in attack.search_runs(examples, asked)
    }
    assert results == {at: by_hand(text, victim(), at) for at, text in enumerate(texts(40))}
    assert len({success for _, success, _ in results.values()}) == 2
