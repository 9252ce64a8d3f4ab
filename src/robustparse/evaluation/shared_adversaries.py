"""Adversaries of semantic parsers and other systems, and those that all of them share.

A perturbed text is an adversary of a system that answers the original correctly and the perturbed
text wrongly, as in the files that Huang et al. (2021) released.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustparse.errors import InputError
from robustparse.evaluation.rows import PERTURBED, read_rows
from robustparse.files.json_text import as_written

Text = tuple[str, Any, Any, Any]
"""Operation, context, perturbed words and original words."""


@dataclass(frozen=True, slots=True)
class SharedAdversaries:
    """The adversaries of several systems under one operation.

    Args:
        operation: the name of the operation.
        texts: the number of perturbed texts.
        of_each: the number of adversaries of each system.
        of_any: the number of texts that are adversaries of at least one system.
        of_all: the number of texts that are adversaries of every system.
    """

    operation: str
    texts: int
    of_each: tuple[int, ...]
    of_any: int
    of_all: int


def shared_adversaries(folders: Sequence[Path]) -> list[SharedAdversaries]:
    """Count the adversaries under each operation.

    Args:
        folders: folders of `evaluate`, one for each system, with ``perturbed.jsonl``.

    Returns:
        The counts in the order of the first folder's operations.

    Raises:
        InputError: a file is missing or damaged, or a system answered other texts than the first.
    """
    systems = [_adversaries(folder) for folder in folders]
    first, *others = ([text for text, _ in system] for system in systems)
    for folder, texts in zip(folders[1:], others, strict=True):
        if texts != first:
            problem = f"other texts than those of {folders[0]}, so that no adversary is shared"
            remedy = "evaluate both systems on the same data and operations, or leave one out"
            raise InputError(problem, path=folder / PERTURBED, remedy=remedy)
    under: dict[str, list[tuple[bool, ...]]] = {}
    for row in zip(*systems, strict=True):
        operation = row[0][0][0]
        under.setdefault(operation, []).append(tuple(fooled for _, fooled in row))
    return [
        SharedAdversaries(
            operation,
            len(rows),
            tuple(map(sum, zip(*rows, strict=True))),
            sum(map(any, rows)),
            sum(map(all, rows)),
        )
        for operation, rows in under.items()
    ]


def _adversaries(folder: Path) -> list[tuple[Text, bool]]:
    """Return each perturbed text, and whether it is an adversary."""
    path, rows = folder / PERTURBED, []
    for line, row in read_rows(path):
        with as_written(path, "evaluate", line=line):
            original = row["original"]
            text = (row["operation"], row.get("context"), row["tokens"], original["tokens"])
            rows.append((text, bool(original["right"] and not row["right"])))
    return rows
