"""Find the files and folders that a user names."""

import os
import re
from collections.abc import Sequence
from glob import iglob
from pathlib import Path

from robustparse.errors import InputError

Sources = str | Path | Sequence[str | Path]
"""A file, or several that are read as if they were joined in this order; see `each_path`."""

_PATTERN = re.compile(r"[*?[]")
REMOTE = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)  # a scheme, in a path


def with_home(path: str | Path, key: str | None = None) -> Path:
    """Return a path with the user's home folder in place of a first ``~``.

    Args:
        path: the path.
        key: the option or argument that names it, for the error.

    Raises:
        InputError: it is empty, which would be the current folder, or not a path.
    """
    if path == "" or not isinstance(path, str | os.PathLike):
        raise InputError(f"got {path!r:.60}", key=key, expected="a path")
    return Path(os.path.expanduser(path))  # noqa: PTH111 - `Path` raises on names such as ~a


def check_folder(
    folder: Path, *, key: str | None = None, expected: str | None = None, remedy: str | None = None
) -> None:
    """Check that a path is a folder; the other arguments are those of the error.

    Raises:
        InputError: there is no such folder, or it is a file.
    """
    if not folder.is_dir():
        problem = "a file, not a folder" if folder.exists() else "no such folder"
        remedy = remedy_for_url(folder) or remedy
        raise InputError(problem, path=folder, key=key, expected=expected, remedy=remedy)


def remedy_for_url(path: Path) -> str | None:
    """Return what to do if a path is a URL, whose slashes a `Path` has joined."""
    remedy = "download it; only options of the command line such as --data read URLs"
    return remedy if REMOTE.match(path.as_posix()) else None


def each_path(sources: Sources) -> list[Path]:
    """Return the path of each file; a pattern stands for all files that it matches.

    Raises:
        InputError: see `matching_files`.
    """
    several = [sources] if isinstance(sources, str | Path) else sources
    return [Path(file) for each in several for file in matching_files(str(each))]


def matching_files(pattern: str) -> list[str]:
    """Return the files that a pattern such as ``part-*.tsv`` matches, in the order of their names.

    ``**`` matches folders of any depth. A name without ``*``, ``?`` or ``[``, or of an existing
    file or folder, is returned as it is, apart from a leading ``~``.

    Raises:
        InputError: the pattern matches no file.
    """
    pattern = os.path.expanduser(pattern)  # noqa: PTH111 - of any length
    if not _PATTERN.search(pattern) or os.path.exists(pattern):  # noqa: PTH110 - of any length
        return [pattern]
    files = sorted(each for each in iglob(pattern, recursive=True) if Path(each).is_file())  # noqa: PTH207
    if not files:
        raise InputError("matches no file", path=pattern, remedy="correct the pattern")
    return files


def in_short(names: Sequence[str], most: int = 3) -> str:
    """Return a list of files for a message, which names at most `most` of them."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
