"""The options of a command line, and their rewriting for the parser.

`rewritten` writes short forms in full, names files by their paths and puts them first, and joins
the values of an option that takes several.
"""

import json
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import yaml

from robustparse import trust
from robustparse.errors import InputError, did_you_mean
from robustparse.files.reading import read_text
from robustparse.options.home_folder import tokens_with_home
from robustparse.options.installed import CONFIGS, names_in
from robustparse.options.yaml_files import NotYAMLError, parse_yaml, read_yaml

# Options that take a YAML file, by its path or its installed name, and the folder of these names.
FILES = {"--config": CONFIGS, "-c": CONFIGS, "--attack": CONFIGS / "attack"}
TAKE_SEVERAL = ("--checkpoint", "--compare")  # options that take several values in every command
YAML = (".yaml", ".yml")
_SWITCHES = ("--same_tag", "--symmetric", "--interactive")  # options that need no value
_HUGGING_FACE = "hf:"  # before the folder or name of a model that is a victim


def each_option(arguments: Sequence[str]) -> Iterator[tuple[str, str | None, list[str]]]:
    """Yield name, value and tokens of every option; a positional argument has an empty name."""
    index = 0
    while index < len(arguments):
        name, equals, value = arguments[index].partition("=")
        follows = index + 1 < len(arguments) and not arguments[index + 1].startswith("--")
        if not name.startswith("-"):
            yield "", arguments[index], [arguments[index]]
        elif name[2:] and name[1] != "-":  # as in -cFILE
            yield name[:2], arguments[index][2:], [arguments[index]]
        elif equals:
            yield name, value, [arguments[index]]
        elif follows:
            yield name, arguments[index + 1], list(arguments[index : index + 2])
            index += 1
        else:
            yield name, None, [name]
        index += 1


def plain_key(key: str) -> str:
    """Return a key or an option's name without ``--``, ``+`` and ``init_args``."""
    return key.removeprefix("--").rstrip("+").replace(".init_args", "")


def rewritten(arguments: Sequence[str], several: Collection[str] = ()) -> list[str]:
    """Return the arguments as the parser needs them; ``--trust`` takes effect and is left out.

    Args:
        arguments: the arguments of the command line.
        several: options that take several values, besides those that do so in every command.

    Raises:
        InputError: a file is missing, ``--trust`` names nothing, or ``--victim`` cannot be used.
    """
    if names := os.environ.get(trust.VARIABLE):
        trust.trust(names.split(","), trust.VARIABLE)
    tokens = _with_paths(_in_full(tokens_with_home(arguments)), several)
    return _with_lists(tokens, (*TAKE_SEVERAL, *several))


def _in_full(arguments: Sequence[str]) -> list[str]:
    """Write switches and ``--victim hf:MODEL`` in full; let ``--trust`` take effect."""
    kept: list[str] = []
    has_victim = False
    for name, value, tokens in each_option(arguments):
        if name == trust.OPTION:
            if value is None:
                raise InputError("names no module", key=trust.OPTION, expected="my_package")
            trust.trust(value.split(","))
        elif name == "--victim" and value is not None:
            if has_victim:
                raise InputError("given twice", key="--victim", remedy="give one in each run")
            has_victim = True
            kept += _victim(value)
        else:
            kept += [f"{name}=true"] if name in _SWITCHES and value is None else tokens
    return kept


def _victim(value: str) -> list[str]:
    """Return the options of a victim."""
    if value.startswith(_HUGGING_FACE):
        model = value.removeprefix(_HUGGING_FACE)
        kind = f"{trust.PACKAGE}.victims.HuggingFaceClassifier"
        return ["--victim", kind, f"--victim.model={model}"]
    if trust.full_path(value) is None and os.path.isdir(value):  # noqa: PTH112 - of any length
        expected = f"{_HUGGING_FACE}{value}, or the name of a class"
        raise InputError(f"{value} is a folder", key="--victim", expected=expected)
    return ["--victim", value]


def _with_paths(arguments: Sequence[str], several: Collection[str]) -> list[str]:
    """Name files by their paths, and before all other options, which replace values of files.

    A file that describes an object, such as a recipe, replaces the whole object of earlier files
    and options, if an option or the top level of a configuration names it: jsonargparse would merge
    both.
    """
    files: list[str] = []
    others: list[str] = []
    for name, value, tokens in each_option(arguments):
        if value is None:
            others += tokens
        elif name == "--attack":
            path = _path(name, value)
            replaces = bool(files) and name not in several and os.path.isfile(path)  # noqa: PTH113
            files += [*(_without("attack") if replaces else []), name, path]
        elif name in FILES:
            for path in _with_base_files(_path(name, value)):
                files += [*(_without(*_replaced_by(path)) if files else []), name, path]
        else:
            replaces = name.startswith("--") and name[-1] != "+" and _is_object(Path(value))
            others += [*(_without(name[2:]) if replaces else []), *tokens]
    first = next((i for i, token in enumerate(others) if token.startswith("-")), len(others))
    return [*others[:first], *files, *others[first:]]


def _without(*keys: str) -> list[str]:
    """Return the option that resets keys to null."""
    return [f"--config={json.dumps(dict.fromkeys(keys))}"] if keys else []


def _replaced_by(path: str) -> list[str]:
    """Return the keys of a configuration whose values are names of files that describe objects."""
    settings = read_yaml(Path(path)) if os.path.isfile(path) else None  # noqa: PTH113
    return [
        key
        for key, value in (settings.items() if isinstance(settings, dict) else ())
        if isinstance(value, str) and _is_object(Path(path).parent / value, key == "attack")
    ]


def _is_object(path: Path, recipe: bool = False) -> bool:
    """Return whether a path is that of a YAML file that describes an object."""
    if path.suffix not in YAML or not os.path.isfile(path):  # noqa: PTH113 - of any length
        return False
    content = read_yaml(path)
    return recipe or (isinstance(content, dict) and "class_path" in content)


def _with_base_files(path: str, above: tuple[str, ...] = ()) -> list[str]:
    """Return the path of a configuration after the paths of those that its ``config`` lists.

    Their paths may be relative to the folder of the file.

    Raises:
        InputError: ``config`` is not a list of names, there is no such file, or a file lists
            itself.
    """
    above = (*above, os.path.realpath(path))
    if above[-1] in above[:-1]:
        raise InputError("the file lists itself, perhaps through another", path=path, key="config")
    settings = read_yaml(Path(path)) if Path(path).is_file() else None
    names = settings.get("config", []) if isinstance(settings, dict) else []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"got {names!r}", path=path, key="config", expected="a list such as [model/text_cnn]"
        )
    files: list[str] = []
    for at, name in enumerate(names):
        beside = str(Path(path).parent / name)
        try:
            base = beside if os.path.isfile(beside) else _path("--config", name)  # noqa: PTH113
        except InputError as error:
            error.found, error.key = f"{name}: no such file", "config"
            error.path, error.line = path, _base_line(Path(path), at)
            raise
        files += _with_base_files(base, above)
    return [*files, path]


def _base_line(path: Path, index: int) -> int:
    """Return the line of an item of a configuration's ``config``."""
    node = parse_yaml(read_text(path), path)
    settings = node.value if isinstance(node, yaml.MappingNode) else []
    lists = [value for name, value in settings if name.value == "config"]
    return int(lists[-1].value[index].start_mark.line) + 1


def _path(option: str, value: str) -> str:
    """Return the path of a file that an option names by its path or its installed name."""
    if os.path.exists(value):  # noqa: PTH110 - JSON is too long for a name
        return value
    wanted = value.removesuffix(".yaml")
    installed = names_in(FILES[option])
    if wanted in installed:
        return str(installed[wanted])
    dotted = "." in value and all(map(str.isidentifier, value.split(".")))
    if option == "--attack" and (value[:1] in "{" or (dotted and not value.endswith(YAML))):
        return value
    remedy = did_you_mean(wanted, installed) or "`robustparse list` prints all names"
    raise InputError("no such file", path=value, key=option, remedy=remedy)


def _with_lists(arguments: Sequence[str], joined: Collection[str]) -> list[str]:
    """Join the values of each option that takes several where it is given first.

    After it, ``--NAME+`` adds values to those of ``--NAME``. A pattern such as ``[ab].conllu``
    becomes a list: YAML cannot hold it without quotation marks.
    """
    kept: list[str] = []
    values: dict[str, list[str]] = {}
    places: dict[str, int] = {}
    current = ""
    for name, value, tokens in each_option(arguments):
        current = name or current
        if value is not None and current in joined:
            values.setdefault(current, []).append(value)
            if current not in places:
                places[current] = len(kept)
                kept.append(current)
        elif name == "--data" and value is not None and _is_pattern(value):
            kept.append(f"{name}={json.dumps([value])}")
        else:
            kept += tokens
    for name, several in values.items():
        plain = len(several) == 1 and not _is_pattern(several[0])
        kept[places[name]] = f"{name}={several[0] if plain else json.dumps(several)}"
    return kept


def values_of(value: str) -> list[str]:
    """Return the values of an option that takes several, or the only value.

    A bracket also begins a pattern such as ``[ab].conllu``, which is not YAML.
    """
    if value[:1] != "[" or os.path.exists(value):  # noqa: PTH110 - of any length
        return [value]
    try:
        several = parse_yaml(value)
    except NotYAMLError:
        return [value]
    return [value] if several is None else [str(item.value) for item in several.value]


def _is_pattern(value: str) -> bool:
    return value[:1] == "[" and values_of(value) == [value]
