"""The pool of several sources of substitutes: tags compared, sources united, closed, measured."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from robustparse.attacks.substitution_sources import Source
from robustparse.attacks.word_types import WordTypes, is_type

Substitutes = Mapping[str, Sequence[str]]
"""Lower-cased words, each with its lower-cased substitutes, the best first."""


def substitutes_of(
    source: Source,
    types: WordTypes,
    same_tag: bool = False,
    show: Callable[[int], None] = lambda _: None,
) -> Substitutes:
    """Return the substitutes that a source proposes for the words of a corpus.

    Args:
        source: the source.
        types: the words of the corpus.
        same_tag: whether a substitute is kept only if its most frequent tag in the corpus is that
            of the word. Words that are not in the corpus have no tag and are left out, except
            typos: one that is no word of the corpus is the word itself, misspelt.
        show: is called with the number of finished words.
    """
    kept: dict[str, list[str]] = {}
    for number, (word, proposals) in enumerate(source.propose(types), start=1):
        some = dict.fromkeys(map(str.lower, proposals))
        some.pop(word, None)
        words = [each for each in some if is_type(each)]
        if same_tag:
            tag = types.tags.get(word)
            words = [
                each
                for each in words
                if tag is not None
                and (types.tags.get(each) == tag or (source.misspells and each not in types.counts))
            ]
        if words:
            kept[word] = words
        show(number)
    return kept


def united(several: Iterable[Substitutes]) -> Substitutes:
    """Unite substitutes, each word's in the order of the sources."""
    pooled: dict[str, dict[str, None]] = {}
    for word, some in chain.from_iterable(each.items() for each in several):
        pooled.setdefault(word, {}).update(dict.fromkeys(some))
    return {word: list(some) for word, some in pooled.items()}


def symmetric_closure(substitutes: Substitutes, types: WordTypes) -> Substitutes:
    """Add each word to the substitutes of its substitutes.

    Added words come last, those that are more frequent in the corpus first, ties by name.
    """
    closed = {word: dict.fromkeys(some) for word, some in substitutes.items()}
    for word in sorted(substitutes, key=lambda word: (-types.counts.get(word, 0), word)):
        for other in substitutes[word]:
            closed.setdefault(other, {}).setdefault(word)
    return {word: list(some) for word, some in closed.items()}


@dataclass(frozen=True)
class TableSize:
    """How much of a corpus a table can change.

    Args:
        words: words of the corpus with substitutes.
        tokens: tokens of the corpus with substitutes.
        share: these tokens in percent of all.
        mean: mean number of substitutes of these tokens; 0 if there are none.
    """

    words: int
    tokens: int
    share: float
    mean: float

    @classmethod
    def of(cls, substitutes: Substitutes, types: WordTypes) -> "TableSize":
        """Measure substitutes on the words of a corpus."""
        known = [word for word in types.counts if substitutes.get(word)]
        tokens = sum(types.counts[word] for word in known)
        total = sum(types.counts.values())
        number = sum(types.counts[word] * len(substitutes[word]) for word in known)
        return cls(
            len(known), tokens, 100 * tokens / max(1, total), number / tokens if tokens else 0.0
        )
