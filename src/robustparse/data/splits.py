"""The files of a folder that hold the splits of a corpus, found by their names."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from robustparse.errors import InputError
from robustparse.files import plain_name

_DEV = "dev|valid|validation"  # names of the development data


def split_file(
    folder: Path,
    split: str,
    endings: Sequence[str],
    is_split: Callable[[Path], bool] = lambda _: False,
) -> Path:
    """Return the file of ``train``, ``dev`` or ``test`` in a folder, packed or not.

    Its name ends in the split, as in ``mr-train.tsv``, ignoring case; ``valid`` and ``validation``
    serve as ``dev``. Names in which a letter precedes the split, such as ``mrtest.tsv`` and
    ``latest.tsv``, count only if there is no other. Hidden files do not count: macOS adds them.

    Args:
        folder: the folder.
        split: the name of the split.
        endings: the endings of files of the corpus, such as ``.tsv``.
        is_split: tells whether another file or folder holds the split.

    Raises:
        InputError: there is no such folder, or no file or several files match.
    """
    if not folder.is_dir():
        expected = f"a folder with {split}{endings[0]} in it"
        raise InputError("no such folder", path=folder, expected=expected)
    names = _DEV if split == "dev" else split
    ending = rf"(-00000-of-00001)?({'|'.join(map(re.escape, endings))})"
    visible = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    found: list[Path] = []
    for before in (r"(.*[\W\d_])?", ".*"):
        name = re.compile(rf"{before}({names}){ending}", re.IGNORECASE)
        found = [path for path in visible if name.fullmatch(plain_name(path)) or is_split(path)]
        if found:
            break
    if len(found) != 1:
        listed = ", ".join(path.name for path in found) or "none"
        raise InputError(
            f"{len(found)} files of the split {split} ({listed})",
            path=folder,
            expected=f"one whose name ends in {split}{f' or {split}'.join(endings)}",
            remedy=f"name it with {split}_file",
        )
    return found[0]
