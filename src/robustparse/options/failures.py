"""Turn what jsonargparse, Lightning and torch raise about a user's mistake into one message."""

import os
import re
from collections.abc import Collection, Sequence
from inspect import signature
from itertools import groupby
from pathlib import Path
from traceback import walk_tb
from types import FrameType

from jsonargparse import ArgumentParser
from pytorch_lightning.utilities.exceptions import (  # type: ignore[attr-defined]
    MisconfigurationException,
)

from robustparse import trust
from robustparse.errors import InputError, did_you_mean, reason
from robustparse.options.arguments import Arguments
from robustparse.options.installed import CONFIGS, names_in
from robustparse.options.tokens import YAML, each_option

_KEY = re.compile(r'Parser key "([^"]+)":')
_CLASS = re.compile(r"class_path '([^']+)'")
_DENIED = re.compile(r"Importing '([^']+)' is not allowed")
_ABSTRACT = re.compile(
    r"but (?:(\S+) )?is abstract(?:\. Got value: (\S+))?(?:.*Given value: (\S+))?", re.DOTALL
)
_UNKNOWN = re.compile(
    r"(?:[Uu]nrecognized arguments:|does not accept option|Option|import path string:) "
    r"'?(?:--)?([^'=\s]+)"
)
_NO_VALUE = re.compile(r"argument \S*?(--[\w.]+)\S*: expected one argument")
_NO_CLASS = re.compile(r"\(class path given previously\).*Given value: \{'init_args'", re.DOTALL)
# An option such as --trainer.callbacks.epsilon; if no class takes it, jsonargparse tries the base.
_ARGUMENT = re.compile(r"NestedArg\(key='([^']+)'")
_GROUP = re.compile(r"Group '([^']+)' does not accept option")
# What jsonargparse adds to every error about a union of types.
_COMMON = (
    *("Does not validate", "Subtypes:", "Errors:", "Given value type:", "Subclass types"),
    *("Expected a <class 'NoneType'>", "Expected a path but", "Given value: NestedArg("),
    *("Given value: [", "Given value: {", "Not a valid subclass", "a class path", "a dict"),
)
_LONGEST_LINE = 200  # a longer line repeats a whole recipe or model


def parsing_error(message: str, arguments: Arguments, options: Collection[str] = ()) -> InputError:
    """Return a message of jsonargparse as an error with the file, and a name that was meant.

    Args:
        message: the message.
        arguments: the arguments that were parsed.
        options: the names of the parser's options.
    """
    if option := _NO_VALUE.search(message):
        return _without_value(option[1], arguments)
    about = _Setting(message)
    file, line = about.position(arguments)
    if denied := _DENIED.search(message):
        typed = any(denied[1] in token for token in arguments.typed)
        argument = None if typed else _ARGUMENT.search(message)
        without_class = argument and _without_class(f"--{'.'.join(about.outer)}", argument[1])
        return without_class or _denied(denied[1], about.key, file, line)
    if about.is_class and about.name in trust.public_classes():
        kinds = _kinds_of(about.key, about.classes)
        expected = f"a class of the kind {kinds}" if kinds else None
        problem = f"{about.name} cannot be used here"
        return InputError(problem, path=file, line=line, key=about.key, expected=expected)
    known = about.known_names(options)
    near = None if about.is_word else did_you_mean(about.name, known, "--" if about.typed else "")
    remedy = near
    if about.key == "attack" and about.name in names_in(CONFIGS / "attack"):
        remedy = (
            f"a file names a recipe by its path; write --attack {about.name} on the command line"
        )
    if abstract := _ABSTRACT.search(message):
        remedy = _remedy_of_abstract(next(filter(None, abstract.groups()), ""), about.key)
    return InputError(
        _shown(message),
        path=file,
        line=line,
        key=about.key if about.outer or about.group else None,
        expected=f"one of {', '.join(known)}" if about.is_option and known and not near else None,
        remedy=remedy,
    )


class _Setting:
    """The setting that a message of jsonargparse is about.

    Attributes:
        outer: the keys of the message, the outermost first.
        classes: its class paths, the outermost first.
        typed: whether arguments of the command line are not known; messages about files differ.
        is_class: whether the name of a class is wrong.
        group: the options of a shared dataclass (`DeviceOptions`) that lack a name; often empty.
        is_option: whether the name of an option or setting is wrong.
        name: the wrong name; empty if a value is wrong.
        is_word: whether the name is an argument that does not look like an option, or is empty.
        key: the full key of the setting.
    """

    def __init__(self, message: str) -> None:
        self.outer = [key for key, _ in groupby(_KEY.findall(message))]  # it may name a key twice
        self.classes: list[str] = _CLASS.findall(message)
        self.typed = "nrecognized arguments:" in message
        group = _GROUP.search(message)
        self.group: str = group[1] if group else ""
        self.is_option = "Option '" in message or group is not None
        of_class = bool(self.classes) and self.is_option
        self.is_class = "import path string" in message and not of_class
        unknown = _UNKNOWN.search(message)
        self.name: str = unknown[1].removesuffix(".class_path") if unknown else ""
        self.is_word = not self.name or (self.typed and f"--{self.name}" not in message)
        inside = [*filter(None, [self.group]), self.name]
        full = [*self.outer, *inside] if unknown and self.is_option else self.outer or [self.name]
        self.key = ".".join(full)

    def position(self, arguments: Arguments) -> tuple[Path | str | None, int | None]:
        """Return its file and line; None and None if it was typed."""
        file, line = (None, None) if self.typed else arguments.position(self.key)
        if self.classes and file is not None and line is None:
            return arguments.classes.get(self.classes[-1].rpartition(".")[2], (file, None))
        return file, line

    def known_names(self, options: Collection[str]) -> list[str]:
        """Return the names that would be right: of settings, of classes or of options."""
        names = [*(trust.public_classes() if self.is_class else options)]
        if self.classes and self.is_option:
            names = _arguments_of(self.classes[-1])
        if self.group:
            names = [name for name in names if name.startswith(self.group)]
        return [name.removeprefix(f"{self.group}.") for name in names]


def _without_class(option: str, argument: str) -> InputError:
    """Return the error for an argument of a list's last class, which has none of this name."""
    key = f"{option}.{argument}"
    remedy = f"set it directly after the class, as in {option}+ CLASS {key} VALUE"
    return InputError("no class before it has such a setting", key=key, remedy=remedy)


def _without_value(option: str, arguments: Arguments) -> InputError:
    """Return the error for an option, or one of its settings, whose value is missing.

    It may also begin with a dash: then it was read as another option.
    """
    names = [
        name
        for name, value, _ in each_option(arguments)
        if f"{name}.".startswith(f"{option}.") and (value is None or value.startswith("-"))
    ]
    name = names[0] if names else option
    remedy = f"write {name}=VALUE, also if the value begins with a dash"
    return InputError("has no value", key=name, remedy=remedy)


def _kinds_of(key: str, classes: Sequence[str]) -> str:
    """Name the public classes in the type of a setting of the innermost of the classes."""
    full = trust.full_path(classes[-1]) if classes else None
    settings = {} if full is None else signature(trust.allowed_class(full)).parameters
    name = key.rpartition(".")[2]
    words = re.findall(r"\w+", str(settings[name].annotation)) if name in settings else []
    return " or ".join(word for word in words if word in trust.public_classes())


def _denied(name: str, key: str, file: Path | str | None, line: int | None) -> InputError:
    """Return the error for a class that may not be imported, or the name of a YAML file."""
    if name.endswith(YAML):
        return _misplaced_file(name, key, file, line)
    try:
        trust.check_class(name, path=file, line=line, key=key)
    except InputError as error:
        return error
    problem = f"{name} is named in a file whose name does not end in .yaml"
    return InputError(problem, path=file, line=line, key=key, remedy="rename the file")


def _misplaced_file(name: str, key: str, file: Path | str | None, line: int | None) -> InputError:
    """Return the error for a setting whose value is the name of a YAML file."""
    folders = [Path(), *([] if file is None else [Path(file).parent])]
    if not any(os.path.isfile(folder / name) for folder in folders):  # noqa: PTH113 - any length
        return InputError(f"{name}: no such file", path=file, line=line, key=key)
    problem, expected = f"the name of a file, {name}", "keys and values"
    remedy = "write the file's content here, or set its keys one by one"
    return InputError(problem, path=file, line=line, key=key, expected=expected, remedy=remedy)


def _remedy_of_abstract(class_path: str, key: str) -> str:
    full = trust.full_path(class_path)
    if full is None or full.startswith(f"{trust.PACKAGE}."):  # a base class, such as Search
        return f"name the class first, as in --{key} CLASS"
    methods: frozenset[str] = getattr(trust.allowed_class(full), "__abstractmethods__", frozenset())
    return f"define {', '.join(sorted(methods))}"


def _shown(message: str) -> str:
    """Return the lines of a message that say what is wrong, the innermost class among them."""
    lines = [text.strip().removeprefix("- ") for text in message.splitlines()]
    classes = [text for text in lines if text.startswith("Problem with given class_path")]
    shown = [
        text
        for text in lines
        if text
        and len(text) <= _LONGEST_LINE
        and not text.startswith(_COMMON)
        and not _KEY.match(text)
        and text not in classes[:-1]
    ]
    text = "; ".join(dict.fromkeys(shown)).replace(":; ", ": ")
    text = text.replace("Expected a <class 'list'>", "Expected a list, such as '[a, b]'")
    if not classes and _NO_CLASS.search(message):
        text += " there is no class_path above init_args, nor in an earlier file or option"
    elif not text or text.endswith(":"):
        text += " the value, or a part of it, is not of a type that the setting takes"
    return text.strip()


def _arguments_of(class_path: str) -> list[str]:
    """Name the arguments of a class, including those that it hands on to its bases."""
    full = trust.full_path(class_path)
    if full is None:
        return []
    parser = ArgumentParser()
    parser.add_class_arguments(trust.allowed_class(full), fail_untyped=False)
    return [*parser.get_defaults().keys()]


def mistake_in(error: BaseException) -> InputError | None:
    """Return the user's mistake that an exception comes from, or None for a fault of ours.

    jsonargparse wraps what constructors raise. Lightning and torch check some settings only when a
    run has begun.
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
                remedy="take another checkpoint, or start from its weights with --model.init_from",
            )
    last = modules[-1] if modules else ""
    if last.startswith("jsonargparse.") and isinstance(error, ValueError):
        return InputError(_shown(str(error)))
    made = _made(frames, modules)
    if made is not None:
        foreign = made.__module__.startswith(tuple(_SETTINGS))
        if isinstance(error, _FOREIGN if foreign else _ENVIRONMENT):
            return _unusable(made.__name__, error)
    keys = [key for library, key in _SETTINGS.items() if last.startswith(library)]
    return _unusable(keys[0], error) if keys and isinstance(error, _FOREIGN) else None


_LONGEST_REASON = 400
# What the environment of a program causes, and what a library says about its arguments.
_ENVIRONMENT = (ImportError, OSError, RuntimeError)
_FOREIGN = (*_ENVIRONMENT, ValueError, TypeError, ArithmeticError, LookupError, AssertionError)
# The settings that an error in a library is about: its code runs for these settings only.
_SETTINGS = {
    "torch.optim.": "optimizer, lr_scheduler",
    "pytorch_lightning.": "trainer",
    "lightning_fabric.": "trainer",
}


def _made(frames: Sequence[FrameType], modules: Sequence[str]) -> type | None:
    """Return the class whose constructor, called by jsonargparse, raised an error."""
    callers = [at for at, name in enumerate(modules) if name.startswith("jsonargparse.")]
    for frame in frames[callers[-1] + 1 :] if callers else ():
        if frame.f_code.co_name in ("__init__", "__new__", "__post_init__"):
            made = frame.f_locals.get("self", frame.f_locals.get("cls"))
            return made if isinstance(made, type) else type(made)
    return None


def _unusable(key: str, error: BaseException) -> InputError:
    """Return an error with a setting, what its library says, and how to get what is missing."""
    remedy = None
    if isinstance(error, ModuleNotFoundError) and error.name:
        remedy = f"run `pip install {error.name.partition('.')[0]}`, or leave the setting out"
    path = str(error.filename) if isinstance(error, OSError) and error.filename else None
    return InputError(reason(error, _LONGEST_REASON), path=path, key=key, remedy=remedy)
