"""robustparse: neural parsers that stay right when their input is perturbed."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from robustparse.models.base import Model

__version__ = "0.1.0"


def load(path: str | Path) -> "Model":
    """Return the parser a checkpoint holds, on the CPU, in evaluation mode.

    >>> parser = load("runs/ewt_biaffine/best.ckpt")  # doctest: +SKIP
    >>> parser.predict([["The", "cat", "sleeps"]])  # doctest: +SKIP

    Raises:
        InputError: the file is missing, broken, or no checkpoint of robustparse.
    """
    # Imported on use: torch takes a second, which the command's help need not wait for.
    from robustparse.models.load import load as load_parser

    return load_parser(path)
