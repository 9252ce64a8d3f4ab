"""What commands answer with one message and no traceback, and checks that end so."""

import errno
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from os import PathLike
from typing import Any

_SEEDS = 1 << 64  # that random streams tell apart, see `randomness`


class InputError(ValueError):
    """A file, setting or argument that cannot be used as given.

    Commands print it on standard error and exit with 2; every other exception is a fault of
    robustparse itself and exits with 1. The message is made of the fields that are set:
    ``PATH:LINE: KEY: FOUND; expected EXPECTED; REMEDY``. Where FOUND begins with "must", the key is
    its subject, and no colon divides them.

    Args:
        found: what is wrong, with the value that was given.
        path: the file or folder that cannot be used.
        line: the line in it, from 1.
        key: the option, setting or argument.
        expected: the values that would do, or the limit.
        remedy: what the user can do, as an imperative.
    """

    def __init__(
        self,
        found: str,
        *,
        path: str | PathLike[str] | None = None,
        line: int | None = None,
        key: str | None = None,
        expected: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(found)
        self.found, self.key, self.line = found, key, line
        self.path = None if path is None else str(path)
        self.expected, self.remedy = expected, remedy

    def __str__(self) -> str:
        """Return the message of the fields as they are now: callers may add the place they know."""
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        found = self.found
        if self.key:
            found = f"{self.key} {found}" if found.startswith("must ") else f"{self.key}: {found}"
        message = f"{place}: {found}" if place else found
        message += f"; expected {self.expected}" if self.expected else ""
        return message + (f"; {self.remedy}" if self.remedy else "")


class Stopped(SystemExit):
    """Ends the program, or a process of it, as a shell reports a signal: 143 for SIGTERM.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)


@contextmanager
def located(path: str | PathLike[str] | None = None, line: int | None = None) -> Iterator[None]:
    """Give an `InputError` that is raised within the place that is known here.

    Args:
        path: the file; None leaves the error's own.
        line: in it, from 1; None leaves the error's own.
    """
    try:
        yield
    except InputError as error:
        error.path = error.path if path is None else str(path)
        error.line = error.line if line is None else line
        raise


class UntaggedError(InputError):
    """A sentence without the tags that a part of an attack reads.

    Args:
        found: which tags are missing, and what reads them.
        expected: where a treebank has them.
        without: how the recipe does without tags, as an imperative.
    """

    def __init__(self, found: str, *, expected: str, without: str) -> None:
        self.without = without
        super().__init__(found, expected=expected, remedy=f"tag the data, or {without}")


class ProcessDiedError(RuntimeError):
    """One of several processes was killed, or ended itself; the message says which and what to do.

    Commands print it on standard error and exit with 2.
    """


def reason(error: BaseException, most: int = 120) -> str:
    """Return what a library's error says, on one line cut after ``most``, or its class."""
    said = " ".join(str(error).split())
    if len(said) > most:
        said = f"{said[:most].rpartition(' ')[0] or said[:most]} ..."
    return said or type(error).__name__


@contextmanager
def dataset_calls(
    source: str | PathLike[str], *, key: str | None = None, remedy: str | None = None
) -> Iterator[None]:
    """Report every error of the ``datasets`` library as a mistake in its input.

    Only calls of the library and the conversion of its rows belong within. It raises what Arrow,
    pandas, fsspec and the hub's client raise, and KeyError or AttributeError for damaged files.

    Args:
        source: the file, the folder or the name of the dataset.
        key: the option or setting that names it.
        remedy: what the user can do; by default it follows from the error.

    Raises:
        InputError: the library raised anything; an `InputError` is left as it is.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        cause: BaseException = error
        while cause.__cause__ is not None:  # "An error occurred while generating the dataset"
            cause = cause.__cause__
        said = reason(cause, 200)
        if isinstance(cause, LookupError | AttributeError | TypeError) and str(cause):
            said = f"{type(cause).__name__}: {said}"
        if remedy is None and isinstance(error, ConnectionError):
            remedy = "check its name and the network, or name a file or folder instead"
        raise InputError(
            f"`datasets` cannot read it ({said})", path=source, key=key, remedy=remedy
        ) from error


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE, errno.ENFILE)


def machine_limit(error: BaseException) -> InputError | None:
    """Return an error about a missing resource, such as memory, disk space or a file, or None.

    Args:
        error: that ended a command.
    """
    said = reason(error, 200)
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        lacks = True
    else:
        lacks = isinstance(error, RuntimeError) and "can't allocate memory" in said
    if lacks:
        remedy = "make batches smaller, or use a machine with more memory"
        return InputError(f"the memory of this machine is not enough ({said})", remedy=remedy)
    if isinstance(error, RuntimeError) and said.startswith("could not create a primitive"):
        found = "the processor of this machine cannot compute a layer in this precision"
        return InputError(found, key="precision", remedy="use 32-true")
    if isinstance(error, OSError) and (error.filename is not None or error.errno in _NO_ROOM):
        path = None if error.filename is None else str(error.filename)
        return InputError(f"cannot be used ({error.strerror or said})", path=path)
    return None


def optional_library(name: str, key: str, remedy: str) -> Any:
    """Import a library that is not among the requirements.

    Raises:
        InputError: it cannot be imported; says how to get it or do without.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(
            f"{name} cannot be imported ({reason(error)})", key=key, remedy=remedy
        ) from error


@contextmanager
def nltk_data(what: str, folder: str) -> Iterator[None]:
    """Load data of NLTK within; say how to get it where it is missing.

    Args:
        what: what is loaded, and the key of the error.
        folder: in NLTK's data folders; its last part is the name of the download.
    """
    try:
        yield
    except (LookupError, OSError, ValueError) as error:
        name = folder.rpartition("/")[2]
        raise InputError(
            f"NLTK's {name} cannot be loaded",
            key=what,
            remedy=f"run `python -m nltk.downloader {name}`, or set NLTK_DATA to a folder that "
            f"holds {folder}",
        ) from error


def check_choice(setting: str, value: object, allowed: Collection[str]) -> None:
    """Refuse a value that is none of those a setting may have.

    Args:
        setting: what it is, with whom it belongs to, as in ``search: length``.
        value: as given.
        allowed: what it may be.

    Raises:
        InputError: names the value and those allowed.
    """
    if value not in allowed:
        raise InputError(f"must be one of {', '.join(allowed)}, got {value!r}", key=setting)


def check_seed(setting: str, seed: int) -> None:
    """Refuse a number that would be taken for another seed, or for none.

    Args:
        setting: what it is, as in ``--seed``.
        seed: as given.

    Raises:
        InputError: the number is below 0, or 2**64 or more.
    """
    if not 0 <= seed < _SEEDS:
        raise InputError(f"must be >= 0 and below 2**64, got {seed}", key=setting)


def check_least(owner: str, least: int = 1, /, **settings: int | None) -> None:
    """Refuse numbers that are too small.

    Args:
        owner: whose settings they are, as in ``search``.
        least: the smallest number allowed.
        settings: by name, as given; None is a setting that is off.

    Raises:
        InputError: names the setting, the limit and the value.
    """
    for name, value in settings.items():
        if value is not None and value < least:
            raise InputError(f"must be >= {least}, got {value}", key=f"{owner}: {name}")


def check_rates(owner: str, **settings: float) -> None:
    """Refuse numbers that are no rate of dropout or smoothing.

    Args:
        owner: whose settings they are.
        settings: by name.

    Raises:
        InputError: names the setting that is not in [0, 1).
    """
    for name, value in settings.items():
        if not 0.0 <= value < 1.0:
            raise InputError(f"must be in [0, 1), got {value}", key=f"{owner}: {name}")
