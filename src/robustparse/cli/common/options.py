"""The options of a command are the parameters of its function; a mistake is one message."""

import json
from collections.abc import Callable, Collection, Sequence
from inspect import signature
from typing import Any

from jsonargparse import ArgumentError, ArgumentParser, Namespace

from robustparse import trust
from robustparse.cli.common.operations import with_operations
from robustparse.recipes.class_paths import check_objects, checked, refusal
from robustparse.recipes.mistakes import mistake_in, refused
from robustparse.recipes.recipe import Recipe, check_recipe

# Options that take several values.
_SEVERAL = ("--checkpoint", "--compare")
# Parameters that are no options of their own.
_NO_OPTIONS = ("recipe", "victim_settings")


def run_command(
    function: Callable[..., Any],
    arguments: Sequence[str],
    name: str | None = None,
    positional: dict[str, str] | None = None,
) -> None:
    """Parse the options of a command and call its function.

    Args:
        function: the command; its parameter ``recipe``, if any, gets what the attack is made of,
            and ``victim_settings`` what the victim is.
        arguments: of the command line.
        name: of the command, if it is not the function's.
        positional: help of the parameters that are given without an option's name; one that is a
            list takes what is left.

    Raises:
        InputError: names the option or the key of a file that cannot be used.
    """
    parser = _parser_of(function, name or function.__name__, positional or {})
    arguments = checked(with_operations(arguments))
    for option in _SEVERAL:
        arguments = _listed(arguments, option)
    options = _parsed(parser, arguments, positional or {})
    given: dict[str, Any] = {}
    if options.get("attack") is not None:
        given["recipe"] = Recipe.parsed(parser, options)
    if options.get("victim") is not None:
        given["victim_settings"] = json.loads(parser.dump(options, format="json"))["victim"]
    function(**_instantiated(parser, options), **given)


def _parser_of(
    function: Callable[..., Any], name: str, positional: dict[str, str]
) -> ArgumentParser:
    summary = (function.__doc__ or "").strip().split("\n\n")[0]
    parser = ArgumentParser(
        prog=f"robustparse {name}", description=summary, exit_on_error=False, allow_abbrev=False
    )
    parser.add_argument("--config", action="config", help="a YAML file with any of the options")
    parser.add_argument(
        trust.OPTION,
        metavar="NAME",
        help="allow recipes and checkpoints to name classes of this module, which may be in the "
        "current folder, or to run this program, or with `commands` all programs; repeat it, or "
        "separate names by commas",
    )
    several = {each for each in positional if function.__annotations__[each] is not str}
    optional = {each for each in several if signature(function).parameters[each].default == ()}
    for each, text in positional.items():
        any_number = "*" if each in optional else "+"
        parser.add_argument(each, help=text, nargs=any_number if each in several else None)
    skip: set[str | int] = {*positional, *_NO_OPTIONS}
    parser.add_function_arguments(function, sub_configs=True, skip=skip, fail_untyped=False)
    return parser


def _parsed(
    parser: ArgumentParser, arguments: Sequence[str], positional: Collection[str]
) -> Namespace:
    try:
        options: Namespace = parser.parse_args(list(arguments))
    except ArgumentError as error:
        check_recipe(arguments)
        denied = refusal(str(error), arguments)
        options_there = {*vars(parser.get_defaults())} - {*positional}
        raise denied or refused(str(error), arguments, options_there) from None
    check_objects(options)
    return options


def _instantiated(parser: ArgumentParser, options: Namespace) -> dict[str, Any]:
    try:
        arguments: dict[str, Any] = parser.instantiate(options).as_dict()
    except Exception as error:
        if mistake := mistake_in(error):
            raise mistake from error
        raise
    return {key: arguments[key] for key in arguments if key not in ("config", "trust")}


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
