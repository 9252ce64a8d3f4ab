"""Mistakes in configuration files and options, said in one message that names the file or key."""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

import yaml
from pytorch_lightning.utilities.exceptions import (  # type: ignore[attr-defined]
    MisconfigurationException,
)

from robustparse.errors import InputError
from robustparse.files import read_text

_OPTIONS = ("-c", "--config")
# What jsonargparse says of every union of types, beside what is wrong.
_HEADINGS = ("Does not validate", "Subtypes:", "Errors:", "Given value type:", "Subclass types")
_NEITHER = "Expected a <class 'NoneType'>"
_NESTED = re.compile(r"NestedArg\(key='([^']*)', val=(.*)\)")
_LONGEST_VALUE = 100
# A class that is not there, of an attack.
_NO_SUCH_PART = re.compile(
    r"robustparse\.attacks\..*(module '\S+' has no attribute|No module named|Expected a dot import)"
)
_UNKNOWN_OPTION = re.compile(r"unrecognized arguments: (--[^\s=]+)")
# Of Python's types, what they allow.
_CHOICE, _CLASS = re.compile(r"a typing\.Literal\[([^]]*)\]"), re.compile(r"a <class '(\w+)'>")
_PARTS = "; docs/attacks.md lists the classes under `Parts`"


def config_files(arguments: Sequence[str]) -> Iterator[Path]:
    """Yield the configuration files among command-line arguments."""
    for index, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in _OPTIONS and equals:
            yield Path(value)
        elif name in _OPTIONS and index + 1 < len(arguments):
            yield Path(arguments[index + 1])


def check_config_file(path: Path) -> None:
    """Make sure that a file is YAML with keys at its top.

    Raises:
        InputError: it is missing, unreadable, empty, not UTF-8 or not YAML.
    """
    try:
        content = yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(f"{place}: not YAML: {problem}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}: expected keys and values at the top, like trainer: and model:")


def shorten(message: str) -> str:
    """Return a message of jsonargparse, on one line, with the keys and the reasons only.

    Where an attack names a class that is not there, it ends with the place that lists them.
    """
    kept, value = [], ""
    for line in message.splitlines():
        text = line.strip().removeprefix("- ")
        if text.startswith("Given value:"):
            nested = _NESTED.search(text)
            given = f"{nested[1]}: {nested[2]}" if nested else text.removeprefix("Given value: ")
            value = given if len(given) <= _LONGEST_VALUE else value
        elif text and text != _NEITHER and not text.startswith(_HEADINGS):
            kept.append(text)
    reasons = _CLASS.sub(r"\1", _CHOICE.sub(r"one of \1", " ".join(dict.fromkeys(kept))))
    given_at_end = f"; got {value}" if value else ""
    return reasons + given_at_end + (_PARTS if _NO_SUCH_PART.search(reasons) else "")


def with_nearest(message: str, options: Iterable[str]) -> str:
    """Return a message, with the option that was meant where it refuses one that is spelled nearly
    so.
    """
    unknown = _UNKNOWN_OPTION.search(message)
    nearest = get_close_matches(unknown[1], options, n=1) if unknown else []
    return f"{message}; did you mean {nearest[0]}?" if nearest else message


def mistake_in(error: BaseException) -> str | None:
    """Return what the user did wrong, where an exception comes of that; None where it is a fault of
    ours.

    jsonargparse wraps what constructors raise, and Lightning checks some settings only when a run
    has begun.
    """
    cause: BaseException | None = error
    while cause is not None:
        # A class that was named may need a library that is not there.
        missing = isinstance(cause, ModuleNotFoundError) and cause is not error
        if missing or isinstance(cause, InputError | MisconfigurationException):
            return " ".join(str(cause).split())
        cause = cause.__cause__
    if isinstance(error, RuntimeError | ValueError) and _raised_by_lightning(error):
        return f"trainer: {' '.join(str(error).split())}"
    return None


def _raised_by_lightning(error: BaseException) -> bool:
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    name = "" if place is None else str(place.tb_frame.f_globals.get("__name__", ""))
    return name.startswith("pytorch_lightning.")
