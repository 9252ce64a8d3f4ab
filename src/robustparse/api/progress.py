"""What commands show while they run: progress bars, none in a log file, and no advice."""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from robustparse.api.tables import terminal
from robustparse.evaluation.tally import WHEN, Tally
from robustparse.metrics import score_name


@contextmanager
def attack_progress(total: int, name: str) -> Iterator[Callable[[Tally], None]]:
    """Give what to call with the sums after every sentence; it shows scores too."""
    with _bar(name, total) as update:

        def show(tally: Tally) -> None:
            if update is not None:
                scores = tally.scores()
                clean, robust = (scores[when][tally.task.headline] for when in WHEN)
                note = "" if clean is None else f"clean {clean:.1f}, attacked {robust:.1f}"
                name = score_name(tally.task.headline)
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


# Beginnings, as regular expressions, of what Lightning and torch warn of and a user cannot help.
_NOTICES = (
    # Resuming writes into the folder of the run that it resumes.
    r"Checkpoint directory .* exists and is not empty",
    r"Be aware that when using `ckpt_path`, callbacks used to create the checkpoint",
    r"The dirpath has changed from '.*'",
    # An optimiser given to Lightning is refused by name, after Lightning has warned of it.
    r"`\w+.configure_optimizers` will be overridden by",
    # A pretrained encoder comes in evaluation mode, and Lightning puts it back into it.
    r"Found \d+ module\(s\) in eval mode at the start of training",
    # A corpus of fewer batches than `log_every_n_steps` is no mistake.
    r"The number of training batches \(\d+\) is smaller than the logging interval",
    # Batches are made of arrays in memory, faster than by worker processes.
    r"The '\w+_dataloader' does not have many workers",
    # Lightning asks torch in a way that torch has deprecated.
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",
)


@contextmanager
def quiet() -> Iterator[None]:
    """Within it, Lightning's tips and its `_NOTICES` are not shown; its other warnings are."""
    loggers = [logging.getLogger(name) for name in ("pytorch_lightning", "lightning_fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    with warnings.catch_warnings():
        for notice in _NOTICES:
            warnings.filterwarnings("ignore", message=notice)
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
