"""Utterances as people wrote them, and what semantic parsers read of them: slots and stems.

Corpora replace the names of entities by slots (``c0`` for a city) and stem the words. Operations on
sentences need the raw text: stems are not English, and a name of two words is one slot.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from robustparse.errors import InputError
from robustparse.files import decode_json
from robustparse.types import Example

_SLOT = re.compile(r"[a-z_]+\d+|num_salary")  # the latter of JOBS
FOUR = "raw text, utterance, form and slots (a JSON object: slot -> its text)"
_STOPS = (".", "?", "!")


class RawUtterance(NamedTuple):
    """The raw text of an utterance.

    Attributes:
        words: of the text.
        slots: the text of each slot, its words separated by blanks; empty where a slot has no text
            of its own.
    """

    words: tuple[str, ...]
    slots: Mapping[str, str]

    def parsed(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return other words, of the same entities, as a parser reads them.

        The words of a slot become its name, the longest text first; all others are stemmed by the
        Snowball stemmer for English. A stop at the end goes.
        """
        return tuple(token for token, _ in self.placed(words))

    def placed(self, words: Sequence[str]) -> list[tuple[str, int]]:
        """Return the same, each with the position of the last of the words that it stands for."""
        texts = sorted(
            ((tuple(text.split()), slot) for slot, text in self.slots.items() if text),
            key=lambda pair: -len(pair[0]),
        )
        left = tuple(words[:-1] if words[-1] in _STOPS else words)
        found: list[tuple[str, int]] = []
        at = 0
        while left:
            size, token = next(
                ((len(text), slot) for text, slot in texts if left[: len(text)] == text), (1, "")
            )
            at += size
            found.append((token or _stem(left[0]), at - 1))
            left = left[size:]
        return found


def slots_in(tokens: Sequence[str]) -> set[str]:
    """Return the slots among the tokens of an utterance or a form: ``c0``, ``num_salary``."""
    return {token for token in tokens if _SLOT.fullmatch(token)}


def raw_utterance(example: Example) -> RawUtterance | None:
    """Return the raw text of an example, from its row in the file; None if that has none."""
    row = example.row
    if row is None or row.layout.raw is None:
        return None
    text, slots = (row.values[column] for column in row.layout.raw)
    return RawUtterance(tuple(text.split()), slots_of(slots))


def slots_of(cell: object) -> dict[str, str]:
    """Return the slots that a cell holds: a JSON object, or the text of one.

    Raises:
        InputError: it holds something else.
    """
    return dict(cell) if isinstance(cell, dict) else decode_json(str(cell), dict)


def check_raw(cells: Sequence[object]) -> None:
    """Refuse a row without a raw text, or whose slots are no slots.

    Args:
        cells: the raw text, and the slots.

    Raises:
        InputError: shows both.
    """
    text, cell = cells
    slots = slots_of(cell)
    known = isinstance(text, str) and text.strip()
    if not known or not all(isinstance(slot, str) for slot in slots.values()):
        found = f"the raw text {text!r:.40} with the slots {cell!r:.40}"
        raise InputError(found, expected=FOUR)


@cache
def _stem(word: str) -> str:
    from nltk.stem.snowball import SnowballStemmer

    stem: str = SnowballStemmer("english").stem(word)
    return stem
