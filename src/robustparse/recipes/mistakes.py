"""What jsonargparse, Lightning and constructors say of a user's mistake, as one message."""

import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from traceback import walk_tb
from types import FrameType
from typing import Any, NamedTuple

from jsonargparse import ArgumentParser
from pytorch_lightning.utilities.exceptions import (  # type: ignore[attr-defined]
    MisconfigurationException,
)

from robustparse import trust
from robustparse.errors import InputError, reason

# What jsonargparse says of every union of types, in addition to what is wrong.
_HEADINGS = ("Does not validate", "Subtypes:", "Errors:", "Given value type:", "Subclass types")
_NEITHER = "Expected a <class 'NoneType'>"
_KEY = re.compile(r'Parser key "([^"]+)":')
_CLASS = re.compile(r"Problem with given class_path '([^']+)':")
_NO_OPTION = re.compile(r"Option '([^']+)' is not accepted")
_NO_CLASS = re.compile(r"Expected a dot import path string: (\S+)")
_ABSTRACT = re.compile(
    r"Expected an instantiatable class, but (?:(\S+) )?is abstract(?:\. Got value: (\S+))?"
)
_OTHER_BASE = re.compile(r"Import path (\S+) does not correspond to a subclass of (\S+)")
_NO_FILE = re.compile(r"Expected a path but .+ either not accessible or invalid")
_MISSING = re.compile(r"the following arguments are required: (\S.*)")
_VALUE = re.compile(r"Given value: (?:NestedArg\(key='[^']*', val=)?(.+?)\)?")
_LITERAL = re.compile(r"(?:typing\.)?Literal\[(.+)\]")
_UNKNOWN = re.compile(r"(?:unrecognized arguments:|does not accept option) '?(?:--)?([^'=\s]+)")
_EXPECTED = "expected "
_NO_VALUE = re.compile(r"argument --([^:/]+).*: expected (?:at least )?one argument")
_LONGEST_VALUE = 100


def refused(
    message: str,
    arguments: Sequence[str] = (),
    options: Collection[str] = (),
    path: Path | None = None,
) -> InputError:
    """Return a message of jsonargparse as an error that names the option as it was typed.

    Args:
        message: of a parser.
        arguments: of the command line; where the option is not one of them a file has it.
        options: that there are, without ``--``; another argument that is missing is positional.
        path: a recipe's file, which the message is about.
    """
    if unknown := _UNKNOWN.search(message):
        key = unknown[1]
        reason = _Reason("no such option", None, get_close_matches(key, [*options], n=1))
    elif bare_option := _NO_VALUE.search(message):
        key, reason = bare_option[1], _Reason("needs a value")
    else:
        key, reason = _reason(message)
    if reason is _MISSING_OPTIONS:
        command = f"{next(iter(arguments), '')}."
        lacking = [name.removeprefix(command) for name in key.split(", ")]
        shown = (f"--{name}" if name in options else name.upper() for name in lacking)
        return InputError(reason.found, key=", ".join(shown))
    bare = key.replace(".init_args", "")
    names = (token.partition("=")[0] for token in arguments if token.startswith("--"))
    typed = [name for name in names if name[2:].rstrip("+").replace(".init_args", "") == bare]
    dashes = "--" if typed and unknown else ""
    return InputError(
        reason.found,
        key=typed[-1] if typed else key.removeprefix("attack.") if path else key or None,
        path=path or (None if typed else files_of(arguments)),
        expected=reason.expected,
        remedy=f"did you mean {dashes}{reason.nearest[0]}?" if reason.nearest else None,
    )


def _reason(message: str) -> "tuple[str, _Reason]":
    """Return the key that a message is about, and what is wrong with its value."""
    key, kind, value = "", "", ""
    said: list[str] = []
    for line in message.splitlines():
        text = line.strip().removeprefix("- ")
        if found := _KEY.fullmatch(text):
            key = _within(key, kind, found[1])
        elif found := _CLASS.fullmatch(text):
            kind = found[1]
        elif found := _VALUE.fullmatch(text):
            value = value or found[1]
        elif text and not text.startswith((*_HEADINGS, _NEITHER)) and not _NO_FILE.match(text):
            text, _, got = text.partition(". Got value: ")
            value = got or value
            said.append(text)
            if found := _NO_OPTION.fullmatch(text) or _MISSING.fullmatch(text):
                key = _within(key, kind, found[1])
    return key, _of_class(" ".join(said), kind, value) or _of_value(said, value)


class _Reason(NamedTuple):
    """What is wrong with a value, what is expected, and names near the one that was given."""

    found: str
    expected: str | None = None
    nearest: Sequence[str] = ()


_MISSING_OPTIONS = _Reason("missing")


def _of_class(said: str, kind: str, value: str) -> _Reason | None:
    """Say what is wrong with a class or its arguments, if that is what was said."""
    name = kind.rpartition(".")[2]
    if found := _NO_OPTION.search(said):
        there = _arguments_of(kind)
        nearest = get_close_matches(found[1], there, n=1)
        expected = None if nearest else f"one of {', '.join(there)}" if there else "none"
        return _Reason(f"no argument of {name}", expected, nearest)
    if _MISSING.search(said):
        return _Reason(f"missing; {name} needs it") if name else _MISSING_OPTIONS
    if found := _ABSTRACT.search(said):
        given = found[1] or value
        base = given.rpartition(".")[2]
        if given.startswith("robustparse.") and base in trust.public_classes():
            derived = "a class that derives from it, or a file with one, before its arguments"
            return _Reason(f"{base} is a base class", derived)
        methods = ", ".join(sorted(_class(given).__abstractmethods__))
        return _Reason(f"{given} cannot be used", f"that it defines {methods}")
    if found := _OTHER_BASE.search(said):
        base = re.sub(r"\W+$", "", found[2]).rpartition(".")[2]
        return _Reason(f"got {found[1]}", f"a class that derives from {base}")
    if found := _NO_CLASS.search(said):
        public = trust.public_classes()
        if found[1] in public:
            return _Reason(f"{found[1]!r} is a class of another kind")
        nearest = get_close_matches(found[1], public, n=1)
        return _Reason(f"{found[1]!r} is neither a class nor a file", None, nearest)
    return None


def _of_value(said: Sequence[str], value: str) -> _Reason:
    """Say what type or choice a value is not."""
    reasons = list(dict.fromkeys(map(_plain, said)))
    if not all(reason.startswith(_EXPECTED) for reason in reasons):
        return _Reason(" or ".join(reasons))
    shown = f"got {value}" if 0 < len(value) <= _LONGEST_VALUE else "cannot be used"
    return _Reason(shown, " or ".join(reason.removeprefix(_EXPECTED) for reason in reasons))


def _class(class_path: str) -> Any:
    module, _, name = class_path.rpartition(".")
    return getattr(import_module(module), name)


def _arguments_of(class_path: str) -> list[str]:
    """Name the arguments of a class, and of its base classes where it hands arguments on."""
    parser = ArgumentParser()
    parser.add_class_arguments(_class(class_path), fail_untyped=False)
    return [*vars(parser.get_defaults())]


def _within(outer: str, kind: str, key: str) -> str:
    """Return the key of an argument of a class; the command line knows the class of an attack."""
    inner = "" if kind.endswith(".Attack") else "init_args."
    if outer.endswith(f".{inner}{key}"):  # jsonargparse has said all of it
        return outer
    return f"{outer}.{inner}{key}" if outer and kind else key


def _plain(reason: str) -> str:
    """Return what jsonargparse expected in plain words."""
    text = re.sub(r"<class '(?:[\w.]*\.)?(\w+)'>", r"\1", reason)
    text = re.sub(r"^Expected (an? )?", _EXPECTED, text)
    return _LITERAL.sub(lambda found: f"one of {found[1].replace(chr(39), '')}", text)


def files_of(arguments: Sequence[str]) -> str | None:
    """Name the configuration files of a command."""
    pairs = pairwise([part for token in arguments for part in token.split("=", 1)])
    return " ".join(value for name, value in pairs if name in ("-c", "--config")) or None


def mistake_in(error: BaseException) -> InputError | None:
    """Return what the user did wrong, where an exception comes of that; None where it is our fault.

    jsonargparse wraps what constructors raise, and Lightning and torch check some settings only
    when a run has begun.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, InputError):
            return cause
        # A class that was named may need a library that is not installed.
        missing = isinstance(cause, ModuleNotFoundError) and cause is not error
        if missing or isinstance(cause, MisconfigurationException):
            return InputError(reason(cause, _LONGEST_REASON))
        cause = cause.__cause__
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    modules = [str(frame.f_globals.get("__name__", "")) for frame in frames]
    for frame, module in zip(frames, modules, strict=True):
        restores = frame.f_code.co_name.startswith(("restore", "resume"))
        if restores and module.endswith(".connectors.checkpoint_connector"):
            return InputError(
                f"does not hold the state of such a run ({type(error).__name__}: {reason(error)})",
                path=frame.f_locals["self"].trainer.ckpt_path,
                remedy="take another checkpoint, or start from its weights with "
                "--model.init_args.init_from",
            )
    if modules and modules[-1].startswith("jsonargparse.") and isinstance(error, ValueError):
        return refused(str(error))
    made = _made(frames, modules)
    if made is not None and isinstance(error, _errors_of(made)):
        return _cannot_be_used(made.__name__, error)
    for library, key in _SETTINGS.items():
        if modules and modules[-1].startswith(library) and isinstance(error, _FOREIGN):
            return _cannot_be_used(key, error)
    return None


_LONGEST_REASON = 400
# What the environment of a program refuses, and what a library says of its arguments.
_REFUSED = (ImportError, OSError, RuntimeError)
_FOREIGN = (*_REFUSED, ValueError, TypeError, ArithmeticError, LookupError, AssertionError)
# Whose errors are about which settings: none of their code runs unless these ask for it.
_SETTINGS = {
    "torch.optim.": "optimizer, lr_scheduler",
    "pytorch_lightning.": "trainer",
    "lightning_fabric.": "trainer",
}


def _made(frames: Sequence[FrameType], modules: Sequence[str]) -> type | None:
    """Return the class whose constructor, called for a configuration, raised an error."""
    last = max(
        (i for i, name in enumerate(modules) if name.startswith("jsonargparse.")), default=-1
    )
    for frame in frames[last + 1 :] if last >= 0 else ():
        if frame.f_code.co_name in ("__init__", "__new__", "__post_init__"):
            made = frame.f_locals.get("self", frame.f_locals.get("cls"))
            return made if isinstance(made, type) else type(made)
    return None


def _errors_of(made: type) -> tuple[type[Exception], ...]:
    """Return the errors of a class that are not faults in its code."""
    return _FOREIGN if made.__module__.startswith(tuple(_SETTINGS)) else _REFUSED


def _cannot_be_used(key: str, error: BaseException) -> InputError:
    """Name a setting or class and what its library says; say how to get what is missing."""
    remedy = None
    if isinstance(error, ModuleNotFoundError) and error.name:
        remedy = f"run `pip install {error.name.partition('.')[0]}`, or leave the setting out"
    path = str(error.filename) if isinstance(error, OSError) and error.filename else None
    return InputError(reason(error, _LONGEST_REASON), path=path, key=key, remedy=remedy)
