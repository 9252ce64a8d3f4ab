"""Loads a model from its checkpoint."""

from pathlib import Path

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.files import checkpoint_file
from robustparse.models.base import Model
from robustparse.models.checkpoint import KEY, fill_weights, instantiate, read_checkpoint
from robustparse.models.checkpoint_limits import making_from

# Commands do not import from rooms of one task, so that they take the name from here.
from robustparse.models.dependency.trees import Decoder as Decoder
from robustparse.models.dependency.trees import check_decoder


def load(path: str | Path, decoder: Decoder | None = None, beam: int | None = None) -> Model:
    """Return the model of a checkpoint, on the CPU, in evaluation mode; no other file is read.

    Args:
        path: the checkpoint, or the folder of a training run (`checkpoint_file`).
        decoder: replaces the decoder of the training run.
        beam: replaces the beam size of the training run.

    Raises:
        InputError: see ``read_checkpoint``; the checkpoint describes no model, or its weights are
            not finite; or the model has no decoders to choose from, or no beam.
    """
    path = checkpoint_file(path)
    content = read_checkpoint(path)
    try:
        with making_from(path, content["state_dict"]):
            vocabulary = Vocabulary.from_lists(content[KEY]["vocabulary"])
            spec = content[KEY]["model"]
            model: object = instantiate(spec, vocabulary=vocabulary, init_from=None)
    except InputError as error:
        raise error if error.path == str(path) else InputError(str(error), path=path) from error
    if not isinstance(model, Model):
        raise InputError(f"{content[KEY]['model']['class_path']!r} is not a model", path=path)
    if decoder is not None:
        check_decoder(decoder)
        _set(model, path, "decoder", decoder, "one way to decode")
    if beam is not None:
        if beam < 1:
            raise InputError(f"must be >= 1, got {beam}", key="beam")
        _set(model, path, "beam", beam, "no beam")
    fill_weights(model, path, content)
    model.checkpoint, model.trained_on = str(path), content[KEY].get("trained_on")
    columns = content[KEY].get("data_columns")
    if isinstance(columns, list) and len(columns) > 1 and all(isinstance(c, str) for c in columns):
        model.data_columns = columns
    model.numeric_labels = content[KEY].get("numeric_labels") is True
    return model.eval()


def _set(model: Model, path: str | Path, key: str, value: object, otherwise: str) -> None:
    """Set an attribute of the model if it has such an attribute."""
    if not hasattr(model, key):
        problem = f"a {type(model).__name__} has {otherwise}"
        raise InputError(problem, path=path, key=key, remedy="leave it out")
    setattr(model, key, value)
