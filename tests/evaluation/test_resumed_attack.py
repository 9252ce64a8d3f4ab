"""The same files however often a run was stopped; folders that are not this run's are refused."""

import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attack_folders import FILES, RUN, attack, contents, some

from robustparse.errors import InputError
from robustparse.evaluation.attack_folder import attack_into
from robustparse.evaluation.lines import json_line, read_lines
from robustparse.evaluation.tally import Tally
from robustparse.models.victim import ModelVictim
from sample_runs import SPEED, lexicon_attack, trained_parser


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted run over twelve sentences."""
    folder = tmp_path_factory.mktemp("whole")
    attack(folder, some(12))
    return folder


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


def test_lines_of_an_older_run_go_on(tmp_path, whole):
    """They do not say whether a sentence was skipped."""
    with pytest.raises(KeyboardInterrupt):
        attack(tmp_path, some(12), Stopping(5))
    path = tmp_path / "examples.jsonl"
    older = [{k: v for k, v in one.items() if k != "skipped"} for one in read_lines(path)]
    path.write_text("".join(map(json_line, older)), "utf-8")
    ours = attack(tmp_path, some(12))
    theirs = json.loads((whole / "summary.json").read_text())
    assert {key: ours[key] for key in set(ours) - SPEED} == {
        key: theirs[key] for key in set(theirs) - SPEED
    }
    assert ours["n_skipped"] == 0
    assert sum("skipped" in line for line in read_lines(path)) == 7


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

    summary = attack_into(whole, lexicon_attack(), some(12), Untouchable(), dict(RUN))
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
    with pytest.raises(InputError, match=f"holds another run .{message}.*--out"):
        attack_into(
            whole,
            lexicon_attack(),
            some(12),
            ModelVictim(trained_parser()),
            {**RUN, key: value},
        )
    assert contents(whole) == before


def test_a_folder_in_which_nothing_was_finished_is_free(tmp_path, whole):
    (tmp_path / "run.json").write_text('{"attack": "with a model that was not there"}')
    (tmp_path / "examples.jsonl").touch()
    attack(tmp_path, some(12))
    for name in (*FILES, "run.json"):
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("run.json", None, "no run.json"),
        ("run.json", "{", "run.json: no JSON object"),
        ("run.json", "[1]", "run.json: no JSON object"),
        ("examples.jsonl", '{"id": 0}\n{"id": \n{"id": 2}\n', "examples.jsonl:2: no sentence"),
        ("examples.jsonl", "{}\n", "examples.jsonl:1: no sentence"),
        ("examples.jsonl", "3\n", "examples.jsonl:1: no sentence"),
    ],
)
def test_broken_files_are_named(tmp_path, whole, name, content, message):
    for file, text in contents(whole).items():
        (tmp_path / file).write_bytes(text)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        attack(tmp_path, some(12))
