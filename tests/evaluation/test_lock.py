"""One run at a time has a folder: the lock is refused, given back, and lost by the dead."""

import multiprocessing
import os
from pathlib import Path

import pytest
from attack_folders import attack, contents, some

from robustparse.errors import InputError
from robustparse.evaluation.lock import LOCK, locked


def test_a_second_holder_is_refused_until_the_first_is_done(tmp_path):
    with locked(tmp_path):
        for _ in range(2):
            with pytest.raises(InputError, match=f"{tmp_path}: another"), locked(tmp_path):
                pass
        assert (tmp_path / LOCK).exists()
    assert not (tmp_path / LOCK).exists()
    with pytest.raises(KeyError), locked(tmp_path):
        raise KeyError
    with locked(tmp_path):
        pass
    assert os.listdir(tmp_path) == []


def _hold(folder: Path, ready, end) -> None:
    with locked(folder):
        ready.set()
        end.wait(60)
        os._exit(9)  # nothing is given back


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    fork = multiprocessing.get_context("fork")
    ready, end = fork.Event(), fork.Event()
    process = fork.Process(target=_hold, args=(tmp_path, ready, end))
    process.start()
    assert ready.wait(60)
    with pytest.raises(InputError, match="another process"), locked(tmp_path):
        pass
    end.set()
    process.join()
    assert (tmp_path / LOCK).exists()  # the file stays, the lock does not
    with locked(tmp_path):
        pass
    assert not (tmp_path / LOCK).exists()


def test_a_lock_deleted_by_its_holder_is_not_held_twice(tmp_path, monkeypatch):
    """Whoever opened the file before its holder deleted it must lock the new one."""
    from robustparse.evaluation import lock

    original, calls = lock.fcntl.flock, []

    def flock(handle: int, how: int) -> None:
        if not calls:
            calls.append(handle)
            (tmp_path / LOCK).unlink()
        original(handle, how)

    monkeypatch.setattr(lock.fcntl, "flock", flock)
    with locked(tmp_path):
        assert os.stat(tmp_path / LOCK).st_ino
        with pytest.raises(InputError), locked(tmp_path):
            pass


def test_the_file_goes_before_the_lock(tmp_path, monkeypatch):
    """Else the next holder's file could be deleted."""
    there: list[bool] = []
    close = os.close

    def closing(handle: int) -> None:
        there.append((tmp_path / LOCK).exists())
        close(handle)

    with locked(tmp_path):
        monkeypatch.setattr(os, "close", closing)
    monkeypatch.undo()
    assert there == [False]


def test_a_file_system_without_locks_is_named(tmp_path, monkeypatch):
    from robustparse.evaluation import lock

    def flock(handle: int, how: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(lock.fcntl, "flock", flock)
    with (
        pytest.raises(InputError, match=r"\.lock: cannot be locked \(Operation not supported\)"),
        locked(tmp_path),
    ):
        pass


def test_an_attack_holds_the_lock_from_its_first_file_to_its_last(tmp_path):
    def second(tally) -> None:
        before = contents(tmp_path)
        with pytest.raises(InputError, match="another process is attacking into this folder"):
            attack(tmp_path, some(3))
        assert contents(tmp_path) == before

    attack(tmp_path, some(3), second)
    assert not (tmp_path / LOCK).exists()
