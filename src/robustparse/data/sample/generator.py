"""Texts drawn from a grammar whose lexical classes have a few frequent words and a long rare tail.

Rules are text: `PHRASE weight: child child ...`, where upper-case children are phrases, lower-case
children lexical classes, and `/label` is the label of a child. `!` marks a decisive slot: the
answer depends on the class of its word. Such slots contain mostly frequent words, so that a model
can learn them; rare words appear in other slots, where their class does not matter.

The words of each class are in text files in this folder. In the treebank, a class decides an
attachment: a tool or a part after "with", a transitive or an intransitive participle before a
plural noun. All words of a class have the same tags, and no form is in two classes, so that a word
may replace another word of its class without changing the parse. The words of two classes have two
tags each (`dual`: work as a noun or a verb; `erg`: trained as a past tense or a participle); only
the rest of the sentence shows which tag is right.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from robustparse.errors import check_choice
from robustparse.types import Example


class WordClass(NamedTuple):
    """The words of a lexical class and the (universal, Penn) tags that each of them may carry."""

    tags: tuple[tuple[str, str], ...]
    words: tuple[str, ...]


def read_words(name: str) -> Mapping[str, WordClass]:
    """Read a file: indented lines hold the words of the class that is named before them."""
    classes: dict[str, WordClass] = {}
    word_class = ""
    for line in (files(__package__) / name).read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            tags, words = classes[word_class]
            classes[word_class] = WordClass(tags, (*words, *line.split()))
        elif not line.startswith("#"):
            word_class, *pairs = line.split()
            tags = tuple((upos, tag) for upos, _, tag in (pair.partition("/") for pair in pairs))
            classes[word_class] = WordClass(tags, ())
    return MappingProxyType(classes)


SPLITS = {"train": 1400, "dev": 200, "test": 400}
LENGTHS = range(5, 21)
FREQUENT = 7
FREQUENT_FROM = 20
RARE = 14
RARE_IF_DECISIVE = 0.02
RARE_ELSEWHERE = 0.1
RARE_UNTIL_DEALT = 0.9
RULE_JITTER = 0.2
KNOWN_FROM = 2

Words = Mapping[str, WordClass]


class Child(NamedTuple):
    """A child of a rule: a phrase (upper case) or a lexical class, and its label or ''."""

    symbol: str
    label: str
    decisive: bool


class Rule(NamedTuple):
    """A rule that builds a phrase."""

    weight: float
    children: tuple[Child, ...]


Rules = Mapping[str, tuple[Rule, ...]]


class Phrase(NamedTuple):
    """The words of a phrase, their classes, its head word, and (dependent, head, label) arcs.

    Words count from 0 in the text. Children without a label have no arc.
    """

    words: tuple[str, ...]
    classes: tuple[str, ...]
    head: int
    arcs: tuple[tuple[int, int, str], ...]


def read_rules(text: str) -> Rules:
    """Read the rules of a grammar, by the phrase they build."""
    table: dict[str, list[Rule]] = defaultdict(list)
    for line in text.strip().splitlines():
        if line:
            left, right = line.split(":", 1)
            parent, weight = left.split()
            table[parent].append(Rule(float(weight), tuple(map(_child, right.split()))))
    return {parent: tuple(options) for parent, options in table.items()}


def _child(text: str) -> Child:
    name, _, label = text.partition("/")
    return Child(name.rstrip("!"), label, name.endswith("!"))


@dataclass(frozen=True, slots=True)
class Sample:
    """The three splits; ids count from 0 in each, and no text occurs in two."""

    train: list[Example]
    dev: list[Example]
    test: list[Example]

    @classmethod
    def of(cls, draw: Callable[[int], Example]) -> "Sample":
        """Fill the splits with different texts; ``draw`` takes the id of an example."""
        seen: set[tuple[str, ...]] = set()
        splits: dict[str, list[Example]] = {}
        for split, size in SPLITS.items():
            examples: list[Example] = []
            while len(examples) < size:
                example = draw(len(examples))
                if example.sentence.words not in seen:
                    seen.add(example.sentence.words)
                    examples.append(example)
            splits[split] = examples
        return cls(**splits)

    def split(self, name: str) -> list[Example]:
        """Return the examples of ``train``, ``dev`` or ``test``.

        Raises:
            InputError: there is no split of this name.
        """
        check_choice("split", name, SPLITS)
        return {"train": self.train, "dev": self.dev, "test": self.test}[name]


class Lexicon:
    """The frequent and the rare words of each class for a seed, and how to draw them.

    Args:
        seed: chooses the words.
        content: classes whose words may replace each other.
        function: classes whose words are never replaced.
    """

    def __init__(self, seed: int, content: Words, function: Words) -> None:
        self.rng = rng = _stream(seed, 0)
        self.content, self.function = content, function
        self.frequent: dict[str, list[str]] = {}
        self.rare: dict[str, list[str]] = {}
        for word_class, (_, words) in content.items():
            common = _shuffled(rng, words[:FREQUENT_FROM])
            self.frequent[word_class] = common[:FREQUENT]
            rest = [*common[FREQUENT:], *words[FREQUENT_FROM:]]
            self.rare[word_class] = _shuffled(rng, rest)[:RARE]
        self.deck = {
            word_class: _shuffled(rng, words) + _shuffled(rng, words)
            for word_class, words in self.rare.items()
        }

    def draw(self, word_class: str, decisive: bool) -> str:
        """Draw a word of a class: frequent (by Zipf's law) or rare (dealt from a shuffled deck)."""
        if word_class in self.function:
            return self._zipf(self.function[word_class].words)
        if self.rng.random() >= self._rare_share(word_class, decisive):
            return self._zipf(self.frequent[word_class])
        if not decisive and self.deck[word_class]:
            return self.deck[word_class].pop()
        rare = self.rare[word_class]
        return rare[self.rng.integers(len(rare))]

    def substitutes(self, train: Sequence[Example]) -> dict[str, list[str]]:
        """Return the words of each class that training holds twice or more, in a fixed order."""
        counts = Counter(word.lower() for example in train for word in example.sentence.words)
        return {
            word_class: [
                word
                for word in (*self.rare[word_class], *self.frequent[word_class])
                if counts[word.lower()] >= KNOWN_FROM
            ]
            for word_class in self.content
        }

    def by_word(self, train: Sequence[Example]) -> dict[str, list[str]]:
        """Map each of these words to the other words of its class, in the same order."""
        return {
            word: [other for other in words if other != word]
            for words in self.substitutes(train).values()
            for word in words
        }

    def _rare_share(self, word_class: str, decisive: bool) -> float:
        if decisive:
            return RARE_IF_DECISIVE
        return RARE_UNTIL_DEALT if self.deck[word_class] else RARE_ELSEWHERE

    def _zipf(self, words: Sequence[str]) -> str:
        return words[_drawn(self.rng, _zipf_steps(len(words)))]


class Generator:
    """Draws texts from a grammar."""

    def __init__(self, seed: int, rules: Rules, content: Words, function: Words) -> None:
        self.rng = _stream(seed, 1)
        self.rules, self.lexicon = rules, Lexicon(seed, content, function)
        self.steps = {
            parent: _steps(self._jittered(options)) for parent, options in sorted(rules.items())
        }

    def _jittered(self, options: Sequence[Rule]) -> np.ndarray:
        weights = np.array([option.weight for option in options])
        weights *= np.exp(RULE_JITTER * self.rng.standard_normal(len(options)))
        return weights

    def phrase(self, symbol: str, decisive: bool = False, start: int = 0) -> Phrase:
        """Draw a phrase whose first word is the text's word ``start``."""
        if symbol not in self.rules:
            word = self.lexicon.draw(symbol.split(".")[0], decisive)
            return Phrase((word,), (symbol,), start, ())
        children = self.rules[symbol][_drawn(self.rng, self.steps[symbol])].children
        phrases: list[Phrase] = []
        for child in children:
            phrases.append(self.phrase(child.symbol, child.decisive, start))
            start += len(phrases[-1].words)
        labels = [child.label for child in children]
        head = phrases[labels.index("")].head
        arcs = [(p.head, head, label) for p, label in zip(phrases, labels, strict=True) if label]
        words, classes, _, inner = zip(*phrases, strict=True)
        return Phrase(sum(words, ()), sum(classes, ()), head, sum(inner, tuple(arcs)))

    def text(self, symbol: str = "TOP") -> Phrase:
        """Draw a text with a length in `LENGTHS`, beginning with a capital letter."""
        while True:
            text = self.phrase(symbol)
            if len(text.words) in LENGTHS:
                first, *rest = text.words
                return text._replace(words=(first[0].upper() + first[1:], *rest))


def _stream(seed: int, number: int) -> np.random.Generator:
    """Return one of the random streams of a seed."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence((seed, number))))


def _steps(weights: np.ndarray) -> list[float]:
    """Return the cumulative probabilities that ``choice`` of NumPy computes for every draw."""
    steps = (weights / weights.sum()).cumsum()
    normalized: list[float] = (steps / steps[-1]).tolist()
    return normalized


@cache
def _zipf_steps(count: int) -> list[float]:
    return _steps(1.0 / np.arange(1, count + 1))


def _drawn(rng: np.random.Generator, steps: list[float]) -> int:
    """Draw the same index as ``rng.choice`` with these probabilities."""
    return bisect_right(steps, rng.random())


def _shuffled(rng: np.random.Generator, words: Sequence[str]) -> list[str]:
    return [words[i] for i in rng.permutation(len(words))]
