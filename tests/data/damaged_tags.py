"""Readers of tagged sentences, and the same files read in a plain way."""

import json
import re
from pathlib import Path

from damage import Reader, Value, text_of
from robustparse.data.tags.tagged_sentences import read_tags

LINES = b"# id = 1\nthe DT NOUN\ncat NN VERB\n\n# XX VERB\nsat VBD VERB\n"
ROWS = b'{"tokens": ["the", "cat"], "tags": ["X", "Y"], "label": "a"}\n' * 2


def tag_readers() -> dict[str, Reader]:
    """Return the readers by what they read."""
    return {
        "tags, lines": Reader(LINES, _tags, _plain_lines, "a.conll"),
        "tags, JSON lines": Reader(ROWS, _tags, _plain_rows, "a.jsonl"),
    }


def _tags(path: Path) -> Value:
    return [(each.sentence.words, each.gold.tags, each.gold.label) for each in read_tags(path)]


def _plain_lines(content: bytes) -> Value:
    """Take the first and last of as many columns in every line; comments hold an equals sign."""
    sentences: list[list[list[str]]] = [[]]
    for line in text_of(content).split("\n"):
        line = line.rstrip("\r")
        comment = re.match(r"# +(newdoc|newpar|[\w:.-]+ *=)", line)
        if not line.strip():
            sentences.append([])
        elif not comment and not line.startswith("-DOCSTART-"):
            cells = line.split("\t") if "\t" in line else line.split(" ")
            cells = [cell.strip(" ") for cell in cells if "\t" in line or cell]
            sentences[-1].append(cells)
    return [
        (tuple(cells[0] for cells in rows), tuple(cells[-1] for cells in rows), "")
        for rows in sentences
        if rows
    ]


def _plain_rows(content: bytes) -> Value:
    rows = [json.loads(line) for line in text_of(content).rstrip("\r\n").split("\n")]
    labelled = "label" in rows[0]
    return [
        (tuple(row["tokens"]), tuple(row["tags"]), str(row["label"]).strip() if labelled else "")
        for row in rows
    ]
