"""What an attack's folder says of each sentence's words: original, adversarial, success."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustparse.errors import InputError
from robustparse.evaluation.lines import EXAMPLES, SUMMARY, each_line
from robustparse.files import read_json

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
    return [pair_of(line, folder) for line in each_line(folder / EXAMPLES)]


def read_summary(folder: Path) -> dict[str, Any]:
    """Read the ``summary.json`` of a finished attack.

    Raises:
        InputError: it is missing or no JSON object, or there is no ``examples.jsonl`` with it.
    """
    if not folder.is_dir():
        raise InputError("no such folder", path=folder, remedy=REMEDY)
    if not (folder / SUMMARY).exists():
        expected = "the output folder of an attack"
        raise InputError("no such file", path=folder / SUMMARY, expected=expected, remedy=REMEDY)
    summary = read_json(folder / SUMMARY, dict, REMEDY)
    if not (folder / EXAMPLES).exists():
        raise InputError("no such file", path=folder / EXAMPLES, remedy=REMEDY)
    return summary


def pair_of(line: dict[str, Any], folder: Path) -> Pair:
    """Read the words of a line of a folder.

    Raises:
        InputError: it is not as `attack` writes it.
    """
    before: Any = line.get("tokens")
    after: Any = line.get("adversarial_tokens")
    success = line.get("success")
    for words in (before, after):
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            break
    else:
        if len(before) == len(after) and isinstance(success, bool) and isinstance(line["id"], int):
            return Pair(line["id"], tuple(before), tuple(after), success)
    raise InputError(
        "not as an attack writes it",
        path=folder / EXAMPLES,
        key=f"sentence {line['id']!r}",
        expected="tokens and adversarial_tokens, lists of as many words, and success, true or "
        "false",
        remedy=REMEDY,
    )
