"""Checkpoints are whole or not there, whatever goes wrong on the way."""

import os
import resource
import signal
from pathlib import Path

import pytest
import torch

from robustparse.errors import InputError
from robustparse.tracking.checkpoint_io import VerifiedCheckpointIO


class Hostile:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("exit 1",)


def test_a_checkpoint_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "last.ckpt"
    checkpoint = {"state_dict": {"w": torch.arange(3.0)}, "step": 7}
    VerifiedCheckpointIO().save_checkpoint(checkpoint, path)
    read = VerifiedCheckpointIO().load_checkpoint(path)
    assert read["step"] == 7
    assert torch.equal(read["state_dict"]["w"], torch.arange(3.0))
    assert os.listdir(path.parent) == ["last.ckpt"]


def test_it_is_on_the_disk_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut may not leave the name of a checkpoint without its content."""
    done: list[str] = []
    sync, replace = os.fsync, os.replace

    def syncing(handle: int) -> None:
        done.append(os.readlink(f"/proc/self/fd/{handle}"))
        sync(handle)

    def replacing(one: Path, other: Path) -> None:
        done.append(f"{one} -> {other}")
        replace(one, other)

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(os, "replace", replacing)
    path, aside = tmp_path / "last.ckpt", tmp_path / ".last.ckpt.part"
    VerifiedCheckpointIO().save_checkpoint({"step": 1}, path)
    assert done == [str(aside), f"{aside} -> {path}", str(tmp_path)]


def test_a_full_disk_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "last.ckpt"
    VerifiedCheckpointIO().save_checkpoint({"step": 1}, path)
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(InputError, match="cannot be written") as error:
            VerifiedCheckpointIO().save_checkpoint({"w": torch.zeros(100_000)}, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert error.value.path == str(path)
    assert VerifiedCheckpointIO().load_checkpoint(path) == {"step": 1}
    assert os.listdir(tmp_path) == ["last.ckpt"]


def test_what_cannot_be_read_back_is_not_put_in_place(tmp_path: Path) -> None:
    path = tmp_path / "last.ckpt"
    VerifiedCheckpointIO().save_checkpoint({"step": 1}, path)
    with pytest.raises(RuntimeError, match="could not be read back"):
        VerifiedCheckpointIO().save_checkpoint({"path": Path("a")}, path)
    assert VerifiedCheckpointIO().load_checkpoint(path) == {"step": 1}
    assert os.listdir(tmp_path) == ["last.ckpt"]


def test_reading_never_unpickles_code(tmp_path: Path) -> None:
    path = tmp_path / "evil.ckpt"
    torch.save({"state_dict": Hostile()}, path)
    with pytest.raises(Exception, match="Weights only load failed"):
        VerifiedCheckpointIO().load_checkpoint(path, weights_only=False)
