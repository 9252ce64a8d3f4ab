"""Data and outputs in other places, such as ``s3://bucket/test.conllu``, by way of fsspec.

A command works on local files only. Data are copied into a local folder before it starts, and stay
there, since other commands may read them at the same time; what it writes is copied to its place
when it has ended well.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from robustparse.errors import InputError
from robustparse.options.arguments import each_option, plain_key

# Paths with a scheme, but not hf:MODEL, C:\FILE and the like.
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_DATA = ("data", "data.folder", "data.train_file", "data.dev_file", "data.test_file")
_INPUT, _OUT = "", "out"  # a positional argument; the output
_RUN = ("trainer.default_root_dir", "default_root_dir")
_LOCAL = (_INPUT, _OUT, *_DATA, *_RUN)
_WORK = "~/.cache/robustparse/remote"


@contextmanager
def local_files(command: str, arguments: Sequence[str]) -> Iterator[list[str]]:
    """Yield a command's arguments with local paths; afterwards upload what it wrote.

    If the command fails, its output stays in a local folder, where the same command resumes it. An
    output that exists already is downloaded first, so that a command finds there what it would find
    in a local folder. ``--print_config`` reads and writes nothing.

    Args:
        command: its name; the first positional argument of ``merge`` is its output.
        arguments: of the command line.

    Raises:
        InputError: a place or its package is missing, or a training run would be remote.
    """
    tokens: list[str] = []
    outputs: dict[str, Path] = {}
    positional = 0
    printed = any(token.startswith("--print_config") for token in arguments)
    for name, value, given in each_option(arguments):
        positional += not name
        key = _OUT if command == "merge" and positional == 1 and not name else plain_key(name)
        if printed or value is None or not _URL.match(value) or key not in _LOCAL:
            tokens += given
            continue
        if key in _RUN:
            expected = "a local folder, since checkpoints are replaced while training"
            raise InputError(f"got {value}", key=key, expected=expected)
        local = _work(value)
        if key != _OUT:
            _download(value, local, beside=not name)
        else:
            outputs[value] = local
            local.parent.mkdir(parents=True, exist_ok=True)
            if not local.exists():
                _download(value, local, required=False, beside=True)
        tokens += [name, str(local)] if name else [str(local)]
    yield tokens
    for url, local in outputs.items():
        _upload(local, url)
        print(f"copied to {url}", file=sys.stderr)
        shutil.rmtree(local.parent)


def _work(url: str) -> Path:
    """Return the local path of a remote one: the same for every command, with the same name."""
    name = url.rstrip("/").rpartition("/")[2]
    return Path(_WORK).expanduser() / sha256(url.encode()).hexdigest()[:16] / name


def _opened(url: str) -> tuple[Any, str]:
    """Return the file system of a remote path, and the path in it.

    Raises:
        InputError: no package knows the scheme, or the package is missing.
    """
    from fsspec.core import url_to_fs

    try:
        system, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        # fsspec's message says what to install, or names the schemes.
        raise InputError(str(error), path=url) from None
    return system, path


def _download(url: str, local: Path, required: bool = True, beside: bool = False) -> None:
    """Copy a remote file or folder; each file appears whole or not at all.

    Args:
        url: the remote path.
        local: the local one.
        required: whether it must exist.
        beside: whether to copy what a command writes next to a file, too, such as FILE.shard.json.

    Raises:
        InputError: it cannot be read.
    """
    system, path = _opened(url)
    try:
        if not system.exists(path):
            if required:
                raise InputError("no such file or folder", path=url)
            return
        found = system.find(path)
        for other in system.glob(f"{path}.*") if beside else ():
            found += system.find(other)
        for each in found:
            target = Path(f"{local}{each.removeprefix(path)}")
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f"{target.name}.{os.getpid()}.part")
            system.get_file(each, str(part))
            part.replace(target)
    except OSError as error:
        raise InputError(f"cannot be read ({error})", path=url) from error


def _upload(local: Path, url: str) -> None:
    """Copy a file or folder, and what a command has written next to it, to a remote path.

    Raises:
        InputError: it cannot be written; the message names the local copy.
    """
    system, path = _opened(url)
    parent = path.rstrip("/").rpartition("/")[0]
    try:
        for each in sorted(each for each in local.parent.rglob("*") if each.is_file()):
            target = f"{parent}/{each.relative_to(local.parent).as_posix()}"
            system.makedirs(target.rpartition("/")[0], exist_ok=True)
            system.put_file(str(each), target)
    except OSError as error:
        remedy = f"copy {local} yourself, or run the command again"
        raise InputError(f"cannot be written ({error})", path=url, remedy=remedy) from error
