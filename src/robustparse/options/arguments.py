"""Read the arguments of a command, and the YAML files that they name, before anything is imported.

`checked` makes ``--trust`` take effect, replaces names of installed files by paths, checks every
class name by the rules of `robustparse.trust`, and then imports the classes. Afterwards
jsonargparse can import these classes only.
"""

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml
from jsonargparse import Namespace, get_loader, set_loader, set_parsing_settings

from robustparse import trust
from robustparse.errors import InputError, did_you_mean, located
from robustparse.files import checkpoint_file, matching_files, read_text
from robustparse.options.home_folder import tokens_with_home
from robustparse.options.installed import CONFIGS, names_in
from robustparse.options.nulls import misplaced_nulls
from robustparse.options.yaml_files import NotYAMLError, parse_yaml, read_yaml

Position = tuple[Path, int]

# Options that take a YAML file, by its path or its installed name, and the folder of these names.
_FILES = {"--config": CONFIGS, "-c": CONFIGS, "--attack": CONFIGS / "attack"}
TAKE_SEVERAL = ("--checkpoint", "--compare")  # options that take several values in every command
_SWITCHES = ("--same_tag", "--symmetric", "--interactive")  # options that need no value
_CHECKPOINTS = ("checkpoint", "hypothesis_only", "ckpt_path", "model.init_from")
_DATA_FILES = ("data", "data.train_file", "data.dev_file", "data.test_file")
_NO_FILES = ("sample", "-", "best", "last", "null")  # other values of options that name files
_HUGGING_FACE = "hf:"  # before the folder or name of a model that is a victim
YAML = (".yaml", ".yml")
# jsonargparse passes its content on unchecked: it could replace a program's `command`.
_UNTYPED = "dict_kwargs"
_OBJECT = ("class_path", "init_args", _UNTYPED)  # the keys of an object
_NO_UNTYPED = "arguments without a declared type are not accepted; leave it out"
_TEXT, _NULL = "tag:yaml.org,2002:str", "tag:yaml.org,2002:null"
_load = get_loader("yaml")


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

        There is no position if the key is an option on the command line. Of a value in several
        files, the last one counts; a group of keys in several files has no line.
        """
        key = plain_key(key)
        typed = (name for name, _, _ in each_option(self) if name not in _FILES)
        if key in map(plain_key, typed):
            return None, None
        while key:
            if positions := self.keys.get(key):
                path, line = positions[-1]
                inside = f"{key}.", f"{key}["
                if len(positions) == 1 or not any(each.startswith(inside) for each in self.keys):
                    return path, line
                return " ".join(dict.fromkeys(str(path) for path, _ in positions)), None
            key = key[: max(key.rfind("."), key.rfind("["), 0)]
        configs = dict.fromkeys(str(path) for path, _ in self.keys.get("", []))
        return " ".join(configs) or None, None


def plain_key(key: str) -> str:
    """Return a key or an option's name without ``--``, ``+`` and ``init_args``."""
    return key.removeprefix("--").rstrip("+").replace(".init_args", "")


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
            found = f"got {value!r}"
            raise InputError(found, key=name or "an argument", expected="a value", remedy=remedy)
    tokens = _with_paths(_without_trust(tokens_with_home(arguments)), several)
    tokens = _with_values(_with_victims(tokens))
    tokens = _with_lists(tokens, (*TAKE_SEVERAL, *several))
    result = Arguments(tokens)
    result.typed = arguments
    reader = _Reader(result, mappings)
    for name, value, _ in each_option(tokens):
        if value is not None:
            reader.option(name, value)
    printed = any(token.startswith("--print_config") for token in tokens)  # without any files
    for name, value, _ in () if printed else each_option(tokens):
        if value is not None and value not in _NO_FILES:
            _check_input(plain_key(name), value, mappings)
    _allow(reader.named, any(value == "null" for _, value, _ in each_option(tokens)))
    return result


def _check_input(key: str, value: str, mappings: Collection[str]) -> None:
    """Check that the files of an option exist, before torch is imported.

    Raises:
        InputError: a checkpoint, a data file or a folder of data does not exist.
    """
    if key in _CHECKPOINTS:
        for each in _listed(value):
            for path in [each] if os.path.exists(each) else each.split(","):  # noqa: PTH110
                folders = (Path(path), Path(path).parent)
                # A killed run may have to move its checkpoint back (`tracking.earlier_runs`).
                if not any(os.path.isdir(folder / "earlier") for folder in folders):  # noqa: PTH112
                    checkpoint_file(path)
    kinds = {"data.folder": "folder"} | dict.fromkeys(_DATA_FILES, "file")
    if key in kinds and key not in mappings:
        for path in _listed(value):
            if path in _NO_FILES or path.startswith("datasets:"):
                continue
            paths = matching_files(path) if key in _DATA_FILES else [path]
            for each in paths:
                if not os.path.exists(each):  # noqa: PTH110 - of any length
                    raise InputError(f"no such {kinds[key]}", path=each)


def _listed(value: str) -> list[str]:
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
    return value[:1] == "[" and _listed(value) == [value]


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
    made: Callable[..., Any],
    values: Mapping[str, Any],
    key: str,
    arguments: Arguments | None = None,
    path: Path | None = None,
) -> None:
    """Check that no setting is null although its type has no null.

    Args:
        made: the class or function that takes the settings.
        values: the settings.
        key: of the settings as a whole; may be empty.
        arguments: the arguments that the settings were parsed from.
        path: the file that all settings come from, without ``arguments``.

    Raises:
        InputError: names the first such setting.
    """
    for each in misplaced_nulls(made, values, key):
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


class _Reader:
    """Reads options and files, each file once; records positions and checks class names.

    Args:
        arguments: gets the positions.
        mappings: see `checked`.

    Attributes:
        named: all classes that the texts may name.
    """

    def __init__(self, arguments: Arguments, mappings: Collection[str]) -> None:
        self.arguments, self.mappings = arguments, mappings
        self.named: set[str] = set()
        self._seen: set[Path] = set()

    def option(self, name: str, value: str) -> None:
        """Check the value of an option."""
        if name in _FILES and os.path.exists(value):  # noqa: PTH110 - JSON is too long for a name
            self._file(Path(value), "attack" if name == "--attack" else "")
        elif name == "--config":  # see `_without`
            self._forget(json.loads(value))
        elif name.endswith("class_path"):
            self._class(value, None, name)
        else:
            self._text(value, None, name)
            if plain_key(name) in self.mappings:
                self._check_mapping(parse_yaml(value, key=name), None, name)

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
            self._node(node, path, key)
        for name, _ in node.value if isinstance(node, yaml.MappingNode) and not key else ():
            line = name.start_mark.line + 1
            if f"--{name.value}" == trust.OPTION:
                found = "a file cannot allow classes or programs; only the command line can"
                raise InputError(found, path=path, line=line, key=str(name.value))
            if self.mappings and name.value == self.arguments[0]:
                found = "is the command, not a setting"
                remedy = f"leave out `{name.value}:`, and unindent its settings"
                raise InputError(found, path=path, line=line, key=str(name.value), remedy=remedy)

    def _check_mapping(self, node: yaml.Node | None, path: Path | None, key: str) -> None:
        is_text = isinstance(node, yaml.ScalarNode) and node.tag == _TEXT
        if not is_text and not isinstance(node, yaml.MappingNode):
            value = "nothing" if node is None or node.tag == _NULL else "a list"
            if isinstance(node, yaml.ScalarNode) and node.tag != _NULL:
                value = f"the single value {node.value}"
            line = None if path is None or node is None else node.start_mark.line + 1
            expected = "keys and values"
            raise InputError(f"got {value}", path=path, line=line, key=key, expected=expected)

    def _node(self, node: yaml.Node, path: Path | None, key: str) -> None:
        """Check a value and everything in it; record the position of its key."""
        position = None if path is None else (path, node.start_mark.line + 1)
        if position is not None and not key.endswith(".init_args"):
            self.arguments.keys.setdefault(plain_key(key), []).append(position)
        self._check_object(node, path, key)
        if isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                self._node(item, path, f"{key}[{index}]")
        elif isinstance(node, yaml.MappingNode):
            for name, item in node.value:
                inner = f"{key}.{name.value}" if key else str(name.value)
                last = inner.rpartition(".")[2]
                if last == "class_path" and isinstance(item, yaml.ScalarNode):
                    named = None if path is None else (path, item.start_mark.line + 1)
                    self._class(item.value, named, inner)
                else:
                    self._node(item, path, inner)
        elif isinstance(node, yaml.ScalarNode):
            self._text(node.value, position, key)

    def _check_object(self, node: yaml.Node, path: Path | None, key: str) -> None:
        """Check the kind of a value that must be a mapping, and the keys next to ``class_path``."""
        if key.endswith(".init_args") or plain_key(key) in self.mappings:
            self._check_mapping(node, path, key)
        names = [name for name, _ in node.value] if isinstance(node, yaml.MappingNode) else []
        is_object = any(name.value == _OBJECT[0] for name in names)
        for name in names:
            inner = f"{key}.{name.value}" if key else str(name.value)
            line = None if path is None else name.start_mark.line + 1
            if inner.rpartition(".")[2] == _UNTYPED:
                raise InputError(_NO_UNTYPED, path=path, line=line, key=inner)
            if is_object and name.value not in _OBJECT:
                found, remedy = "stands next to class_path", "write it below init_args"
                raise InputError(found, path=path, line=line, key=inner, remedy=remedy)

    def _class(self, name: str, position: Position | None, key: str) -> None:
        path, line = position or (None, None)
        trust.check_class(name, path=path, line=line, key=key)
        self.named.add(name)
        if position is not None:
            self.arguments.classes[name.rpartition(".")[2]] = position
        else:
            self.arguments.classes.pop(name.rpartition(".")[2], None)

    def _text(self, text: str, position: Position | None, key: str) -> None:
        """Check a text, which may name a class or a YAML file, or be YAML itself."""
        *rooms, last = names = text.split(".")
        dotted = all(map(str.isidentifier, names))
        if dotted and rooms[1:] and rooms[0] == trust.PACKAGE and last[0].isupper():
            self._class(text, position, key)
        elif dotted and trust.full_path(text):
            self.named.add(text)
        elif text.endswith(YAML):
            folders = [Path()] if position is None else [Path(), position[0].parent]
            for file in (folder / text for folder in folders):
                if os.path.isfile(file):  # noqa: PTH113 - of any length
                    self._file(file, plain_key(key))
        elif any(mark in text for mark in ("{", "[", "\n", ": ", "- ")):
            try:
                node = parse_yaml(text, key=key)
            except NotYAMLError:
                if key in _FILES:
                    raise
                return  # a text with unusual characters
            if node is not None and not isinstance(node, yaml.ScalarNode):
                self._node(node, None, key)


def _allow(named: set[str], nulls: bool) -> None:
    """Import classes, so that jsonargparse knows their bare names; let it import only these.

    Args:
        named: the classes.
        nulls: whether the value of an option is null.
    """
    paths = {trust.PACKAGE, *trust.trusted_modules()}
    for full in filter(None, map(trust.full_path, named)):
        module, _, name = full.rpartition(".")
        if not any(full.startswith(f"{each}.") for each in trust.trusted_modules()):
            kind = getattr(import_module(module), name)
            paths |= {full, f"{kind.__module__}.{kind.__qualname__}"}
    loaded = _loaded_with_nulls if nulls else _loaded
    set_loader("yaml", loaded, exceptions=(yaml.YAMLError, NotYAMLError))
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


def _without_trust(arguments: Sequence[str]) -> list[str]:
    """Let ``--trust`` and the environment variable take effect; return the other arguments."""
    kept: list[str] = []
    if names := os.environ.get(trust.VARIABLE):
        trust.trust(names.split(","), trust.VARIABLE)
    for name, value, tokens in each_option(arguments):
        if name != trust.OPTION:
            kept += tokens
        elif value is None:
            raise InputError("names no module", key=trust.OPTION, expected="my_package")
        else:
            trust.trust(value.split(","))
    return kept


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
        elif name in _FILES:
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
    texts = {
        key: value
        for key, value in (settings.items() if isinstance(settings, dict) else ())
        if isinstance(value, str)
    }
    return [
        key
        for key, value in texts.items()
        if _is_object(Path(path).parent / value, recipe=key == "attack")
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
            raise InputError(
                f"{name}: no such file",
                path=path,
                line=_base_line(Path(path), at),
                key="config",
                remedy=error.remedy,
            ) from None
        files += _with_base_files(base, above)
    return [*files, path]


def _base_line(path: Path, index: int) -> int:
    """Return the line of an item of a configuration's ``config``."""
    node = parse_yaml(read_text(path), path)
    settings = node.value if isinstance(node, yaml.MappingNode) else []
    lists = [value for name, value in settings if name.value == "config"]
    return int(lists[-1].value[index].start_mark.line) + 1


def _path(option: str, value: str) -> str:
    """Return the path of a file that an option names by its path or its installed name.

    Raises:
        InputError: there is no such file.
    """
    if os.path.exists(value):  # noqa: PTH110 - JSON is too long for a name
        return value
    wanted = value.removesuffix(".yaml")
    installed = names_in(_FILES[option])
    if wanted in installed:
        return str(installed[wanted])
    dotted = "." in value and all(map(str.isidentifier, value.split(".")))
    if option == "--attack" and (value[:1] in "{" or (dotted and not value.endswith(YAML))):
        return value
    remedy = did_you_mean(wanted, installed) or "`robustparse list` prints all names"
    raise InputError("no such file", path=value, key=option, remedy=remedy)


def _with_values(arguments: Sequence[str]) -> list[str]:
    """Give switches the value ``true`` where they have none."""
    kept: list[str] = []
    for name, value, tokens in each_option(arguments):
        kept += [f"{name}=true"] if name in _SWITCHES and value is None else tokens
    return kept


def _with_victims(arguments: Sequence[str]) -> list[str]:
    """Write ``--victim hf:MODEL`` in full.

    Raises:
        InputError: a victim is given twice, of which the parser would drop the first, or is a
            folder.
    """
    kept: list[str] = []
    is_given = False
    for name, value, tokens in each_option(arguments):
        if name != "--victim" or value is None:
            kept += tokens
            continue
        if is_given:
            raise InputError("given twice", key="--victim", remedy="give one in each run")
        is_given = True
        if value.startswith(_HUGGING_FACE):
            model = value.removeprefix(_HUGGING_FACE)
            kept += ["--victim", f"{trust.PACKAGE}.victims.HuggingFaceClassifier"]
            kept.append(f"--victim.model={model}")
        elif not value.isidentifier() and os.path.isdir(value):  # noqa: PTH112 - of any length
            expected = f"{_HUGGING_FACE}{value}, or the name of a class"
            raise InputError(f"{value} is a folder", key="--victim", expected=expected)
        else:
            kept += tokens
    return kept


def _with_lists(arguments: Sequence[str], joined: Collection[str]) -> list[str]:
    """Join the values of each option that takes several, also if it is repeated.

    A pattern such as ``[ab].conllu`` becomes a list: YAML cannot hold it without quotation marks.
    """
    kept: list[str] = []
    values: dict[str, list[str]] = {}
    current = ""
    for name, value, tokens in each_option(arguments):
        current = name or current
        if value is not None and current in joined:
            values.setdefault(current, []).append(value)
        elif name == "--data" and value is not None and _is_pattern(value):
            kept.append(f"{name}={json.dumps([value])}")
        else:
            kept += tokens
    for name, several in values.items():
        plain = len(several) == 1 and not _is_pattern(several[0])
        kept.append(f"{name}={several[0] if plain else json.dumps(several)}")
    return kept
