"""Recipes against their papers' algorithms, written out for one text after the other in float64.

Search and settings are those of the installed recipe. Candidates come from a table, and functions
of the text stand in for models. Compared are the text, whether it succeeds, and the queries.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from search_fakes import Labelled
from test_label_flips import LABELS, Probabilities
from test_recipes import recipe
from test_textfooler import Steady

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.sentence_constraint import SentenceConstraint
from robustparse.attacks.constraints.words import StopWords
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.types import Sentence

Found = tuple[str, bool, int]
ByHand = Callable[[list[str], Probabilities], Found]

STOP = ["as", "at"]
WORDS = [*STOP, *(f"w{letter}xy" for letter in "abcdefghijklmnopqr"), "wux", "wvx"]
CANDIDATES = {word: [f"{word}{by}" for by in "qrst"[: at % 5]] for at, word in enumerate(WORDS)}


class Stops(StopWords):
    """Two stop words, without a file."""

    _words = frozenset(STOP)


class Close(SentenceConstraint):
    """Stands in for a similarity: rejects a quarter of the pairs of texts."""

    def admits(self, edits: Any) -> Any:
        pairs = [(edit.sentence.words, edit.changed) for edit in edits]
        return np.array([close(*pair) for pair in pairs], dtype=np.bool_)


def close(original: Sequence[str], changed: Sequence[str]) -> bool:
    return sum(map(len, [*original, *changed[:3]])) % 4 != 0


def replaced(text: Sequence[str], at: int, word: str) -> list[str]:
    return [*text[:at], word, *text[at + 1 :]]


def deepwordbug(text: list[str], victim: Probabilities) -> Found:
    """Algorithm 1 with the combined score; only the ranking asks the victim."""
    y = int(victim.of(text).argmax())

    def f(words: list[str]) -> float:
        return float(victim.of(words or ["<unk>"])[y])

    def score(at: int) -> float:
        head = f(text[: at + 1]) - f(text[:at])
        tail = f(text[at:]) - f(text[at + 1 :])
        return head + tail

    current, cost = list(text), 0
    for at in sorted(range(len(text)), key=lambda at: -score(at)):
        for word in CANDIDATES[text[at]][:1]:
            if cost + 1 <= 3:
                current[at], cost = word, cost + 1
    success = current != text and int(victim.of(current).argmax()) != y
    return " ".join(current), success, 1 + 2 * len(text)


def greedy(
    text: list[str], victim: Probabilities, gone: list[str], always: bool, admits: Any, stops: bool
) -> Found:
    """Words by importance; at each the best candidate if it helps, or always."""
    y = int(victim.of(text).argmax())
    eligible = [at for at, word in enumerate(text) if not (stops and word in STOP)]
    without = {
        at: victim.of([*text[:at], *gone, *text[at + 1 :]] or ["<unk>"])[y] for at in eligible
    }
    current, charged = list(text), 1 + len(eligible)
    for at in sorted(eligible, key=lambda at: without[at]):
        tried = [replaced(current, at, word) for word in CANDIDATES[text[at]]]
        tried = [one for one in tried if admits(text, one)]
        charged += len(tried)
        if not tried:
            continue
        rows = [victim.of(one) for one in tried]
        flips = [row for row in rows if row.argmax() != y] or rows
        best = min(flips, key=lambda row: row[y])
        if best.argmax() != y:
            return " ".join(tried[[*map(id, rows)].index(id(best))]), True, charged
        if always or best[y] < victim.of(current)[y]:
            current = tried[[*map(id, rows)].index(id(best))]
    return " ".join(current), False, charged


def textattack_deepwordbug(text: list[str], victim: Probabilities) -> Found:
    def near(original: list[str], changed: list[str]) -> bool:
        return sum(map(str.__ne__, original, changed)) <= 3

    return greedy(text, victim, ["<unk>"], False, near, True)


def textbugger(text: list[str], victim: Probabilities) -> Found:
    return greedy(text, victim, [], True, close, True)


def pruthi(text: list[str], victim: Probabilities) -> Found:
    """All single changes of words of four letters and more; the worst one."""
    y = int(victim.of(text).argmax())
    tried = [
        replaced(text, at, word)
        for at, original in enumerate(text)
        if len(original) >= 4 and original not in STOP
        for word in CANDIDATES[original]
    ]
    rows = [victim.of(one) for one in tried]
    flips = [at for at, row in enumerate(rows) if row.argmax() != y]
    everything = [*tried, text]
    best = min(flips or range(len(everything)), key=lambda at: float(victim.of(everything[at])[y]))
    return " ".join(everything[best]), bool(flips), 1 + len(tried)


# By recipe: its algorithm, and the settings that short texts of the table need.
TRACES: dict[str, tuple[ByHand, dict[str, dict[str, Any]]]] = {
    "deepwordbug": (deepwordbug, {"LevenshteinDistance": {"most": 3}}),
    "deepwordbug_textattack": (textattack_deepwordbug, {"LevenshteinDistance": {"most": 3}}),
    "textbugger": (textbugger, {}),
    "pruthi": (pruthi, {}),
}
INSTEAD = {"StopWords": Stops, "SentenceSimilarity": Close}


def texts(count: int) -> list[list[str]]:
    rng = np.random.default_rng(0)
    return [[str(word) for word in rng.choice(WORDS, 1 + at % 9)] for at in range(count)]


def installed(name: str, settings: dict[str, dict[str, Any]]) -> Attack:
    """The recipe with the table, and with stand-ins for files and models."""
    attack = recipe(name)
    constraints = [
        INSTEAD.get(type(one).__name__, lambda one=one: one)() for one in attack.constraints
    ]
    for one in [*constraints, attack.search]:
        vars(one).update(settings.get(type(one).__name__, {}))
    return Attack(Lexicon(CANDIDATES), attack.search, constraints, goal=attack.goal or LabelFlip())


@pytest.mark.parametrize("victim", [Probabilities, Steady])
@pytest.mark.parametrize("name", TRACES)
def test_outcomes_and_queries_are_those_of_the_algorithm(name: str, victim: Any) -> None:
    by_hand, settings = TRACES[name]
    asked, examples = victim(), []
    for number, text in enumerate(texts(40)):
        gold = LABELS[int(asked.of(text).argmax())]
        one: Any = Labelled(number, Sentence(tuple(text)), gold)
        examples.append(one)
    results = {
        run.problem.id: (" ".join(run.words), run.success, run.queries.charged)
        for run in installed(name, settings).search_runs(examples, asked)
    }
    assert results == {at: by_hand(text, victim()) for at, text in enumerate(texts(40))}
    assert len({success for _, success, _ in results.values()}) == 2
