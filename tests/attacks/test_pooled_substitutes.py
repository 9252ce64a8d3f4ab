"""Pooling: tags compared, sources united in order, the symmetric closure, sizes counted plainly."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from robustparse.attacks.pooled_substitutes import (
    TableSize,
    substitutes_of,
    symmetric_closure,
    united,
)
from robustparse.attacks.substitution_sources import Proposal, Source
from robustparse.attacks.word_types import WordTypes
from robustparse.types import Sentence

TYPES = WordTypes.of(
    [
        Sentence(("dog", "cat", "runs"), ("NOUN", "NOUN", "VERB")),
        Sentence(("Dog", "cow", "."), ("NOUN", "NOUN", "PUNCT")),
        Sentence(("new",)),
    ]
)
WORDS = st.sampled_from([*TYPES.counts, "wolf", "ox"])
TABLES = st.dictionaries(WORDS, st.lists(WORDS, unique=True, min_size=1)).map(
    lambda table: {
        word: kept for word, some in table.items() if (kept := [w for w in some if w != word])
    }
)


class Listed(Source):
    """Proposes what a list says."""

    def __init__(self, lists: dict[str, list[str]], misspells: bool = False) -> None:
        self.lists, self.misspells = lists, misspells

    def load(self) -> None: ...

    def fingerprint(self) -> str:
        return "listed"

    def propose(self, types: WordTypes) -> Iterator[Proposal]:
        return iter(self.lists.items())


LISTS = {"dog": ["Cat", "cat", "DOG", "runs", "wolf", "two words", "!"], "new": ["cat"], "cow": []}


def test_substitutes_are_lower_cased_words() -> None:
    some = substitutes_of(Listed(LISTS), TYPES)
    assert some == {"dog": ["cat", "runs", "wolf"], "new": ["cat"]}


def test_a_substitute_has_the_tag_of_the_word() -> None:
    """One that does not occur has no tag, unless it is the word itself misspelt."""
    assert substitutes_of(Listed(LISTS), TYPES, same_tag=True) == {"dog": ["cat"]}
    typos = substitutes_of(Listed(LISTS, misspells=True), TYPES, same_tag=True)
    assert typos == {"dog": ["cat", "wolf"]}


def test_progress_counts_words() -> None:
    shown: list[int] = []
    substitutes_of(Listed(LISTS), TYPES, show=shown.append)
    assert shown == [1, 2, 3]


def test_sources_are_united_in_their_order() -> None:
    first, second = {"dog": ["cat", "ox"]}, {"cow": ["ox"], "dog": ["wolf", "cat"]}
    assert united([first, second]) == {"dog": ["cat", "ox", "wolf"], "cow": ["ox"]}
    assert united([second, first])["dog"] == ["wolf", "cat", "ox"]


@given(TABLES)
def test_the_closure_is_the_smallest_symmetric_table(table: dict[str, list[str]]) -> None:
    closed = symmetric_closure(table, TYPES)
    pairs = {(word, other) for word, some in table.items() for other in some}
    expected = pairs | {(other, word) for word, other in pairs}
    assert {(word, other) for word, some in closed.items() for other in some} == expected
    assert sum(map(len, closed.values())) == len(expected)
    assert all(list(closed[word][: len(some)]) == some for word, some in table.items())
    assert symmetric_closure(closed, TYPES) == closed
    assert symmetric_closure(dict(reversed(table.items())), TYPES) == closed


@given(TABLES)
def test_sizes_are_those_of_a_plain_count(table: dict[str, list[str]]) -> None:
    tokens = ["dog", "cat", "runs", "dog", "cow", ".", "new"]
    numbers = [len(table[token]) for token in tokens if token in table]
    size = TableSize.of(table, TYPES)
    assert size.words == len(set(tokens) & set(table))
    assert size.tokens == len(numbers)
    assert abs(size.share - 100 * len(numbers) / 7) < 1e-9
    assert abs(size.mean - (sum(numbers) / len(numbers) if numbers else 0)) < 1e-9
