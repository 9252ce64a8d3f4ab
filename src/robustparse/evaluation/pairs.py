"""What an attack's folder says of each sentence's words: original, adversarial, success."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustparse.errors import InputError
from robustparse.evaluation.lines import EXAMPLES, SUMMARY, read_lines
from robustparse.files import read_text

REMEDY = "give a folder that `robustparse attack --out` wrote, or run the attack again"


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence before and after an attack.

    Args:
        id: the example's id.
        before: the original words.
        after: the adversarial words, as many.
        success: whether the attack succeeded.
    """

    id: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    success: bool

    @property
    def changed(self) -> list[int]:
        """Positions whose word was changed, from 0."""
        both = zip(self.before, self.after, strict=True)
        return [position for position, (old, new) in enumerate(both) if old != new]


def read_pairs(folder: Path) -> list[Pair]:
    """Return the sentences of a finished attack.

    Raises:
        InputError: no finished attack lies there, or a line is not as `attack` writes it.
    """
    read_summary(folder)
    return [_pair(line, folder / EXAMPLES) for line in read_lines(folder / EXAMPLES)]


def read_summary(folder: Path) -> dict[str, Any]:
    """Return the ``summary.json`` of a finished attack.

    Raises:
        InputError: it is missing or no JSON object, or there is no ``examples.jsonl`` beside it.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; {REMEDY}")
    path = folder / SUMMARY
    if not path.exists() or not (folder / EXAMPLES).exists():
        missing = SUMMARY if not path.exists() else EXAMPLES
        raise InputError(f"{folder}: holds no {missing}, so no finished attack; {REMEDY}")
    try:
        summary = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not JSON ({error.msg}); {REMEDY}") from None
    if not isinstance(summary, dict):
        raise InputError(f"{path}: expected a JSON object; {REMEDY}")
    return summary


def _pair(line: dict[str, Any], path: Path) -> Pair:
    before, after = line.get("tokens"), line.get("adversarial_tokens")
    success = line.get("success")
    good = isinstance(success, bool) and isinstance(line["id"], int)
    for words in (before, after):
        texts = isinstance(words, list) and all(isinstance(word, str) for word in words)
        good = good and texts and len(words or ()) == len(before or ())
    if not good:
        raise InputError(
            f"{path}: sentence {line['id']!r}: expected tokens and adversarial_tokens, lists of as "
            f"many words, and success, true or false; {REMEDY}"
        )
    return Pair(line["id"], tuple(before or ()), tuple(after or ()), bool(success))
