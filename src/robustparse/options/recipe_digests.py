"""Digests of the files and folders that a recipe names, so that changed files are noticed.

Any free text in a recipe may be a path: a table of synonyms, word vectors, stop words, the folder
of a model. Models that are named in the hub's cache have no digest.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_type_hints

from robustparse.errors import InputError
from robustparse.files.digests import path_digest
from robustparse.options.arguments import each_object
from robustparse.trust import PACKAGE


def recipe_digests(settings: Any) -> dict[str, str]:
    """Return the SHA-256 of every file and folder that a recipe names.

    Files of custom classes are included under the names of their modules; files that they import
    are not.

    Args:
        settings: plain values, with ``class_path`` and ``init_args`` of the attack or of other
            objects.

    Raises:
        InputError: a file cannot be read.
    """
    named, custom = dict[str, Path](), dict[str, Path]()
    for class_path, arguments, _ in each_object(settings):
        kind = located_class(class_path)
        named |= {name: Path(name).expanduser() for name in _paths(kind, arguments)}
        custom |= _custom_code(kind)
    return {name: _digest(path) for name, path in sorted((named | custom).items())}


def located_class(class_path: str) -> object:
    """Return a class, or None if there is none.

    `pydoc.locate` would keep the frames of all callers until the next garbage collection.
    """
    module, _, name = class_path.rpartition(".")
    try:
        return getattr(import_module(module), name, None)
    except (ImportError, ValueError):
        return None


def _paths(kind: object, arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the arguments that are existing paths.

    Arguments with a fixed set of words are left out, since a folder may have such a name, and so
    are files that the class writes (``CACHES``).
    """
    try:
        hints = get_type_hints(getattr(kind, "__init__", None))
    except NameError:  # the module imports some types for type checkers only
        hints = {}
    for key, value in arguments.items():
        if key not in getattr(kind, "CACHES", ()) and _is_text(hints.get(key, str)):
            for text in value if isinstance(value, list) else [value]:
                # `Path` rejects texts that are too long for a name.
                if isinstance(text, str) and os.path.exists(os.path.expanduser(text)):  # noqa: PTH110, PTH111
                    yield text


def _custom_code(kind: object) -> dict[str, Path]:
    """Map the module of a custom class to its file; empty for classes of a notebook or a script."""
    module = getattr(kind, "__module__", PACKAGE)
    if module.partition(".")[0] in (PACKAGE, "__main__"):
        return {}
    file = getattr(sys.modules.get(module), "__file__", None)
    return {} if file is None else {module: Path(file)}


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
