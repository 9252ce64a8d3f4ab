"""The CSV logger: continued or started over, and never the end of a run."""

import csv
import logging
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from robustparse.evaluation.record import RobustnessRecord
from robustparse.tracking.csv import CsvLogger


def rows(folder: Path) -> list[list[str]]:
    with (folder / "metrics.csv").open(newline="") as file:
        return list(csv.reader(file))


def test_a_resumed_run_repeats_no_point(tmp_path: Path) -> None:
    first = CsvLogger(str(tmp_path))
    first.log_metrics({"loss": 1.0, "epoch": 0}, 4)
    first.log_metrics({"loss": 0.5}, 9)
    second = CsvLogger(str(tmp_path), resumed=True)
    second.log_metrics({"loss": 0.5, "las": float("nan")}, 9)
    second.log_metrics({"loss": 0.25}, 14)
    assert rows(tmp_path) == [
        ["step", "name", "value"],
        ["4", "loss", "1.0"],
        ["4", "epoch", "0.0"],
        ["9", "loss", "0.5"],
        ["9", "las", "nan"],
        ["14", "loss", "0.25"],
    ]


def test_a_fresh_run_starts_over(tmp_path: Path) -> None:
    CsvLogger(str(tmp_path)).log_metrics({"loss": 1.0}, 0)
    again = CsvLogger(str(tmp_path), resumed=True)
    again.begin(str(tmp_path), resumed=False)
    again.log_metrics({"loss": 2.0}, 0)
    assert rows(tmp_path)[1:] == [["0", "loss", "2.0"]]


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Files cannot grow over ``size`` bytes, as on a full disk."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_costs_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    logger = CsvLogger(str(tmp_path))
    logger.log_metrics({"loss": 1.0}, 0)
    with caplog.at_level(logging.WARNING), room_for(30):
        for step in range(1, 20):
            logger.log_metrics({"loss": 1.0}, step)
    assert len(caplog.records) == 1
    assert "metrics.csv" in caplog.text
    logger.log_metrics({"loss": 3.0}, 20)
    assert rows(tmp_path)[1:] == [["0", "loss", "1.0"], ["20", "loss", "3.0"]]


def test_lost_figures_are_told_of_behind_lost_examples(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tree = {"heads": [0], "labels": ["root"], "las": 0.0}
    words = {"id": 0, "tokens": ["a"], "adversarial_tokens": ["b"], "edited": [0]}
    record = RobustnessRecord({}, [{**words, "gold": tree, "clean": tree, "attacked": tree}])
    logger = CsvLogger(str(tmp_path))
    with caplog.at_level(logging.WARNING), room_for(0):
        for step in range(3):
            logger.log_robustness(record, step)
            logger.log_metrics({"loss": 1.0}, step)
    assert [message.split(": ")[1] for message in caplog.messages] == [
        "examples are being lost",
        "figures are being lost",
    ]
