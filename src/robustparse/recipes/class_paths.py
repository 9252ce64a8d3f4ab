"""Walks every option and every file that it names before anything is imported for them.

Classes are named where a type asks for one, and only those that `robustparse.trust` allows;
functions are never named. The walk says where a name stands. What jsonargparse reads later all the
same, it reads under the same rules: through a loader that walks, and by import paths that are
denied unless allowed.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml
from jsonargparse import Namespace, get_loader, set_loader, set_parsing_settings

from robustparse import trust
from robustparse.errors import InputError, located
from robustparse.files import read_text
from robustparse.recipes.installed import CONFIGS, names_in
from robustparse.recipes.yaml_files import NotYAMLError, parse_yaml

# Options that take a file by path or by its bare name, and where such names are looked up.
_FILES = {"--config": CONFIGS, "-c": CONFIGS, "--attack": CONFIGS / "attack"}
_YAML = (".yaml", ".yml")
_TEXT, _NULL = "tag:yaml.org,2002:str", "tag:yaml.org,2002:null"
_load = get_loader("yaml")
_places: dict[str, tuple[Path | None, int | None]] = {}  # of the command's classes


def checked(arguments: Sequence[str], mappings: Collection[str] = ()) -> list[str]:
    """Return the arguments of a command, with the paths of files that are named barely.

    Afterwards the classes that they name are imported, and `--trust` has taken effect.

    Args:
        arguments: of the command line.
        mappings: the options that hold keys and values, or the name of a file of these.

    Raises:
        InputError: a file is missing or not YAML, something names a class that is not allowed, or
            an option of ``mappings`` is a list, a set or nothing.
    """
    kept = [
        _with_path(name, value) if name in _FILES else tokens
        for name, value, tokens in each_option(_without_trust(arguments))
    ]
    result = [token for tokens in kept for token in tokens]
    walk = Walk(mappings)
    for name, value, _ in each_option(result):
        if value is not None:
            walk.option(name, value)
    _allow(walk.named)
    _places.clear()
    _places.update(walk.places)
    return result


def check_objects(options: Namespace, path: Path | None = None) -> None:
    """Refuse what `trust.check_arguments` refuses, before any of the objects is made.

    Args:
        options: as they were parsed, from whatever files and arguments.
        path: of the file that all of them come from.

    Raises:
        InputError: names the class, and the line that names it where it is known.
    """
    for class_path, arguments, key in _each_object(options.as_dict(), ""):
        place, line = _places.get(class_path.rpartition(".")[2], (path, None))
        with located(place, line):
            trust.check_arguments(trust.allowed_class(class_path), arguments, key=key)


def _each_object(value: Any, key: str) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield class path, arguments and key of every object that options describe."""
    if isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _each_object(item, f"{key}[{index}]")
    elif isinstance(value, dict):
        if isinstance(class_path := value.get("class_path"), str):
            full = trust.full_path(class_path) or class_path
            yield full, value.get("init_args") or {}, key
        for name, item in value.items():
            yield from _each_object(item, f"{key}.{name}".removeprefix("."))


class Walk:
    """Looks at texts and files, each file once.

    Args:
        mappings: see `checked`.

    Attributes:
        named: the classes that they may name, for certain or perhaps.
        places: file and line of classes, by their bare names.
    """

    def __init__(self, mappings: Collection[str] = ()) -> None:
        self.named: set[str] = set()
        self.places: dict[str, tuple[Path | None, int | None]] = {}
        self._mappings = mappings
        self._seen: set[Path] = set()

    def option(self, name: str, value: str) -> None:
        """Check the value of an option."""
        if name in _FILES and Path(value).exists():
            self.file(Path(value), mapping=name != "--attack")
        elif name.endswith("class_path"):
            self._class(value, key=name)
        else:
            self._text(value, None, None, name)
            if name.removeprefix("--").rstrip("+") in self._mappings:
                self._check_mapping(parse_yaml(value, key=name), None, name)

    def file(self, path: Path, mapping: bool = False) -> None:
        """Check a file of YAML, and the files that it names.

        Args:
            path: of the file.
            mapping: it must hold keys and values.
        """
        if path.resolve() in self._seen:
            return
        self._seen.add(path.resolve())
        node = parse_yaml(read_text(path), path)
        if mapping and not isinstance(node, yaml.MappingNode):
            raise InputError(
                "a configuration has keys and values at its top", path=path, expected="trainer: ..."
            )
        if node is not None:
            self.node(node, path, "")
        if mapping and isinstance(node, yaml.MappingNode):
            for name, value in node.value:
                if name.value.rstrip("+") in self._mappings:
                    self._check_mapping(value, path, str(name.value))
                if f"--{name.value}" == trust.OPTION:
                    found = "a file cannot allow classes or programs, only the command line can"
                    line = name.start_mark.line + 1
                    raise InputError(found, path=path, line=line, key=str(name.value))

    def _check_mapping(self, node: yaml.Node | None, path: Path | None, key: str) -> None:
        """Refuse anything but keys and values, or a text that names a class or a file."""
        is_text = isinstance(node, yaml.ScalarNode) and node.tag == _TEXT
        if not is_text and not isinstance(node, yaml.MappingNode):
            value = "nothing" if node is None or node.tag == _NULL else "a list"
            if isinstance(node, yaml.ScalarNode) and node.tag != _NULL:
                value = f"the single value {node.value}"
            raise InputError(
                f"got {value}",
                path=path,
                line=None if path is None or node is None else node.start_mark.line + 1,
                key=key,
                expected="keys and values",
            )

    def node(self, node: yaml.Node, path: Path | None, key: str) -> None:
        """Check one part of a text, and what is in it."""
        line = None if path is None else node.start_mark.line + 1
        if isinstance(node, yaml.SequenceNode):
            for index, part in enumerate(node.value):
                self.node(part, path, f"{key}[{index}]")
        elif isinstance(node, yaml.MappingNode):
            for name, part in node.value:
                inner = f"{key}.{name.value}" if key else str(name.value)
                if inner.rpartition(".")[2] == "dict_kwargs":
                    found = "arguments that no type describes are not taken"
                    raise InputError(found, path=path, line=line, key=inner, remedy="leave it out")
                if inner.rpartition(".")[2] == "class_path" and isinstance(part, yaml.ScalarNode):
                    here = None if path is None else part.start_mark.line + 1
                    self._class(part.value, path, here, inner)
                else:
                    self.node(part, path, inner)
        elif isinstance(node, yaml.ScalarNode):
            self._text(node.value, path, line, key)

    def _class(
        self, name: str, path: Path | None = None, line: int | None = None, key: str = ""
    ) -> None:
        trust.check_class(name, path=path, line=line, key=key)
        self.named.add(name)
        self.places[name.rpartition(".")[2]] = (path, line)

    def _text(self, text: str, path: Path | None, line: int | None, key: str) -> None:
        """Check a text, which may be read as a class, as YAML or as the name of a file of it."""
        dotted = all(part.isidentifier() for part in text.split("."))
        *rooms, last = text.split(".")
        if dotted and rooms[1:] and rooms[0] == trust.PACKAGE and last[0].isupper():
            self._class(text, path, line, key)
        elif dotted and trust.full_path(text):
            self.named.add(text)
        elif text.endswith(_YAML):
            folders = [Path()] if path is None else [Path(), path.parent]
            for file in (folder / text for folder in folders):
                if file.is_file():
                    self.file(file)
        elif any(mark in text for mark in ("{", "[", "\n", ": ", "- ")):
            try:
                node = parse_yaml(text, key=key)
            except NotYAMLError:
                if key in _FILES:
                    raise
                return  # a text with odd characters
            if node is not None and not isinstance(node, yaml.ScalarNode):
                self.node(node, None, key)


def refusal(message: str, arguments: Sequence[str], path: Path | None = None) -> InputError | None:
    """Return the error to show where jsonargparse was not allowed to import something.

    Args:
        message: of jsonargparse, which quotes its name.
        arguments: of the command, one of which may name it.
        path: of the file that names it.
    """
    if _refused:
        return _refused[0]
    _, denied, rest = message.partition("Importing '")
    if not denied:
        return None
    name = rest.partition("'")[0]
    keys = [option for option, value, _ in each_option(arguments) if value == name]
    try:
        trust.check_class(name, path=path, key=keys[0] if keys else _last_quoted(message))
    except InputError as error:
        return error
    return InputError(f"{name} is not a class; functions are never named", path=path)


def _last_quoted(message: str) -> str:
    """Return the innermost key that a message of jsonargparse quotes, or an empty one."""
    return (["", *message.split('Parser key "')[1:]][-1]).partition('"')[0]


_refused: list[InputError] = []


def _guarded(text: str) -> Any:
    """Load what jsonargparse reads, once it was walked like everything else."""
    try:
        node = parse_yaml(text)
        if node is not None:
            walk = Walk()
            walk.node(node, None, "")
    except NotYAMLError:
        pass  # the loader says so in words that jsonargparse understands
    except InputError as error:
        _refused.append(error)
        raise
    return _load(text)


def _allow(named: set[str]) -> None:
    """Import classes, so that bare names are found, and let jsonargparse import only these."""
    paths = {trust.PACKAGE, *trust.trusted_modules()}
    for full in filter(None, map(trust.full_path, named)):
        module, _, name = full.rpartition(".")
        if not any(full.startswith(f"{each}.") for each in trust.trusted_modules()):
            found = getattr(import_module(module), name)
            paths |= {full, f"{found.__module__}.{found.__qualname__}"}
    _refused.clear()
    set_loader("yaml", _guarded, exceptions=(yaml.YAMLError,))
    set_parsing_settings(
        import_path_denylist=["*"],
        import_path_allowlist=sorted(paths),
        instantiate_subclass_spec_in_any=False,
    )


def each_option(arguments: Sequence[str]) -> Iterator[tuple[str, str | None, list[str]]]:
    """Yield name, value and tokens of every option; what stands without one has no name."""
    index = 0
    while index < len(arguments):
        name, equals, value = arguments[index].partition("=")
        follows = index + 1 < len(arguments) and not arguments[index + 1].startswith("--")
        if not name.startswith("-"):
            yield "", arguments[index], [arguments[index]]
        elif equals:
            yield name, value, [arguments[index]]
        elif follows:
            yield name, arguments[index + 1], list(arguments[index : index + 2])
            index += 1
        else:
            yield name, None, [name]
        index += 1


def _without_trust(arguments: Sequence[str]) -> list[str]:
    kept: list[str] = []
    for name, value, tokens in each_option(arguments):
        if name != trust.OPTION:
            kept += tokens
        elif value is None:
            raise InputError("names no module", key=trust.OPTION, expected="my_package")
        else:
            trust.trust(value.split(","))
    return kept


def _with_path(name: str, value: str | None) -> list[str]:
    """Return an option with the path of its file, which may be given by a bare name.

    Raises:
        InputError: there is no such file.
    """
    if value is None or os.path.exists(value):  # noqa: PTH110 - JSON is too long for a name
        return [name] if value is None else [name, value]
    shipped = _FILES[name] / f"{value.removesuffix('.yaml')}.yaml"
    if shipped.is_file():
        return [name, str(shipped)]
    dotted = "." in value and all(part.isidentifier() for part in value.split("."))
    if name == "--attack" and (value[:1] in "{" or (dotted and not value.endswith(_YAML))):
        return [name, value]
    names = [*names_in(_FILES[name])]
    own = value.removesuffix(".yaml")
    near = [one for one in names if one.startswith(own)] or get_close_matches(own, names, n=1)
    remedy = f"give the path of a file, or one of {', '.join(names)}"
    if near:
        remedy = f"did you mean {' or '.join(near)}?"
    raise InputError("no such file", path=value, key=name, remedy=remedy)
