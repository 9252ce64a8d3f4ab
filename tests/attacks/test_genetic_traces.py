"""Genetic recipes against their algorithms, written out member by member over words.

Random numbers are drawn in the order of the search, all members' together, from the sentence's own
stream. What the language model keeps is given by a table.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from search_fakes import Labelled
from test_label_flips import LABELS, Probabilities
from test_recipe_traces import Found, replaced
from test_recipes import recipe

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.edits import EditBudget
from robustparse.attacks.edit_budget import edit_budget
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.randomness import stream
from robustparse.types import Sentence

WORDS = [f"w{letter}" for letter in "abcdefghij"]
CANDIDATES = {word: [f"{word}{by}" for by in "qrst"[: at % 5]] for at, word in enumerate(WORDS)}
POPULATION, GENERATIONS, REPLACEMENTS = 5, 4, 3


class Stubborn(Probabilities):
    """Labels change only if several words are replaced."""

    def of(self, text: Sequence[str]) -> np.ndarray:
        stems = super().of([word[:2] for word in text])
        share = 0.1 + 0.08 * sum(len(word) > 2 for word in text)
        return (1 - share) * stems + share * super().of(text)


class ByHand:
    """One text's population: words, weights and queries."""

    def __init__(self, text: list[str], victim: Probabilities, number: int, name: str) -> None:
        self.text, self.victim, self.rng = text, victim, stream(0, number)
        self.improved = name == "iga"
        self.most = edit_budget(0.2, len(text)) if name != "faster_alzantot" else len(text)
        self.y, self.charged = int(victim.of(text).argmax()), 1
        self.counts = [len(CANDIDATES[word]) for word in text]

    def score(self, words: list[str]) -> float:
        return 1.0 - float(self.victim.of(words)[self.y])

    def succeeds(self, words: list[str]) -> bool:
        return int(self.victim.of(words).argmax()) != self.y

    def changed(self, words: list[str]) -> int:
        return sum(map(str.__ne__, words, self.text))

    def drawn(self, weights: Sequence[float], point: float) -> int:
        passed = np.cumsum(weights)
        return int(np.argmax(passed > point * passed[-1]))

    def perturb(self, members: list[Any], local: list[list[float]]) -> None:
        left = [int(np.count_nonzero(weights)) for weights in local]
        searching = [at for at in range(len(members)) if left[at]]
        while searching:
            picks: dict[int, int] = {}
            waiting = searching
            while waiting:
                for at, point in zip(waiting, self.rng.random(len(waiting)), strict=True):
                    word = self.drawn(local[at], point)
                    left[at] -= 1
                    unchanged = members[at][0][word] == self.text[word]
                    if self.counts[word] and (self.improved or unchanged):
                        picks[at] = word
                waiting = [at for at in waiting if at not in picks and left[at]]
            done = set()
            for at, word in sorted(picks.items()):
                words, weights = members[at]
                tried = [
                    replaced(words, word, other)
                    for other in CANDIDATES[self.text[word]]
                    if other != words[word]
                ]
                tried = [one for one in tried if self.changed(one) <= self.most]
                self.charged += len(tried)
                best = max(tried, key=self.score, default=words)
                if self.score(best) > self.score(words):
                    weights[word] = weights[word] - 1 if self.improved else 0
                    members[at] = (best, weights)
                    done.add(at)
                local[at][word] = 0
            searching = [at for at in searching if at in picks and left[at] and at not in done]

    def best(self, members: list[Any]) -> Any:
        good = [one for one in members if self.succeeds(one[0])] or members
        return max(good, key=lambda one: self.score(one[0]))

    def crossed(self, members: list[Any]) -> list[Any]:
        scores, count = [self.score(words) for words, _ in members], len(members) - 1
        first, second = (
            [self.drawn(scores, point) for point in self.rng.random(count)] for _ in range(2)
        )
        if self.improved:
            cuts = self.rng.integers(0, len(self.text), count)
            from_second = np.arange(len(self.text)) >= cuts[:, None]
        else:
            from_second = self.rng.random((count, len(self.text))) < 0.5
        children = []
        for one, other, mixture in zip(first, second, from_second, strict=True):
            pairs = (members[one], members[other])
            words = [pairs[take][0][at] for at, take in enumerate(mixture.astype(int))]
            for at in range(len(words)):
                # Changes beyond the budget are undone, from left to right.
                if self.changed(words[: at + 1] + self.text[at + 1 :]) > self.most:
                    words[at] = self.text[at]
            weights = [pairs[take][1][at] for at, take in enumerate(mixture.astype(int))]
            children.append((words, weights))
        self.rng.random(count)  # which parent takes the place of a child that is not asked about
        self.charged += count
        return children

    def run(self) -> Found:
        positions = [at for at, count in enumerate(self.counts) if count]
        if not positions:
            return " ".join(self.text), False, 1
        if self.improved:
            start = [REPLACEMENTS if count else 0 for count in self.counts]
            members = [(list(self.text), list(start)) for _ in positions[:POPULATION]]
            local = [[float(at == only) for at in range(len(start))] for only in positions]
        else:
            least = max(1, int(0.1 * min(self.counts)))
            start = [max(count, least) for count in self.counts]
            members = [(list(self.text), list(start)) for _ in range(POPULATION)]
            local = [list(start) for _ in members]
        self.perturb(members, local[: len(members)])
        for _ in range(GENERATIONS):
            best = self.best(members)
            if self.succeeds(best[0]):
                break
            children = self.crossed(members)
            self.perturb(children, [list(weights) for _, weights in children])
            members = [best, *children]
        words = self.best(members)[0]
        return " ".join(words), self.succeeds(words), self.charged


@pytest.mark.parametrize("name", ["alzantot", "faster_alzantot", "iga"])
def test_outcomes_and_queries_are_those_of_the_algorithm(name: str) -> None:
    installed, victim, examples, texts = recipe(name), Stubborn(), [], []
    search: Any = installed.search
    search.population, search.generations, search.replacements = 5, GENERATIONS, REPLACEMENTS
    budgets = [one for one in installed.constraints if isinstance(one, EditBudget)]
    rng = np.random.default_rng(1)
    for number in range(30):
        text = [str(word) for word in rng.choice(WORDS, 2 + number % 14)]
        one: Any = Labelled(number, Sentence(tuple(text)), LABELS[int(victim.of(text).argmax())])
        texts.append(text)
        examples.append(one)
    attack = Attack(Lexicon(CANDIDATES), search, budgets, goal=LabelFlip())
    results = {
        run.problem.id: (" ".join(run.words), run.success, run.queries.charged)
        for run in attack.search_runs(examples, victim)
    }
    assert results == {
        number: ByHand(text, Stubborn(), number, name).run() for number, text in enumerate(texts)
    }
    assert 3 < sum(success for _, success, _ in results.values()) < 27
