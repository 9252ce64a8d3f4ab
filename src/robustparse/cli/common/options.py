"""The options of a command are the parameters of its function; a mistake is one message."""

import json
from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from jsonargparse import ArgumentError, ArgumentParser, Namespace
from pytorch_lightning.utilities.exceptions import (  # type: ignore[attr-defined]
    MisconfigurationException,
)

from robustparse import trust
from robustparse.attacks.attack import Attack
from robustparse.cli.common.class_paths import checked, refusal
from robustparse.cli.common.operations import with_operations
from robustparse.cli.common.yaml_files import read_yaml
from robustparse.errors import InputError

_UNKNOWN = "unrecognized arguments: "
# What jsonargparse says of every union of types, in addition to what is wrong.
_HEADINGS = ("Does not validate", "Subtypes:", "Errors:", "Given value type:", "Subclass types")
_NEITHER = "Expected a <class 'NoneType'>"
_VALUE = "Given value: "
_NESTED = "NestedArg(key='"
_LONGEST_VALUE = 100
_NO_OPTIONS = ("recipe", "split", "unit", "check")  # parameters that callers in Python give


class Recipe(NamedTuple):
    """What an attack was made of.

    Args:
        name: of the recipe's file without its ending, or of the search's class.
        settings: ``class_path`` and ``init_args``, plain values.
    """

    name: str
    settings: dict[str, Any]

    def attack(self) -> Attack:
        """Make the attack again, as in another process."""
        parser = _attack_parser()
        made = parser.instantiate(parser.parse_object({"attack": self.settings}))
        attack: Attack = made.attack
        return attack


def run_command(
    function: Callable[..., Any],
    arguments: Sequence[str],
    name: str | None = None,
    positional: dict[str, str] | None = None,
) -> None:
    """Parse the options of a command and call its function.

    Args:
        function: the command; its parameter ``recipe``, if any, gets the attack's.
        arguments: of the command line.
        name: of the command, if it is not the function's.
        positional: help of the parameters that are given without an option's name; one that is a
            list takes what is left.

    Raises:
        InputError: names the option or the key of a file that cannot be used.
    """
    parser = _parser_of(function, name or function.__name__, positional or {})
    arguments = _listed(checked(with_operations(arguments)), "--checkpoint")
    options = _parsed(parser, arguments)
    given = {}
    if options.get("attack") is not None:
        given["recipe"] = _recipe(parser, options)
    function(**_instantiated(parser, options), **given)


def _parser_of(
    function: Callable[..., Any], name: str, positional: dict[str, str]
) -> ArgumentParser:
    summary = (function.__doc__ or "").strip().split("\n\n")[0]
    parser = ArgumentParser(prog=f"robustparse {name}", description=summary, exit_on_error=False)
    parser.add_argument("--config", action="config", help="a YAML file with any of the options")
    parser.add_argument(
        trust.OPTION,
        metavar="MODULE",
        help="allow recipes and checkpoints to name classes of this module, which may stand in the "
        "current folder; repeat it, or separate names by commas",
    )
    several = {each for each in positional if function.__annotations__[each] == list[str]}
    for each, text in positional.items():
        parser.add_argument(each, help=text, nargs="+" if each in several else None)
    skip: set[str | int] = {*positional, *_NO_OPTIONS}
    parser.add_function_arguments(function, sub_configs=True, skip=skip, fail_untyped=False)
    return parser


def _parsed(parser: ArgumentParser, arguments: Sequence[str]) -> Namespace:
    try:
        options: Namespace = parser.parse_args(list(arguments))
    except ArgumentError as error:
        _check_recipe(arguments)
        if (refused := refusal(str(error), arguments)) is not None:
            raise refused from None
        known = [f"--{name}" for name in vars(parser.get_defaults())]
        raise InputError(
            _with_nearest(shorten(str(error)), known), path=files_of(arguments)
        ) from None
    return options


def _instantiated(parser: ArgumentParser, options: Namespace) -> dict[str, Any]:
    try:
        arguments: dict[str, Any] = parser.instantiate(options).as_dict()
    except ValueError as error:
        if mistake := mistake_in(error):
            raise mistake from error
        raise
    return {key: arguments[key] for key in arguments if key not in ("config", "trust")}


def _recipe(parser: ArgumentParser, options: Namespace) -> Recipe:
    settings = json.loads(parser.dump(options, format="json"))["attack"]
    path = options.attack.get("__path__")
    if path is not None:
        return Recipe(Path(str(path)).stem, settings)
    search = str(options.attack.init_args.search.class_path).rpartition(".")[2]
    return Recipe(search.lower(), settings)


def _check_recipe(arguments: Sequence[str]) -> None:
    """Say what is wrong with a recipe's file, which jsonargparse then reads as a class path."""
    for name, value in pairwise(arguments):
        path = Path(value)
        if name == "--attack" and path.is_file():
            try:
                _attack_parser().parse_object({"attack": read_yaml(path)})
            except ArgumentError as error:
                if (refused := refusal(str(error), (), path)) is not None:
                    raise refused from None
                raise InputError(shorten(str(error)), path=path) from None


def _attack_parser() -> ArgumentParser:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_argument("--attack", type=Attack)
    return parser


def files_of(arguments: Sequence[str]) -> str | None:
    """Name the configuration files of a command."""
    pairs = pairwise(arguments)
    return " ".join(value for name, value in pairs if name in ("-c", "--config")) or None


def _listed(arguments: Sequence[str], option: str) -> list[str]:
    """Return arguments with all values of an option, also where it is repeated, as one list."""
    kept: list[str] = []
    values: list[str] = []
    taking = False
    for token in arguments:
        name, equals, value = token.partition("=")
        if token.startswith("--"):
            taking = name == option
        if not taking:
            kept.append(token)
        elif not token.startswith("--"):
            values.append(token)
        elif equals:
            values.append(value)
    if not values:
        return [*arguments]
    return [*kept, f"{option}={values[0] if len(values) == 1 else json.dumps(values)}"]


def _with_nearest(message: str, options: Collection[str]) -> str:
    """Add the option that was probably meant, where a message refuses one."""
    unknown = message.partition(_UNKNOWN)[2].partition("=")[0].split()
    nearest = get_close_matches(unknown[0], options, n=1) if unknown else []
    return f"{message}; did you mean {nearest[0]}?" if nearest else message


def shorten(message: str) -> str:
    """Return a message of jsonargparse on one line, with the keys and the reasons only."""
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
