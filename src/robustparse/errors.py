"""Messages on standard error: notes, errors without a traceback, and checks that raise them."""

import errno
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from importlib import import_module
from operator import index
from os import PathLike
from typing import Any

_SEEDS = 1 << 64  # number of different seeds, see `randomness`


class InputError(ValueError):
    """A file, option or argument that cannot be used.

    Commands print it on standard error and exit with 2; any other exception is a bug in robustparse
    and exits with 1. The message consists of the fields that are set:
    ``PATH:LINE: KEY: FOUND; expected EXPECTED; REMEDY``. If FOUND begins with "must", the key is
    its subject and there is no colon between them.

    Args:
        found: what is wrong, including the value.
        path: the file or folder that cannot be used.
        line: the line in it, from 1.
        key: the option or argument.
        expected: the allowed values or the limit.
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
        """Return the message of the current fields; callers may have added path and line."""
        message = self.found
        if self.key:
            separator = " " if message.startswith("must ") else ": "
            message = f"{self.key}{separator}{message}"
        location = self.path if self.line is None else f"{self.path}:{self.line}"
        message = f"{location}: {message}" if location else message
        message += f"; expected {self.expected}" if self.expected else ""
        return message + (f"; {self.remedy}" if self.remedy else "")


class Stopped(SystemExit):
    """Ends the program with the exit status of a signal, such as 143 for SIGTERM.

    Args:
        number: the number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)


def say(*texts: object) -> None:
    """Print notes on standard error, each on a line of its own."""
    for text in texts:
        print(f"robustparse: {text}", file=sys.stderr)


@contextmanager
def located(path: str | PathLike[str] | None = None, line: int | None = None) -> Iterator[None]:
    """Add a path and a line to any `InputError` raised inside.

    Args:
        path: the file; None keeps that of the error.
        line: the line, from 1; None keeps that of the error.
    """
    try:
        yield
    except InputError as error:
        error.path = error.path if path is None else str(path)
        error.line = error.line if line is None else line
        raise


class UntaggedError(InputError):
    """A sentence without the tags that a component of an attack reads.

    Args:
        found: which tags are missing, and which component reads them.
        expected: where a treebank has them.
        without: how to change the recipe so that it needs no tags, as an imperative.
    """

    def __init__(self, found: str, *, expected: str, without: str) -> None:
        self.without = without
        super().__init__(found, expected=expected, remedy=f"tag the data, or {without}")


class ProcessDiedError(RuntimeError):
    """One of several processes died; the message says which one and what to do.

    Commands print it on standard error and exit with 2.
    """


def reason(error: BaseException, most: int = 120) -> str:
    """Return an error's message on one line of at most ``most`` characters, or else its class."""
    said = " ".join(str(error).split())
    if len(said) > most:
        said = f"{said[:most].rpartition(' ')[0] or said[:most]} ..."
    return said or type(error).__name__


def root_cause(error: BaseException) -> BaseException:
    """Return the innermost error that an error was raised from, or the error itself."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


@contextmanager
def dataset_calls(
    source: str | PathLike[str], *, key: str | None = None, remedy: str | None = None
) -> Iterator[None]:
    """Report every error of the ``datasets`` library as an `InputError`.

    Only calls of the library and the conversion of its rows belong inside. It raises errors of
    Arrow, pandas, fsspec and the hub's client, and KeyError or AttributeError for damaged files.

    Args:
        source: the file, the folder or the name of the dataset.
        key: the option that names it.
        remedy: what the user can do; the default depends on the error.

    Raises:
        InputError: the library raised anything; an `InputError` is left as it is.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        cause = root_cause(error)  # of "An error occurred while generating the dataset"
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
    """Convert an error about memory, disk space, files or the processor to an `InputError`.

    Args:
        error: the error that ended a command.

    Returns:
        None for any other error.
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
        problem = "the processor of this machine cannot compute a layer in this precision"
        return InputError(problem, key="precision", remedy="use 32-true")
    if isinstance(error, OSError) and (error.filename is not None or error.errno in _NO_ROOM):
        path = None if error.filename is None else str(error.filename)
        return InputError(f"cannot be used ({error.strerror or said})", path=path)
    return None


def check_all(checks: Iterable[Callable[[], object]]) -> None:
    """Run all checks; raise one error about everything that they find wrong.

    Raises:
        InputError: the error of a check, or the messages of several.
    """
    errors: dict[str, InputError] = {}  # one for each file
    for check in checks:
        try:
            check()
        except InputError as error:
            errors.setdefault(error.path or str(error), error)
    if len(errors) == 1:
        raise next(iter(errors.values()))
    if errors:
        raise InputError("\n  ".join(["several things are missing:", *map(str, errors.values())]))


def optional_library(name: str, key: str, remedy: str) -> Any:
    """Import a library that is not a requirement.

    Raises:
        InputError: it cannot be imported.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(
            f"{name} cannot be imported ({reason(error)})", key=key, remedy=remedy
        ) from error


@contextmanager
def nltk_data(what: str, folder: str) -> Iterator[None]:
    """Report missing NLTK data as an `InputError` that says how to get it.

    Args:
        what: what is loaded; the key of the error.
        folder: its folder in NLTK's data; the last component is the name of the download.
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


def did_you_mean(name: str, known: Collection[str], dashes: str = "") -> str | None:
    """Ask for three names at most that begin with an unknown one, or else for the most similar one.

    Casing does not matter.

    Args:
        name: the unknown name.
        known: the known names.
        dashes: what stands before each name in the question.
    """
    meant, lowered = name.lower(), {each.lower(): each for each in known}
    longer = [each for each in lowered if meant and each.startswith(meant)]
    near = [lowered[each] for each in longer[:3] or get_close_matches(meant, lowered, n=1)]
    return f"did you mean {' or '.join(dashes + each for each in near)}?" if near else None


def check_choice(setting: str, value: object, allowed: Collection[str]) -> None:
    """Reject a value that is not among the allowed values.

    Args:
        setting: the option with its owner, as in ``search: length``.
        value: the value.
        allowed: the allowed values.

    Raises:
        InputError: names the value and the allowed values.
    """
    if value not in allowed:
        raise InputError(f"must be one of {', '.join(allowed)}, got {value!r}", key=setting)


def check_seed(setting: str, seed: int) -> None:
    """Reject a seed that random streams cannot distinguish from others.

    Args:
        setting: the option, as in ``--seed``.
        seed: the seed.

    Raises:
        InputError: the seed is below 0, or 2**64 or more.
    """
    if not 0 <= seed < _SEEDS:
        raise InputError(f"must be >= 0 and below 2**64, got {seed}", key=setting)


def whole_number(setting: str, value: object) -> int:
    """Return a whole number, which may be one of NumPy.

    Args:
        setting: the argument.
        value: the number.

    Raises:
        InputError: it is no whole number.
    """
    if not isinstance(value, bool):
        with suppress(TypeError):
            return index(value)  # type: ignore[arg-type]
    raise InputError(f"must be a whole number, got {value!r:.60}", key=setting)


def check_least(owner: str, least: int = 1, /, **settings: int | None) -> None:
    """Reject numbers that are too small, and values that are not whole numbers.

    Args:
        owner: the owner of the options, as in ``search``; ``--`` for those of a command.
        least: the smallest allowed number.
        settings: option -> value; None means that it is not set.

    Raises:
        InputError: names the option, the limit and the value.
    """
    for name, value in settings.items():
        key = f"--{name}" if owner == "--" else f"{owner}: {name}"
        if value is not None and whole_number(key, value) < least:
            raise InputError(f"must be >= {least}, got {value}", key=key)


def check_rates(owner: str, **settings: float) -> None:
    """Reject rates, such as of dropout, that are not in [0, 1).

    Args:
        owner: the owner of the options.
        settings: option -> value.

    Raises:
        InputError: names the option and the value.
    """
    for name, value in settings.items():
        if not 0.0 <= value < 1.0:
            raise InputError(f"must be in [0, 1), got {value}", key=f"{owner}: {name}")
