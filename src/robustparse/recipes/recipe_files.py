"""The files and folders that a recipe names, by content: with others it is another attack.

A recipe is plain values, of which any free text may be a path: a table of synonyms, word vectors,
a list of stop words, the folder of a model. What is there under that name counts; a model that is
read by name from the hub's cache does not.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from pydoc import locate
from typing import Any, get_args, get_type_hints

from robustparse.errors import InputError
from robustparse.files import path_digest
from robustparse.trust import PACKAGE


def recipe_digests(settings: dict[str, Any]) -> dict[str, str]:
    """SHA-256 of every file and folder that a recipe names, by its name there.

    So is the file of a class that is not the package's, by the name of its module: a part whose
    code was changed is another one. What such a file imports is not looked at.

    Args:
        settings: ``class_path`` and ``init_args`` of the attack.

    Raises:
        InputError: one of them cannot be read.
    """
    parts = list(_parts(settings))
    named = {name: Path(name).expanduser() for part in parts for name in _named(part)}
    own = dict(code for part in parts if (code := _own_code(part)) is not None)
    return {name: _digest(path) for name, path in sorted((named | own).items())}


def _parts(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a class with its arguments, and those among its arguments."""
    yield part
    for value in part.get("init_args", {}).values():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                yield from _parts(one)


def _named(part: dict[str, Any]) -> Iterator[str]:
    """Yield the arguments of a class that are paths of what is there.

    Arguments that offer a choice of words are left out, as a folder may happen to be called so, and
    what a class writes itself (``CACHES``), which grows with the run.
    """
    named = locate(str(part.get("class_path")))
    try:
        hints = get_type_hints(getattr(named, "__init__", None))
    except NameError:  # of names that its file imports only for type checkers
        hints = {}
    for key, value in part.get("init_args", {}).items():
        if key not in getattr(named, "CACHES", ()) and _is_text(hints.get(key, str)):
            for one in value if isinstance(value, list) else [value]:
                # Any text may come here, also one that is too long for a name.
                if isinstance(one, str) and os.path.exists(os.path.expanduser(one)):  # noqa: PTH110, PTH111
                    yield one


def _own_code(part: dict[str, Any]) -> tuple[str, Path] | None:
    """Return module and file of a class that is not the package's.

    None where no file is its own: it was written in a notebook or in the script that runs.
    """
    module = getattr(locate(str(part.get("class_path"))), "__module__", PACKAGE)
    if module.partition(".")[0] in (PACKAGE, "__main__"):
        return None
    file = getattr(sys.modules.get(module), "__file__", None)
    return None if file is None else (module, Path(file))


def _is_text(hint: Any) -> bool:
    """Whether a type allows any text; ``Literal`` does not."""
    return hint in (str, Path, Any) or any(map(_is_text, get_args(hint)))


def _digest(path: Path) -> str:
    try:
        return path_digest(path)
    except OSError as error:
        raise InputError(
            f"the recipe names it, and it cannot be read ({error.strerror})", path=path
        ) from None
