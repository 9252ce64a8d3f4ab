"""Several processes: all lines arrive, and if one of them fails what was finished is kept."""

import os
from functools import partial

import process_workers
import pytest
from attack_folders import some

from robustparse.errors import InputError, ProcessDiedError
from robustparse.evaluation import processes
from robustparse.evaluation.processes import lines_of_processes
from robustparse.evaluation.shards import drain, shard


def test_all_lines_arrive_and_speeds_are_put_together():
    found = []
    speed = drain(lines_of_processes(process_workers.lines, 2, some(9)), found.append)
    assert sorted(line["id"] for line in found) == list(range(9))
    for line in found:
        assert line["id"] in [example.id for example in shard(some(9), line["rank"], 2)]
    pids = {line["pid"] for line in found}
    assert len(pids) == 2
    assert os.getpid() not in pids
    assert (speed.forwards, speed.seconds) == (9, 2.0)


def test_no_more_processes_than_sentences():
    found = []
    drain(lines_of_processes(process_workers.lines, 8, some(2)[:1]), found.append)
    assert [line["rank"] for line in found] == [0]
    drain(lines_of_processes(process_workers.lines, 8, []), found.append)
    assert len(found) == 1


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ("killed", ProcessDiedError, "process 1 of 2 was ended by signal 9.* are kept"),
        ("exits", ProcessDiedError, "process 1 of 2 was ended with exit code 3"),
        ("mistake", InputError, "^grammar: the checker died$"),
        ("fault", RuntimeError, "(?s)process 1 of 2 failed:.*ValueError: a fault of ours"),
    ],
)
def test_a_process_that_fails_ends_the_run_and_what_was_sent_is_kept(how, error, message):
    worker, found = partial(process_workers.failing, how), []
    with pytest.raises(error, match=message):
        drain(lines_of_processes(worker, 2, some(9)), found.append)
    assert [line["rank"] for line in found].count(1) == 1


def test_the_processes_end_with_the_run(monkeypatch):
    monkeypatch.setattr(processes, "_PATIENCE", 0.0)  # as where they take too long to end
    lines = lines_of_processes(process_workers.lines, 2, some(9))
    pid = next(lines)["pid"]
    lines.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
