"""What is installed with the package: files of YAML that commands take by name, and classes."""

import re
from importlib import import_module, resources
from inspect import getdoc, isclass
from pathlib import Path

from robustparse.errors import InputError, did_you_mean
from robustparse.trust import PACKAGE

CONFIGS = Path(str(resources.files(PACKAGE))) / "configs"
KINDS = {
    "experiments": "experiment",
    "models": "model",
    "data": "data",
    "defenses": "defense",
    "attacks": "attack",
}
# Rooms whose public classes a recipe or a configuration names.
COMPONENT_ROOMS = ("attacks", "data", "defenses", "models", "perturbations", "tracking", "victims")


def names_in(folder: Path = CONFIGS) -> dict[str, Path]:
    """Map the names of the installed files in and below a folder to their paths, sorted."""
    paths = sorted(folder.rglob("*.yaml"))
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in paths}


def summary_of(path: Path) -> str:
    """Return the first sentence of the comment at the top of a file."""
    return re.split(r"(?<=\.) (?=[A-Z])", comment_of(path), maxsplit=1)[0]


def comment_of(path: Path) -> str:
    """Return the comment at the top of a file, without its example of a command."""
    comment: list[str] = []
    for line in path.read_text("utf-8").splitlines():
        text = line.removeprefix("#").strip()
        if not line.startswith("#") or text.startswith("robustparse "):
            break
        comment.append(text)
    return " ".join(comment)


def components() -> dict[str, str]:
    """Map the path of each public class of a component to the first line of its docstring."""
    classes = {}
    for room in COMPONENT_ROOMS:
        module = import_module(f"{PACKAGE}.{room}")
        for name in sorted(dir(module)):
            if isclass(value := getattr(module, name)):
                classes[f"{PACKAGE}.{room}.{name}"] = (getdoc(value) or "").partition("\n")[0]
    return classes


def installed_file(name: str) -> Path:
    """Find an installed file by its name, which may leave out the folder, as in ``pwws``.

    Raises:
        InputError: no file has that name.
    """
    known = names_in()
    wanted = name.removesuffix(".yaml")
    named = [path for full, path in known.items() if wanted in (full, full.partition("/")[2])]
    if len(named) == 1:
        return named[0]
    names = [*known, *(full.partition("/")[2] for full in known)]
    raise InputError(
        f"no installed file is called {name!r}",
        expected="a name that `robustparse list` prints",
        remedy=did_you_mean(wanted, names),
    )
