"""What the figures of a row rest on, by digests, so that no table mixes two parsers of one name.

A row rests on the parsers that it attacks, continues from, takes copies from or asks for a
reference, and on its attack's recipe. Rows of a study share many of them; two that do not agree in
one cannot be compared. Rows that were measured before this was kept have no ``origin``; which
parser they are of shows only in its answers to the sentences as they are.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from robustparse.files import file_digest
from study_recipes import Inputs, recipe_digest
from study_rows import BEST, Row, percent

Figures = Mapping[str, Any]


def planned(row: Row, gamma: float | None, inputs: Inputs) -> dict[str, Any]:
    """Return what names a row, and what its figures will rest on as far as that is there."""
    origin = {f"the recipe {row.attack}": recipe_digest(row, inputs)}
    origin |= dict(_files(row))
    return {"title": row.title, "attack": row.attack, "gamma": gamma, "origin": origin}


def agree(rows: Sequence[Figures]) -> None:
    """Exit, with both named, if two rows do not rest on the same parser or recipe of one name."""
    first: dict[str, tuple[str, Figures]] = {}
    for row in rows:
        for what, digest in row.get("origin", {}).items():
            earlier, other = first.setdefault(what, (digest, row))
            if digest != earlier:
                sys.exit(
                    f"{_named(other)} and {_named(row)} do not rest on the same files: of {what} "
                    f"the former has {earlier[:12]}, the latter {digest[:12]}. No table may mix "
                    "them: move the older row's file out of the folder of results and measure it "
                    "anew, or measure all rows in another folder (--home FOLDER)"
                )


def comparable(row: Figures, other: Figures) -> bool:
    """Tell whether two rows that agree may be compared: both or neither say what they rest on."""
    return ("origin" in row) == ("origin" in other)


def without_origin(rows: Sequence[Figures]) -> str:
    """Return a line that names the rows which do not say what they rest on; empty if all do."""
    silent = "; ".join(_named(row) for row in rows if "origin" not in row)
    says = "Measured before rows said what they rest on, and compared only with each other"
    return f"\n{says}: {silent}.\n" if silent else ""


def _files(row: Row) -> Iterator[tuple[str, str]]:
    """Yield what parsers and copies are called, and their digests, of those that are there."""
    trained = _read(row.folder / "finished.json").get("training") or {}
    paths = [*row.checkpoints, *(row.home / name / BEST for name in row.references)]
    for path in paths:
        if path.exists():
            yield _called("parser", row, path), file_digest(path)
    if row.start and ("start" in trained or row.start.exists()):
        yield _called("parser", row, row.start), trained.get("start") or file_digest(row.start)
    if row.copies is not None:
        made = _read(row.copies.path.with_suffix(".attack") / "run.json")
        victims = made.get("sha256", {}).get("checkpoint", ())
        for path, digest in zip(row.copies.of.checkpoints, victims, strict=False):
            yield _called("parser", row, path), digest
        if copies := trained.get("copies"):
            yield _called("copies", row, row.copies.path), copies[1]


def _called(kind: str, row: Row, path: Path) -> str:
    """Return what a file is called: where it lies among the runs of its study."""
    return f"the {kind} {path.relative_to(row.home).as_posix()}"


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def _named(row: Figures) -> str:
    return f"{row['title']} ({row['attack']}{percent(row['gamma'])})"
