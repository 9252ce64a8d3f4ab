"""Models from checkpoints, and digests of files."""

import os
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from robustparse.data.datamodule import SAMPLE
from robustparse.data.tables import is_dataset
from robustparse.devices import chosen_device
from robustparse.errors import InputError
from robustparse.files.checkpoints import checkpoint_file
from robustparse.files.compression import plain_ending
from robustparse.files.digests import path_digest
from robustparse.files.paths import matching_files
from robustparse.models.base import Model
from robustparse.models.load import Decoder, load
from robustparse.models.mean_scores import Mean
from robustparse.pretrained.hub import WEIGHTS

Paths = list[str] | str
"""What `--checkpoint` and `--data` take: one path or several."""


def checkpoint_files(paths: Paths) -> list[str]:
    """Return the file of each checkpoint, all different; a folder stands for the one in it.

    Raises:
        InputError: a file does not exist or is given twice, or no path is given.
    """
    several = [paths] if isinstance(paths, str) else list(paths)
    if not several:
        raise InputError("names no file", key="--checkpoint")
    files = [str(checkpoint_file(path)) for path in several]
    for first, second in combinations(files, 2):
        if Path(first).samefile(second):
            problem, remedy = f"is given twice, as {first}", "give each model once"
            raise InputError(problem, path=second, key="--checkpoint", remedy=remedy)
    return files


def load_models(
    checkpoints: Paths,
    decoder: Decoder | None = None,
    beam: int | None = None,
    device: str = "auto",
    mean: Mean = "probabilities",
) -> list[Model]:
    """Load models as an ensemble, which averages their probabilities or logits.

    Raises:
        InputError: a checkpoint cannot be loaded, or there is no such device.
    """
    chosen = chosen_device("--device", device)
    models = [load(path, decoder, beam).to(chosen) for path in checkpoint_files(checkpoints)]
    models[0].mean = mean
    return models


def system_name(paths: Sequence[str]) -> str:
    """Return the name of a system in tables: the checkpoints' file names or their folders."""
    return " + ".join(map(_name, map(Path, paths)))


def _name(file: Path) -> str:
    if file.name == WEIGHTS:
        folder = file.parent.resolve()
        # In the cache of the hub: models--OWNER--NAME/snapshots/COMMIT.
        cached = folder.parent.name == "snapshots"
        return folder.parents[1].name.rpartition("--")[2] if cached else folder.name
    if file.stem in ("best", "last"):
        return file.resolve().parent.name
    return file.name.removesuffix(".ckpt")


def file_names(data: object) -> list[str] | None:
    """Return the names of data that are a file or a sequence of files, otherwise None."""
    several = [data] if isinstance(data, str | Path) else data
    if not isinstance(several, Sequence):
        return None
    return [*map(str, several)] if all(isinstance(each, str | Path) for each in several) else None


def data_files(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return the data files of names and patterns, in their order; see `matching_files`.

    Raises:
        InputError: there is none, a pattern matches none, a file is named twice, or the sample or
            standard input (``-``) is not alone.
    """
    several = [names] if isinstance(names, str) else names
    files = [
        file for name in several for file in ([name] if is_dataset(name) else matching_files(name))
    ]
    if not files:
        raise InputError("names no file", key="--data")
    if len(files) == 1:
        return (files[0],)
    seen: dict[str, str] = {}
    for file in files:
        if file in (SAMPLE, "-"):
            problem = f"{file!r} cannot be combined with other data"
            raise InputError(problem, key="--data", remedy="leave the others out")
        first = seen.setdefault(os.path.realpath(file), file)
        if first is not file:
            same = "" if first == file else f", as {first}"
            raise InputError(f"is given twice{same}", path=file, remedy="give each file once")
    return tuple(files)


def check_same_kind(files: Sequence[str]) -> None:
    """Check that the names of data files that are read as one have the same ending.

    Raises:
        InputError: two endings differ.
    """
    for file in files[1:]:
        kind, first = _kind(file), _kind(files[0])
        if kind != first:
            expected = f"{first}, as {files[0]} is"
            remedy = "give files of one kind, or convert them"
            raise InputError(
                f"is {kind}", path=file, key="--data", expected=expected, remedy=remedy
            )


def _kind(file: str) -> str:
    if is_dataset(file):
        return "a dataset"
    ending = plain_ending(file)
    return f"a {ending} file" if ending else "a file without an ending"


def digest(path: str) -> str:
    """Return the SHA-256 of a file or folder; empty for the sample and for remote data."""
    known = path != SAMPLE and Path(path).exists()
    return path_digest(Path(path)) if known else ""
