"""Adversarial examples for people: marked edits, drawn trees, pages that cost no run."""

import logging
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from robustparse.evaluation.record import RecordLogger, RobustnessRecord
from robustparse.tracking.csv import CsvLogger
from robustparse.tracking.examples import bracketed, example_rows, marked, page, tree_pair
from robustparse.tracking.wandb import WandbLogger


def line(number: int, **changes: Any) -> dict[str, Any]:
    gold = {"heads": [2, 0, 2], "labels": ["nsubj", "root", "obj"]}
    attacked = {"heads": [3, 3, 0], "labels": ["nsubj", "dep", "root"], "las": 0.0}
    return {
        "id": number,
        "tokens": ["Dogs", "ate", "<fish>"],
        "adversarial_tokens": ["Dogs", "<b>", "<fish>"],
        "edited": [1],
        "gold": gold,
        "clean": {**gold, "las": 66.6667},
        "attacked": attacked,
        **changes,
    }


def test_loggers_of_ours_take_records():
    assert isinstance(CsvLogger("."), RecordLogger)
    assert isinstance(WandbLogger(), RecordLogger)


def test_edits_are_marked_and_escaped():
    words = ["a", "<b>", "c&d"]
    assert marked(words, [1]) == "a <mark>&lt;b&gt;</mark> c&amp;d"
    assert bracketed(words, [0, 2]) == "[a] <b> [c&d]"


def test_rows():
    assert example_rows([line(4), line(7)], ["one", "two"]) == [
        [4, "Dogs [ate] <fish>", "Dogs [<b>] <fish>", 1, 66.6667, 0.0, "one"],
        [7, "Dogs [ate] <fish>", "Dogs [<b>] <fish>", 1, 66.6667, 0.0, "two"],
    ]


def test_trees_are_the_lines():
    pair = tree_pair(line(0))
    assert (pair.words_before, pair.edited) == (("Dogs", "ate", "<fish>"), (1,))
    assert pair.gold == pair.before
    assert pair.after.heads == (3, 3, 0)


class Reader(HTMLParser):
    """Tags, words in marks, and addresses of anything outside."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.marks: list[str] = []
        self.outside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attributes:
            if name in ("src", "href") and not str(value).startswith("#"):
                self.outside.append(str(value))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == "mark" and len(self.marks) < self.tags.count("mark"):
            self.marks.append(data)


def test_a_page_shows_every_example_and_needs_nothing_from_outside():
    found = Reader(page([line(0), line(3)], 17))
    assert found.marks == ["word", "ate", "<b>", "ate", "<b>"]  # the first is the legend's
    assert found.tags.count("svg") == 3 + 2
    assert "b" not in found.tags
    assert found.outside == []


def test_a_page_says_what_its_lines_mean():
    text = page([line(0)], 17)
    legend = text[: text.index("Sentence 0")]
    for meaning in ("right head<", "wrong head<", "right head, wrong label<", "substituted<"):
        assert meaning in legend


def record(*lines: dict[str, Any]) -> RobustnessRecord:
    return RobustnessRecord({}, lines)


def pages(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "adversarial_examples").iterdir())


def test_pages_of_a_run_are_kept_when_it_goes_on_and_replaced_when_it_begins_anew(tmp_path):
    first = CsvLogger(str(tmp_path))
    first.log_robustness(record(line(0)), 9)
    first.log_robustness(record(line(0)), 19)
    first.log_robustness(record(), 29)
    assert pages(tmp_path) == ["step_00000009.html", "step_00000019.html"]
    again = CsvLogger(str(tmp_path), resumed=True)
    again.log_robustness(record(line(1)), 19)
    assert pages(tmp_path) == ["step_00000009.html", "step_00000019.html"]
    assert "Sentence 1" in (tmp_path / "adversarial_examples" / "step_00000019.html").read_text()
    CsvLogger(str(tmp_path)).log_robustness(record(line(0)), 5)
    assert pages(tmp_path) == ["step_00000005.html"]


def test_pages_that_cannot_be_written_cost_one_warning(tmp_path, caplog):
    (tmp_path / "adversarial_examples").touch()
    logger = CsvLogger(str(tmp_path))
    with caplog.at_level(logging.WARNING):
        for step in range(3):
            logger.log_robustness(record(line(0)), step)
            logger.log_metrics({"loss": 1.0}, step)
    assert len(caplog.records) == 1
    assert "examples are being lost" in caplog.text
    assert (tmp_path / "metrics.csv").read_text().count("loss") == 3


class Broken:
    """A W&B run that can do nothing."""

    def define_metric(self, *_: object, **__: object) -> None:
        """What happens before the first figure."""

    def log(self, *_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("broken", ["run", "table"])
def test_wandb_without_examples_costs_one_warning(tmp_path, monkeypatch, caplog, broken):
    logger = WandbLogger(save_dir=str(tmp_path), offline=True)
    monkeypatch.setattr(logger, "_open", lambda: setattr(logger, "_experiment", Broken()))
    bad = line(0) if broken == "run" else line(0, clean=None)
    with caplog.at_level(logging.WARNING):
        for step in range(5):
            logger.log_robustness(record(bad), step)
    assert len(caplog.records) == 1
    assert "the run goes on without" in caplog.text
