"""A substitution table: for each word, the words that may take its place.

Attacks, defenses, robust encodings and certificates that use the same table mean the same changes,
so that "attacked within the table" and "certified against the table" can be compared.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from robustparse.casing import in_casing_of
from robustparse.errors import InputError
from robustparse.files.json_text import decode_json
from robustparse.files.reading import read_lines
from robustparse.files.writing import write_text

_REMEDY = (
    "make the table with `robustparse substitutes`, from a JSON object of your own words with "
    "--sources lexicon:FILE"
)
_KEYS = {"word", "substitutes"}


@dataclass(frozen=True)
class SubstitutionTable:
    """For each word, the words that may take its place.

    A file has a line for the settings that made the table, a JSON object, and then one for each
    word: `{"word": "big", "substitutes": ["large", "great"]}`.

    Args:
        substitutes: lower-cased words, each with its lower-cased substitutes, the best first; no
            word is its own substitute.
        settings: what made the table, such as its sources.
    """

    substitutes: Mapping[str, Sequence[str]]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def of(self, word: str) -> list[str]:
        """Return the substitutes of a word, in its casing (lower, UPPER or Capitalised)."""
        return in_casing_of(word, self.substitutes.get(word.lower(), ()))

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the words and their substitutes, whatever the settings."""
        content = "".join(self._lines()[1:])
        return hashlib.sha256(content.encode()).hexdigest()

    def write(self, path: str | Path) -> None:
        """Write the table to a file, its words in alphabetical order."""
        write_text(Path(path), "".join(self._lines()))

    def _lines(self) -> list[str]:
        rows = [
            {"word": word, "substitutes": list(self.substitutes[word])}
            for word in sorted(self.substitutes)
            if self.substitutes[word]
        ]
        return [f"{json.dumps(row, ensure_ascii=False)}\n" for row in (dict(self.settings), *rows)]

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a table.

        Raises:
            InputError: the file cannot be read, or names the line that is no row of a table.
        """
        path = Path(path).expanduser()
        lines = read_lines(path)
        settings = decode_json(next(lines)[1], dict, path=path, line=1, remedy=_REMEDY)
        if _KEYS & set(settings):
            raise InputError("holds a word", path=path, line=1, expected="settings", remedy=_REMEDY)
        substitutes: dict[str, tuple[str, ...]] = {}
        for line, text in lines:
            row = decode_json(text, dict, path=path, line=line, remedy=_REMEDY)
            word: Any = row.get("word")
            words: Any = row.get("substitutes")
            if set(row) != _KEYS or not isinstance(words, list) or not words:
                expected = "a word and its substitutes"
                raise InputError("not a row", path=path, line=line, expected=expected)
            for each in (word, *words):
                if not _is_word(each):
                    problem = f"{each!r:.60} is not a lower-cased word"
                    raise InputError(problem, path=path, line=line, remedy=_REMEDY)
            if word in substitutes or word in words or len(set(words)) < len(words):
                problem = f"{word!r:.60} or one of its substitutes is there twice"
                raise InputError(problem, path=path, line=line, remedy=_REMEDY)
            substitutes[word] = tuple(words)
        if not substitutes:  # such as a lexicon, one JSON object
            expected = "a line of settings, then one for each word"
            raise InputError("no word", path=path, expected=expected, remedy=_REMEDY)
        return cls(substitutes, settings)


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value.split() == [value] and value == value.lower()
