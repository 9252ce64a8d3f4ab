"""Models from checkpoints, and digests of files."""

from collections.abc import Sequence
from pathlib import Path

from robustparse.data.datamodule import SAMPLE
from robustparse.devices import chosen_device
from robustparse.errors import InputError
from robustparse.files import checkpoint_file, path_digest
from robustparse.models.base import Model
from robustparse.models.load import Decoder, load
from robustparse.models.mean_scores import Mean
from robustparse.pretrained.hub import WEIGHTS

Paths = list[str] | str
"""What `--checkpoint` takes: one path or several, which make an ensemble."""


def checkpoint_files(paths: Paths) -> list[str]:
    """Return the file of each checkpoint; a folder stands for the checkpoint in it.

    Raises:
        InputError: a file does not exist, or no path is given.
    """
    several = [paths] if isinstance(paths, str) else list(paths)
    if not several:
        raise InputError("names no file", key="--checkpoint")
    return [str(checkpoint_file(path)) for path in several]


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


def digest(path: str) -> str:
    """Return the SHA-256 of a file or folder; empty for the sample and for remote data."""
    known = path != SAMPLE and Path(path).exists()
    return path_digest(Path(path)) if known else ""
