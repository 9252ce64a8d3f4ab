"""Check the arguments of a command, and the YAML files that they name, before anything is imported.

`checked` rewrites the arguments (`tokens.rewritten`), checks every class name by the rules of
`robustparse.trust`, and then imports the classes. Afterwards jsonargparse can import these classes
only.
"""

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any

import yaml
from jsonargparse import Namespace, get_loader, set_loader, set_parsing_settings
from jsonargparse._loaders_dumpers import get_yaml_default_loader

from robustparse import trust
from robustparse.errors import InputError, located
from robustparse.files.checkpoints import checkpoint_file
from robustparse.files.paths import matching_files
from robustparse.files.reading import read_text
from robustparse.options.nulls import misplaced_nulls
from robustparse.options.tokens import FILES, YAML, each_option, plain_key, rewritten, values_of
from robustparse.options.yaml_files import NotYAMLError, parse_yaml, restrict

Position = tuple[Path, int]

_CHECKPOINTS = ("checkpoint", "hypothesis_only", "ckpt_path", "model.init_from")
_DATA_FILES = ("data", "data.train_file", "data.dev_file", "data.test_file")
_NO_FILES = ("sample", "-", "best", "last", "null")  # other values of options that name files
# jsonargparse passes its content on unchecked: it could replace a program's `command`.
_UNTYPED = "dict_kwargs"
_OBJECT = ("class_path", "init_args", _UNTYPED)  # the keys of an object
_NO_UNTYPED = "arguments without a declared type are not accepted; leave it out"
_TEXT, _NULL = "tag:yaml.org,2002:str", "tag:yaml.org,2002:null"
_load = get_loader("yaml")
# jsonargparse reads the value of a number's option by this loader, and not by `_loaded`.
restrict(get_yaml_default_loader())  # type: ignore[no-untyped-call]


class Arguments(list[str]):
    """Checked arguments of a command line.

    Attributes:
        keys: the positions of each key in the files, without ``init_args``. A recipe's keys begin
            with ``attack``.
        typed: the arguments as they were typed.
        classes: the position in a file where a class is named last, by the bare name of the class.
    """

    def __init__(self, tokens: Sequence[str]) -> None:
        super().__init__(tokens)
        self.typed: Sequence[str] = tokens
        self.keys: dict[str, list[Position]] = {}
        self.classes: dict[str, Position] = {}

    def position(self, key: str) -> tuple[Path | str | None, int | None]:
        """Return the file and line of a key, or of the innermost key around it.

        There is no position if the key, or a group around it that no file has, is an option on the
        command line. Of a value in several files, the last one counts; a group of keys, or a list
        that is added to, in several files has no line, unless the last file replaces it by a value.
        """
        key = plain_key(key)
        typed = {plain_key(name) for name, _, _ in each_option(self) if name not in FILES}
        while key:
            if key in typed:
                return None, None
            if positions := self.keys.get(key):
                path, line = positions[-1]
                inside = (
                    path in dict(known)
                    for each, known in self.keys.items()
                    if each.startswith((f"{key}.", f"{key}+["))
                )
                if len(positions) == 1 or not any(inside):
                    return path, line
                return " ".join(dict.fromkeys(str(path) for path, _ in positions)), None
            key = key[: max(key.rfind("."), key.rfind("["), 0)]
        configs = dict.fromkeys(str(path) for path, _ in self.keys.get("", []))
        return " ".join(configs) or None, None


def checked(
    arguments: Sequence[str], mappings: Collection[str] = (), several: Collection[str] = ()
) -> Arguments:
    """Return the arguments of a command with the paths of installed files.

    Afterwards the classes that they name are imported, and ``--trust`` has taken effect.

    Args:
        arguments: the arguments of the command line.
        mappings: the options whose value must be a YAML mapping, or the name of a class or file.
        several: options that take several values, besides those that do so in every command.

    Raises:
        InputError: a value is empty, a file is missing or not YAML, a class may not be named, or
            an option of ``mappings`` has another value.
    """
    for name, value, _ in each_option(arguments):
        if value is not None and not value.strip():  # as of a shell's variable that is not set
            remedy = "give one, or leave the option out" if name else None
            problem = f"got {value!r}"
            raise InputError(problem, key=name or "an argument", expected="a value", remedy=remedy)
    tokens = rewritten(arguments, several)
    result = Arguments(tokens)
    result.typed = arguments
    options = [(name, value) for name, value, _ in each_option(tokens) if value is not None]
    reader = _Reader(result, mappings)
    for name, value in options:
        reader.option(name, value)
    if not any(token.startswith("--print_config") for token in tokens):
        for name, value in options:
            if value not in _NO_FILES:
                _check_input(plain_key(name), value, mappings)
    _allow(reader.named, any(value == "null" for _, value in options))
    return result


def _check_input(key: str, value: str, mappings: Collection[str]) -> None:
    """Check that the files of an option exist, before torch is imported."""
    if key in _CHECKPOINTS:
        for each in values_of(value):
            for path in [each] if os.path.exists(each) else each.split(","):  # noqa: PTH110
                folders = (Path(path), Path(path).parent)
                # A killed run may have to move its checkpoint back (`tracking.earlier_runs`).
                if not any(os.path.isdir(folder / "earlier") for folder in folders):  # noqa: PTH112
                    checkpoint_file(path)
    kinds = {"data.folder": "folder"} | dict.fromkeys(_DATA_FILES, "file")
    if key in kinds and key not in mappings:
        for path in values_of(value):
            if path in _NO_FILES or path.startswith("datasets:"):
                continue
            paths = matching_files(path) if key in _DATA_FILES else [path]
            for each in paths:
                if not os.path.exists(each):  # noqa: PTH110 - of any length
                    raise InputError(f"no such {kinds[key]}", path=each)


def check_objects(
    options: Namespace, arguments: Arguments | None = None, path: Path | None = None
) -> None:
    """Check what jsonargparse accepts in the objects that the options describe.

    No object may run a program without permission, and no setting may be null unless its type says
    so.

    Args:
        options: the parsed options.
        arguments: the arguments that the options were parsed from.
        path: the file that all options come from.

    Raises:
        InputError: see `trust.check_arguments` and `check_nulls`; the error names the file and the
            line if known.
    """
    classes = {} if arguments is None else arguments.classes
    for class_path, init_args, key in each_object(options.as_dict()):
        file, line = classes.get(class_path.rpartition(".")[2], (path, None))
        made = trust.allowed_class(class_path)
        with located(file, line):
            trust.check_arguments(made, init_args, key=key)
        check_nulls(made, init_args, key, arguments, path)


def check_nulls(
    target: Callable[..., Any],
    values: Mapping[str, Any],
    key: str,
    arguments: Arguments | None = None,
    path: Path | None = None,
) -> None:
    """Check that no setting is null although its type has no null.

    Args:
        target: the class or function that takes the settings.
        values: the settings.
        key: of the settings as a whole; may be empty.
        arguments: the arguments that the settings were parsed from.
        path: the file that all settings come from, without ``arguments``.

    Raises:
        InputError: names the first such setting.
    """
    for each in misplaced_nulls(target, values, key):
        file, line = (path, None) if arguments is None else arguments.position(each)
        raise InputError(
            "got null",
            path=file,
            line=line,
            key=plain_key(each),
            expected="a value",
            remedy="leave it out for its default",
        )


def each_object(value: Any, key: str = "") -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield class path, arguments and key of every object that plain values describe."""
    if isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from each_object(item, f"{key}[{index}]")
    elif isinstance(value, dict):
        if isinstance(class_path := value.get("class_path"), str):
            if value.get(_UNTYPED):
                raise InputError(_NO_UNTYPED, key=f"{key}.{_UNTYPED}")
            full = trust.full_path(class_path) or class_path
            yield full, value.get("init_args") or {}, key
        for name, item in value.items():
            yield from each_object(item, f"{key}.{name}".removeprefix("."))


@dataclass(frozen=True)
class _Reader:
    """Reads options and files, each file once; records positions and checks class names.

    Args:
        arguments: gets the positions.
        mappings: see `checked`.
        path: the file that is read; None for the value of an option.

    Attributes:
        named: all classes that the texts may name.
    """

    arguments: Arguments
    mappings: Collection[str]
    path: Path | None = None
    named: set[str] = field(default_factory=set)
    _seen: set[Path] = field(default_factory=set)

    def option(self, name: str, value: str) -> None:
        """Check the value of an option."""
        if name in FILES and os.path.exists(value):  # noqa: PTH110 - JSON is too long for a name
            self._file(Path(value), "attack" if name == "--attack" else "")
        elif name == "--config":  # see `tokens._without`
            self._forget(json.loads(value))
        elif name.endswith("class_path"):
            self._class(value, None, name)
        else:
            self._text(value, None, name)
            if plain_key(name) in self.mappings:
                self._check_mapping(parse_yaml(value, key=name), name)

    def _forget(self, replaced: Collection[str]) -> None:
        """Forget the positions of keys whose values a later file replaces."""
        for key in [*self.arguments.keys]:
            if any(f"{key}.".startswith(f"{each}.") for each in replaced):
                del self.arguments.keys[key]
        self._seen.clear()  # a file may be named again

    def _file(self, path: Path, key: str) -> None:
        """Check a file whose content is the value of a key; a configuration's key is empty."""
        if path.resolve() in self._seen:
            return
        self._seen.add(path.resolve())
        node = parse_yaml(read_text(path), path)
        if not key and not isinstance(node, yaml.MappingNode):
            expected = "keys and values, as in `trainer: ...`"
            problem = "the file is empty" if node is None else "not a configuration"
            raise InputError(problem, path=path, expected=expected)
        if node is not None:
            replace(self, path=path)._node(node, key)
        for name, _ in node.value if isinstance(node, yaml.MappingNode) and not key else ():
            with located(path, name.start_mark.line + 1):
                if f"--{name.value}" == trust.OPTION:
                    problem = "a file cannot allow classes or programs; only the command line can"
                    raise InputError(problem, key=str(name.value))
                if self.mappings and name.value == self.arguments[0]:
                    problem = "is the command, not a setting"
                    remedy = f"leave out `{name.value}:`, and unindent its settings"
                    raise InputError(problem, key=str(name.value), remedy=remedy)

    def _line(self, node: yaml.Node) -> int | None:
        return None if self.path is None else node.start_mark.line + 1

    def _check_mapping(self, node: yaml.Node | None, key: str) -> None:
        is_text = isinstance(node, yaml.ScalarNode) and node.tag == _TEXT
        if not is_text and not isinstance(node, yaml.MappingNode):
            value = "nothing" if node is None or node.tag == _NULL else "a list"
            if isinstance(node, yaml.ScalarNode) and node.tag != _NULL:
                value = f"the single value {node.value}"
            with located(self.path, None if node is None else self._line(node)):
                raise InputError(f"got {value}", key=key, expected="keys and values")

    def _node(self, node: yaml.Node, key: str) -> None:
        """Check a value and everything in it; record the position of its key."""
        line = self._line(node)
        if self.path is not None and line is not None and not key.endswith(".init_args"):
            self.arguments.keys.setdefault(plain_key(key), []).append((self.path, line))
        self._check_object(node, key)
        self._check_groups(node, key)
        if isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                self._node(item, f"{key}[{index}]")
        elif isinstance(node, yaml.MappingNode):
            for name, item in node.value:
                inner = f"{key}.{name.value}" if key else str(name.value)
                last = inner.rpartition(".")[2]
                if last == "class_path" and isinstance(item, yaml.ScalarNode):
                    self._class(item.value, self._line(item), inner)
                else:
                    self._node(item, inner)
        elif isinstance(node, yaml.ScalarNode):
            self._text(node.value, line, key)

    def _check_object(self, node: yaml.Node, key: str) -> None:
        """Check the kind of a value that must be a mapping, and the keys next to ``class_path``."""
        if key.endswith(".init_args") or plain_key(key) in self.mappings:
            self._check_mapping(node, key)
        names = [name for name, _ in node.value] if isinstance(node, yaml.MappingNode) else []
        is_object = any(name.value == _OBJECT[0] for name in names)
        for name in names:
            inner = f"{key}.{name.value}" if key else str(name.value)
            with located(self.path, self._line(name)):
                if inner.rpartition(".")[2] == _UNTYPED:
                    raise InputError(_NO_UNTYPED, key=inner)
                if is_object and name.value not in _OBJECT:
                    problem, remedy = "stands next to class_path", "write it below init_args"
                    raise InputError(problem, key=inner, remedy=remedy)

    def _check_groups(self, node: yaml.Node, key: str) -> None:
        """Refuse a key such as ``model.seed`` before ``model``, which would replace it."""
        later: set[str] = set()
        for name, value in reversed(node.value if isinstance(node, yaml.MappingNode) else []):
            written = str(name.value)
            for group in later.intersection(accumulate(written.split("."), "{}.{}".format)):
                with located(self.path, self._line(name)):
                    problem, remedy = f"is replaced by {group}", f"write it below `{group}:`"
                    raise InputError(problem, key=f"{key}.{written}".strip("."), remedy=remedy)
            if not key or isinstance(value, yaml.MappingNode):  # others may be words with dots
                later.add(written)

    def _class(self, name: str, line: int | None, key: str) -> None:
        trust.check_class(name, path=self.path, line=line, key=key)
        self.named.add(name)
        if self.path is not None and line is not None:
            self.arguments.classes[name.rpartition(".")[2]] = (self.path, line)
        else:
            self.arguments.classes.pop(name.rpartition(".")[2], None)

    def _text(self, text: str, line: int | None, key: str) -> None:
        """Check a text, which may name a class or a YAML file, or be YAML itself."""
        *rooms, last = names = text.split(".")
        dotted = all(map(str.isidentifier, names))
        if dotted and rooms[1:] and rooms[0] == trust.PACKAGE and last[0].isupper():
            self._class(text, line, key)
        elif dotted and trust.full_path(text):
            self.named.add(text)
        elif text.endswith(YAML):
            folders = [Path()] if self.path is None else [Path(), self.path.parent]
            for file in (folder / text for folder in folders):
                if os.path.isfile(file):  # noqa: PTH113 - of any length
                    self._file(file, plain_key(key))
        elif any(mark in text for mark in ("{", "[", "\n", ": ", "- ")):
            try:
                node = parse_yaml(text, key=key)
            except NotYAMLError:
                if key in FILES:
                    raise
                return  # a text with unusual characters
            if node is not None and not isinstance(node, yaml.ScalarNode):
                replace(self, path=None)._node(node, key)


def _allow(named: set[str], nulls: bool) -> None:
    """Import classes, so that jsonargparse knows their bare names; let it import only these."""
    paths = {trust.PACKAGE, *trust.trusted_modules()}
    for full in filter(None, map(trust.full_path, named)):
        module, _, name = full.rpartition(".")
        if not any(full.startswith(f"{each}.") for each in trust.trusted_modules()):
            kind = getattr(import_module(module), name)
            paths |= {full, f"{kind.__module__}.{kind.__qualname__}"}
    loaded = _loaded_with_nulls if nulls else _loaded
    set_loader("yaml", loaded, exceptions=(yaml.YAMLError,))
    set_parsing_settings(
        import_path_denylist=["*"],
        import_path_allowlist=sorted(paths),
        instantiate_subclass_spec_in_any=False,
        docstring_parse_attribute_docstrings=True,
    )


def _loaded(text: str) -> Any:
    """Load YAML for jsonargparse, within the limits of `parse_yaml`."""
    parse_yaml(text)
    return _load(text)


def _loaded_with_nulls(text: str) -> Any:
    """Load YAML, with None for ``None``.

    jsonargparse hands the value of an option such as ``--model.encoder.vectors`` to the parser of
    the inner class as Python's text of what it has loaded: null arrives there as ``None``.
    """
    return None if text == "None" else _loaded(text)
