"""Adversarial examples judged by people: blind pairs for annotators, and the key to them.

Annotators see two sentences, A and B, and do not know which is the original. They say which reads
more fluently, and whether both have the same syntactic structure (Wang et al. 2021; Zheng et al.
2020). All annotators get the same pairs, in a random order and on random sides that follow from
(seed, annotator); the choice of pairs follows from (seed, 0). A column shows the premise, if any.
"""

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from robustparse.errors import InputError, check_least, check_seed
from robustparse.evaluation.records import ExampleRecord
from robustparse.files.json_text import as_written, read_json
from robustparse.files.reading import read_text
from robustparse.files.writing import write_text
from robustparse.randomness import stream

ITEM, PREMISE = "item", "premise"
QUESTIONS = {
    "more_fluent": ("A", "B", "same"),
    "same_structure": ("yes", "no"),
}
COLUMNS = (ITEM, "A", "B", *QUESTIONS)
ORIGINAL, ADVERSARIAL = "original", "adversarial"
_MARK = "\ufeff"  # without it a spreadsheet reads CSV in the code page of its system
_FORMULAS = (*"=+-@", *"＝＋－＠", "\t", "\r")  # noqa: RUF001
_EXPORT = "export the pairs again"


class Item(NamedTuple):
    """A row of an annotator's file, unblinded: the original stands on side `A` or `B`."""

    annotator: int
    id: int
    original: Literal["A", "B"]


def export(
    pairs: Sequence[ExampleRecord],
    out: Path,
    key: Path,
    annotators: int,
    seed: int,
    limit: int | None,
) -> list[Path]:
    """Write a CSV file for each annotator, and the key with the sides.

    Args:
        pairs: the records of sentences, with their words before and after an attack.
        out: the file of a single annotator; with several, `_1`, `_2` … is added to its stem.
        key: the file of the key; annotators must not see it.
        annotators: the number of annotators.
        seed: the seed of the choice of pairs, their order and their sides.
        limit: at most this many pairs, drawn at random; None takes all.

    Returns:
        The annotators' files.

    Raises:
        InputError: there is no pair, a number is too small, or a file would overwrite another one
            or an annotator's answers.
    """
    check_least("--", annotators=annotators, limit=limit)
    check_seed("--seed", seed)
    if not pairs:
        raise InputError("there is no pair: the attack changed no such sentence")
    names = [out.with_name(f"{out.stem}_{n}{out.suffix}") for n in range(1, annotators + 1)]
    files = [out] if annotators == 1 else names
    if key.resolve() in {path.resolve() for path in files}:
        raise InputError(f"{key} is an annotator's file", key="--key", remedy="choose another name")
    for path in files:
        _check_unanswered(path)
    drawn = stream(seed, 0).permutation(len(pairs))
    chosen = [pairs[index] for index in sorted(drawn[:limit].tolist())]
    code = _code(chosen, annotators, seed)
    items: dict[str, dict[str, Any]] = {}
    for annotator, path in enumerate(files, start=1):
        rows = _rows(chosen, annotator, seed)
        named = {f"{code}-{annotator}-{n:03}": row for n, row in enumerate(rows, start=1)}
        write_text(path, _csv(named))
        for name, (pair, side) in named.items():
            items[name] = {"annotator": annotator, "id": pair["id"], ORIGINAL: side}
    write_text(key, json.dumps({"seed": seed, "items": items}, indent=1) + "\n")
    return files


def _check_unanswered(path: Path) -> None:
    """Check that a file, if it exists, is an annotator's and holds no answers."""
    if not path.exists():
        return
    remedy = "give another --out, or move the file away"
    try:
        rows = list(read_rows(path))
    except InputError as error:
        raise InputError(
            f"{error.found}, so `annotate export` did not write it",
            path=error.path,
            line=error.line,
            remedy=remedy,
        ) from None
    for line, row in rows:
        if any(row[question].strip() for question in QUESTIONS):
            raise InputError("holds an answer", path=path, line=line, remedy=remedy)


def _rows(
    pairs: Sequence[ExampleRecord], annotator: int, seed: int
) -> list[tuple[ExampleRecord, str]]:
    """Return the pairs in an annotator's order, each with the side of its original."""
    rng = stream(seed, annotator)
    order = rng.permutation(len(pairs)).tolist()
    sides = rng.integers(2, size=len(pairs)).tolist()
    return [(pairs[index], "AB"[side]) for index, side in zip(order, sides, strict=True)]


def _code(pairs: Sequence[ExampleRecord], annotators: int, seed: int) -> str:
    """Return a prefix that identifies an export; it starts with a letter, unlike a date."""
    content = json.dumps(
        [[pair["id"], pair["tokens"], pair["adversarial_tokens"]] for pair in pairs]
    )
    digest = hashlib.sha256(f"{seed} {annotators} {content}".encode()).hexdigest()
    return f"p{digest[:6]}"


def _csv(rows: Mapping[str, tuple[ExampleRecord, str]]) -> str:
    """Return a CSV file for spreadsheets: its encoding is marked, and no cell is a formula."""
    text = io.StringIO(newline="")
    text.write(_MARK)
    writer = csv.writer(text, lineterminator="\n")
    premises = any(pair.get("context") for pair, _ in rows.values())
    writer.writerow([ITEM, PREMISE, *COLUMNS[1:]] if premises else COLUMNS)
    for name, (pair, side) in rows.items():
        sides = [" ".join(pair["tokens"]), " ".join(pair["adversarial_tokens"])]
        shown = [" ".join(pair.get("context", []))] if premises else []
        shown += sides if side == "A" else sides[::-1]
        writer.writerow([name, *map(_as_text, shown), *("" for _ in QUESTIONS)])
    return text.getvalue()


def _as_text(cell: str) -> str:
    """Put an apostrophe before a cell that a spreadsheet would read as a formula."""
    return f"'{cell}" if cell.startswith(_FORMULAS) else cell


def read_key(path: Path) -> dict[str, Item]:
    """Read the items of a key by their names.

    Raises:
        InputError: `export` did not write it, or an annotator lacks or repeats a sentence.
    """
    content = read_json(path, dict)
    with as_written(path, "annotate export"):
        items = {
            name: msgspec.convert([one["annotator"], one["id"], one[ORIGINAL]], Item)
            for name, one in content["items"].items()
        }
    names: dict[tuple[int, int], str] = {}
    for name, item in items.items():
        if (first := names.setdefault((item.annotator, item.id), name)) != name:
            problem = f"is annotator {item.annotator}'s sentence {item.id}, as is {first}"
            raise InputError(problem, path=path, key=f"item {name}", remedy=_EXPORT)
    annotators, ids = ({pair[part] for pair in names} for part in (0, 1))
    if len(names) != len(annotators) * len(ids):
        raise InputError("annotators have different sentences", path=path, remedy=_EXPORT)
    return items


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (first line, row) of an annotator's file, which a spreadsheet may have saved.

    Raises:
        InputError: the file is not CSV, or a column is missing.
    """
    text = read_text(path)
    heading = text.split("\n", 1)[0]
    separator = max(",;\t", key=heading.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    columns: list[str] = []
    begin = 1
    try:
        for cells in reader:
            if not columns:
                columns = [cell.strip() for cell in cells]
                if missing := [name for name in COLUMNS if name not in columns]:
                    raise InputError(f"the column {missing[0]} is missing", path=path, line=1)
                if twice := [name for name in COLUMNS if columns.count(name) > 1]:
                    raise InputError(f"two columns have the name {twice[0]}", path=path, line=1)
            elif any(cell.strip() for cell in cells):
                if len(cells) < len(columns):
                    cells += [""] * (len(columns) - len(cells))
                yield begin, dict(zip(columns, cells, strict=False))
            begin = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", path=path, line=begin) from None
