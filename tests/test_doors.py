"""Who imports whom, what rooms may name, and the size of files, functions and folders."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import robustparse

SOURCE = Path(robustparse.__file__).parent
FILES = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}

# "" is the package root, which holds the version and, lazily, the public functions.
LEAVES = {
    *("", "types", "tagsets", "errors", "files", "metrics", "devices", "vectors", "pretrained"),
    *("lightning", "trust", "randomness"),
}
# What each room may import in addition to the leaves; leaves import leaves only.
ROOMS: dict[str, set[str]] = {
    "grammars": set(),
    "data": {"grammars"},
    "attacks": {"data"},
    "tasks": {"data", "grammars"},
    "models": {"data", "grammars", "tasks"},
    # An operation may exchange words by candidates of attacks, or reorder by a parser's trees.
    "perturbations": {"data", "attacks", "models"},
    "evaluation": {"data", "attacks", "perturbations", "tasks", "models"},
    "annotation": {"attacks", "evaluation"},
    "defenses": {"data", "attacks", "perturbations", "tasks", "models", "evaluation"},
    "victims": {"data", "attacks", "tasks"},
    "reports": {"evaluation", "annotation", "tasks"},
    "tracking": {"models", "evaluation", "tasks", "reports"},
    "recipes": {"attacks"},
}
ROOMS["api"] = set(ROOMS) - {"annotation", "defenses", "tracking"}
ROOMS["cli"] = set(ROOMS)
EVERYWHERE = LEAVES | set(ROOMS)

# Where a third party may come in: files, or whole folders with a slash.
THIRD_PARTIES = {
    "pytorch_lightning": (
        *("lightning.py", "data/datamodule.py", "models/base.py", "models/optimization.py"),
        *("recipes/mistakes.py", "defenses/", "evaluation/", "tracking/", "cli/"),
    ),
    "transformers": (
        *("pretrained.py", "models/encoders/", "attacks/candidates/", "attacks/constraints/"),
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


def test_third_parties_come_in_where_they_belong():
    for name in FILES:
        parties = {module.split(".")[0] for module in imports_of(name)}
        for party in parties & THIRD_PARTIES.keys():
            places = THIRD_PARTIES[party]
            allowed = any(
                name == one or (one.endswith("/") and name.startswith(one)) for one in places
            )
            assert allowed, f"{name} may not import {party}; {places} may"


# What only a task, its models and its goals may speak of: kinds of tasks, and parts of trees.
ONE_TASK = {
    *(
        "dependency",
        "dependencies",
        "biaffine",
        "stackpointer",
        "entailment",
        "amr",
        "classification",
    ),
    *("tree", "trees", "subtree", "subtrees", "treebank", "treebanks", "conll", "conllu", "conllx"),
    *("head", "heads", "label", "labels", "labelled", "unlabelled", "arc", "arcs"),
    *("attachment", "las", "uas", "lcm", "ucm", "eisner", "mst"),
    *("parse", "parses", "parsed", "parser", "parsers", "parsing"),
}
SERVING = (
    *("attacks", "perturbations", "defenses", "cli", "tracking", "evaluation", "api", "recipes"),
)
READING = {"parse", "parses", "parsed", "parser", "parsers", "parsing"}
# Words that a file, or all of a folder, may use all the same.
SPOKEN = {
    "cli/": READING,  # of options
    "recipes/": READING,  # of YAML
    "api/evaluate.py": {"dependency"},  # the usual task of what is read
    # What is told of each task on its embedded data; and a plot's `x_label`.
    "cli/stories/subject.py": ONE_TASK,
    "cli/quickstart.py": {"dependency", "classification"},
    "cli/stories/attacked.py": {"label"},
    "cli/stories/perturbed.py": {"head", "heads"},  # of a column
    # The program that judges grammar is called link-parser; so is a part of a spaCy pipeline.
    "attacks/constraints/grammar.py": READING,
    "attacks/constraints/link_grammar.py": READING,
    "attacks/constraints/tagging/pipeline_tag.py": READING,
    # References are called as the papers call them; it is the victim that opens and compares them.
    "attacks/constraints/references.py": ONE_TASK,
    "attacks/constraints/words.py": ONE_TASK,  # a relation in the gold tree may protect a word
    "attacks/constraints/tagging/tags.py": {"treebank"},  # a corpus by its name
    "tracking/examples.py": {"label"},  # of a plot's axis
    "perturbations/reordering.py": ONE_TASK,  # by a parser's trees, whatever the task
    # The paper's phrases are parts of a tree: the attack asks for the goal that finds them.
    "attacks/search/zheng2020_phrase.py": {"parse"},
}


def words_of(text: str) -> set[str]:
    """The words of a text and those that identifiers in it are made of, in lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", text)}


def test_no_task_is_named_where_all_are_served():
    """Attacks, defenses, commands, tracking and evaluation ask the task, in code and in prose."""
    assert words_of("DependencyTask label_ids LAS 'val/las' heads") >= {
        *("dependency", "label", "las", "heads"),
    }
    named, used = [], set()
    for name, path in FILES.items():
        room = name.split("/")[0]
        if room not in SERVING:
            continue
        if name.startswith("attacks/goals/"):  # what is wrong in a tree is theirs to say
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            for word in words_of(line) & ONE_TASK:
                places = {one for one, words in SPOKEN.items() if word in words}
                here = {one for one in places if one in (name, f"{room}/")}
                used |= here
                if not here:
                    named.append(f"{name}:{number} {word}")
    assert not named, "; ".join(named)
    assert used == set(SPOKEN), "an exception that nothing needs"


Function = ast.FunctionDef | ast.AsyncFunctionDef


def test_nothing_is_large():
    large = []
    folders = [path.parent.relative_to(SOURCE).as_posix() for path in FILES.values()]
    for folder in sorted(set(folders)):
        if folders.count(folder) > 12:
            large.append(f"{folder} holds {folders.count(folder)} files, 12 at most")
    for name, path in FILES.items():
        text = path.read_text(encoding="utf-8")
        if (lines := len(text.splitlines())) > 400:
            large.append(f"{name} has {lines} lines, 400 at most")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, Function) and (lines := code_lines(node)) > 40:
                large.append(f"{name}:{node.lineno} {node.name} has {lines} lines, 40 at most")
    assert not large, "; ".join(large)


def code_lines(node: Function) -> int:
    """Lines from ``def`` to the end, the docstring left out: saying what it does costs nothing."""
    docstring = node.body[0] if ast.get_docstring(node, clean=False) is not None else None
    said = docstring.end_lineno - docstring.lineno + 1 if docstring is not None else 0
    return node.end_lineno - node.lineno + 1 - said
