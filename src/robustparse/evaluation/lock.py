"""One run at a time in a folder, by a lock that the system takes back when its holder dies."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from robustparse.errors import InputError

LOCK = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder's lock (``flock`` on the file ``.lock``, which is gone afterwards).

    A killed holder leaves the file behind, but not the lock.

    Raises:
        InputError: another process holds it, or the folder's file system knows no locks.
    """
    path = folder / LOCK
    handle = _acquired(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # before the lock goes, so that nobody locks what is deleted
        os.close(handle)


def _acquired(path: Path) -> int:
    """Return the open, locked file."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(handle, path):
                return handle
        except BlockingIOError:
            os.close(handle)
            raise InputError(
                f"{path.parent}: another process is attacking into this folder; wait until it ends "
                "(run again, the attack then goes on), or choose another --out"
            ) from None
        except OSError as error:
            os.close(handle)
            raise InputError(
                f"{path}: cannot be locked ({error.strerror}); choose an --out on another file "
                "system"
            ) from error
        os.close(handle)  # its holder deleted it in the meantime: lock the new one


def _is_at(handle: int, path: Path) -> bool:
    """Whether the open file is the one that stands there."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False
