"""A temporary folder for results whose user names no folder; it is deleted with them."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TypeVar
from weakref import finalize

from robustparse.files.paths import with_home

T = TypeVar("T")


def results_in(out: str | Path | None, make: Callable[[Path], T]) -> T:
    """Return the results that a function makes in a folder.

    Args:
        out: the folder; None takes a temporary one, which is deleted with the results, or if
            making them fails.
        make: takes the folder.
    """
    if out is not None:
        return make(with_home(out))
    with ExitStack() as unless_kept:
        folder = Path(mkdtemp(prefix="robustparse-"))
        unless_kept.callback(rmtree, folder)
        results = make(folder)
        finalize(results, unless_kept.pop_all().close)
    return results
