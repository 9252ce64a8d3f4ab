"""Data and outputs in other places, such as ``s3://bucket/test.conllu``, by way of fsspec.

A command works on local files only: it downloads its data first, and uploads its output when it
succeeds. Downloads stay in a cache, since other processes may read them.
"""

import os
import re
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from robustparse.errors import InputError, say
from robustparse.files.digests import folder_digest
from robustparse.files.output_folders import BLOCKS
from robustparse.options.tokens import TAKE_SEVERAL, each_option, plain_key

_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_OUT, _POSITIONAL = "out", "a positional argument"
# Keys of inputs, including outputs of other commands.
_READ = ("data", "data.folder", "data.train_file", "data.dev_file", "data.test_file", "compare")
_READERS = ("merge", "report", "transfer")  # commands that only read their positional arguments
_RECORD = ".shard.json"  # next to a file of a shard
_WORK = "~/.cache/robustparse/remote"
_UPLOADING = "uploading"  # a mark next to an output


@contextmanager
def local_files(
    command: str, arguments: Sequence[str], several: Collection[str] = ()
) -> Iterator[list[str]]:
    """Yield a command's arguments with local paths; afterwards upload what it wrote.

    If the command fails, its output stays in a local folder, where the same command resumes it.
    ``--print_config`` reads and writes nothing.

    Args:
        command: its name; the first positional argument of ``merge`` is its output.
        arguments: of the command line.
        several: options that take several values, besides those that do so in every command.

    Raises:
        InputError: a place or its package is missing, an output exists already or several processes
            would write it, or a place cannot be read or written.
    """
    local_arguments: list[str] = []
    outputs: dict[str, Path] = {}
    keys = (_OUT, *_READ, *([_POSITIONAL] if command in _READERS else []))
    if any(token.startswith("--print_config") for token in arguments):
        keys = ()
    for key, value, tokens in _keys(command, arguments, several):
        if key in keys and value is not None and _URL.match(value):
            local = _output(value) if key == _OUT else _downloaded(value)
            if key == _OUT:
                outputs[value] = local
            tokens = [token.replace(value, str(local)) for token in tokens]
        local_arguments += tokens
    yield local_arguments
    for url, local in outputs.items():
        _upload(local, url)
        say(f"uploaded to {url}")
        shutil.rmtree(local.parent.parent)


def _keys(
    command: str, arguments: Sequence[str], several: Collection[str]
) -> Iterator[tuple[str, str | None, list[str]]]:
    """Yield the key, the value and the tokens of every option and positional argument.

    A further value of an option that takes several has the option's key.
    """
    option, first = "", True
    for name, value, tokens in each_option(arguments):
        option = name or (option if option in (*TAKE_SEVERAL, *several) else "")
        if option:
            yield plain_key(option), value, tokens
            continue
        yield _OUT if first and command == "merge" else _POSITIONAL, value, tokens
        first = False


def _place(url: str) -> tuple[Path, str]:
    """Return the local folder of a remote path, the same for every command, and its name there."""
    path = re.split("[?#]", url.partition("://")[2])[0]
    name = path.rstrip("/").rpartition("/")[2]
    if name in ("", ".", ".."):
        raise InputError("names no file or folder", path=url)
    return Path(_WORK).expanduser() / sha256(url.encode()).hexdigest()[:16], name


@contextmanager
def _opened(url: str, doing: str) -> Iterator[tuple[Any, str]]:
    """Yield the file system of a remote path, and the path in it."""
    from fsspec.core import url_to_fs

    try:
        system, path = url_to_fs(url)
        yield system, path.rstrip("/")
    except InputError:
        raise
    except (ImportError, ValueError) as error:
        # fsspec's message says what to install, or names the schemes.
        raise InputError(str(error), path=url) from error
    except Exception as error:
        raise InputError(f"{doing} ({type(error).__name__}: {error})", path=url) from error


def _downloaded(url: str) -> Path:
    """Return a copy of a remote file or folder; other contents get another local path."""
    folder, name = _place(url)
    folder.mkdir(parents=True, exist_ok=True)
    with (
        TemporaryDirectory(dir=folder) as unfinished,
        _opened(url, "cannot be read") as (system, path),
    ):
        files = list(system.find(path))
        if not files:
            raise InputError("no such file or folder", path=url)
        if system.exists(path + _RECORD):
            files.append(path + _RECORD)
        for file in files:
            target = Path(unfinished, f"{name}{file.removeprefix(path)}")
            if not file.startswith(path) or ".." in target.parts:
                raise InputError(f"has a file outside of the folder: {file}", path=url)
            target.parent.mkdir(parents=True, exist_ok=True)
            system.get_file(file, str(target))
        version = folder / folder_digest(Path(unfinished))[:16]
        if not version.exists():
            with suppress(OSError):  # another process was faster
                Path(unfinished).rename(version)
                Path(unfinished).mkdir()  # which is deleted at the end
        return version / name


def _output(url: str) -> Path:
    """Return the local path of an output, whose place is free and can be written."""
    if os.environ.get("WORLD_SIZE", "1") != "1":
        remedy = "share the sentences by --shard instead"
        raise InputError("several processes were launched", path=url, remedy=remedy)
    folder, name = _place(url)
    with _opened(url, "cannot be written") as (system, path):
        # It may hold a part of an upload that was broken off.
        if system.exists(path) and not (folder / _UPLOADING).exists():
            remedy = "choose another place, or remove it first"
            raise InputError("exists already", path=url, remedy=remedy)
        _put(system, b"", f"{path}.{os.getpid()}")
        system.rm(f"{path}.{os.getpid()}")
    (folder / _OUT).mkdir(parents=True, exist_ok=True)
    return folder / _OUT / name


def _upload(local: Path, url: str) -> None:
    """Copy a file or folder, and what a command has written next to it, to a remote path.

    Raises:
        InputError: it cannot be written; the message names the local copy.
    """
    (local.parent.parent / _UPLOADING).touch()
    with _opened(url, f"cannot be written, see {local}") as (system, path):
        blocks = local.with_name(local.name + BLOCKS)
        for file in sorted(file for file in local.parent.rglob("*") if file.is_file()):
            if blocks in file.parents:
                continue
            name = file.relative_to(local.parent).as_posix().removeprefix(local.name)
            _put(system, file, path + name)


def _put(system: Any, content: Path | bytes, target: str) -> None:
    system.makedirs(target.rpartition("/")[0], exist_ok=True)
    if isinstance(content, bytes):
        system.pipe_file(target, content)
    else:
        system.put_file(str(content), target)
