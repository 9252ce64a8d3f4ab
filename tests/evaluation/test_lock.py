"""One run at a time has a folder: the lock is refused, given back, and lost by the dead."""

import multiprocessing
import os
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from attack_folders import attack, contents, some

from robustparse.errors import InputError
from robustparse.files import output_folders
from robustparse.files.output_folders import LOCK
from robustparse.files.output_folders import locked as locked_for


def locked(folder: Path) -> AbstractContextManager[None]:
    return locked_for(folder, "attack", "--out")


def refused(folder: Path) -> bool:
    """Whether another process holds the folder; said as users are told."""
    try:
        with locked(folder):
            return False
    except InputError as error:
        return (error.path, "another process" in error.found) == (str(folder), True)


def test_a_second_holder_is_refused_until_the_first_is_done(tmp_path):
    with locked(tmp_path):
        assert refused(tmp_path)
        assert refused(tmp_path)
        assert (tmp_path / LOCK).exists()
    assert os.listdir(tmp_path) == []
    with pytest.raises(KeyError), locked(tmp_path):
        raise KeyError
    assert not refused(tmp_path)
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
    assert refused(tmp_path)
    end.set()
    process.join()
    assert (tmp_path / LOCK).exists()  # the file stays, the lock does not
    assert not refused(tmp_path)
    assert not (tmp_path / LOCK).exists()


def test_a_lock_deleted_by_its_holder_is_not_held_twice(tmp_path, monkeypatch):
    """Whoever opened the file before its holder deleted it must lock the new one."""
    import fcntl

    original, calls = fcntl.flock, []

    def flock(handle: int, how: int) -> None:
        if not calls:
            calls.append(handle)
            (tmp_path / LOCK).unlink()
        original(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    try:
        with locked(tmp_path):
            assert os.stat(tmp_path / LOCK).st_ino
            assert refused(tmp_path)
    except InputError:  # refused once: the next attempt finds the new file
        assert not refused(tmp_path)


def test_the_file_goes_before_the_lock(tmp_path, monkeypatch):
    """Else the next holder's file could be deleted."""
    there: list[bool] = []
    release = output_folders.FileLock.release

    def releasing(lock, *arguments: bool, **named: bool) -> None:
        there.append((tmp_path / LOCK).exists())
        release(lock, *arguments, **named)

    monkeypatch.setattr(output_folders.FileLock, "release", releasing)
    with locked(tmp_path):
        pass
    monkeypatch.undo()
    assert set(there) == {False}


def test_a_file_system_without_locks_is_named(tmp_path, monkeypatch):
    import fcntl

    def flock(handle: int, how: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(InputError, match="Operation not supported") as error, locked(tmp_path):
        pass
    assert error.value.path == str(tmp_path / LOCK)


def test_an_attack_holds_the_lock_from_its_first_file_to_its_last(tmp_path):
    def second(tally) -> None:
        before = contents(tmp_path)
        with pytest.raises(InputError, match="another process is writing into this folder"):
            attack(tmp_path, some(3))
        assert contents(tmp_path) == before

    attack(tmp_path, some(3), second)
    assert not (tmp_path / LOCK).exists()
