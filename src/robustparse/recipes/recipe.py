"""A recipe: what an attack is made of, from the name of an installed one, a file or an object."""

import copy
import inspect
import json
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from jsonargparse import ArgumentError, ArgumentParser, Namespace

from robustparse import trust
from robustparse.attacks.attack import PACKING, Attack
from robustparse.errors import InputError
from robustparse.recipes.class_paths import check_objects, checked, refusal
from robustparse.recipes.mistakes import mistake_in, refused
from robustparse.recipes.yaml_files import read_yaml


class Recipe(NamedTuple):
    """What an attack was made of.

    Args:
        name: of the recipe's file without its ending, or of the search's class.
        settings: ``class_path`` and ``init_args``, plain values.
    """

    name: str
    settings: dict[str, Any]

    @classmethod
    def read(cls, name: str | Path) -> "Recipe":
        """Read an installed recipe by its bare name, or a file.

        Raises:
            InputError: there is none of this name, or it is no recipe.
        """
        _, given = checked(["--attack", str(name)])
        path = Path(given)
        options = _parsed(path)
        return cls(path.stem, _dumped(_parser(Attack), options))

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
    def of(cls, attack: Attack, kept: bool = True) -> "Recipe":
        """Describe an attack that was made in Python, by its name only unless its runs are kept.

        Raises:
            InputError: a part does not keep an argument as an attribute of the same name.
        """
        settings = _settings_of(attack) if kept else {"init_args": {}}
        return cls(type(attack.search).__name__.lower(), settings)

    def attack(self) -> Attack:
        """Make the attack."""
        attack: Attack = made(Attack, self.settings)
        return attack


def made(kind: type, settings: dict[str, Any]) -> Any:
    """Make an object of its class path and arguments, as the commands do.

    Raises:
        InputError: an argument is out of range, or the class needs a library that is not there.
    """
    parser = _parser(kind)
    try:
        # A copy: jsonargparse puts objects of its own into the lists that it is given.
        options = parser.parse_object({_option(kind): copy.deepcopy(settings)})
        found = parser.instantiate(options)
    except ValueError as error:
        if mistake := mistake_in(error):
            raise mistake from error
        raise
    return found[_option(kind)]


def check_recipe(arguments: Sequence[str]) -> None:
    """Say what is wrong with a recipe's file, which jsonargparse then reads as a class path."""
    for name, value in pairwise(arguments):
        if name == "--attack" and Path(value).is_file():
            _parsed(Path(value))


def _parsed(path: Path) -> Namespace:
    settings = read_yaml(path)
    if not isinstance(settings, dict):
        raise InputError(
            "holds no settings of an attack" if settings is None else "is no recipe",
            path=path,
            expected="a mapping with `candidates`, `search` and other parts of an attack",
            remedy="start from one of the recipes in configs/attack",
        )
    try:
        options: Namespace = _parser(Attack).parse_object({"attack": settings})
    except ArgumentError as error:
        raise refusal(str(error), (), path) or refused(str(error), path=path) from None
    check_objects(options, path)
    return options


def _parser(kind: type) -> ArgumentParser:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_argument(f"--{_option(kind)}", type=kind)
    return parser


def _dumped(parser: ArgumentParser, options: Namespace) -> dict[str, Any]:
    """Return the settings of ``--attack``, without those that are None by default."""
    dumped = json.loads(parser.dump(options, format="json", skip_none=False))
    settings: dict[str, Any] = _without_none(dumped["attack"])
    return settings


def _without_none(value: Any) -> Any:
    """Leave None out, except where it takes the place of an argument's default."""
    if isinstance(value, list):
        return [_without_none(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _without_none(one) for key, one in value.items() if one is not None}
    if isinstance(given := value.get("init_args"), dict) and "class_path" in value:
        room, _, name = value["class_path"].rpartition(".")
        parameters = inspect.signature(getattr(import_module(room), name)).parameters
        kept["init_args"] = {
            key: _without_none(one)
            for key, one in given.items()
            if one is not None or (key in parameters and parameters[key].default is not None)
        }
    return kept


def _option(kind: type) -> str:
    return kind.__name__.lower()


def _settings_of(part: object) -> Any:
    """Return plain values: ``class_path`` and ``init_args`` where an object is no plain value."""
    if isinstance(part, dict):
        return {str(key): _settings_of(value) for key, value in part.items()}
    if isinstance(part, list | tuple | set | frozenset):
        values = sorted(part) if isinstance(part, set | frozenset) else part
        return [_settings_of(value) for value in values]
    if part is None or isinstance(part, bool | int | float | str | PurePath):
        return str(part) if isinstance(part, PurePath) else part
    kind = type(part)
    path = f"{kind.__module__}.{kind.__qualname__}"
    public = trust.public_classes().get(kind.__name__, path) if _is_ours(kind) else path
    names = [name for name in inspect.signature(kind).parameters if name not in PACKING]
    if missing := [name for name in names if not hasattr(part, name)]:
        raise InputError(
            f"{public} keeps no attribute {missing[0]!r}, so that its runs cannot be told apart",
            key="attack",
            remedy="keep every argument as an attribute of its name, or leave out= out",
        )
    arguments = {name: _settings_of(getattr(part, name)) for name in names}
    return {"class_path": public, "init_args": arguments}


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == trust.PACKAGE
