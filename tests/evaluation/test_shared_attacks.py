"""Processes that share a store and a folder write the files of one, each its share."""

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import process_workers
import pytest
import torch
from attack_folders import FILES, RUN, TASK, contents, some
from process_workers import EXAMPLES
from torch.distributed import HashStore

from example_records import record
from robustparse.errors import InputError, ProcessDiedError
from robustparse.evaluation import attack_processes as module
from robustparse.evaluation.attack_folder import collect_into
from robustparse.evaluation.attack_processes import (
    Rank,
    Ranks,
    Records,
    Speed,
    attacked_records,
    drain,
    records_of_processes,
    share_of,
)
from robustparse.evaluation.example_records import all_records, read_records, share_file
from robustparse.evaluation.record_files import RecordFile, encode_record
from robustparse.evaluation.records import ExampleRecord
from robustparse.models.victim import ModelVictim
from robustparse.types import Example
from sample_runs import lexicon_attack, trained_parser

COUNT = 3


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], tuple[list[int], int]]:
    """Run all ranks in threads on a folder; sentences attacked by each, forwards of all."""

    def source(attacked: list[int]) -> Callable[[Sequence[Example]], Records]:
        def lines(examples: Sequence[Example]) -> Records:
            attacked.extend(example.id for example in examples)
            chosen = lexicon_attack({"psi": 8}, seed=3, live=4)
            speed = yield from attacked_records(
                TASK, chosen, ModelVictim([trained_parser()]), examples
            )
            forwards.append(speed.forwards)
            return speed

        return lines

    forwards: list[int] = []

    def run(folder: Path) -> tuple[list[int], int]:
        store = HashStore()
        monkeypatch.setattr(module, "rendezvous", lambda *_, **__: iter([(store, 0, 1)]))
        mine: list[list[int]] = [[] for _ in range(COUNT)]
        places = [Rank(rank, COUNT, rank, COUNT) for rank in range(COUNT)]
        ranks = [Ranks.launched(place, folder) for place in places]
        threads = [
            threading.Thread(
                target=ranks[rank].follow, args=(source(mine[rank]), some(12)), daemon=True
            )
            for rank in range(1, COUNT)
        ]
        for thread in threads:
            thread.start()

        def collect(lines: Callable[[Sequence[Example]], Records]) -> dict[str, Any]:
            return collect_into(folder, TASK, lexicon_attack(), lines, some(12), dict(RUN))

        ranks[0].lead(source(mine[0]), collect)
        for thread in threads:
            thread.join()
        return [len(ids) for ids in mine], sum(forwards)

    return run


def test_ranks_write_the_files_of_one_process(tmp_path, whole, together):
    shares, forwards = together(tmp_path)
    assert shares == [4, 4, 4]
    for name in (*FILES, "run.json"):
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()
    assert sorted(contents(tmp_path)) == sorted(contents(whole))
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["victim_forwards"] == forwards > 0
    assert together(tmp_path)[0] == [0, 0, 0]  # nothing is left, and nobody waits for ever


def test_ranks_resume_where_others_stopped(tmp_path, whole, together):
    rows = (whole / "examples.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "run.json").write_bytes((whole / "run.json").read_bytes())
    (tmp_path / "examples.jsonl").write_bytes(b"".join(rows[:5]))
    (tmp_path / "examples.4.jsonl").write_bytes(b"".join([rows[7], rows[8], rows[9][:9]]))
    assert sum(together(tmp_path)[0]) == 5
    for name in (*FILES, "run.json"):
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()


def test_ranks_started_again_do_not_hear_those_before_them(tmp_path, monkeypatch):
    """torchrun keeps its store over restarts: a stale list of sentences would lose some."""
    store = HashStore()
    told = (module._PENDING, f"{module._END}/1")
    for attempt in ("0", "1"):
        monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", attempt)
        rank = Ranks(Rank(1, 2, 1, 2), tmp_path, store)
        assert not any(rank._store.check([key]) for key in told)
        rank._store.set(module._PENDING, "[]")
        rank.follow(process_workers.lines, EXAMPLES)
        assert all(rank._store.check([key]) for key in told)


@pytest.mark.parametrize("dies", ["before the sentences are told", "after", "at the first line"])
def test_a_rank_ends_when_its_launcher_has_died_and_keeps_what_is_finished(
    tmp_path, monkeypatch, dies
):
    rank = Ranks(Rank(1, 2, 1, 2), tmp_path, HashStore())
    if not dies.startswith("before"):
        rank._store.set(module._PENDING, json.dumps([example.id for example in EXAMPLES]))

    def die() -> None:
        monkeypatch.setattr(module.os, "getppid", lambda: 1)

    def source(examples: Sequence[Example]) -> Records:
        die()
        return process_workers.lines(examples)

    if dies != "at the first line":
        die()
    with pytest.raises(RuntimeError, match="rank 1: the launcher has ended"):
        rank.follow(source, EXAMPLES)
    path = share_file(tmp_path, 1)  # which may be the next run's, if it was not begun
    assert (len(list(read_records(path))) if path.exists() else None) == (
        1 if dies == "at the first line" else None
    )


def test_lines_are_read_while_their_file_grows(tmp_path):
    path = tmp_path / "lines"
    growing, text = (
        RecordFile(path, ExampleRecord),
        b"".join(encode_record(record(n, "ü")) for n in range(4)),
    )
    assert list(growing.new_records()) == []
    read = []
    for end in range(0, len(text) + 1, 5):
        path.write_bytes(text[:end])
        read.append([line["id"] for line in growing.new_records()])
    path.write_bytes(text)
    read.append([line["id"] for line in growing.new_records()])
    assert [id_ for ids in read for id_ in ids] == [0, 1, 2, 3]
    assert max(map(len, read)) == 1
    path.write_bytes(text + b"{broken}\n")
    with pytest.raises(InputError, match="not JSON"):
        list(growing.new_records())


def test_what_another_rank_left_is_read_before_it_counts_as_ended(tmp_path, monkeypatch):
    """Even if it ends before rank 0 has begun, or rank 0 is the first to end."""
    store = HashStore()
    leading, following = (Ranks(Rank(rank, 2, rank, 2), tmp_path, store) for rank in range(2))
    source = leading.records(process_workers.lines, EXAMPLES)
    found = [next(source)]
    following.follow(process_workers.lines, EXAMPLES)
    speed = drain(source, found.append)
    assert sorted(line["id"] for line in found) == list(range(9))
    assert speed.forwards == 9
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            following.follow(process_workers.lines, EXAMPLES)

    leading, following = (Ranks(Rank(rank, 2, rank, 2), tmp_path, HashStore()) for rank in range(2))
    following._store = leading._store
    monkeypatch.setattr(module.time, "sleep", nap)
    found.clear()
    drain(leading.records(process_workers.lines, EXAMPLES), found.append)
    assert sorted(line["id"] for line in found) == list(range(9))
    assert len(naps) >= 3


@pytest.mark.parametrize(
    ("message", "exitcode", "error", "says"),
    [
        ({"mistake": "grammar: the checker died"}, 0, InputError, "^grammar: the checker died$"),
        ({"fault": "a traceback"}, None, RuntimeError, "(?s)^process 1 of 2 failed:.a traceback$"),
        ({}, -9, ProcessDiedError, "process 1 of 2 was ended by signal 9.* are kept"),
        ({}, 3, ProcessDiedError, "process 1 of 2 was ended with exit code 3"),
        ({}, 0, ProcessDiedError, "process 1 of 2 was ended with exit code 0"),
    ],
)
def test_how_another_process_ended(tmp_path, message, exitcode, error, says):
    process = SimpleNamespace(is_alive=lambda: exitcode is None, exitcode=exitcode)
    store = HashStore()
    if message:
        Ranks(Rank(1, 2, 1, 2), tmp_path, store).end(**message)
    leading = Ranks(Rank(0, 2, 0, 2), tmp_path, store, {1: process})
    found: list[dict[str, Any]] = []
    with pytest.raises(error, match=says):
        drain(leading.records(process_workers.lines, EXAMPLES), found.append)
    assert len(found) == 1


@pytest.mark.parametrize(("what", "key"), [("mistake", "checker"), ("fault", "ValueError: bug")])
def test_what_a_new_process_raises_is_told(tmp_path, monkeypatch, what, key):
    ended: list[dict[str, str]] = []
    monkeypatch.setattr(Ranks, "end", lambda self, **message: ended.append(message))
    monkeypatch.setattr(module.signal, "signal", lambda *_: None)

    def worker(ranks: Ranks) -> None:
        raise InputError("checker") if what == "mistake" else ValueError("bug")

    module._work(worker, Rank(1, 2, 1, 2), tmp_path, str(tmp_path / "store"), 1)
    assert key in ended[0][what]


@pytest.mark.usefixtures("_forks")
def test_processes_write_all_lines_and_no_more_are_started_than_there_are_sentences(tmp_path):
    found: list[dict[str, Any]] = []
    arguments = (process_workers.lines, tmp_path, process_workers.following)
    speed = drain(records_of_processes(*arguments, 2, EXAMPLES), found.append)
    assert sorted(line["id"] for line in found) == list(range(9))
    own = {line["id"] for line in found if line["queries"]["charged"] == os.getpid()}
    assert own == {example.id for example in share_of(EXAMPLES, 0, 2)}
    assert len({line["queries"]["charged"] for line in found}) == 2
    assert {line["queries"]["unique"] for line in found} == {1}
    assert (speed.forwards, speed.seconds) == (9, 5.0)
    assert torch.get_num_threads() == 1
    found.clear()
    drain(records_of_processes(*arguments, 8, EXAMPLES[:1]), found.append)
    assert [line["queries"]["charged"] for line in found] == [os.getpid()]
    assert drain(records_of_processes(*arguments, 8, []), found.append) == Speed()


@pytest.mark.usefixtures("_forks")
def test_a_killed_process_ends_the_run_and_what_was_finished_is_kept(tmp_path):
    def lines(examples: Sequence[Example]) -> Records:
        while True:  # rank 0 sees it between two sentences
            time.sleep(0.05)
            yield record(100)

    found: list[dict[str, Any]] = []
    arguments = (lines, tmp_path, process_workers.killed, 2, EXAMPLES)
    with pytest.raises(ProcessDiedError, match="process 1 of 2 was ended by signal 9"):
        drain(records_of_processes(*arguments), found.append)
    mine = share_of(EXAMPLES, 1, 2)[0].id
    assert [stored.record["id"] for stored in all_records(tmp_path)] == [mine]


@pytest.mark.usefixtures("_forks")
def test_the_processes_end_with_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_SECONDS_TO_END", 0.0)  # as where they take too long to end
    arguments = (process_workers.lines, tmp_path, process_workers.never_ending, 2, EXAMPLES)
    lines, others = records_of_processes(*arguments), set()
    while not others:
        others = {line["queries"]["charged"] for line in [next(lines)]} - {os.getpid()}
    lines.close()
    with pytest.raises(ProcessLookupError):
        os.kill(others.pop(), 0)
