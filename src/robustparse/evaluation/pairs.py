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
        """Find the positions whose word was changed, from 0."""
        both = zip(self.before, self.after, strict=True)
        return [position for position, (old, new) in enumerate(both) if old != new]


def read_pairs(folder: Path) -> list[Pair]:
    """Read the sentences of a finished attack.

    Raises:
        InputError: no finished attack lies there, or a line is not as `attack` writes it.
    """
    read_summary(folder)
    return [_pair(line, folder / EXAMPLES) for line in read_lines(folder / EXAMPLES)]


def read_summary(folder: Path) -> dict[str, Any]:
    """Read the ``summary.json`` of a finished attack.

    Raises:
        InputError: it is missing or no JSON object, or there is no ``examples.jsonl`` with it.
    """
    if not folder.is_dir():
        raise InputError("no such folder", path=folder, remedy=REMEDY)
    path = folder / SUMMARY
    if not path.exists() or not (folder / EXAMPLES).exists():
        missing = SUMMARY if not path.exists() else EXAMPLES
        raise InputError(f"holds no {missing}, so no finished attack", path=folder, remedy=REMEDY)
    try:
        summary = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON ({error.msg})", path=path, line=error.lineno, remedy=REMEDY
        ) from None
    if not isinstance(summary, dict):
        raise InputError(
            f"got {type(summary).__name__}", path=path, expected="a JSON object", remedy=REMEDY
        )
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
            "not as an attack writes it",
            path=path,
            key=f"sentence {line['id']!r}",
            expected="tokens and adversarial_tokens, lists of as many words, and success, true or "
            "false",
            remedy=REMEDY,
        )
    return Pair(line["id"], tuple(before or ()), tuple(after or ()), bool(success))
