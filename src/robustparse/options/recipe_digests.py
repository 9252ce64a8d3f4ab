"""Digests of the files and folders that a recipe names, so that changed files are noticed.

Any free text in a recipe may be a path: a table of synonyms, word vectors, stop words, the folder
of a model. Models that are named in the hub's cache have no digest.
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
    """Return the SHA-256 of every file and folder that a recipe names.

    Files of custom classes are included under the names of their modules; files that they import
    are not.

    Args:
        settings: ``class_path`` and ``init_args`` of the attack.

    Raises:
        InputError: a file cannot be read.
    """
    components = list(_components(settings))
    named = {name: Path(name).expanduser() for each in components for name in _paths(each)}
    custom = dict(code for each in components if (code := _custom_code(each)) is not None)
    return {name: _digest(path) for name, path in sorted((named | custom).items())}


def _components(settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the description of an object, and those of the objects among its arguments."""
    yield settings
    for value in settings.get("init_args", {}).values():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                yield from _components(item)


def _paths(component: dict[str, Any]) -> Iterator[str]:
    """Yield the arguments that are existing paths.

    Arguments with a fixed set of words are left out, since a folder may have such a name, and so
    are files that the class writes (``CACHES``).
    """
    kind = locate(str(component.get("class_path")))
    try:
        hints = get_type_hints(getattr(kind, "__init__", None))
    except NameError:  # the module imports some types for type checkers only
        hints = {}
    for key, value in component.get("init_args", {}).items():
        if key not in getattr(kind, "CACHES", ()) and _is_text(hints.get(key, str)):
            for text in value if isinstance(value, list) else [value]:
                # `Path` rejects texts that are too long for a name.
                if isinstance(text, str) and os.path.exists(os.path.expanduser(text)):  # noqa: PTH110, PTH111
                    yield text


def _custom_code(component: dict[str, Any]) -> tuple[str, Path] | None:
    """Return module and file of a custom class; None for classes of a notebook or a script."""
    module = getattr(locate(str(component.get("class_path"))), "__module__", PACKAGE)
    if module.partition(".")[0] in (PACKAGE, "__main__"):
        return None
    file = getattr(sys.modules.get(module), "__file__", None)
    return None if file is None else (module, Path(file))


def _is_text(hint: Any) -> bool:
    """Tell whether a type allows any text; ``Literal`` does not."""
    return hint in (str, Path, Any) or any(map(_is_text, get_args(hint)))


def _digest(path: Path) -> str:
    try:
        return path_digest(path)
    except OSError as error:
        raise InputError(
            f"the recipe names it, and it cannot be read ({error.strerror})", path=path
        ) from None
