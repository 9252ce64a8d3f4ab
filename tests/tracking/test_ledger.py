"""The ledger against a plain set, cut at every byte."""

import math
import random
from pathlib import Path

import pytest

from robustparse.errors import InputError
from robustparse.tracking.ledger import Ledger, read_ledger


def test_rows_come_back(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "m.csv", keep=False)
    ledger.append(3, {"val/las": 91.25, "epoch": 1})
    ledger.append(4, {'a,"b"': math.nan, "loss": math.inf})
    assert (tmp_path / "m.csv").read_text() == (
        'step,name,value\n3,val/las,91.25\n3,epoch,1.0\n4,"a,""b""",nan\n4,loss,inf\n'
    )
    assert read_ledger(tmp_path / "m.csv") == ledger.rows


def test_values_survive_exactly(tmp_path: Path) -> None:
    values = {str(index): random.Random(index).gauss(0, 1e-9) for index in range(100)}
    Ledger(tmp_path / "m.csv", keep=False).append(0, values)
    read = {name: float(value) for _, name, value in read_ledger(tmp_path / "m.csv")}
    assert read == values


def test_a_file_cut_anywhere_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    whole = Ledger(path, keep=False)
    for step in range(5):
        whole.append(step, {"loss": step / 3, "val/las": -step})
    content, rows = path.read_bytes(), whole.rows
    for length in range(len(content) + 1):
        path.write_bytes(content[:length])
        ledger = Ledger(path, keep=True)
        kept = content[:length].count(b"\n") - 1
        assert ledger.rows == rows[: max(0, kept)]
        for step in range(5):
            if new := ledger.missing(step, {"loss": step / 3, "val/las": -step}):
                ledger.append(step, new)
        assert path.read_bytes() == content


def test_zeros_after_a_power_cut_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    Ledger(path, keep=False).append(0, {"loss": 1.0})
    sound = path.read_bytes()
    path.write_bytes(sound + b"\0" * 20 + b"\n")
    ledger = Ledger(path, keep=True)
    ledger.append(1, {"loss": 2.0})
    assert path.read_bytes() == sound + b"1,loss,2.0\n"


def test_nothing_is_logged_twice(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    Ledger(path, keep=False).append(0, {"loss": 1.0})
    ledger = Ledger(path, keep=True)
    assert ledger.missing(0, {"loss": 7.0, "las": 2.0}) == {"las": 2.0}
    assert ledger.missing(1, {"loss": 7.0}) == {"loss": 7.0}


def test_a_fresh_ledger_starts_over(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    Ledger(path, keep=False).append(0, {"loss": 1.0})
    ledger = Ledger(path, keep=False)
    assert ledger.missing(0, {"loss": 1.0}) == {"loss": 1.0}
    ledger.append(5, {"loss": 2.0})
    assert read_ledger(path) == [(5, "loss", "2.0")]


def test_another_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("epoch,loss,step\n0,1.0,4\n")
    with pytest.raises(InputError, match=r"m\.csv: not a table"):
        Ledger(path, keep=True)
    assert path.read_text() == "epoch,loss,step\n0,1.0,4\n"
