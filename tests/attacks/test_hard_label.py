"""The hard-label attack written out over words, with the same random numbers; its budget."""

import zlib
from typing import Any

import numpy as np
import pytest
from search_fakes import Labelled
from test_genetic_traces import CANDIDATES, WORDS, Stubborn
from test_label_flips import LABELS, Probabilities
from test_recipe_traces import Found, replaced

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.sentence_constraint import SentenceConstraint
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.attacks.search.hard_label import HardLabel
from robustparse.errors import InputError
from robustparse.randomness import stream
from robustparse.types import Sentence

SETTINGS = {"attempts": 4, "population": 4, "generations": 5, "patience": 3}


def likeness(words: Any, original: Any) -> float:
    changed = sum(map(str.__ne__, words, original))
    noise = zlib.crc32(" ".join(words).encode()) % 1000 / 1000
    return 1.0 - (changed - 0.5 * noise) / (1 + len(original))


class Measured(SentenceConstraint):
    """Measures a similarity, and rejects nothing."""

    def admits(self, edits: Any) -> Any:
        return np.ones(len(edits), dtype=np.bool_)

    def similarities(self, edits: Any) -> Any:
        return np.array([likeness(edit.changed, edit.sentence.words) for edit in edits])


class ByHand:
    def __init__(self, text: list[str], victim: Probabilities, number: int, measured: bool) -> None:
        self.text, self.victim, self.rng = text, victim, stream(0, number)
        self.y, self.charged = int(victim.of(text).argmax()), 1
        self.measured = measured

    def flips(self, words: list[str]) -> bool:
        self.charged += 1
        return int(self.victim.of(words).argmax()) != self.y

    def similarity(self, words: list[str]) -> float:
        if self.measured:
            return likeness(words, self.text)
        return 1.0 - self.changes(words) / len(words)

    def changes(self, words: list[str]) -> int:
        return sum(map(str.__ne__, words, self.text))

    def changed(self, words: list[str]) -> list[int]:
        return [at for at, word in enumerate(words) if word != self.text[at]]

    def run(self) -> Found:
        found = self.start()
        if found is None:
            return " ".join(self.text), False, self.charged
        best = self.improved(self.reduced(found))
        return " ".join(best), True, self.charged

    def start(self) -> list[str] | None:
        places = [at for at, word in enumerate(self.text) if CANDIDATES[word]]
        order = [places[at] for at in self.rng.permutation(len(places))]
        for attempt in range(1, len(order) + SETTINGS["attempts"] + 1 if order else 0):
            counts = np.array([len(CANDIDATES[self.text[at]]) for at in order[:attempt]])
            drawn, words = self.rng.integers(1, counts + 1), list(self.text)
            for at, choice in zip(order, drawn, strict=False):
                words[at] = CANDIDATES[self.text[at]][choice - 1]
            if self.flips(words):
                return words
        return None

    def reduced(self, words: list[str]) -> list[str]:
        while True:
            back = {at: replaced(words, at, self.text[at]) for at in self.changed(words)}
            free = {at: one for at, one in back.items() if self.flips(one)}
            if not free:
                return words
            for at in sorted(free, key=lambda at: -self.similarity(free[at])):
                shorter = replaced(words, at, self.text[at])
                if not self.flips(shorter):
                    break
                words = shorter

    def mutated(self, words: list[str], at: int, best: list[str]) -> list[str] | None:
        restored = replaced(words, at, self.text[at])
        if self.flips(restored):
            return restored
        others = [word for word in CANDIDATES[self.text[at]] if word != best[at]]
        kept = [one for one in (replaced(words, at, word) for word in others) if self.flips(one)]
        likeliest = max(kept, key=self.similarity, default=None)
        if likeliest is None or self.similarity(likeliest) < self.similarity(best):
            return None
        return likeliest

    def improved(self, first: list[str]) -> list[str]:
        places, best = self.changed(first), first
        mutants = [self.mutated(first, at, first) for at in places] if len(places) > 1 else []
        members, same = [one for one in mutants if one is not None], 0
        for _ in range(SETTINGS["generations"] if members else 0):
            fewest = min(map(self.changes, members))
            leader = [one for one in members if self.changes(one) == fewest][-1]
            same = same + 1 if leader == best else 0
            best = leader
            if same == SETTINGS["patience"] or fewest == 1:
                break
            members = [best, *self.children(members, best)]
        return best

    def children(self, members: list[list[str]], best: list[str]) -> list[list[str]]:
        count = SETTINGS["population"] - 1
        weights = np.array([max(self.similarity(one), 1e-9) for one in members])
        parents = self.rng.choice(len(members), (2, count), p=weights / weights.sum())
        mixture = self.rng.random((count, len(best))) < 0.5
        made = [
            [members[one if take else other][at] for at, take in enumerate(takes)]
            for one, other, takes in zip(*parents, mixture, strict=True)
        ]
        made = [child for child in made if self.changes(child) <= self.changes(best)]
        grown = []
        for child in [child for child in made if self.flips(child)]:
            at = int(self.rng.choice(self.changed(child)))
            mutant = self.mutated(child, at, best)
            grown.append(child if mutant is None else mutant)
        return grown


def problems() -> tuple[list[list[str]], list[Any]]:
    victim, rng = Stubborn(), np.random.default_rng(1)
    texts = [[str(word) for word in rng.choice(WORDS, 2 + at % 12)] for at in range(30)]
    return texts, [
        Labelled(at, Sentence(tuple(text)), LABELS[int(victim.of(text).argmax())])
        for at, text in enumerate(texts)
    ]


@pytest.mark.parametrize("measured", [False, True])
def test_outcomes_and_queries_are_those_of_the_algorithm(measured: bool) -> None:
    texts, examples = problems()
    constraints: Any = [Measured()] if measured else []
    attack = Attack(Lexicon(CANDIDATES), HardLabel(**SETTINGS), constraints, goal=LabelFlip())
    results = {
        run.problem.id: (" ".join(run.words), run.success, run.queries.charged)
        for run in attack.search_runs(examples, Stubborn())
    }
    assert results == {
        at: ByHand(text, Stubborn(), at, measured).run() for at, text in enumerate(texts)
    }
    assert 3 < sum(success for _, success, _ in results.values()) < 30


@pytest.mark.parametrize("budget", [1, 2, 3, 5, 8, 13, 21])
def test_a_budget_ends_the_search_with_the_best_success(budget: int) -> None:
    _, examples = problems()
    search = HardLabel(**SETTINGS)
    whole, cut = (
        {
            run.problem.id: run
            for run in Attack(
                Lexicon(CANDIDATES), search, goal=LabelFlip(), budget=most
            ).search_runs(examples, Stubborn())
        }
        for most in (None, budget)
    )
    for number, run in cut.items():
        assert run.queries.charged == min(budget, whole[number].queries.charged)
        assert run.success <= whole[number].success
        if run.success:
            assert np.count_nonzero(run.outcome) >= np.count_nonzero(whole[number].outcome)
    if budget == 21:
        assert any(run.success for run in cut.values())


@pytest.mark.parametrize("setting", ["attempts", "population", "generations", "patience"])
def test_settings_out_of_range_are_refused(setting: str) -> None:
    with pytest.raises(InputError):
        HardLabel(**{setting: 0})
