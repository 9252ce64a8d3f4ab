"""A parser from its checkpoint."""

from pathlib import Path

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.parsers.base import ParserModule
from robustparse.parsers.checkpoint import KEY, fill_weights, instantiate, read_checkpoint


def load(path: str | Path) -> ParserModule:
    """The parser a checkpoint holds, on the CPU, in evaluation mode.

    Raises:
        InputError: see ``read_checkpoint``; or what it holds makes no parser.
    """
    content = read_checkpoint(path)
    try:
        vocabulary = Vocabulary.from_lists(content[KEY]["vocabulary"])
        parser = instantiate(content[KEY]["parser"], vocabulary=vocabulary)
    except (InputError, TypeError) as error:
        raise InputError(f"{path}: {error}") from error
    if not isinstance(parser, ParserModule):
        raise InputError(f"{path}: {content[KEY]['parser']['class_path']!r} is no parser")
    fill_weights(parser, path, content["state_dict"])
    return parser.eval()
