"""Write the home folder out where an option or a configuration begins a path with ``~/``.

A shell does so in ``--out ~/runs``, but not in ``--out=~/runs`` or in a file.
Lightning writes checkpoints below the home folder, but other files below a folder named ``~``.
"""

import re
from collections.abc import Sequence
from os.path import expanduser
from typing import Any

from jsonargparse import Namespace

_HOME = re.compile(r"(--?[\w.+]+=)?(~/.*)", re.DOTALL)
TEXTS = ("text", "context")
"""Options whose values are texts, not paths."""


def with_home(value: Any) -> Any:
    """Return a setting, or the settings in a collection, with the home folder's path."""
    if isinstance(value, Namespace):
        for name, item in vars(value).items():
            setattr(value, name, with_home(item))
    elif isinstance(value, dict):
        return {name: with_home(item) for name, item in value.items()}
    elif isinstance(value, list | tuple):
        return type(value)(map(with_home, value))
    elif isinstance(value, str) and value.startswith("~/"):
        return expanduser(value)  # noqa: PTH111 - of any length
    return value


def tokens_with_home(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command line with the home folder's path."""
    tokens: list[str] = []
    option = ""
    for token in arguments:
        option = token.partition("=")[0].lstrip("-") if token.startswith("-") else option
        path = None if option in TEXTS else _HOME.fullmatch(token)
        tokens.append(token if path is None else f"{path[1] or ''}{with_home(path[2])}")
    return tokens
