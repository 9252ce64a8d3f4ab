"""A parser from its checkpoint."""

from pathlib import Path

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.parsers.base import ParserModule
from robustparse.parsers.checkpoint import KEY, fill_weights, instantiate, read_checkpoint


def load(path: str | Path) -> ParserModule:
    """The parser a checkpoint holds, on the CPU, in evaluation mode.

    Raises:
        InputError: see ``read_checkpoint``.
    """
    content = read_checkpoint(path)
    vocabulary = Vocabulary.from_lists(content[KEY]["vocabulary"])
    parser = instantiate(content[KEY]["parser"], vocabulary=vocabulary)
    if not isinstance(parser, ParserModule):
        raise InputError(f"{path}: {content[KEY]['parser']['class_path']!r} is no parser")
    fill_weights(parser, path, content["state_dict"])
    return parser.eval()
