"""Who imports whom."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import robustparse

SOURCE = Path(robustparse.__file__).parent
FILES = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}

# "" is the package root, which holds the version and, lazily, the public functions.
LEAVES = {
    *("", "types", "tagsets", "errors", "files", "metrics", "devices", "vectors", "pretrained"),
    *("casing", "graphemes", "keyboards", "lightning", "trust", "randomness"),
}
# What each room may import in addition to the leaves; leaves import leaves only.
ROOMS: dict[str, set[str]] = {
    "grammars": set(),
    "data": {"grammars"},
    "attacks": {"data"},
    "tasks": {"data", "grammars"},
    "models": {"data", "grammars", "tasks"},
    "certificates": {"data", "attacks", "tasks"},
    # An operation may exchange words by candidates of attacks, or reorder by a parser's trees.
    "perturbations": {"data", "attacks", "models"},
    "evaluation": {"data", "attacks", "certificates", "perturbations", "tasks", "models"},
    "annotation": {"attacks", "evaluation"},
    "defenses": {
        *("data", "attacks", "certificates", "perturbations", "tasks", "models", "evaluation"),
    },
    "victims": {"data", "grammars", "attacks", "tasks"},
    "reports": {"certificates", "evaluation", "annotation", "tasks"},
    "tracking": {"certificates", "models", "evaluation", "tasks", "reports"},
    "options": {"attacks", "perturbations"},
}
ROOMS["api"] = set(ROOMS) - {"annotation", "defenses", "tracking"}
ROOMS["cli"] = set(ROOMS)
ROOMS["__main__"] = {"cli"}
ROOMS["ray"] = {"cli"}
EVERYWHERE = LEAVES | set(ROOMS)

# Where a third party may come in: files, or whole folders with a slash.
THIRD_PARTIES = {
    "pytorch_lightning": (
        *(
            "lightning.py",
            "data/columns.py",
            "data/datamodule.py",
            "models/resumable.py",
            "models/optimization.py",
        ),
        *("options/", "defenses/", "evaluation/", "tracking/", "cli/"),
    ),
    "transformers": (
        *("pretrained/", "models/encoders/", "attacks/candidates/", "attacks/constraints/"),
        "cli/",
    ),
    "wandb": ("tracking/", "cli/"),
    # Another package with classes of its own, which pytorch_lightning's are no instances of.
    "lightning": (),
}


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
def imports_of(name: str) -> set[str]:
    tree = ast.parse(FILES[name].read_text(encoding="utf-8"))
    return set(imported(tree, ("robustparse", *Path(name).parent.parts)))


def rooms_entered(modules: set[str]) -> set[str]:
    """The rooms of ours among imported modules."""
    entered = set()
    for module in modules:
        parts = module.split(".")
        if parts[0] == "robustparse":
            entered.add(parts[1] if len(parts) > 1 and parts[1] in EVERYWHERE else "")
    return entered


def test_rooms_are_entered_by_their_doors():
    missed = []
    for name in FILES:
        first = name.split("/")[0].removesuffix(".py")
        room = "" if first == "__init__" else first
        assert room in EVERYWHERE, f"{room} is a new room: say here what it may import"
        allowed = LEAVES | ROOMS.get(room, set())
        if forbidden := rooms_entered(imports_of(name)) - allowed - {room}:
            missed.append(f"{name} may not import {', '.join(sorted(forbidden))}")
    assert not missed, "; ".join(missed)
    # The reader of imports finds every form of them.
    for code, rooms in (
        ("import robustparse.cli.main", {"cli"}),
        ("from robustparse.data.conllu import read_treebank", {"data"}),
        ("from robustparse import __version__", {""}),
        ("from robustparse import models", {"models"}),
        ("from ..data import conllu", {"data"}),
        ("from . import goals", {"attacks"}),
        ("def f():\n    from robustparse.cli import main", {"cli"}),
        ("import numpy, robustparse.types as t", {"types"}),
        ("import robustparsec.data", set()),
    ):
        found = rooms_entered(set(imported(ast.parse(code), ("robustparse", "attacks"))))
        assert found == rooms, code


@cache
def file_of(module: str) -> str | None:
    """The file that an imported name comes from: public names of a package by its stub."""
    path = module.removeprefix("robustparse").replace(".", "/").lstrip("/")
    for name in (f"{path}.py", f"{path}/__init__.py".lstrip("/")):
        if name in FILES:
            return name
    package, _, public = path.rpartition("/")
    stub = SOURCE / package / "__init__.pyi"
    if stub.exists():
        parts = ("robustparse", *Path(package).parts)
        for defined in imported(ast.parse(stub.read_text(encoding="utf-8")), parts):
            if defined.endswith(f".{public}") and defined != module:
                return file_of(defined)
    for name in (f"{package}.py", f"{package}/__init__.py".lstrip("/")):
        if name in FILES:
            return name
    return None


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Files that import themselves through others, each circle as its files in order."""
    found, finished = [], set[str]()

    def walk(name: str, path: list[str]) -> None:
        if name in path:
            found.append(path[path.index(name) :])
        elif name not in finished:
            for other in sorted(edges.get(name, ())):
                walk(other, [*path, name])
            finished.add(name)

    for name in sorted(edges):
        walk(name, [])
    return found


def test_no_file_imports_itself_through_others():
    """Imports inside of functions and under TYPE_CHECKING count too."""
    edges = {
        name: {
            other
            for module in imports_of(name)
            if module.split(".")[0] == "robustparse" and (other := file_of(module)) is not None
        }
        - {name}
        for name in FILES
    }
    assert circles(edges) == []
    assert "data/vocab.py" in edges["models/base.py"]  # files are found
    assert edges["models/semantic/tranx.py"] >= {"grammars/transitions.py", "models/beam_search.py"}
    guarded = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a import b"
    assert "a.b" in set(imported(ast.parse(guarded), ()))
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


def test_third_parties_come_in_where_they_belong():
    for name in FILES:
        parties = {module.split(".")[0] for module in imports_of(name)}
        for party in parties & THIRD_PARTIES.keys():
            places = THIRD_PARTIES[party]
            allowed = any(
                name == one or (one.endswith("/") and name.startswith(one)) for one in places
            )
            assert allowed, f"{name} may not import {party}; {places} may"
