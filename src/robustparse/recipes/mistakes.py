"""What jsonargparse, Lightning and constructors say of a user's mistake, as one message."""

import inspect
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from itertools import pairwise
from pathlib import Path

from pytorch_lightning.utilities.exceptions import (  # type: ignore[attr-defined]
    MisconfigurationException,
)

from robustparse import trust
from robustparse.errors import InputError

# What jsonargparse says of every union of types, in addition to what is wrong.
_HEADINGS = ("Does not validate", "Subtypes:", "Errors:", "Given value type:", "Subclass types")
_NEITHER = "Expected a <class 'NoneType'>"
_KEY = re.compile(r'Parser key "([^"]+)":')
_CLASS = re.compile(r"Problem with given class_path '([^']+)':")
_NO_OPTION = re.compile(r"Option '([^']+)' is not accepted")
_NO_CLASS = re.compile(r"Expected a dot import path string: (.+)")
_NO_FILE = re.compile(r"Expected a path but .+ either not accessible or invalid")
_MISSING = re.compile(r"the following arguments are required: (.+)")
_VALUE = re.compile(r"Given value: (?:NestedArg\(key='[^']*', val=)?(.+?)\)?")
_LITERAL = re.compile(r"(?:typing\.)?Literal\[(.+)\]")
_UNKNOWN = re.compile(r"(?:unrecognized arguments:|does not accept option) '?(?:--)?([^'=\s]+)")
_EXPECTED = "expected "
_NO_VALUE = re.compile(r"argument --([^:/]+).*: expected (?:at least )?one argument")
_LONGEST_VALUE = 100


def refused(
    message: str,
    arguments: Sequence[str] = (),
    options: Iterable[str] = (),
    path: Path | None = None,
) -> InputError:
    """Return a message of jsonargparse as an error that names the option as it was typed.

    Args:
        message: of a parser.
        arguments: of the command line; where the option is not one of them a file has it.
        options: that there are, without ``--``.
        path: a recipe's file, which the message is about.
    """
    expected = None
    if unknown := _UNKNOWN.search(message):
        key, found = unknown[1], "no such option"
        nearest = get_close_matches(key, [*options], n=1)
    elif bare_option := _NO_VALUE.search(message):
        key, found, nearest = bare_option[1], "needs a value", []
    else:
        key, found, expected, nearest = _reason(message)
    bare = key.replace(".init_args", "")
    names = (token.partition("=")[0] for token in arguments if token.startswith("--"))
    typed = [name for name in names if name[2:].rstrip("+").replace(".init_args", "") == bare]
    dashes = "--" if typed and unknown else ""
    return InputError(
        found,
        key=typed[-1] if typed else key.removeprefix("attack.") if path else key or None,
        path=path or (None if typed else files_of(arguments)),
        expected=expected,
        remedy=f"did you mean {dashes}{nearest[0]}?" if nearest else None,
    )


def _reason(message: str) -> tuple[str, str, str | None, list[str]]:
    """Return the key that a message is about, what was found, what is expected, a name near it."""
    key, kind, value = "", "", ""
    reasons: list[str] = []
    nearest: list[str] = []
    instead: str | None = None
    for line in message.splitlines():
        text = line.strip().removeprefix("- ")
        if found := _KEY.fullmatch(text):
            key = _within(key, kind, found[1])
        elif found := _CLASS.fullmatch(text):
            kind = found[1]
        elif found := _NO_OPTION.fullmatch(text):
            key = _within(key, kind, found[1])
            reasons = [f"no argument of {kind.rpartition('.')[2]}"]
            there = _arguments_of(kind)
            nearest = get_close_matches(found[1], there, n=1)
            instead = None if nearest else f"one of {', '.join(there)}" if there else "none"
        elif found := _MISSING.fullmatch(text):
            key = _within(key, kind, found[1])
            reasons = [f"missing; {kind.rpartition('.')[2]} needs it"]
        elif found := _NO_CLASS.fullmatch(text):
            reasons = [f"{found[1]!r} is neither a class nor a file"]
            nearest = get_close_matches(found[1], trust.public_classes(), n=1)
        elif found := _VALUE.fullmatch(text):
            value = value or found[1]
        elif text and not text.startswith((*_HEADINGS, _NEITHER)) and not _NO_FILE.match(text):
            expected, _, got = text.partition(". Got value: ")
            reasons.append(_plain(expected))
            value = got or value
    what = " or ".join(dict.fromkeys(reasons))
    if not what.startswith(_EXPECTED):
        return key, what, instead, nearest
    shown = f"got {value}" if 0 < len(value) <= _LONGEST_VALUE else "cannot be used"
    return key, shown, what.replace(_EXPECTED, ""), nearest


def _arguments_of(class_path: str) -> list[str]:
    module, _, name = class_path.rpartition(".")
    return list(inspect.signature(getattr(import_module(module), name)).parameters)


def _within(outer: str, kind: str, key: str) -> str:
    """Return the key of an argument of a class; the command line knows the class of an attack."""
    inner = "" if kind.endswith(".Attack") else "init_args."
    return f"{outer}.{inner}{key}" if outer and kind else key


def _plain(reason: str) -> str:
    """Return what jsonargparse expected in plain words."""
    text = re.sub(r"<class '(?:[\w.]*\.)?(\w+)'>", r"\1", reason)
    text = re.sub(r"^Expected (an? )?", _EXPECTED, text)
    return _LITERAL.sub(lambda found: f"one of {found[1].replace(chr(39), '')}", text)


def files_of(arguments: Sequence[str]) -> str | None:
    """Name the configuration files of a command."""
    pairs = pairwise(arguments)
    return " ".join(value for name, value in pairs if name in ("-c", "--config")) or None


def mistake_in(error: BaseException) -> InputError | None:
    """Return what the user did wrong, where an exception comes of that; None where it is our fault.

    jsonargparse wraps what constructors raise, and Lightning checks some settings only when a run
    has begun.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, InputError):
            return cause
        # A class that was named may need a library that is not there.
        missing = isinstance(cause, ModuleNotFoundError) and cause is not error
        if missing or isinstance(cause, MisconfigurationException):
            return InputError(" ".join(str(cause).split()))
        cause = cause.__cause__
    if isinstance(error, RuntimeError | ValueError) and _raised_by_lightning(error):
        return InputError(" ".join(str(error).split()), key="trainer")
    return None


def _raised_by_lightning(error: BaseException) -> bool:
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    name = "" if place is None else str(place.tb_frame.f_globals.get("__name__", ""))
    return name.startswith("pytorch_lightning.")
