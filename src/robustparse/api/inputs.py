"""Models from checkpoints, and digests of files."""

from collections.abc import Sequence
from pathlib import Path

from robustparse.data.datamodule import SAMPLE
from robustparse.devices import chosen_device
from robustparse.errors import InputError
from robustparse.files import path_digest
from robustparse.models.base import Model
from robustparse.models.load import Decoder, load
from robustparse.models.scores import Mean

Paths = list[str] | str
"""What `--checkpoint` takes: one path or several, which make an ensemble."""


def as_list(paths: Paths) -> list[str]:
    """Return one path or several as a list.

    Raises:
        InputError: there is none.
    """
    several = [paths] if isinstance(paths, str) else list(paths)
    if not several:
        raise InputError("names no file", key="--checkpoint")
    return several


def load_models(
    checkpoints: Paths,
    decoder: Decoder | None = None,
    beam: int | None = None,
    device: str = "auto",
    mean: Mean = "probabilities",
) -> list[Model]:
    """Load models that answer together, by the mean of their probabilities or logits.

    Raises:
        InputError: see ``load``; or there is no such device.
    """
    chosen = chosen_device("--device", device)
    models = [load(path, decoder, beam).to(chosen) for path in as_list(checkpoints)]
    models[0].mean = mean
    return models


def system_name(paths: Sequence[str]) -> str:
    """Name the models of checkpoints in tables, each by its file or the folder of its run."""
    files = map(Path, paths)
    return " + ".join(
        file.resolve().parent.name if file.stem in ("best", "last") else file.stem for file in files
    )


def digest(path: str) -> str:
    """SHA-256 of a file or folder; the sample and data that are not on this machine have none."""
    known = path != SAMPLE and Path(path).exists()
    return path_digest(Path(path)) if known else ""
