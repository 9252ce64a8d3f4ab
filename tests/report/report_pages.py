"""Output folders for the report, written by hand, and a reader of its page."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def summary(clean: float, attacked: float | None) -> Json:
    return {
        "task": "dependency",
        "attack": "zheng2020_blackbox",
        "n_sentences": 2077,
        "n_words": 25094,
        "clean": {"uas": 92.5, "las": clean},
        "attacked": {"uas": 83.25, "las": attacked},
        "success_rate": 45.3,
        "edits_per_sentence": 1.7,
        "edit_rate": 10.9,
    }


def example(number: int, *, success: bool = True, word: str = "ate") -> Json:
    tree = {"heads": [2, 0, 2], "labels": ["nsubj", "root", "obj"]}
    return {
        "id": number,
        "tokens": ["Dogs", word, f"fish{number}"],
        "adversarial_tokens": ["Dogs", "<b>", f"fish{number}"],
        "edited": [1],
        "gold": tree,
        "clean": tree,
        "attacked": {"heads": [3, 3, 0], "labels": ["nsubj", "dep", "root"]},
        "success": success,
        "queries": {"charged": 9, "unique": 9},
    }


def curves(name: str) -> Json:
    return {
        "title": "LAS against the edit budget",
        "x_label": "edited words, %",
        "y_label": "LAS, %",
        "curves": [{"name": name, "x": [0, 5, 10], "y": [90, None, 80]}],
    }


def write(folder: Path, record: Json, lines: list[Json], plot: Any = None) -> Path:
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(json.dumps(record))
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / "examples.jsonl").write_text(text, encoding="utf-8")
    if plot is not None:
        (folder / "curves.json").write_text(json.dumps(plot))
    return folder


class Page(HTMLParser):
    """Collects texts, tags and addresses, and checks that tags nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [v or "" for k, v in attrs if k in ("href", "src", "xlink:href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [v or "" for k, v in attrs if k in ("href", "src", "xlink:href")]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def parse(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    page.close()
    assert page.open == []
    return page
