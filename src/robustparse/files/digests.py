"""Digests of files and folders."""

import hashlib
from pathlib import Path


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's content.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_digest(path: Path) -> str:
    """Return the SHA-256 of the names and contents of all files below a folder, except hidden ones.

    Raises:
        OSError: a file cannot be read.
    """
    whole = hashlib.sha256()
    for inner in sorted(path.rglob("*")):
        name = inner.relative_to(path)
        if inner.is_file() and not any(component.startswith(".") for component in name.parts):
            whole.update(f"{name.as_posix()} {file_digest(inner)}\n".encode())
    return whole.hexdigest()


def path_digest(path: Path) -> str:
    """Return the digest of a file (`file_digest`) or a folder (`folder_digest`).

    Raises:
        OSError: it cannot be read.
    """
    # Pipes and devices are not read, since their content would be lost or has no end.
    return file_digest(path) if path.is_file() else folder_digest(path)
