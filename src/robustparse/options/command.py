"""Call a command's function with its options; the options are the function's parameters.

A parameter whose type is a dataclass stands for several options, one for each field.
"""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, is_dataclass
from inspect import signature
from typing import Any, TypeVar, get_type_hints

from jsonargparse import ArgumentError, ArgumentParser, Namespace

from robustparse import trust
from robustparse.attacks.attack import Attack
from robustparse.options.arguments import Arguments, check_nulls, check_objects
from robustparse.options.failures import mistake_in, parsing_error
from robustparse.options.home_folder import TEXTS, with_home
from robustparse.options.recipe import Recipe, check_recipe

T = TypeVar("T")


@dataclass(frozen=True)
class ParsedCommand:
    """A command whose options are checked, and whose objects are not made yet.

    Args:
        function: the function of the command.
        parser: its parser.
        options: what it has parsed.
    """

    function: Callable[..., Any]
    parser: ArgumentParser
    options: Namespace

    def run(self) -> None:
        """Make the objects, and call the function.

        Raises:
            InputError: see `values`, and the function.
        """
        self.function(**self.values())

    def values(self) -> dict[str, Any]:
        """Make the objects, and return the arguments of the function.

        An `Attack` among them keeps its recipe, and a `BlackBox` what it was made from.

        Raises:
            InputError: an object cannot be made.
        """
        try:
            values: dict[str, Any] = self.parser.instantiate(self.options).as_dict()
        except Exception as error:
            if mistake := mistake_in(error):
                raise mistake from error
            raise
        if isinstance(values.get("attack"), Attack):
            values["attack"].recipe = Recipe.parsed(self.parser, self.options)
        if values.get("victim") is not None:
            values["victim"].made_from = self.plain_values()["victim"]
        for each, kind in _groups(self.function).items():
            values[each] = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
        return {each: values[each] for each in signature(self.function).parameters}

    def group(self, kind: type[T]) -> T:
        """Return a group of plain options."""
        return kind(**{each.name: self.options[each.name] for each in fields(kind)})  # type: ignore[arg-type]

    def plain_values(self) -> dict[str, Any]:
        """Return the options as plain values; objects as class paths and arguments."""
        plain: dict[str, Any] = json.loads(self.parser.dump(self.options, format="json"))
        return plain


def parsed_command(
    function: Callable[..., Any],
    arguments: Arguments,
    name: str,
    positional: Collection[str] = (),
) -> ParsedCommand:
    """Parse and check the options of a command.

    Args:
        function: the function of the command.
        arguments: the checked arguments of the command line.
        name: the command's name.
        positional: the positional parameters; a list takes all remaining arguments.

    Raises:
        InputError: names the option or the key of a file that cannot be used.
    """
    parser = command_parser(function, name, positional)
    try:
        options: Namespace = parser.parse_args(arguments)
    except ArgumentError as error:
        check_recipe(arguments)
        known = {*vars(parser.get_defaults())} - {*positional}
        raise parsing_error(str(error), arguments, known) from None
    check_objects(options, arguments)
    groups, given = _groups(function), options.as_dict()
    for kind in groups.values():
        check_nulls(kind, given, "", arguments)
    others = {each: value for each, value in given.items() if each not in groups}
    check_nulls(function, others, "", arguments)
    for each, value in vars(options).items():
        if each not in TEXTS and not isinstance(value, Namespace):  # records of objects keep ~
            options[each] = with_home(value)
    return ParsedCommand(function, parser, options)


def command_parser(
    function: Callable[..., Any], name: str, positional: Collection[str]
) -> ArgumentParser:
    """Return the parser of a command; see `parsed_command`."""
    summary = (function.__doc__ or "").strip().split("\n\n")[0]
    parser = ArgumentParser(
        prog=f"robustparse {name}", description=summary, exit_on_error=False, allow_abbrev=False
    )
    if "fit" in positional:  # whose options the command does not parse itself
        parser.add_argument("--config", help="a configuration, as for fit; repeat it for several")
    else:
        text = "a YAML file with any of the options"
        parser.add_argument("--config", action="config", help=text)
    parser.add_argument(trust.OPTION, metavar="NAME", help=trust.HELP)
    parameters = signature(function).parameters
    helps = _helps(function, positional) if positional else {}
    for each in positional:
        parameter = parameters[each]
        several = "*" if parameter.default == () else "+"
        number = None if parameter.annotation is str else several
        parser.add_argument(each, help=helps[each], nargs=number)
    groups = _groups(function)
    for kind in groups.values():
        parser.add_class_arguments(kind, sub_configs=True, fail_untyped=False)
    skip: set[str | int] = {*positional, *groups}
    parser.add_function_arguments(function, sub_configs=True, skip=skip, fail_untyped=False)
    return parser


def _helps(function: Callable[..., Any], names: Collection[str]) -> dict[str, str | None]:
    """Return what the docstring of a function says of some parameters."""
    described = ArgumentParser()
    skipped: set[str | int] = {each for each in signature(function).parameters if each not in names}
    described.add_function_arguments(function, skip=skipped, fail_untyped=False)
    return {action.dest: action.help for action in described._actions}


def _groups(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the dataclasses among the types of a function's parameters."""
    hints = get_type_hints(function)
    return {each: kind for each, kind in hints.items() if is_dataclass(kind)}
