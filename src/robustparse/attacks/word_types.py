"""The word types of a corpus: how often each occurs, with which tag, and in which texts."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from robustparse.tagsets import Tagset
from robustparse.types import Sentence

Occurrence = tuple[tuple[str, ...], int]
"""The words of a text, and the position of a word in it, from 0."""


@dataclass(frozen=True)
class WordTypes:
    """The lower-cased words of a corpus; none of its fields depends on the order of the corpus.

    Args:
        counts: words and their frequencies, the most frequent first, ties by name.
        tags: words and their most frequent tags, ties by name; words without any are left out.
        tagset: which tags these are.
        texts: the distinct texts of the corpus, sorted.
    """

    counts: Mapping[str, int]
    tags: Mapping[str, str]
    tagset: Tagset
    texts: Sequence[tuple[str, ...]]

    @classmethod
    def of(cls, sentences: Iterable[Sentence], tagset: Tagset | None = None) -> Self:
        """Count the words of a corpus.

        Args:
            sentences: the texts; the other text of a pair (`Sentence.context`) counts as a text
                without tags.
            tagset: which tags are counted; None takes universal tags if any text has them, and
                otherwise the corpus' other tags.
        """
        counts: Counter[str] = Counter()
        tags: dict[Tagset, dict[str, Counter[str]]] = {
            "upos": defaultdict(Counter),
            "xpos": defaultdict(Counter),
        }
        texts = set[tuple[str, ...]]()
        for sentence in sentences:
            lowered = [word.lower() for word in sentence.words]
            counts.update([*lowered, *map(str.lower, sentence.context)])
            texts.update(filter(None, (sentence.words, sentence.context)))
            for known, some in ((tags["upos"], sentence.upos), (tags["xpos"], sentence.xpos)):
                for word, tag in zip(lowered, some, strict=False):
                    known[word][tag] += 1
        chosen: Tagset = tagset or ("upos" if tags["upos"] else "xpos")
        return cls(
            dict(_ranked(counts)),
            {word: _ranked(some)[0][0] for word, some in tags[chosen].items()},
            chosen,
            sorted(texts),
        )

    @cached_property
    def words(self) -> list[str]:
        """The words that may be replaced: those with a letter or a digit, and without blanks."""
        return [word for word in self.counts if is_type(word)]

    @cached_property
    def by_tag(self) -> dict[str, list[str]]:
        """Map each tag to the words of which it is the most frequent tag, in their order."""
        words: dict[str, list[str]] = defaultdict(list)
        for word in self.words:
            if word in self.tags:
                words[self.tags[word]].append(word)
        return words

    def alone(self, word: str) -> Sentence:
        """Return a text of one word with its most frequent tag, if it has any."""
        tags = (self.tags[word],) if word in self.tags else ()
        if self.tagset == "upos":
            return Sentence((word,), upos=tags)
        return Sentence((word,), xpos=tags)

    def occurrences(self, word: str, most: int) -> list[Occurrence]:
        """Return occurrences of a word in distinct texts, a word's first in each.

        Of more than ``most`` such texts, as many are taken at equal distances in sorted order.
        """
        known = self._occurrences[word]
        count = min(most, len(known))
        chosen = (known[index * len(known) // count] for index in range(count))
        return [(self.texts[row], position) for row, position in chosen]

    @cached_property
    def _occurrences(self) -> dict[str, list[tuple[int, int]]]:
        """Map words to (row of the text, position)."""
        occurrences: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for row, text in enumerate(self.texts):
            first: dict[str, int] = {}
            for position, word in enumerate(text):
                first.setdefault(word.lower(), position)
            for word, position in first.items():
                occurrences[word].append((row, position))
        return occurrences


def is_type(word: str) -> bool:
    """Tell whether a word can stand in a substitution table: it is no punctuation, nor several."""
    return word.split() == [word] and any(map(str.isalnum, word))


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
