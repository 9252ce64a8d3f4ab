"""The versions of the libraries that results depend on."""

import torch

from robustparse import __version__


def versions() -> dict[str, str]:
    """Return the version of each library by its name."""
    return {"robustparse": __version__, "torch": str(torch.__version__)}
