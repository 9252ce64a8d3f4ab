"""Recipes against their papers' algorithms, written out for one text after the other in float64.

Search and settings are those of the installed recipe. Candidates come from a table, and functions
of the text stand in for models. Compared are the text, whether it succeeds, and the queries.
"""

import zlib
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from search_fakes import Labelled
from test_label_flips import LABELS, Probabilities
from test_recipes import recipe
from test_textfooler import Steady

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.masked_lm import MaskedInsertion
from robustparse.attacks.candidates.union import Union
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.sentence_constraint import Edit, SentenceConstraint
from robustparse.attacks.constraints.words import StopWords
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.types import Sentence, TextRows

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

    def similarities(self, edits: Any) -> Any:
        return np.array([likeness(edit.changed) for edit in edits])


def close(original: Sequence[str], changed: Sequence[str]) -> bool:
    return sum(map(len, [*original, *changed[:3]])) % 4 != 0


def likeness(changed: Sequence[str]) -> float:
    return float(zlib.crc32(" ".join(changed).encode()) % 1000)


def unlike(changed: Sequence[str]) -> float:
    return -likeness(changed)


class Late(SentenceConstraint):
    """Admits what `Tagged` admits, but is asked during the search."""

    is_model = False

    def admits(self, edits: Sequence[Edit]) -> np.ndarray:
        return np.array([not edit.word.endswith("s") for edit in edits], np.bool_)


class Tagged(Constraint):
    """Stands in for a comparison of tags: no candidate of a word may end in s."""

    def accept(self, slots: Any, candidates: Any, victim: Any) -> Any:
        return [np.array([word[-1] != "s" for word in words], dtype=bool) for words in candidates]


class Everything(Constraint):
    """Stands in for a constraint that rejects nothing."""


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


Admits = Callable[[Sequence[str], Sequence[str]], bool]


def eligible(text: list[str]) -> list[int]:
    return [at for at, word in enumerate(text) if word not in STOP]


def by_probability(text: list[str], victim: Probabilities, gone: list[str]) -> list[int]:
    """Positions by the probability of the right label with other words in the place of each."""
    y = int(victim.of(text).argmax())
    put = {at: [*text[:at], *gone, *text[at + 1 :]] or ["<unk>"] for at in eligible(text)}
    return sorted(put, key=lambda at: float(victim.of(put[at])[y]))


Step = Callable[[list[str], list[str], int], list[str]]


def from_table(text: list[str], current: list[str], at: int) -> list[str]:
    return CANDIDATES[text[at]]


def beside(words: Sequence[str], at: int, side: str) -> list[str]:
    """The word with another one before or after it, which depends on the whole text."""
    code = zlib.crc32(" ".join([side, str(at), *words]).encode())
    new = [f"n{code % 7}z", f"n{code % 5}y"]
    return [f"{one} {words[at]}" if side == "before" else f"{words[at]} {one}" for one in new]


def both_sides(words: Sequence[str], at: int) -> list[str]:
    return [*beside(words, at, "before"), *beside(words, at, "after")]


def greedy(
    text: list[str],
    victim: Probabilities,
    order: list[int],
    admits: Admits,
    always: bool = False,
    winner: str = "score",
    steps: Sequence[Step] = (from_table,),
) -> tuple[str, bool, int]:
    """Visit words in order; at each step take the best candidate if it helps, or always."""
    y, charged = int(victim.of(text).argmax()), 0

    def read(words: list[str]) -> np.ndarray:
        return victim.of(" ".join(words).split())  # a phrase is several words

    def right(words: list[str]) -> float:
        return float(read(words)[y])

    current = list(text)
    for at, step in product(order, steps):
        tried = [replaced(current, at, word) for word in step(text, current, at)]
        tried = [one for one in tried if admits(text, one)]
        charged += len(tried)
        if flips := [one for one in tried if read(one).argmax() != y]:
            ranked = {"score": sorted(flips, key=right), "similar": sorted(flips, key=unlike)}
            return " ".join({**ranked, "first": flips}[winner][0]), True, charged
        best = min(tried, key=right, default=current)
        if tried and (always or right(best) < right(current)):
            current = best
    return " ".join(current), False, charged


def asking(found: Found, more: int) -> Found:
    """The outcome with the queries of the ranking."""
    return found[0], found[1], found[2] + more


def textattack_deepwordbug(text: list[str], victim: Probabilities) -> Found:
    def near(original: list[str], changed: list[str]) -> bool:
        return sum(map(str.__ne__, original, changed)) <= 3

    order = by_probability(text, victim, ["<unk>"])
    return asking(greedy(text, victim, order, near), 1 + len(order))


def textbugger(text: list[str], victim: Probabilities) -> Found:
    order = by_probability(text, victim, [])
    return asking(greedy(text, victim, order, close, always=True), 1 + len(order))


def close_and_tagged(original: Sequence[str], changed: Sequence[str]) -> bool:
    new = [word for old, word in zip(original, changed, strict=True) if old != word]
    return close(original, changed) and not any(word.endswith("s") for word in new)


def bae(
    text: list[str],
    victim: Probabilities,
    steps: Sequence[Step] = (from_table,),
    admits: Admits = close_and_tagged,
) -> Found:
    order = by_probability(text, victim, [])
    found = greedy(text, victim, order, admits, winner="similar", steps=steps)
    return asking(found, 1 + len(order))


def bae_insert(text: list[str], victim: Probabilities) -> Found:
    return bae(text, victim, [lambda text, _, at: both_sides(text, at)], close)


def bae_replace_or_insert(text: list[str], victim: Probabilities) -> Found:
    def either(text: list[str], current: list[str], at: int) -> list[str]:
        return [*from_table(text, current, at), *both_sides(text, at)]

    return bae(text, victim, [either])


def bae_replace_and_insert(text: list[str], victim: Probabilities) -> Found:
    """Replaces a word, then inserts one beside it, as the current text suggests."""
    return bae(text, victim, [from_table, lambda _, current, at: both_sides(current, at)])


def bert_attack(text: list[str], victim: Probabilities) -> Found:
    """Algorithm 1: the first candidate that succeeds; at most 40 % of the words, rounded down."""

    def admits(original: Sequence[str], changed: Sequence[str]) -> bool:
        few = sum(map(str.__ne__, original, changed)) <= max(1, 2 * len(original) // 5)
        return few and close_and_tagged(original, changed)

    order = by_probability(text, victim, ["<unk>"])
    return asking(greedy(text, victim, order, admits, winner="first"), 1 + len(order))


def textattack_bert_attack(text: list[str], victim: Probabilities) -> Found:
    """The best candidate; at most 40 % of the words, rounded up."""

    def admits(original: Sequence[str], changed: Sequence[str]) -> bool:
        few = sum(map(str.__ne__, original, changed)) <= -(-2 * len(original) // 5)
        return few and close(original, changed)

    order = by_probability(text, victim, ["<unk>"])
    return asking(greedy(text, victim, order, admits), 1 + len(order))


def a2t(text: list[str], victim: Probabilities) -> Found:
    """Words by the L1 norm of their gradients, which are free; at most four words."""

    def admits(original: Sequence[str], changed: Sequence[str]) -> bool:
        new = [word for old, word in zip(original, changed, strict=True) if old != word]
        return len(new) <= 4 and close_and_tagged(original, changed)

    order = sorted(eligible(text), key=lambda at: -float(np.abs(slope(text[at])).sum()))
    return asking(greedy(text, victim, order, admits), 1)


def kuleshov(text: list[str], victim: Probabilities) -> Found:
    """Algorithm 1: the best change of all, again and again, to a score of 0.7 or half the words."""
    y, charged = int(victim.of(text).argmax()), 1

    def score(words: list[str]) -> float:
        return 1.0 - float(victim.of(words)[y])

    if score(text) >= 0.7:  # the victim is unsure already
        return " ".join(text), False, 1
    current, best = list(text), list(text)
    for _ in range(max(1, len(text) // 2)):
        tried = [
            replaced(current, at, word)
            for at in eligible(text)
            if current[at] == text[at]
            for word in CANDIDATES[text[at]]
            if close(text, replaced(current, at, word))
        ]
        if not tried:
            break
        charged += len(tried)
        current = max(tried, key=score)
        best = max(best, current, key=score)
        if score(current) >= 0.7:
            break
    return " ".join(best), best != text and score(best) >= 0.7, charged


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


def morpheus(text: list[str], victim: Probabilities) -> Found:
    """Algorithm 1: word for word, the form that harms most."""
    found = greedy(text, victim, list(range(len(text))), lambda *_: True)
    return asking(found, 1)


def hotflip(text: list[str], victim: Probabilities, after: bool = False) -> Found:
    """A beam of three; the three flips of each member that the gradient promises most of, among
    all admissible ones, or the admissible ones of them.
    """
    y, charged = int(victim.of(text).argmax()), 1

    def score(words: list[str]) -> float:
        return 1.0 - float(victim.of(words)[y])

    def promise(flip: tuple[int, str]) -> float:
        at, word = flip
        return float((slope(word) - slope(text[at])) @ slope(text[at]))

    beam, best = [list(text)], list(text)
    for _ in range(2):
        reached: list[list[str]] = []
        for member in beam:
            flips = [
                (at, word)
                for at in eligible(text)
                if member[at] == text[at]
                for word in CANDIDATES[text[at]]
                if after or not word.endswith("s")
            ]
            for at, word in sorted(flips, key=promise, reverse=True)[:3]:
                flipped = replaced(member, at, word)
                if flipped not in reached and not word.endswith("s"):
                    reached.append(flipped)
        if not reached:
            break
        charged += len(reached)
        successes = [words for words in reached if int(victim.of(words).argmax()) != y]
        if successes:
            return " ".join(max(successes, key=score)), True, charged
        best = max([best, *reached], key=score)
        beam = sorted(reached, key=score, reverse=True)[:3]
    return " ".join(best), False, charged


# By recipe: its algorithm, and the settings that short texts of the table need.
TRACES: dict[str, tuple[ByHand, dict[str, dict[str, Any]]]] = {
    "deepwordbug": (deepwordbug, {"LevenshteinDistance": {"most": 3}}),
    "deepwordbug_textattack": (textattack_deepwordbug, {"LevenshteinDistance": {"most": 3}}),
    "textbugger": (textbugger, {}),
    "pruthi": (pruthi, {}),
    "bae": (bae, {}),
    "bae_insert": (bae_insert, {}),
    "bae_replace_and_insert": (bae_replace_and_insert, {}),
    "bae_replace_or_insert": (bae_replace_or_insert, {}),
    "bert_attack": (bert_attack, {}),
    "bert_attack_textattack": (textattack_bert_attack, {}),
    "a2t": (a2t, {}),
    "kuleshov": (kuleshov, {}),
    "morpheus": (morpheus, {}),
    "hotflip": (hotflip, {"HotFlip": {"width": 3}}),
    "hotflip judged after": (
        partial(hotflip, after=True),
        {"HotFlip": {"width": 3, "judged": "after"}},
    ),
}
INSTEAD = {
    "StopWords": Stops,
    **dict.fromkeys(("SentenceSimilarity", "PerplexityRise"), Close),
    **dict.fromkeys(("CurrentTag", "TaggerTag", "StopWordCandidates"), Tagged),
    **dict.fromkeys(("WordVectorCosine", "ThoughtVectors"), Everything),
}


def slope(word: str) -> np.ndarray:
    return np.random.default_rng(zlib.crc32(word.encode())).normal(size=3)


def with_gradients(victim: Any) -> Any:
    """A victim whose gradients follow from single words."""

    def vectors(rows: Any) -> np.ndarray:
        return np.stack([slope(victim.names[row]) for row in np.ravel(rows)]).reshape(
            *np.shape(rows), 3
        )

    def gradient(texts: TextRows, *_: Any) -> Any:
        slopes = vectors(texts.words)
        return slopes, slopes, np.linalg.norm(slopes, axis=-1)

    victim.gradient, victim.vectors = gradient, vectors
    return victim


def texts(count: int) -> list[list[str]]:
    rng = np.random.default_rng(0)
    return [[str(word) for word in rng.choice(WORDS, 1 + at % 9)] for at in range(count)]


def installed(name: str, settings: dict[str, dict[str, Any]]) -> Attack:
    """The recipe with the table, and with stand-ins for files and models."""
    attack = recipe(name.split()[0])
    constraints = [
        INSTEAD.get(type(one).__name__, lambda one=one: one)() for one in attack.constraints
    ]
    if name.endswith("after"):
        constraints = [Late() if isinstance(each, Tagged) else each for each in constraints]
    for one in [*constraints, attack.search]:
        vars(one).update(settings.get(type(one).__name__, {}))
    return Attack(
        candidates_of(attack), attack.search, constraints, goal=attack.goal or LabelFlip()
    )


class Beside(CandidateGenerator):
    """Inserts words beside a word in the place of a masked language model."""

    verbatim = spans = True
    draws = False

    def __init__(self, side: str, follows: bool) -> None:
        self.side, self.follows = side, follows

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        return [beside(slot.sentence.words, slot.position, self.side) for slot in slots]


def candidates_of(attack: Attack) -> CandidateGenerator:
    """The table in the place of the recipe's candidates, with insertions if it has any."""
    inserting = [each for each in generators(attack) if isinstance(each, MaskedInsertion)]
    if not inserting:
        return Lexicon(CANDIDATES)
    replacing = len(inserting) < len(generators(attack))
    beside_words = [Beside(each.side, each.follows) for each in inserting]
    return Union([*([Lexicon(CANDIDATES)] if replacing else []), *beside_words])


def generators(attack: Attack) -> list[CandidateGenerator]:
    union = attack.candidates
    return union.generators if isinstance(union, Union) else [union]


@pytest.mark.parametrize("victim", [Probabilities, Steady])
@pytest.mark.parametrize("name", TRACES)
def test_outcomes_and_queries_are_those_of_the_algorithm(name: str, victim: Any) -> None:
    by_hand, settings = TRACES[name]
    asked, examples = with_gradients(victim()), []
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
