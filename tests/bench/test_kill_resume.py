"""The bench that kills runs: it sees what differs, and its last line is what it says."""

import json
import os
from pathlib import Path

import pytest
import torch

from forks import printed_by
from kill_resume import PARTS, differences

ROOT = Path(__file__).parents[2]


def ended(folder: Path, metrics: str = "", **parts: object) -> Path:
    """What a run leaves."""
    folder.mkdir()
    whole = {part: {"w": torch.ones(2), "n": [1, 2.0]} for part in PARTS}
    torch.save(whole | parts, folder / "last.ckpt")
    rows = "step,name,value\n0,train/loss,1.5\n0,substitution/seconds,0.25\n"
    (folder / "metrics.csv").write_text(metrics or rows)
    return folder


def test_runs_that_differ_only_in_seconds_are_the_same(tmp_path: Path) -> None:
    rows = "step,name,value\n0,substitution/seconds,7.0\n0,train/loss,1.5\n"
    assert differences(ended(tmp_path / "a"), ended(tmp_path / "b", rows)) == []


@pytest.mark.parametrize("part", PARTS)
def test_every_part_is_compared(part: str, tmp_path: Path) -> None:
    reference = ended(tmp_path / "a")
    close = {"w": torch.ones(2) + torch.tensor([0.0, 1.2e-7]), "n": [1, 2.0]}
    assert differences(ended(tmp_path / "b", **{part: close}), reference) == [part]
    assert differences(ended(tmp_path / "c", **{part: {}}), reference) == [part]


@pytest.mark.parametrize("value", ["1.5000000000000002", "nan"])
def test_metrics_are_compared(value: str, tmp_path: Path) -> None:
    rows = f"step,name,value\n0,train/loss,{value}\n"
    assert differences(ended(tmp_path / "b", rows), ended(tmp_path / "a")) == ["metrics.csv"]


def figures(script: str, *options: str) -> dict:
    """The object that a bench prints last."""
    printed = printed_by(ROOT / "bench" / script, "--json", *options)
    return json.loads(printed.splitlines()[-1])


@pytest.mark.slow
def test_a_few_kills() -> None:
    rows = figures("kill_resume.py", "--recipes", "fgm", "--kills", "1", "--steps", "10")
    assert list(rows) == ["fgm"]
    assert rows["fgm"]["kills"] == rows["fgm"]["identical"] == 1


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_one_process_and_two() -> None:
    found = figures("processes.py", "--small", "--steps", "6", "--warm", "2", "--rounds", "1")
    one, two = found["words_per_second_one"], found["words_per_second_two"]
    assert found["ratio"] == pytest.approx(two / one)
    assert min(one, two) > 0
