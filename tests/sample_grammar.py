"""A second way to the trees of the sample treebank: derived from the words of a sentence only.

The derivation is a memoised top-down chart over the lexical classes of the words: all ways in
which each phrase can start at each word, with no stored answers. Words of one class have one set
of classes, so replacing one by another leaves every derivation as it was.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from robustparse.data.sample.generator import Rule, Rules, read_rules
from robustparse.data.sample.rules import RULES
from robustparse.data.sample.treebank import CONTENT, FUNCTION
from robustparse.errors import InputError
from robustparse.types import DependencyTree


class Entry(NamedTuple):
    """One reading of a word: its lexical class (`class.TAG` where a class has two) and tags."""

    word_class: str
    upos: str
    xpos: str


class Span(NamedTuple):
    """One derivation of a phrase: the word after it, its head word and its arcs, from 0."""

    end: int
    head: int
    arcs: tuple[tuple[int, int, str], ...]
    readings: tuple[Entry, ...]


@cache
def rules() -> Rules:
    """Read the rules, by the phrase they build."""
    return read_rules(RULES)


@cache
def lexicon() -> dict[str, tuple[Entry, ...]]:
    """Collect the readings of every lower-cased word of the treebank."""
    table: dict[str, list[Entry]] = defaultdict(list)
    for word_class, (tags, words) in [*FUNCTION.items(), *CONTENT.items()]:
        for upos, tag in tags:
            name = word_class if len(tags) == 1 else f"{word_class}.{tag}"
            entry = Entry(name, upos, tag)
            for word in words:
                table[word.lower()].append(entry)
    return {word: tuple(entries) for word, entries in table.items()}


@cache
def first_classes(symbol: str) -> frozenset[str]:
    """Find the classes a phrase can start with (no phrase is empty or starts with itself)."""
    if symbol not in rules():
        return frozenset((symbol,))
    return frozenset().union(*(first_classes(r.children[0].symbol) for r in rules()[symbol]))


class _Chart:
    """All derivations over one sentence, filled on demand."""

    def __init__(self, entries: Sequence[tuple[Entry, ...]]) -> None:
        self.entries = entries
        self.memo: dict[tuple[str, int], list[Span]] = {}

    def spans(self, symbol: str, start: int) -> list[Span]:
        """Find the derivations of a phrase or class that start at a word."""
        if start >= len(self.entries):
            return []
        key = (symbol, start)
        if key not in self.memo:
            here = [e for e in self.entries[start] if e.word_class in first_classes(symbol)]
            if not here:
                self.memo[key] = []
            elif symbol in rules():
                self.memo[key] = [s for r in rules()[symbol] for s in self._apply(r, start)]
            else:
                self.memo[key] = [Span(start + 1, start, (), (e,)) for e in here]
        return self.memo[key]

    def _apply(self, rule: Rule, start: int) -> list[Span]:
        partial: list[tuple[int, tuple[Span, ...]]] = [(start, ())]
        for child in rule.children:
            partial = [
                (span.end, (*done, span))
                for end, done in partial
                for span in self.spans(child.symbol, end)
            ]
        return [_join(rule, spans) for _, spans in partial]


def _join(rule: Rule, spans: tuple[Span, ...]) -> Span:
    labels = [child.label for child in rule.children]
    head = spans[labels.index("")].head
    arcs = [(s.head, head, label) for s, label in zip(spans, labels, strict=True) if label]
    inner = [arc for s in spans for arc in s.arcs]
    readings = tuple(r for s in spans for r in s.readings)
    return Span(spans[-1].end, head, (*inner, *arcs), readings)


class Reading(NamedTuple):
    """A sentence's one derivation: its tags and its tree."""

    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    tree: DependencyTree


def read(words: Sequence[str]) -> Reading:
    """Derive a sentence by the grammar, final punctuation included; case does not matter.

    Raises:
        InputError: a word is unknown, or the sentence has no derivation or several.
    """
    entries = _entries(words)
    found = {
        (span.head, tuple(sorted(span.arcs)), span.readings)
        for span in _Chart(entries).spans("TOP", 0)
        if span.end == len(entries)
    }
    if len(found) != 1:
        raise InputError(
            f"the sample grammar derives {' '.join(words)!r} in {len(found)} ways",
            expected="one way",
            remedy="substitute words only by others of their class (treebank_lexicon)",
        )
    _, arcs, readings = found.pop()
    heads, labels = [0] * len(entries), ["root"] * len(entries)
    for dependent, head, label in arcs:
        heads[dependent], labels[dependent] = head + 1, label
    return Reading(
        tuple(entry.upos for entry in readings),
        tuple(entry.xpos for entry in readings),
        DependencyTree(tuple(heads), tuple(labels)),
    )


def _entries(words: Sequence[str]) -> list[tuple[Entry, ...]]:
    """Return the readings of each word."""
    for number, word in enumerate(words, start=1):
        if word.lower() not in lexicon():
            raise InputError(
                f"word {number}, {word!r}, is not in the sample treebank's lexicon",
                expected="its own words only",
            )
    return [lexicon()[word.lower()] for word in words]
