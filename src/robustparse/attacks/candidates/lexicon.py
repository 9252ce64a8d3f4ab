"""Candidates from a table: a JSON object of lists, such as a synonym or sememe dictionary."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.errors import InputError
from robustparse.files import read_text


class Lexicon(CandidateGenerator):
    """Looks a word up, first with its tag, then without.

    Args:
        table: path of a JSON file, or the table itself: `{"big/JJ": ["large", ...], "run": [...]}`.
            The word of a key matches in any casing; the tag is the corpus' Penn tag, exactly. A key
            with a slash is also a word by itself, where no key is that word in lower case: `N/A` is
            the word `n` with the tag `A`, and the word `n/a`.

    Raises:
        InputError: the file cannot be read, or an entry is malformed; names the file and the key.
    """

    def __init__(self, table: str | dict[str, list[str]]) -> None:
        source = f"lexicon {table}" if isinstance(table, str) else "lexicon"
        raw = _read(Path(table).expanduser(), source) if isinstance(table, str) else table
        self._table = _checked(raw, source)
        self._whole: dict[str, tuple[str, ...]] = {}  # keys that may be words with a slash
        for key, words in sorted(self._table.items()):
            if "/" in key:
                self._whole.setdefault(key.lower(), words)

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        return [self._look_up(slot.word.lower(), slot.tag) for slot in slots]

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return self._fingerprint

    def draws(self) -> bool:
        """See `CandidateGenerator.draws`."""
        return False

    def is_model(self) -> bool:
        """See `CandidateGenerator.is_model`."""
        return False

    @cached_property
    def _fingerprint(self) -> str:
        content = json.dumps([self._table, self._whole], sort_keys=True).encode()
        return f"Lexicon {hashlib.sha256(content).hexdigest()}"

    def _look_up(self, word: str, tag: str) -> list[str]:
        for found in (self._table.get(f"{word}/{tag}"), self._table.get(word)):
            if found is not None:
                return list(found)
        return list(self._whole.get(word, ()))


def _read(path: Path, source: str) -> object:
    content = read_text(path)

    def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated = next(key for key in keys if keys.count(key) > 1)
            raise InputError(f"{source}: key {repeated!r} appears twice; merge its lists")
        return table

    try:
        table: object = json.loads(content, object_pairs_hook=without_repeats)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{source}, line {error.lineno}: not JSON ({error.msg}); expected one object of lists, "
            'such as {"big/JJ": ["large"]}'
        ) from error
    return table


def _checked(raw: object, source: str) -> dict[str, tuple[str, ...]]:
    """Return the table with the words of its keys lower-cased."""
    if not isinstance(raw, Mapping):
        raise InputError(
            f"{source}: found {type(raw).__name__}, expected a JSON object of lists of words"
        )
    table: dict[str, tuple[str, ...]] = {}
    for key, words in raw.items():
        if not isinstance(key, str) or not key.strip():
            raise InputError(f"{source}: key {key!r} is not a word; remove it")
        if not isinstance(words, list | tuple):
            raise InputError(
                f"{source}, key {key!r}: found {type(words).__name__}, expected a list of words"
            )
        for word in words:
            # Heads and tags are one a word: a candidate must stay one word.
            if not isinstance(word, str) or word.split() != [word]:
                raise InputError(
                    f"{source}, key {key!r}: candidate {word!r} is not a single word; remove it"
                )
        name, slash, tag = key.rpartition("/")
        normal = f"{name.lower()}/{tag}" if slash and name else key.lower()
        if normal in table:
            raise InputError(
                f"{source}: key {key!r} appears twice, as casing does not count; merge its lists"
            )
        table[normal] = tuple(words)
    return table
