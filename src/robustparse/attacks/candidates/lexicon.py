"""Candidates from a table: a JSON object of lists, such as a synonym dictionary."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.errors import InputError
from robustparse.files.json_text import read_json
from robustparse.tagsets import Tagset, check_tagset


class Lexicon(CandidateGenerator):
    """Looks a word up, first with its tag, then without.

    Args:
        table: path of a JSON file, or the table itself: `{"big/JJ": ["large", ...], "run": [...]}`.
            Words match ignoring case; tags must equal the corpus' tag. A word that contains a slash
            is written in lower case (`n/a`) or with its tag (`N/A/NN`).
        tagset: which tags of a sentence are looked up; None: its Penn tags, or its universal tags
            if it has none.

    Raises:
        InputError: the file cannot be read, or an entry is malformed; names the file and the key.
    """

    draws = False

    def __init__(self, table: str | dict[str, list[str]], *, tagset: Tagset | None = None) -> None:
        check_tagset("lexicon", tagset)
        self.table, self.tagset = table, tagset
        if isinstance(table, str):
            path = Path(table).expanduser()
            self._table = _checked(read_json(path, dict), path)
        else:
            self._table = _checked(table)

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        return [self._look_up(slot.word.lower(), slot.tagged(self.tagset)[1]) for slot in slots]

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        content = json.dumps(self._table, sort_keys=True).encode()
        return f"Lexicon {hashlib.sha256(content).hexdigest()} {self.tagset}"

    def _look_up(self, word: str, tag: str) -> list[str]:
        tagged = self._table.get(f"{word}/{tag}")
        return list(self._table.get(word, ()) if tagged is None else tagged)


def _checked(raw: Mapping[Any, object], path: Path | None = None) -> dict[str, tuple[str, ...]]:
    """Return the table with the words of its keys lower-cased."""

    def mistake(found: str, key: object, expected: str | None = None) -> InputError:
        return InputError(found, path=path, key=f"lexicon: {key!r}", expected=expected)

    table: dict[str, tuple[str, ...]] = {}
    for key, words in raw.items():
        if not isinstance(key, str) or not key.strip():
            raise mistake("this key is not a word", key)
        if not isinstance(words, list | tuple):
            raise mistake(f"found {type(words).__name__}", key, "a list of words")
        for word in words:
            # A candidate replaces one word, whose tag and gold answer are kept.
            if not isinstance(word, str) or word.split() != [word]:
                raise mistake(f"candidate {word!r}", key, "single words")
        name, slash, tag = key.rpartition("/")
        normal = f"{name.lower()}/{tag}" if slash and name else key.lower()
        if normal in table:
            raise mistake("this key appears twice, ignoring case", key)
        table[normal] = tuple(words)
    return table
