"""A model from its checkpoint."""

from pathlib import Path

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models.base import Model
from robustparse.models.bounds import making_from
from robustparse.models.checkpoint import KEY, fill_weights, instantiate, read_checkpoint

# Commands, which name no kind of model, take the name from here.
from robustparse.models.dependency.trees import Decoder as Decoder
from robustparse.models.dependency.trees import check_decoder


def load(path: str | Path, decoder: Decoder | None = None, beam: int | None = None) -> Model:
    """Return the model a checkpoint holds, on the CPU, in evaluation mode; no other file is read.

    Args:
        path: the checkpoint.
        decoder: instead of the one the model was trained with.
        beam: hypotheses a text, instead of as many as the model was trained with.

    Raises:
        InputError: see ``read_checkpoint``; or what it holds makes no model, or one without
            a choice of decoders or without a beam, or its weights are not finite.
    """
    content = read_checkpoint(path)
    try:
        with making_from(path, content["state_dict"]):
            vocabulary = Vocabulary.from_lists(content[KEY]["vocabulary"])
            spec = content[KEY]["model"]
            model: object = instantiate(spec, vocabulary=vocabulary, init_from=None)
    except InputError as error:
        raise error if error.path == str(path) else InputError(str(error), path=path) from error
    if not isinstance(model, Model):
        raise InputError(f"{content[KEY]['model']['class_path']!r} is no model", path=path)
    if decoder is not None:
        check_decoder(decoder)
        _set(model, path, "decoder", decoder, "one way to decode")
    if beam is not None:
        if beam < 1:
            raise InputError(f"must be >= 1, got {beam}", key="beam")
        _set(model, path, "beam", beam, "no beam")
    fill_weights(model, path, content)
    model.checkpoint, model.trained_on = str(path), content[KEY].get("trained_on")
    columns = content[KEY].get("data_columns")  # which the first checkpoints do not have
    if isinstance(columns, list) and len(columns) > 1 and all(isinstance(c, str) for c in columns):
        model.data_columns = columns
    return model.eval()


def _set(model: Model, path: str | Path, key: str, value: object, otherwise: str) -> None:
    """Set how a model decodes, if that is a choice."""
    if not hasattr(model, key):
        found = f"a {type(model).__name__} has {otherwise}"
        raise InputError(found, path=path, key=key, remedy="leave it out")
    setattr(model, key, value)
