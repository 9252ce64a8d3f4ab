"""Pairs to be judged blindly, exported to annotators' files, and those filled in."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

from example_records import record
from robustparse.annotation.questionnaire import COLUMNS, export
from robustparse.evaluation.records import ExampleRecord

AWKWARD = 'say "hi", a\u2028b x;y =1+1 Zürich line\nbreak'
PAIRS = [
    record(3, "the old dog", "the new dog"),
    record(5, f"{AWKWARD} end", f"{AWKWARD} start"),
    *(record(id_, f"word {id_}", f"other {id_}") for id_ in range(10, 40)),
]

Answers = Callable[[int, str], tuple[str, str]]


def rows(path: Path) -> list[dict[str, str]]:
    """Of an annotator's file, by column."""
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"), newline="")))


def exported(
    folder: Path, annotators: int = 2, seed: int = 0, limit: int | None = None
) -> tuple[Path, list[Path]]:
    """The key, and a file for each annotator."""
    key = folder / "key.json"
    return key, export(PAIRS, folder / "pairs.csv", key, annotators, seed, limit)


def answer(path: Path, answers: Answers, delimiter: str = ",") -> None:
    """Fill a file in, knowing each row's sentence and the side of its original."""
    filled = []
    for row in rows(path):
        (pair,) = [one for one in PAIRS if {row["A"], row["B"]} == {*texts(one)}]
        side = "A" if row["A"] == texts(pair)[0] else "B"
        fluent, structure = answers(pair["id"], side)
        filled.append({**row, "more_fluent": fluent, "same_structure": structure})
    write(path, filled, delimiter)


def write(path: Path, filled: list[dict[str, str]], delimiter: str = ",") -> None:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, delimiter=delimiter)  # ends lines with \r\n
    writer.writeheader()
    writer.writerows(filled)
    path.write_bytes(out.getvalue().encode())


def texts(pair: ExampleRecord) -> tuple[str, str]:
    """Return the original and the adversarial sentence."""
    return " ".join(pair["tokens"]), " ".join(pair["adversarial_tokens"])
