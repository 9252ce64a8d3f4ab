"""Read YAML that may be broken or hostile; every mistake is one error with its line."""

import re
from pathlib import Path
from typing import Any

import yaml

from robustparse.errors import InputError
from robustparse.files.reading import read_text

DEEPEST = 50
LARGEST = 100_000  # values, each as often as aliases repeat it; a long text counts for several
_UNUSED = tuple(f"tag:yaml.org,2002:{name}" for name in ("set", "omap", "pairs"))
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_NOT_KEYS = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:null")  # such as no and ~
_NOT_DECIMAL = re.compile(r"[-+]?(0[0-7_]+|[0-9_]+(:[0-9]+)+(\.[0-9_]*)?)")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class NotYAMLError(InputError, yaml.YAMLError):
    """A text that is not meant as YAML, such as a file name with unusual characters, or 1:30."""


def read_yaml(path: Path) -> Any:
    """Return the content of a file as plain values.

    Raises:
        InputError: it cannot be read, or see `parse_yaml`.
    """
    text = read_text(path)
    parse_yaml(text, path)
    return yaml.load(text, Loader=_LOADER)


def restrict(loader: type[yaml.SafeLoader]) -> None:
    """Let a loader reject numbers that are not decimal, and comments such as ``#a`` alone."""

    def value(loader: Any) -> Any:
        node = loader.get_single_node()
        if node is None:
            raise NotYAMLError("no value")
        return loader.construct_document(node)

    loader.get_single_data = value  # type: ignore[method-assign,assignment]
    for tag in _NUMBERS:

        def number(
            loader: yaml.SafeLoader, node: Any, read: Any = loader.yaml_constructors[tag]
        ) -> Any:
            _check_scalar(node)
            return read(loader, node)

        loader.add_constructor(tag, number)


def parse_yaml(text: str, path: Path | None = None, key: str | None = None) -> yaml.Node | None:
    """Return the nodes of a text, whose marks hold lines; None where it holds nothing.

    Errors name the file ``path``, or the option ``key`` that the text was given to.

    Raises:
        InputError: it is not YAML, refers to itself, is nested too deep or too large, gives a key
            twice, or holds a collection other than a list or a mapping, a number that is not
            decimal, or a key that is read as true, false or null.
    """
    try:
        _check_size(text)
        node: yaml.Node | None = yaml.compose(text, Loader=_LOADER)
        if node is not None:
            _check_collections(node, set())
            # Finds values that no type can hold, and puts merged keys into their mappings.
            _LOADER("").construct_document(node)
    except InputError as error:
        error.path, error.key = None if path is None else str(path), key
        error.line = error.line if path is not None else None
        raise
    except (yaml.YAMLError, ValueError, TypeError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        begin = getattr(error, "context_mark", None)
        if mark is not None and begin is not None and begin.line < mark.line:
            context = getattr(error, "context", "")
            problem += f" {context} from line {begin.line + 1} on"
        line = mark.line + 1 if mark is not None and path is not None else None
        column = "" if mark is None else f" at column {mark.column + 1}"
        raise NotYAMLError(f"not YAML{column}: {problem}", path=path, line=line, key=key) from None
    return node


def _check_collections(node: yaml.Node, seen: set[yaml.Node]) -> None:
    """Reject duplicate keys, collections such as ``!!set``, and what `_check_scalar` rejects."""
    line = node.start_mark.line + 1
    if isinstance(node, yaml.ScalarNode):
        _check_scalar(node)
    if node in seen or not isinstance(node, yaml.CollectionNode):
        return
    seen.add(node)
    if node.tag in _UNUSED:
        problem, expected = f"a !!{node.tag.rpartition(':')[2]}", "a list, or keys and values"
        raise InputError(problem, line=line, expected=expected)
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _check_collections(item, seen)
        return
    lines: dict[tuple[str, str], int] = {}
    for name, value in node.value:
        if isinstance(name, yaml.ScalarNode):
            line = name.start_mark.line + 1
            _check_scalar(name, key=True)
            given = (name.tag, name.value)
            if not isinstance(value, yaml.ScalarNode):
                given = (name.tag, name.value.removesuffix("+"))  # NAME+ adds to the list NAME
            if given in lines:
                problem = f"{given[1]!r} appears twice, first in line {lines[given]}"
                raise InputError(problem, line=line, remedy="remove one of them")
            lines[given] = line
        _check_collections(value, seen)


def _check_scalar(node: yaml.ScalarNode, key: bool = False) -> None:
    """Reject numbers in base 8 or 60, such as 1:30, and keys such as no and null."""
    line = node.start_mark.line + 1
    if key and node.tag in _NOT_KEYS:
        problem = f"YAML reads the key {node.value} as {yaml.safe_load(node.value)}"
        raise NotYAMLError(problem, line=line, remedy=f'write "{node.value}"')
    if node.tag in _NUMBERS and _NOT_DECIMAL.fullmatch(node.value):
        problem = f"YAML reads {node.value} as {yaml.safe_load(node.value)}"
        remedy = "write a decimal number, or put a text in quotation marks"
        raise NotYAMLError(problem, line=line, remedy=remedy)


def _check_size(text: str) -> None:
    """Go through a text event by event, which builds nothing and stops at the first excess."""

    def refuse(problem: str, event: yaml.Event) -> InputError:
        line = event.start_mark.line + 1 if event.start_mark is not None else None
        return InputError(problem, line=line)

    sizes: dict[str, int] = {}
    opened: list[tuple[str | None, int]] = []  # anchors of open collections, values before them
    count = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in opened):
                raise refuse(f"*{event.anchor} refers to a value that contains it", event)
            count += sizes.get(str(event.anchor), 0)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            if anchor is not None:
                sizes[anchor] = count - before
        elif isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, count))
            count += 1
        elif isinstance(event, yaml.ScalarEvent):
            size = 1 + len(event.value) // 100
            count += size
            if event.anchor is not None:
                sizes[event.anchor] = size
        if len(opened) > DEEPEST:
            raise refuse(f"nested more than {DEEPEST} deep", event)
        if count > LARGEST:
            raise refuse(f"holds more than {LARGEST} values, its aliases written out", event)
