"""What commands show while they run: progress bars, none in a log file, and no advice."""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from robustparse.api.tables import heading, terminal
from robustparse.evaluation.tally import WHEN, Tally


@contextmanager
def attack_progress(total: int, name: str) -> Iterator[Callable[[Tally], None]]:
    """Give what to call with the sums after every sentence; it shows scores too."""
    with _bar(name, total) as update:

        def show(tally: Tally) -> None:
            if update is not None:
                scores = tally.scores()
                clean, robust = (scores[when][tally.task.headline] for when in WHEN)
                note = "" if clean is None else f"clean {clean:.1f}, attacked {robust:.1f}"
                name = heading(tally.task.headline)
                update(completed=scores["n_sentences"], note=f"{name} {note}")

        yield show


@contextmanager
def reading_progress() -> Iterator[Callable[[int, int], None]]:
    """Give what to call with the sentences read and their number."""
    with _bar("sentences read", None) as update:

        def show(done: int, of: int) -> None:
            if update is not None:
                update(completed=done, total=of)

        yield show


@contextmanager
def quiet() -> Iterator[None]:
    """Within it, Lightning logs errors only and its advice on hardware and loaders is not shown."""
    loggers = [logging.getLogger(name) for name in ("pytorch_lightning", "lightning_fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"pytorch_lightning\..*")
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


@contextmanager
def _bar(name: str, total: int | None) -> Iterator[Callable[..., None] | None]:
    """Give what changes ``completed``, ``total`` and ``note``; None where no bar is shown."""
    console = terminal(stderr=True)
    if not console.is_interactive:
        yield None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield partial(progress.update, progress.add_task(name, total=total, note=""))
