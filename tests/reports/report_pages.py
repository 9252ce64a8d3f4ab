"""Output folders for the report, written by hand, and a reader of its page."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from example_records import record

Json = dict[str, Any]


def summary(clean: float, attacked: float | None) -> Json:
    return {
        "task": "dependency",
        "attack": "zheng2020_blackbox",
        "n_sentences": 1,
        "n_words": 25094,
        "clean": {"uas": 92.5, "las": clean},
        "attacked": {"uas": 83.25, "las": attacked},
        "success_rate": 45.3,
        "strict_success_rate": {"uas": 31.25, "las": 32.75},
        "edits_per_sentence": 1.7,
    }


def example(number: int, *, success: bool = True, word: str = "ate") -> Json:
    tree = {"heads": [2, 0, 2], "labels": ["nsubj", "root", "obj"]}
    wrong = {"heads": [3, 3, 0], "labels": ["nsubj", "dep", "root"]}
    return record(
        number,
        f"Dogs {word} fish{number}",
        f"Dogs <b> fish{number}",
        gold=tree,
        clean={**tree, "correct_heads": 3, "correct_labels": 3},
        attacked={**wrong, "correct_heads": 0, "correct_labels": 0},
        success=success,
        queries={"charged": 9, "unique": 9},
    )


def curves(name: str) -> Json:
    return {
        "title": "LAS against the edit budget",
        "x_label": "edited words, %",
        "y_label": "LAS, %",
        "curves": [{"name": name, "x": [0, 5, 10], "y": [90, None, 80]}],
    }


def write(folder: Path, scores: Json, lines: list[Json], plot: Any = None) -> Path:
    folder.mkdir(parents=True)
    whole = {**scores, "n_sentences": len(lines) or scores["n_sentences"]}
    (folder / "summary.json").write_text(json.dumps(whole))
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / "examples.jsonl").write_text(text, encoding="utf-8")
    if plot is not None:
        (folder / "curves.json").write_text(json.dumps(plot))
    return folder


class Page:
    """Texts, tags and addresses of a page, which must be well-formed XML."""

    def __init__(self, html: str) -> None:
        root = ElementTree.fromstring(html)
        elements = list(root.iter())
        self.tags = [element.tag.rpartition("}")[2] for element in elements]
        self.texts = list(root.itertext())
        self.text = " ".join(" ".join(self.texts).split())
        addresses = ("href", "src", "{http://www.w3.org/1999/xlink}href")
        self.addresses = [
            e.attrib[name] for e in elements for name in addresses if name in e.attrib
        ]


def parse(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))
