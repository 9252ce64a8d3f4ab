"""The files of a folder, or the splits of a dataset, that hold the splits of a corpus."""

import re
from collections.abc import Callable, Sequence
from glob import escape
from pathlib import Path

from robustparse.data.tables import HUB, is_dataset
from robustparse.errors import InputError
from robustparse.files.compression import plain_name
from robustparse.files.paths import check_folder, with_home

_DEV = "dev|valid|validation"  # names of the development data
_DEV_APART = f"{_DEV}|val"  # where no letter precedes it, as in eval
# The name of a part of a dataset. Older datasets of the hub add a fingerprint.
_NUMBERS, _FINGERPRINT = "-([0-9]{5})-of-([0-9]{5})", "(-[0-9a-f]{8,})?"
_PART = re.compile(rf"(.*){_NUMBERS}{_FINGERPRINT}(\..*)")


def find_split(folder: str | Path, split: str, endings: Sequence[str]) -> Path:
    """Find the file of ``train``, ``dev`` or ``test`` in a folder, packed or not.

    Where tables are read, it may also be a split of a dataset of the ``datasets`` library.
    Its name ends in the split, as in ``mr-train.tsv``, ignoring case; ``valid``, ``validation`` and
    ``val`` serve as ``dev``. Files such as ``mrtest.tsv`` and ``latest.tsv``, where a letter
    precedes the split, count only if no other file matches. Hidden files, which macOS adds, are
    ignored. Numbered parts, such as ``train-00000-of-00002.parquet``, are returned as one
    pattern.

    Args:
        folder: the folder.
        split: the name of the split.
        endings: the endings of files of the corpus, such as ``.tsv``.

    Raises:
        InputError: the folder does not exist or is a dataset without splits, not exactly one file
            matches, or a part is missing.
    """
    folder = with_home(folder)
    if ".parquet" not in endings:  # no tables, and so no datasets
        return _split_file(folder, split, endings, lambda _: False)
    if str(folder).startswith(HUB):
        return Path(f"{folder}:{'validation' if split == 'dev' else split}")
    if (folder / "state.json").exists():
        remedy = f"name it with {split}_file"
        if split != "dev":
            remedy += ", and the development data with dev_file"
        problem = "a dataset without splits"
        raise InputError(problem, path=folder, expected="a folder of splits", remedy=remedy)
    return _split_file(folder, split, endings, is_dataset)


def _split_file(
    folder: Path,
    split: str,
    endings: Sequence[str],
    may_be_split: Callable[[Path], bool],
) -> Path:
    """Return the file of a split, or the folder with its name for which ``may_be_split`` holds."""
    check_folder(folder, expected=f"a folder with {split}{endings[0]} in it")
    names, apart = (_DEV, _DEV_APART) if split == "dev" else (split, split)
    ending = rf"({_NUMBERS}{_FINGERPRINT})?({'|'.join(map(re.escape, endings))})"
    visible = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    folders = [
        path for path in visible if re.fullmatch(apart, path.name, re.I) and may_be_split(path)
    ]
    matching: list[Path] = []
    for before, called in ((r"(.*[\W\d_])?", apart), (".*", names)):
        name = re.compile(rf"{before}({called}){ending}", re.IGNORECASE)
        matching = folders + [path for path in visible if name.fullmatch(plain_name(path))]
        if matching:
            break
    if parts := _numbered_parts(folder, matching):
        return parts
    if len(matching) != 1:
        listed = ", ".join(path.name for path in matching) or "none"
        raise InputError(
            f"{len(matching)} files of the split {split} ({listed})",
            path=folder,
            expected=f"one whose name ends in {split}{f' or {split}'.join(endings)}",
            remedy=f"name it with {split}_file",
        )
    return matching[0]


def _numbered_parts(folder: Path, files: Sequence[Path]) -> Path | None:
    """Return a pattern for the numbered parts of a file, or the only part; None for other files."""
    parts = [part for file in files if (part := _PART.fullmatch(file.name))]
    kinds = {(*part.group(1, 3, 5), part[4] is None) for part in parts}
    if not parts or len(parts) < len(files) or len(kinds) > 1:
        return None
    before, _, count, fingerprint, ending = parts[0].groups()
    numbers, expected = {int(part[2]) for part in parts}, {*range(int(count))}
    if numbers - expected or len(numbers) < len(parts):
        return None
    after = f"-of-{count}"
    if missing := expected - numbers:
        problem = f"{len(numbers)} of {len(expected)} parts of {before}"
        remedy = f"copy {before}-{min(missing):05d}{after}{ending} there too"
        raise InputError(problem, path=folder, remedy=remedy)
    if len(files) == 1:
        return files[0]
    after += "-*" if fingerprint else ""
    pattern = f"{escape(before)}-{'[0-9]' * 5}{after}{escape(ending)}"
    return Path(escape(str(folder))) / pattern if {*folder.glob(pattern)} == {*files} else None
