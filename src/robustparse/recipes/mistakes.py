"""What jsonargparse, Lightning and constructors say of a user's mistake, as one message."""

import re

from pytorch_lightning.utilities.exceptions import (  # type: ignore[attr-defined]
    MisconfigurationException,
)

from robustparse.errors import InputError

# What jsonargparse says of every union of types, in addition to what is wrong.
_HEADINGS = ("Does not validate", "Subtypes:", "Errors:", "Given value type:", "Subclass types")
_NEITHER = "Expected a <class 'NoneType'>"
_VALUE = "Given value: "
_NESTED = "NestedArg(key='"
_LONGEST_VALUE = 100
_KEY = re.compile(r'Parser key "([^"]+)"')
_MISSING = re.compile(r"class_path '([^']+)':\s+the following arguments are required: (.+)")


def shorten(message: str) -> str:
    """Return a message of jsonargparse on one line, with the keys and the reasons only."""
    if missing := _MISSING.search(message):
        keys = [*_KEY.findall(message[: missing.start()]), missing[2].strip()]
        return f"{'.'.join(keys)}: missing; {missing[1]} needs it"
    kept, value = [], ""
    for line in message.splitlines():
        text = line.strip().removeprefix("- ")
        if text.startswith(_VALUE):
            given = text.removeprefix(_VALUE)
            if given.startswith(_NESTED):
                given = given.removeprefix(_NESTED).removesuffix(")").replace("', val=", ": ", 1)
            value = given if len(given) <= _LONGEST_VALUE else value
        elif text and text != _NEITHER and not text.startswith(_HEADINGS):
            kept.append(text)
    reasons = " ".join(dict.fromkeys(kept))
    for typing, plain in (("a typing.Literal[", "one of ["), ("a <class '", "")):
        reasons = reasons.replace(typing, plain)
    return reasons.replace("'>", "") + (f"; got {value}" if value else "")


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
