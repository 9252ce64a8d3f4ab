"""``metrics.csv``: continued, started over, cut off at any byte, and never the end of a run."""

import csv
import logging
import math
import random
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from robustparse.errors import InputError
from robustparse.evaluation.records import RobustnessRecord
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.tracking.csv import CsvLogger, MetricsTable, read_table


def rows(folder: Path) -> list[list[str]]:
    with (folder / "metrics.csv").open(newline="") as file:
        return list(csv.reader(file))


def test_rows_come_back(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    table = MetricsTable(path, keep=False)
    table.append(3, {"val/las": 91.25, "epoch": 1})
    table.append(4, {'a,"b"': math.nan, "loss": math.inf})
    assert path.read_text() == (
        'step,name,value\n3,val/las,91.25\n3,epoch,1.0\n4,"a,""b""",nan\n4,loss,inf\n'
    )
    assert read_table(path)[0] == table.rows
    values = {str(index): random.Random(index).gauss(0, 1e-9) for index in range(100)}
    MetricsTable(path, keep=False).append(0, values)
    assert {name: float(value) for _, name, value in read_table(path)[0]} == values


def test_a_file_cut_anywhere_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    whole = MetricsTable(path, keep=False)
    for step in range(3):
        whole.append(step, {"loss": step / 3, "val/las": -step})
    content, kept = path.read_bytes(), whole.rows
    for length in range(len(content) + 1):
        path.write_bytes(content[:length])
        table = MetricsTable(path, keep=True)
        assert table.rows == kept[: max(0, content[:length].count(b"\n") - 1)]
        for step in range(3):
            table.append(step, {"loss": step / 3, "val/las": -step})
        assert path.read_bytes() == content


def test_zeros_after_a_power_cut_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    MetricsTable(path, keep=False).append(0, {"loss": 1.0})
    sound = path.read_bytes()
    path.write_bytes(sound + b"\0" * 20 + b"\n")
    MetricsTable(path, keep=True).append(1, {"loss": 2.0})
    assert path.read_bytes() == sound + b"1,loss,2.0\n"


def test_another_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("epoch,loss,step\n0,1.0,4\n")
    with pytest.raises(InputError) as error:
        MetricsTable(path, keep=True)
    assert (error.value.path, error.value.line) == (str(path), 1)
    assert error.value.expected == "step,name,value"
    assert path.read_text() == "epoch,loss,step\n0,1.0,4\n"


def test_a_resumed_run_repeats_no_point(tmp_path: Path) -> None:
    first = CsvLogger(str(tmp_path))
    first.log_metrics({"loss": 1.0, "epoch": 0}, 4)
    first.log_metrics({"loss": 0.5}, 9)
    second = CsvLogger(str(tmp_path), resumed=True)
    second.log_metrics({"loss": 7.0, "las": float("nan")}, 9)
    second.log_metrics({"loss": 0.25}, 14)
    assert rows(tmp_path) == [
        ["step", "name", "value"],
        ["4", "loss", "1.0"],
        ["4", "epoch", "0.0"],
        ["9", "loss", "0.5"],
        ["9", "las", "nan"],
        ["14", "loss", "0.25"],
    ]


def test_resumed_from_elsewhere_it_removes_later_rows_with_its_first(tmp_path: Path) -> None:
    first = CsvLogger(str(tmp_path))
    for step in (4, 9, 14):
        first.log_metrics({"loss": 1.0}, step)
    before = rows(tmp_path)
    again = CsvLogger(str(tmp_path))
    again.begin(str(tmp_path), resumed=True, before=9, elsewhere=True)
    assert rows(tmp_path) == before
    again.log_metrics({"loss": 2.0}, 9)
    assert rows(tmp_path)[1:] == [["4", "loss", "1.0"], ["9", "loss", "2.0"]]


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


def test_lost_metrics_are_warned_of_after_lost_examples(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tree = {"heads": [0], "labels": ["root"], "las": 0.0}
    words = {"id": 0, "tokens": ["a"], "adversarial_tokens": ["b"], "edited": [0]}
    line = {**words, "gold": tree, "clean": tree, "attacked": tree}
    logger = CsvLogger(str(tmp_path))
    with caplog.at_level(logging.WARNING), room_for(0):
        for step in range(3):
            logger.log_robustness(RobustnessRecord(DEPENDENCY, {}, [line]), step)
            logger.log_metrics({"loss": 1.0}, step)
    assert [message.split(": ")[1] for message in caplog.messages] == [
        "examples are being lost",
        "metrics are being lost",
    ]


@pytest.mark.parametrize("kept", [None, 0, 25])
def test_what_is_taken_away_during_a_run_is_written_again(tmp_path: Path, kept: int | None) -> None:
    path, whole = tmp_path / "m.csv", tmp_path / "whole.csv"
    tables = MetricsTable(path, keep=False), MetricsTable(whole, keep=False)
    for step in range(4):
        if step == 2:
            path.unlink() if kept is None else path.write_bytes(path.read_bytes()[:kept])
        for table in tables:
            table.append(step, {"loss": step / 3})
    assert path.read_bytes() == whole.read_bytes()
