"""Adversarial examples for people: marked edits, drawn answers, pages that cost no run."""

import logging
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from robustparse.evaluation.records import RobustnessRecord
from robustparse.reports.page import render_examples
from robustparse.tasks.registry import named
from robustparse.tracking.csv import CsvLogger
from robustparse.tracking.examples import FOLDER, example_rows, mark_edits

TASK = named("dependency")


def line(number: int) -> dict[str, Any]:
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
    }


def test_rows() -> None:
    assert mark_edits(["a", "<b>", "c&d"], [0, 2]) == "[a] <b> [c&d]"
    columns, rows = example_rows(TASK, [line(4), line(7)], ["one", "two"])
    assert columns[-3:] == ["LAS before", "LAS after", "answers"]
    assert rows == [
        [4, "Dogs [ate] <fish>", "Dogs [<b>] <fish>", 1, 66.6667, 0.0, "one"],
        [7, "Dogs [ate] <fish>", "Dogs [<b>] <fish>", 1, 66.6667, 0.0, "two"],
    ]


def test_a_page_shows_every_example_and_needs_nothing_from_outside() -> None:
    page = render_examples(TASK, [line(0), line(3)], 17)
    elements = list(ElementTree.fromstring(page).iter())
    tags = [element.tag.rpartition("}")[2] for element in elements]
    marks = [element.text for element, tag in zip(elements, tags, strict=True) if tag == "mark"]
    assert marks == ["word", "ate", "<b>", "ate", "<b>"]  # the first is the legend's
    assert tags.count("svg") == 3 + 2
    assert "b" not in tags
    assert not any(key in element.attrib for element in elements for key in ("src", "href"))
    assert "Sentence 0: LAS 66.7 before, 0.0 after" in page
    legend = page[: page.index("Sentence 0")]
    for meaning in ("right head<", "wrong head<", "right head, wrong label<", "substituted<"):
        assert meaning in legend


def record(*lines: dict[str, Any]) -> RobustnessRecord:
    return RobustnessRecord(TASK, {}, lines)


def pages(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / FOLDER).iterdir())


def test_pages_are_kept_when_a_run_resumes_and_replaced_when_it_starts_anew(
    tmp_path: Path,
) -> None:
    first = CsvLogger(str(tmp_path))
    first.log_robustness(record(line(0)), 9)
    first.log_robustness(record(line(0)), 19)
    first.log_robustness(record(), 29)
    assert pages(tmp_path) == ["step_00000009.html", "step_00000019.html"]
    again = CsvLogger(str(tmp_path), resumed=True)
    again.log_robustness(record(line(1)), 19)
    assert pages(tmp_path) == ["step_00000009.html", "step_00000019.html"]
    assert "Sentence 1" in (tmp_path / FOLDER / "step_00000019.html").read_text()
    elsewhere = CsvLogger(str(tmp_path))
    elsewhere.begin(str(tmp_path), resumed=True, before=10, elsewhere=True)
    elsewhere.log_robustness(record(line(2)), 14)
    assert pages(tmp_path) == ["step_00000009.html", "step_00000014.html"]
    CsvLogger(str(tmp_path)).log_robustness(record(line(0)), 5)
    assert pages(tmp_path) == ["step_00000005.html"]


def test_pages_that_cannot_be_written_cost_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FOLDER).touch()
    logger = CsvLogger(str(tmp_path))
    with caplog.at_level(logging.WARNING):
        for step in range(3):
            logger.log_robustness(record(line(0)), step)
            logger.log_metrics({"loss": 1.0}, step)
    assert len(caplog.records) == 1
    assert "examples are being lost" in caplog.text
    assert (tmp_path / "metrics.csv").read_text().count("loss") == 3
