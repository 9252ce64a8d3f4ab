"""Check which files the card of a local dataset names.

The ``datasets`` library reads ``configs`` at the top of ``README.md``. File names there may be
addresses, which it fetches even in offline mode, or paths outside the folder.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from robustparse.errors import InputError, reason
from robustparse.files.reading import read_text

_CARDS = ("README.md", ".huggingface.yaml")
_OUTSIDE = re.compile(r"://|::|^[/~]|(^|/)\.\.(/|$)")
_FRONT = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(\n|$)", re.DOTALL)


def check_card(folder: Path) -> None:
    """Check that the card of a dataset names only files inside its folder.

    Raises:
        InputError: it names another file; the error names the card and that file.
    """
    for path in (folder / name for name in _CARDS):
        if not path.is_file():
            continue
        text = read_text(path)
        front = _FRONT.match(text)
        if front is None and path.suffix == ".md":
            continue
        try:
            card = yaml.safe_load(text if front is None else front[1])
            names = list(_texts(card.get("configs") if isinstance(card, dict) else None))
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise InputError(f"not YAML ({reason(error)})", path=path) from None
        for name in filter(_OUTSIDE.search, names):
            raise InputError(
                f"names {name!r}, which is not in the folder",
                path=path,
                key="configs",
                expected="names of files in the folder: nothing is fetched for a local dataset",
                remedy="remove the name from the card",
            )


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value
