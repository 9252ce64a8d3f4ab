"""The embedded sample treebank: about 2,000 English sentences of a small grammar of our own.

Every attachment in it is decided by the lexical class of a word (a tool after "with" modifies the
verb, a part the noun), and classes have a few frequent words and a long rare tail. A parser learns
the frequent words, so it parses new sentences well, but not the classes of the rare ones, which it
meets where their class does not matter. Replacing words by rarer words of their class, the attack
of Zheng et al. (2020), therefore costs it much; adversarial training teaches it the classes.
The seed chooses the words of each class, which of them are frequent, and the sentences.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from robustparse.data.sample.grammar import Rule, read, rules
from robustparse.data.sample.words import CLOSED, OPEN
from robustparse.types import Example, Sentence

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


@dataclass(frozen=True, slots=True)
class SampleTreebank:
    """The three splits; ids count from 0 in each, and no sentence stands in two."""

    train: list[Example]
    dev: list[Example]
    test: list[Example]


class _Lexicon:
    """The words of each class under one seed, frequent and rare, and how to draw them."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.frequent: dict[str, list[str]] = {}
        self.rare: dict[str, list[str]] = {}
        for word_class, (_, words) in OPEN.items():
            common = _shuffled(rng, words[:FREQUENT_FROM])
            self.frequent[word_class] = common[:FREQUENT]
            rest = [*common[FREQUENT:], *words[FREQUENT_FROM:]]
            self.rare[word_class] = _shuffled(rng, rest)[:RARE]
        self.rng = rng
        self.deck = {
            word_class: _shuffled(rng, words) + _shuffled(rng, words)
            for word_class, words in self.rare.items()
        }

    def draw(self, word_class: str, decisive: bool) -> str:
        """Draw a word of a class: frequent (by Zipf's law) or rare (dealt from a shuffled deck)."""
        if word_class in CLOSED:
            return self._zipf(CLOSED[word_class].words)
        if self.rng.random() >= self._rare_share(word_class, decisive):
            return self._zipf(self.frequent[word_class])
        if not decisive and self.deck[word_class]:
            return self.deck[word_class].pop()
        rare = self.rare[word_class]
        return rare[self.rng.integers(len(rare))]

    def _rare_share(self, word_class: str, decisive: bool) -> float:
        if decisive:
            return RARE_IF_DECISIVE
        return RARE_UNTIL_DEALT if self.deck[word_class] else RARE_ELSEWHERE

    def _zipf(self, words: Sequence[str]) -> str:
        weights = 1.0 / np.arange(1, len(words) + 1)
        return words[self.rng.choice(len(words), p=weights / weights.sum())]


class _Generator:
    """Draws sentences from the grammar under one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = _rng(seed, 1)
        self.lexicon = _Lexicon(_rng(seed, 0))
        self.weights = {
            parent: self._jittered(options) for parent, options in sorted(rules().items())
        }

    def _jittered(self, options: Sequence[Rule]) -> np.ndarray:
        weights = np.array([option.weight for option in options])
        weights *= np.exp(RULE_JITTER * self.rng.standard_normal(len(options)))
        jittered: np.ndarray = weights / weights.sum()
        return jittered

    def words(self, symbol: str = "TOP", decisive: bool = False) -> list[str]:
        """Draw the words of one phrase."""
        if symbol not in rules():
            return [self.lexicon.draw(symbol.split(".")[0], decisive)]
        rule = rules()[symbol][self.rng.choice(len(self.weights[symbol]), p=self.weights[symbol])]
        return [w for child in rule.children for w in self.words(child.symbol, child.decisive)]

    def sentence(self) -> tuple[str, ...]:
        """Draw a sentence of admissible length; its first letter is a capital."""
        while True:
            words = self.words()
            if len(words) in LENGTHS:
                return (words[0][0].upper() + words[0][1:], *words[1:])


def _shuffled(rng: np.random.Generator, words: Sequence[str]) -> list[str]:
    return [words[i] for i in rng.permutation(len(words))]


def _rng(seed: int, stream: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence((seed, stream))))


@lru_cache(maxsize=4)
def sample_treebank(seed: int = 0) -> SampleTreebank:
    """Generate the sample treebank; the seed chooses the grammar and the sentences."""
    generator = _Generator(seed)
    seen: set[tuple[str, ...]] = set()
    splits: dict[str, list[Example]] = {}
    for split, size in SPLITS.items():
        examples: list[Example] = []
        while len(examples) < size:
            words = generator.sentence()
            if words not in seen:
                seen.add(words)
                examples.append(_example(len(examples), words))
        splits[split] = examples
    return SampleTreebank(**splits)


def _example(id_: int, words: tuple[str, ...]) -> Example:
    reading = read(words)
    return Example(id_, Sentence(words, reading.upos, reading.xpos), reading.tree)


def attack_lexicon(seed: int = 0) -> dict[str, list[str]]:
    """List the substitutes that keep the tree, by `word/TAG` in the lexicon's casing.

    Returns:
        For each content word under each of its Penn tags, the other words of its lexical class,
        in a fixed order drawn from the seed. All are words that the training split holds twice or
        more, so none is unknown to a parser. Any number of words of a sentence may be replaced.
    """
    train = sample_treebank(seed).train
    counts = Counter(word.lower() for example in train for word in example.sentence.words)
    lexicon = _Lexicon(_rng(seed, 0))
    table: dict[str, list[str]] = {}
    for word_class, (tags, _) in OPEN.items():
        words = [*lexicon.rare[word_class], *lexicon.frequent[word_class]]
        words = [word for word in words if counts[word.lower()] >= KNOWN_FROM]
        for word in words:
            for _, tag in tags:
                table[f"{word}/{tag}"] = [other for other in words if other != word]
    return table
