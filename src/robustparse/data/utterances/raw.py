"""Raw utterances, and the slots and stems that semantic parsers read instead.

Corpora replace the names of entities by slots (``c0`` for a city) and stem the words. Operations
need the raw text: stems are not English words, and a slot can stand for several words.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

import numpy as np

from robustparse.data.reading import Reading
from robustparse.data.utterances.stems import stem
from robustparse.errors import InputError
from robustparse.files.json_text import decode_json
from robustparse.types import Example, Sentence

_SLOT = re.compile(r"[a-z_]+\d+|num_salary")  # num_salary is in JOBS
FOUR = "raw text, utterance, form and slots (a JSON object: slot -> its text)"
_STOPS = (".", "?", "!")


class RawUtterance(NamedTuple):
    """The raw text of an utterance.

    Attributes:
        words: the words of the text.
        slots: maps each slot to its text, words separated by blanks; empty if the slot has no text.
        stemmed: whether parsers read stems of the words, which are in lower case.
        lower: whether parsers read words in lower case.
    """

    words: tuple[str, ...]
    slots: Mapping[str, str]
    stemmed: bool = True
    lower: bool = False

    def read(self, word: str) -> str:
        """Return what a parser reads for a word outside of slots."""
        if self.stemmed:
            return stem(word)
        return word.lower() if self.lower else word

    def parsed(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return what a parser reads for other words about the same entities.

        The text of a slot is replaced by the slot's name, longest texts first. In a stemmed corpus,
        all other words are stemmed (Snowball, English); in a corpus in lower case, they are
        lower-cased. Final punctuation is removed.
        """
        return tuple(token for token, _ in self.placed(words))

    def placed(self, words: Sequence[str]) -> list[tuple[str, int]]:
        """Return the tokens of `parsed`, each with the position of the last word it stands for."""
        texts = sorted(
            ((tuple(text.split()), slot) for slot, text in self.slots.items() if text),
            key=lambda pair: -len(pair[0]),
        )
        left = tuple(words[:-1] if words[-1] in _STOPS else words)
        tokens: list[tuple[str, int]] = []
        at = 0
        while left:
            size, token = next(
                ((len(text), slot) for text, slot in texts if left[: len(text)] == text), (1, "")
            )
            at += size
            tokens.append((token or self.read(left[0]), at - 1))
            left = left[size:]
        return tokens


def slots_in(tokens: Sequence[str]) -> set[str]:
    """Return the slots among the tokens of an utterance or a form: ``c0``, ``num_salary``."""
    return {token for token in tokens if _SLOT.fullmatch(token)}


def raw_utterance(example: Example, stemmed: bool = True) -> RawUtterance | None:
    """Return the raw text in the row of an example, or None.

    Args:
        example: an example of a semantic parser. If its words differ from the raw words, they show
            whether the corpus is stemmed, or in lower case.
        stemmed: whether the corpus is stemmed, if the words do not show it.
    """
    row = example.row
    if row is None or row.layout.raw is None:
        return None
    text, cell = (row.values[column] for column in row.layout.raw)
    slots, raw, words = slots_of(cell), tuple(text.split()), set(example.sentence.words)
    kept = {*words, *(word for slot in slots.values() for word in slot.split())}
    lowered = {word.lower() for word in raw if word not in kept} & words
    read = set(map(str.lower, words))
    inflected = {word for word in map(str.lower, raw) if stem(word) != word}
    as_they_are, as_stems = inflected & read, {stem(word) for word in inflected} & read
    if len(as_they_are) != len(as_stems):
        stemmed = len(as_stems) > len(as_they_are)
    return RawUtterance(raw, slots, stemmed, bool(lowered))


@dataclass(frozen=True, eq=False)
class RawReading(Reading):
    """A raw text that a parser reads as slots and stems.

    Words of slots may not be replaced, nor words that `parsed` does not map to a token of the
    utterance.

    Args:
        raw: the text with its slots.
    """

    raw: RawUtterance
    plain = False

    @classmethod
    def aligned(cls, raw: RawUtterance, utterance: Sentence) -> "RawReading":
        """Align an utterance with its raw text, whose words get the utterance's tags."""
        words = utterance.words
        placed = raw.placed(raw.words)
        positions = np.full(len(words), -1)
        matcher = SequenceMatcher(None, [token for token, _ in placed], words, autojunk=False)
        for first, second, size in matcher.get_matching_blocks():
            positions[second : second + size] = [at for _, at in placed[first : first + size]]
        slots = slots_in(words)
        free = (positions >= 0) & np.array([word not in slots for word in words])
        # A raw word without a token of its own, such as the first of a slot, gets the next tags.
        standing = np.flatnonzero(positions >= 0)
        after = np.searchsorted(positions[standing], np.arange(len(raw.words)))
        owners = np.append(standing, len(words) - 1)[after].tolist()
        upos, xpos = (
            tuple(tags[owner] for owner in owners) if tags else ()
            for tags in (utterance.upos, utterance.xpos)
        )
        return cls(Sentence(raw.words, upos, xpos), words, positions, free, raw)

    def candidates(self, index: int, words: Sequence[str]) -> list[str]:
        """Also leave out final punctuation, slots and words of slots: they change other tokens."""
        of_slots = {word for text in self.raw.slots.values() for word in text.split()}
        read = [self.read(word) for word in words]
        barred = {self.words[index], *self.raw.slots, *slots_in(read)}
        return [
            word
            for word, now in zip(words, read, strict=True)
            if now not in barred and word not in of_slots.union(_STOPS)
        ]

    def read(self, word: str) -> str:
        """Return the stem of a candidate, if parsers read stems."""
        return self.raw.read(word)

    def of(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return the utterance with what is read of the words that are others."""
        changed = [new != old for new, old in zip(words, self.sentence.words, strict=True)]
        positions = zip(self.words, self.positions.tolist(), self.free.tolist(), strict=True)
        return tuple(
            self.read(words[place]) if free and changed[place] else word
            for word, place, free in positions
        )


def slots_of(cell: object) -> dict[str, str]:
    """Return the slots in a cell, which holds a JSON object or its text.

    Parquet and datasets store objects with the keys of all rows: missing ones are null.

    Raises:
        InputError: the cell holds something else.
    """
    slots = cell if isinstance(cell, dict) else decode_json(str(cell), dict)
    return {slot: text for slot, text in slots.items() if text is not None}


def check_raw(cells: Sequence[object]) -> None:
    """Check the raw text and the slots of a row.

    Args:
        cells: the raw text and the slots.

    Raises:
        InputError: the text is empty, or a slot is not a text.
    """
    text, cell = cells
    slots = slots_of(cell)
    known = isinstance(text, str) and text.strip()
    if not known or not all(isinstance(slot, str) for slot in slots.values()):
        problem = f"the raw text {text!r:.40} with the slots {cell!r:.40}"
        raise InputError(problem, expected=FOUR)
