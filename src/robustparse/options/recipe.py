"""A recipe: the class paths and arguments that make an attack, from a file or from an attack."""

import copy
import inspect
import json
import os
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from jsonargparse import ArgumentError, ArgumentParser, Namespace

from robustparse import trust
from robustparse.attacks.attack import Attack
from robustparse.errors import InputError
from robustparse.options.arguments import Arguments, check_objects, checked
from robustparse.options.failures import mistake_in, parsing_error
from robustparse.options.recipe_digests import located_class
from robustparse.options.tokens import YAML, each_option
from robustparse.options.yaml_files import read_yaml


class Recipe(NamedTuple):
    """The name and the settings of an attack.

    Args:
        name: the name of the recipe's file without its ending, or of the search's class.
        settings: ``class_path`` and ``init_args``, plain values.
    """

    name: str
    settings: dict[str, Any]

    @classmethod
    def read(cls, name: str | Path) -> "Recipe":
        """Read an installed recipe by its bare name, or a file.

        Raises:
            InputError: there is no such file, or it is not a recipe.
        """
        arguments = checked(["--attack", str(name)])
        options = _parsed(arguments, arguments[1])
        return cls(Path(arguments[1]).stem, _dumped(_parser(Attack), options))

    @classmethod
    def parsed(cls, parser: ArgumentParser, options: Namespace) -> "Recipe":
        """Take the recipe from the options of a parser that has ``--attack``."""
        settings = _dumped(parser, options)
        path = options.attack.get("__path__")
        if path is not None:
            return cls(Path(str(path)).stem, settings)
        search = str(options.attack.init_args.search.class_path).rpartition(".")[2]
        return cls(search.lower(), settings)

    @classmethod
    def of(cls, attack: Attack) -> "Recipe":
        """Return the recipe that made an attack, or describe an attack that was made in Python.

        Raises:
            InputError: see `described`.
        """
        return cls.described(attack) if attack.recipe is None else cls(*attack.recipe)

    @classmethod
    def described(cls, attack: Attack, kept: bool = True) -> "Recipe":
        """Describe an attack as it is now; by its name only unless its runs are kept.

        Raises:
            InputError: a part does not keep an argument as an attribute of the same name.
        """
        settings = _settings_of(attack) if kept else {"init_args": {}}
        return cls(type(attack.search).__name__.lower(), settings)

    def attack(self) -> Attack:
        """Make the attack, which keeps this recipe."""
        attack: Attack = make_object(Attack, self.settings)
        attack.recipe = self
        return attack


def make_object(kind: type, settings: dict[str, Any]) -> Any:
    """Make an object from its class path and arguments, as the commands do.

    Raises:
        InputError: an argument is out of range, or a library is not installed.
    """
    parser = _parser(kind)
    try:
        # A copy: jsonargparse puts objects of its own into the lists that it is given.
        options = parser.parse_object({_option(kind): copy.deepcopy(settings)})
        instances = parser.instantiate(options)
    except ValueError as error:
        if mistake := mistake_in(error):
            raise mistake from error
        raise
    return instances[_option(kind)]


def check_recipe(arguments: Arguments) -> None:
    """Raise what is wrong with a recipe's file, which jsonargparse would take for a class path."""
    for name, value, _ in each_option(arguments):
        if name == "--attack" and value is not None and os.path.isfile(value):  # noqa: PTH113
            _parsed(arguments, value)


def _parsed(arguments: Arguments, file: str) -> Namespace:
    settings = _with_inner_files(read_yaml(Path(file)), (Path(file).resolve(),))
    if not isinstance(settings, dict):
        raise InputError(
            "holds no settings of an attack" if settings is None else "not a recipe",
            path=file,
            expected="a mapping with `candidates`, `search` and other parts of an attack",
            remedy="start from an installed recipe: `robustparse copy pwws`",
        )
    try:
        options: Namespace = _parser(Attack).parse_object({"attack": settings})
    except ArgumentError as error:
        raise parsing_error(str(error), arguments) from None
    check_objects(options, arguments, Path(file))
    return options


def _with_inner_files(value: Any, above: tuple[Path, ...]) -> Any:
    """Put the objects that YAML files describe in the place of their names, as jsonargparse does.

    Args:
        value: settings.
        above: the file of the settings, after those that name it.
    """
    if isinstance(value, dict):
        return {key: _with_inner_files(item, above) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_inner_files(item, above) for item in value]
    if isinstance(value, str) and value.endswith(YAML):
        for path in (above[-1].parent / value, Path(value)):
            if os.path.isfile(path) and path.resolve() not in above:  # noqa: PTH113 - of any length
                content = read_yaml(path)
                items = content if isinstance(content, list) else [content]
                if all(isinstance(item, dict) and "class_path" in item for item in items):
                    return _with_inner_files(content, (*above, path.resolve()))
    return value


def _parser(kind: type) -> ArgumentParser:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_argument(f"--{_option(kind)}", type=kind)
    return parser


def _dumped(parser: ArgumentParser, options: Namespace) -> dict[str, Any]:
    """Return the settings of ``--attack``, without those that are None by default."""
    text = parser.dump(options, format="json", skip_unset=False, skip_validation=True)
    settings: dict[str, Any] = _without_none(json.loads(text)["attack"])
    return settings


def _without_none(value: Any) -> Any:
    """Leave None out, except where it takes the place of an argument's default."""
    if isinstance(value, list):
        return [_without_none(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(arguments := value.get("init_args"), dict) and "class_path" in value:
        room, _, name = value["class_path"].rpartition(".")
        parameters = inspect.signature(getattr(import_module(room), name)).parameters
        kept["init_args"] = {
            key: _without_none(item)
            for key, item in arguments.items()
            if item is not None or (key in parameters and parameters[key].default is not None)
        }
    return kept


def without_packing(value: Any) -> Any:
    """Leave out the arguments of objects that do not affect results (``PACKING``).

    Args:
        value: plain values; objects are described by ``class_path`` and ``init_args``.
    """
    if isinstance(value, list):
        return [without_packing(item) for item in value]
    if not isinstance(value, dict):
        return value
    left_out = getattr(located_class(str(value.get("class_path"))), "PACKING", ())
    arguments = value.get("init_args")
    if left_out and arguments is not None:
        kept = {key: item for key, item in arguments.items() if key not in left_out}
        value = {**value, "init_args": kept}
    return {key: without_packing(item) for key, item in value.items()}


def _option(kind: type) -> str:
    return kind.__name__.lower()


def _settings_of(value: object) -> Any:
    """Return plain values: ``class_path`` and ``init_args`` where an object is no plain value."""
    if isinstance(value, dict):
        return {str(key): _settings_of(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        values = sorted(value) if isinstance(value, set | frozenset) else value
        return [_settings_of(item) for item in values]
    if value is None or isinstance(value, bool | int | float | str | PurePath):
        return str(value) if isinstance(value, PurePath) else value
    kind = type(value)
    path = f"{kind.__module__}.{kind.__qualname__}"
    if path.partition(".")[0] == trust.PACKAGE:
        path = trust.public_classes().get(kind.__name__, path)
    left_out = getattr(kind, "PACKING", ())
    names = [name for name in inspect.signature(kind).parameters if name not in left_out]
    if missing := [name for name in names if not hasattr(value, name)]:
        raise InputError(
            f"{path} keeps no attribute {missing[0]!r}, so that its runs cannot be identified",
            key="attack",
            remedy="keep every argument as an attribute of its name, or leave out= out",
        )
    arguments = {name: _settings_of(getattr(value, name)) for name in names}
    return {"class_path": path, "init_args": arguments}
