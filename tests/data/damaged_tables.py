"""Readers of tables of texts, pairs and utterances, in each kind of file.

They read as users do, by ``robustparse.read`` and the ending of the file.
"""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import robustparse as rp
from damage import Reader, Value, text_of

Rows = list[tuple[str, ...]]

# The task, the names of the columns, and the rows.
TABLES: dict[str, tuple[str, tuple[str, ...], Rows]] = {
    "texts": (
        "classification",
        ("text", "label"),
        [
            ("a fine film , with a naïve end", "pos"),
            ("a dull film", "neg"),
            ('so long , and "dull"', "neg"),
            ("not bad", "pos"),
        ],
    ),
    "pairs": (
        "classification",
        ("premise", "hypothesis", "label"),
        [
            ("a man sleeps", "nobody is up", "yes"),
            ("two dogs run", "two cats", "no"),
            ("rain", "wet , cold", "yes"),
            ("snow", "heat", "no"),
        ],
    ),
    "utterances": (
        "semantic",
        ("utterance", "form"),
        [
            (
                "what job are on platformid0",
                "job ( ANS ) , platform ( ANS , platformid0 )",
            ),
            ("show job", "job ( ANS )"),
            ("show job not in areaid0", "job ( ANS ) , \\+ ( area ( ANS , areaid0 ) )"),
        ],
    ),
}
UNLABELLED = ("", "-", "-1")  # no label that annotators agreed on


def table_readers() -> dict[str, Reader]:
    """Return the readers by what they read."""
    readers = {}
    for what, (task, names, rows) in TABLES.items():
        for ending, (written, plain) in _kinds().items():
            columns = None if ending == "tsv" or task == "classification" else names
            read = partial(_read, task=task, columns=columns)
            readers[f"{what}, {ending}"] = Reader(
                written(names, rows), read, partial(plain, names), f"a.{ending}", agree=_any_agrees
            )
    return readers


def _read(path: Path, task: str, columns: Sequence[str] | None) -> Rows:
    return [
        tuple(
            " ".join(words) if isinstance(words, tuple) else str(words)
            for words in (example.sentence.context, example.sentence.words, example.gold)
            if words or words is example.gold
        )
        for example in rp.read(path, task, columns=columns)
    ]


def _any_agrees(value: Rows, readings: Sequence[Rows]) -> bool:
    """Tell whether the rows are those of a plain reading, but for rows without a label."""
    return any(_labelled(value) == _labelled(reading) for reading in readings)


def _labelled(rows: Rows) -> Rows:
    return [
        tuple(" ".join(cell.split()) for cell in row)
        for row in rows
        if row[-1].strip() not in UNLABELLED
    ]


def _with_header(rows: Rows) -> list[Rows]:
    """Return the readings of a table that may begin with the names of its columns."""
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if len({len(row) for row in rows}) != 1:
        raise ValueError("rows of different widths")
    return [rows, rows[1:]]


def _tsv(names: Sequence[str], rows: Rows) -> bytes:
    return "".join("\t".join(row) + "\n" for row in rows).encode()


def _plain_tsv(names: Sequence[str], content: bytes) -> list[Rows]:
    lines = text_of(content).rstrip("\r\n").split("\n")
    plain = [tuple(line.removesuffix("\r").split("\t")) for line in lines]
    try:
        quoted = _plain_csv(names, content, "\t")
    except (csv.Error, ValueError):
        return _with_header(plain)
    try:
        return [*_with_header(plain), *quoted]
    except ValueError:
        return quoted


def _csv(names: Sequence[str], rows: Rows) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([names, *rows])
    return text.getvalue().encode()


def _plain_csv(names: Sequence[str], content: bytes, delimiter: str = ",") -> list[Rows]:
    text = io.StringIO(text_of(content), newline="")
    return _with_header([tuple(row) for row in csv.reader(text, delimiter=delimiter) if row])


def _json(names: Sequence[str], rows: Rows) -> bytes:
    return json.dumps([dict(zip(names, row, strict=True)) for row in rows], indent=1).encode()


def _plain_json(names: Sequence[str], content: bytes) -> list[Rows]:
    return [[_named(names, row) for row in json.loads(text_of(content))]]


def _jsonl(names: Sequence[str], rows: Rows) -> bytes:
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    return "\n".join([*lines, ""]).encode()


def _plain_jsonl(names: Sequence[str], content: bytes) -> list[Rows]:
    lines = text_of(content).rstrip("\r\n").split("\n")
    return [[_named(names, json.loads(line)) for line in lines if line.strip()]]


def _parquet(names: Sequence[str], rows: Rows) -> bytes:
    content = io.BytesIO()
    pq.write_table(
        pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), content
    )
    return content.getvalue()


def _plain_parquet(names: Sequence[str], content: bytes) -> list[Rows]:
    """Return the columns by their names, or in their order if names are damaged."""
    rows = pq.read_table(io.BytesIO(content)).to_pylist()
    in_order = [tuple(str(value).strip() for value in row.values()) for row in rows]
    if not {*names[:-1]} <= {*rows[0]}:
        return [in_order]
    return [[_named(names, row) for row in rows], in_order]


def _named(names: Sequence[str], row: Mapping[str, Value]) -> tuple[str, ...]:
    return tuple(
        str(row.get(name, "") if name == names[-1] else row[name]).strip() for name in names
    )


Written = Callable[[Sequence[str], Rows], bytes]
Plain = Callable[[Sequence[str], bytes], list[Rows]]


def _kinds() -> dict[str, tuple[Written, Plain]]:
    return {
        "tsv": (_tsv, _plain_tsv),
        "csv": (_csv, _plain_csv),
        "json": (_json, _plain_json),
        "jsonl": (_jsonl, _plain_jsonl),
        "parquet": (_parquet, _plain_parquet),
    }
