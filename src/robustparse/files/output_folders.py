"""Prepare and lock the folders that commands write."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from robustparse.errors import InputError, reason
from robustparse.files.paths import REMOTE

LOCK = ".lock"
BLOCKS = ".blocks"  # the ending of the folder of blocks next to an output, see `cli.ray_blocks`


def make_folder(path: Path) -> Path:
    """Create an output folder and check that it is writable.

    Raises:
        InputError: it is not writable, or not local.
    """
    if remote := REMOTE.match(path.as_posix()):
        remedy = "use a local folder; only --out on the command line may be remote"
        raise InputError(f"not a local folder: {remote[0]}...", path=path, remedy=remedy)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError as error:
        problem = f"the output folder is not writable ({error.strerror})"
        raise InputError(problem, path=path, remedy="choose another") from None


def check_output_file(out: Path, inputs: Iterable[str], key: str = "out") -> None:
    """Check, before anything long runs, that a command can write its file.

    Args:
        out: the file.
        inputs: the files that the command reads; also ``KIND:FILE``, and names of other things.
        key: the option that names the file.

    Raises:
        InputError: it is a folder, its folder is not writable, or see `check_no_input`.
    """
    make_folder(out.parent)
    if out.is_dir():
        raise InputError("a folder", path=out, key=key, expected="the name of a file to write")
    check_no_input(out, inputs, key)


def check_no_input(out: Path, inputs: Iterable[str], key: str = "out") -> None:
    """Check that a command does not write over a file that it reads.

    Args:
        out: the file that it writes.
        inputs: see `check_output_file`.
        key: the option that names the file.

    Raises:
        InputError: it is one of the inputs.
    """
    files = (Path(name.partition(":")[2] or name).expanduser() for name in inputs)
    if out.exists() and any(file.exists() and file.samefile(out) for file in files):
        raise InputError("is also an input", path=out, key=key, remedy="choose another name")


@contextmanager
def locked(folder: Path, command: str, option: str) -> Iterator[None]:
    """Hold the lock of a folder, the file ``.lock``, which is deleted afterwards.

    If the process is killed, the file remains but the lock is released.

    Args:
        folder: the output folder of a command.
        command: the name of the command.
        option: the option that names the folder.

    Raises:
        InputError: another process holds the lock, or the file system does not support locks.
    """
    path = folder / LOCK
    try:
        lock = FileLock(path, timeout=0, fallback_to_soft=False).acquire()
    except Timeout:
        raise InputError(
            "another process is writing into this folder",
            path=folder,
            remedy=f"wait until it ends ({command} then resumes there), or choose another {option}",
        ) from None
    except (OSError, NotImplementedError) as error:
        raise InputError(
            f"cannot be locked ({reason(error)})",
            path=path,
            remedy=f"choose another {option}, on a file system that supports locks",
        ) from error
    with lock:
        try:
            yield
        finally:
            path.unlink(missing_ok=True)  # before releasing the lock: a later file is not ours
