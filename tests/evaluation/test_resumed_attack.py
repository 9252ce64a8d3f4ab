"""The same files however often a run was stopped; folders that are not this run's are refused."""

import json
import multiprocessing
import os
from typing import Any

import numpy as np
import pytest
from attack_folders import FILES, RUN, TASK, attack, contents, some

from robustparse.errors import InputError
from robustparse.evaluation.attack_folder import attack_into
from robustparse.evaluation.lines import read_lines
from robustparse.evaluation.tally import Tally
from robustparse.models.victim import ModelVictim
from sample_runs import SPEED, lexicon_attack, trained_parser


class Stopping:
    """Counts finished sentences and kills the run after some of them."""

    def __init__(self, stop: int) -> None:
        self.stop, self.calls = stop, 0

    def __call__(self, tally: Tally) -> None:
        self.calls += 1
        if self.calls == self.stop:
            raise KeyboardInterrupt if self.stop % 2 else RuntimeError("killed")


def test_a_run_stopped_anywhere_and_run_again_writes_the_same_files(tmp_path, whole):
    for stop in range(1, 13):
        folder, stopping = tmp_path / str(stop), Stopping(stop)
        with pytest.raises((KeyboardInterrupt, RuntimeError)):
            attack(folder, some(12), stopping)
        assert len(read_lines(folder / "examples.jsonl")) == stop
        assert not (folder / "summary.json").exists()
        attack(folder, some(12), stopping)
        assert stopping.calls == 12  # no sentence is attacked twice
        for name in FILES:
            assert (folder / name).read_bytes() == (whole / name).read_bytes()
        ours, theirs = (json.loads((f / "summary.json").read_text()) for f in (folder, whole))
        for key in set(ours) - SPEED:
            assert ours[key] == theirs[key]


def test_a_killed_process_leaves_every_finished_sentence(tmp_path, whole):
    calls: list[int] = []

    def die(tally: Tally) -> None:
        calls.append(1)
        if len(calls) == 5:
            os._exit(9)  # nothing is closed or flushed

    process = multiprocessing.get_context("fork").Process(
        target=attack, args=(tmp_path, some(12), die)
    )
    process.start()
    process.join()
    assert process.exitcode == 9
    assert len(read_lines(tmp_path / "examples.jsonl")) == 5
    attack(tmp_path, some(12))
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()


def test_stopped_again_and_again(tmp_path, whole):
    def stop(tally: Tally) -> None:
        raise KeyboardInterrupt

    for _ in range(12):
        with pytest.raises(KeyboardInterrupt):
            attack(tmp_path, some(12), stop)
    attack(tmp_path, some(12), stop)  # nothing is left to be attacked
    assert (tmp_path / "examples.jsonl").read_bytes() == (whole / "examples.jsonl").read_bytes()


def test_a_last_line_torn_at_any_byte_is_attacked_again(tmp_path, whole):
    text = (whole / "examples.jsonl").read_bytes()
    line = text.split(b"\n")[1]
    zurich = text.index("ü".encode())
    cuts = [0, 1, 40, zurich + 1, zurich + 2, text.index(line) + len(line) - 1, len(text) - 1]
    cuts += np.random.default_rng(0).integers(0, len(text), 4).tolist()
    for number, cut in enumerate(cuts):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "run.json").write_text(json.dumps(RUN))
        (folder / "examples.jsonl").write_bytes(text[:cut])
        attack(folder, some(12))
        for name in FILES:
            assert (folder / name).read_bytes() == (whole / name).read_bytes()


def test_zeros_after_a_power_cut_are_a_torn_line_too(tmp_path):
    path = tmp_path / "examples.jsonl"
    path.write_bytes(b'{"id": 1}\n\0\0\0\0')
    assert read_lines(path) == [{"id": 1}]


def test_a_run_killed_before_its_summary_reports_no_speed(tmp_path, whole):
    for name in ("run.json", "examples.jsonl"):
        (tmp_path / name).write_bytes((whole / name).read_bytes())
    summary = attack(tmp_path, some(12))
    assert {summary[key] for key in SPEED} == {None}
    assert summary["clean"] == json.loads((whole / "summary.json").read_text())["clean"]


def test_a_finished_folder_is_not_attacked_again(tmp_path, whole):
    before = contents(whole)
    times = {path: path.stat().st_mtime_ns for path in whole.iterdir()}

    class Untouchable:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"the victim was asked for {name}")

    summary = attack_into(whole, TASK, lexicon_attack(), some(12), Untouchable(), dict(RUN))
    assert contents(whole) == before
    assert {path: path.stat().st_mtime_ns for path in whole.iterdir()} == times
    assert summary == json.loads(before["summary.json"])


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("seed", 4, "seed: 3 there, 4 here"),
        ("limit", 7, "limit: None there, 7 here"),
        ("data", "other", "data: None there, 'other' here"),
        ("settings", {"goal": {"metric": "las"}}, "settings.goal.metric: None there, 'las' here"),
    ],
)
def test_the_folder_of_another_run_is_refused_and_left_alone(whole, key, value, message):
    before = contents(whole)
    with pytest.raises(InputError, match=f"holds another run .{message}.*--out") as error:
        attack_into(
            whole,
            TASK,
            lexicon_attack(),
            some(12),
            ModelVictim([trained_parser()]),
            {**RUN, key: value},
        )
    assert error.value.path == str(whole)
    assert contents(whole) == before


def test_a_folder_in_which_nothing_was_finished_is_free(tmp_path, whole):
    (tmp_path / "run.json").write_text('{"attack": "with a model that was not there"}')
    (tmp_path / "examples.jsonl").touch()
    attack(tmp_path, some(12))
    for name in (*FILES, "run.json"):
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "line", "message"),
    [
        ("run.json", None, None, "no run.json"),
        ("run.json", "{", 1, "not JSON"),
        ("run.json", "[1]", None, "found list"),
        ("examples.jsonl", '{"id": 0}\n{"id": \n{"id": 2}\n', 2, "no sentence"),
        ("examples.jsonl", "{}\n", 1, "no sentence"),
        ("examples.jsonl", "3\n", 1, "no sentence"),
    ],
)
def test_broken_files_are_named(tmp_path, whole, name, content, line, message):
    for file, text in contents(whole).items():
        (tmp_path / file).write_bytes(text)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message) as error:
        attack(tmp_path, some(12))
    named = tmp_path if content is None else tmp_path / name
    assert (error.value.path, error.value.line) == (str(named), line)
