"""Loads a model from its checkpoint."""

from pathlib import Path

from robustparse.errors import InputError
from robustparse.files.checkpoints import checkpoint_file
from robustparse.models.base import Model

# Commands do not import from rooms of one task, so that they take the name from here.
from robustparse.models.dependency.tree_decoding import Decoder as Decoder
from robustparse.models.dependency.tree_decoding import check_decoder


def load(path: str | Path, decoder: Decoder | None = None, beam: int | None = None) -> Model:
    """Return the model of a checkpoint, on the CPU, in evaluation mode.

    Args:
        path: the checkpoint, the folder of a training run or of a shared model, or a model on the
            Hugging Face hub (``hf://OWNER/NAME``).
        decoder: replaces the decoder of the training run.
        beam: replaces the beam size of the training run.

    Raises:
        InputError: see ``Model.from_pretrained``; or the model has no decoders to choose from, or
            no beam.
    """
    path = checkpoint_file(path)
    model = Model.from_pretrained(path)
    if decoder is not None:
        check_decoder(decoder)
        _set(model, path, "decoder", decoder, "one way to decode")
    if beam is not None:
        if beam < 1:
            raise InputError(f"must be >= 1, got {beam}", key="beam")
        _set(model, path, "beam", beam, "no beam")
    return model


def _set(model: Model, path: str | Path, key: str, value: object, otherwise: str) -> None:
    """Set an attribute of the model if it has such an attribute."""
    if not hasattr(model, key):
        problem = f"a {type(model).__name__} has {otherwise}"
        raise InputError(problem, path=path, key=key, remedy="leave it out")
    setattr(model, key, value)
