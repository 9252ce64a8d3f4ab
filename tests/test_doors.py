"""Who imports whom: the rooms of the source, their doors, and the size of files and functions."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import robustparse

SOURCE = Path(robustparse.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
NAMES = [str(path.relative_to(SOURCE)) for path in FILES]

# "" is the package root, which holds the version and loads parsers.
LEAVES = {
    "",
    "errors",
    "types",
    "metrics",
    "files",
    "vectors",
    "devices",
    "pretrained",
    "lightning",
}
ROOMS = {
    "": {"models"},
    "errors": set(),
    "trust": {"errors"},
    "types": set(),
    "files": {"errors"},
    "vectors": {"errors", "files"},
    "devices": {"errors"},
    "pretrained": {"errors", "devices"},
    "metrics": {"errors", "types"},
    "lightning": set(),
    "data": LEAVES,
    "grammars": LEAVES,
    "attacks": LEAVES,
    "annotation": LEAVES | {"attacks", "evaluation"},
    "perturbations": LEAVES,
    "tasks": LEAVES | {"data", "grammars"},
    "models": LEAVES | {"trust", "data", "grammars", "tasks"},
    "evaluation": LEAVES | {"data", "grammars", "attacks", "perturbations", "models", "tasks"},
    "defenses": LEAVES
    | {"data", "grammars", "attacks", "perturbations", "models", "tasks", "evaluation"},
    # It shows adversarial examples, as the report does.
    "tracking": LEAVES | {"evaluation", "report", "tasks"},
    "report": LEAVES | {"annotation", "evaluation", "tasks"},
}
EVERYWHERE = set(ROOMS) | {"cli"}

# Where a third party may come in: files without their ending, or whole folders with a slash.
THIRD_PARTIES = {
    "pytorch_lightning": (
        *("lightning", "data/datamodule", "models/base", "models/optimization"),
        *("defenses/", "evaluation/", "tracking/", "cli/"),
    ),
    "transformers": (
        *("pretrained", "models/encoders/"),
        *("attacks/candidates/", "attacks/constraints/", "perturbations/", "cli/"),
    ),
    "wandb": ("tracking/", "cli/"),
    # Another package with classes of its own, which pytorch_lightning's are no instances of.
    "lightning": (),
}

MOST_LINES = 400
MOST_FUNCTION_LINES = 40


def imported(tree: ast.AST, package: tuple[str, ...]) -> Iterator[str]:
    """Every module that a file imports, anywhere in it, with its full name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) + 1 - node.level] if node.level else ()
            module = ".".join([*start, *([node.module] if node.module else [])])
            # "from robustparse import data" imports a room, "from robustparse import x" the root.
            yield from (f"{module}.{alias.name}" for alias in node.names)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports_of(path: Path) -> set[str]:
    return set(imported(parsed(path), ("robustparse", *path.parent.relative_to(SOURCE).parts)))


def room_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def rooms_entered(modules: set[str]) -> set[str]:
    """The rooms of ours among imported modules."""
    entered = set()
    for module in modules:
        parts = module.split(".")
        if parts[0] == "robustparse":
            entered.add(parts[1] if len(parts) > 1 and parts[1] in EVERYWHERE else "")
    return entered


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_every_file_uses_the_doors_of_its_room(path):
    room = room_of(path)
    entered = rooms_entered(imports_of(path)) - {room}
    if room == "cli":
        return
    assert room in ROOMS, f"{room} is a new room: say here what it may import"
    forbidden = entered - ROOMS[room]
    assert not forbidden, f"{path.name} in {room or 'the root'} may not import {sorted(forbidden)}"


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_third_parties_come_in_where_they_belong(path):
    name = str(path.relative_to(SOURCE).with_suffix(""))
    parties = {module.split(".")[0] for module in imports_of(path)}
    for party, places in THIRD_PARTIES.items():
        allowed = any(
            name.startswith(place) if place.endswith("/") else name == place for place in places
        )
        assert allowed or party not in parties, f"{name} may not import {party}; {places} may"


@pytest.mark.parametrize(
    ("code", "rooms"),
    [
        ("import robustparse.cli.main", {"cli"}),
        ("from robustparse.data.conllu import read_treebank", {"data"}),
        ("from robustparse import __version__", {""}),
        ("from robustparse import models", {"models"}),
        ("from ..data import conllu", {"data"}),
        ("from .. import data", {"data"}),
        ("from . import goals", {"attacks"}),
        ("from .goals import Goal", {"attacks"}),
        ("def f():\n    from robustparse.cli import main", {"cli"}),
        ("import numpy, robustparse.types as t", {"types"}),
        ("import robustparsec.data", set()),
    ],
)
def test_imports_are_found_in_every_form(code, rooms):
    assert rooms_entered(set(imported(ast.parse(code), ("robustparse", "attacks")))) == rooms


def test_no_file_is_long():
    sizes = {
        name: len(path.read_text().splitlines()) for name, path in zip(NAMES, FILES, strict=True)
    }
    long = {name: size for name, size in sizes.items() if size > MOST_LINES}
    assert not long, f"files over {MOST_LINES} lines: {long}"


def test_no_function_is_long():
    long = []
    for name, path in zip(NAMES, FILES, strict=True):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = code_lines(node)
                if lines > MOST_FUNCTION_LINES:
                    long.append(f"{name}:{node.lineno} {node.name} ({lines})")
    assert not long, f"functions over {MOST_FUNCTION_LINES} lines: {', '.join(long)}"


def code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from ``def`` to the end, the docstring left out: saying what it does costs nothing."""
    docstring = node.body[0] if ast.get_docstring(node, clean=False) is not None else None
    said = docstring.end_lineno - docstring.lineno + 1 if docstring is not None else 0
    return node.end_lineno - node.lineno + 1 - said
