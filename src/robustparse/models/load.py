"""A parser from its checkpoint."""

from pathlib import Path

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models.base import Model
from robustparse.models.checkpoint import KEY, fill_weights, instantiate, read_checkpoint
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.dependency.decoders import Decoder, check_decoder


def load(path: str | Path, decoder: Decoder | None = None) -> Model:
    """Return the parser a checkpoint holds, on the CPU, in evaluation mode; no other file is read.

    Args:
        path: the checkpoint.
        decoder: instead of the one the parser was trained with.

    Raises:
        InputError: see ``read_checkpoint``; or what it holds makes no parser, or one without a
            choice of decoders, or its weights are no numbers.
    """
    content = read_checkpoint(path)
    try:
        vocabulary = Vocabulary.from_lists(content[KEY]["vocabulary"])
        parser: object = instantiate(content[KEY]["parser"], vocabulary=vocabulary, init_from=None)
    except (InputError, TypeError) as error:
        raise InputError(f"{path}: {error}") from error
    if not isinstance(parser, Model):
        raise InputError(f"{path}: {content[KEY]['parser']['class_path']!r} is no parser")
    if decoder is not None:
        check_decoder(decoder)
        if not isinstance(parser, BiaffineParser):
            raise InputError(f"{path}: its parser has one way to decode; leave decoder out")
        parser.decoder = decoder
    fill_weights(parser, path, content["state_dict"])
    return parser.eval()
