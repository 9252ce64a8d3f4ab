"""Progress bars in a terminal, and no notices of Lightning that do not concern the user."""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeAlias

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from robustparse.api.printed_tables import rounded, terminal
from robustparse.errors import say
from robustparse.evaluation.attack_sums import AttackSums
from robustparse.evaluation.certified_scores import CertifiedScores
from robustparse.evaluation.records import WHEN
from robustparse.metrics import score_name

ProgressBar: TypeAlias = AbstractContextManager[Callable[..., None]]
"""The context of a bar, with the function that moves it."""


def attack_progress(total: int, name: str) -> ProgressBar:
    """Return a function that shows the progress and the scores, given the sums of an attack."""

    def state(sums: AttackSums) -> dict[str, Any]:
        scores, headline = sums.scores(), sums.task.scores.headline
        clean, attacked = (scores[when][headline] for when in WHEN)
        both = "" if clean is None else f" clean {clean:.1f}, attacked {attacked:.1f}"
        return {"completed": scores["n_sentences"], "note": score_name(headline) + both}

    return progress_bar(name, total, state)


def certify_progress(total: int) -> ProgressBar:
    """Return a function that shows the progress and the score certified at most edits so far."""

    def state(scores: CertifiedScores) -> dict[str, Any]:
        headline = scores.task.scores.headline
        clean = scores.clean()[headline]
        edits, bounds = [*scores.certified().items()][-1]
        lower = bounds["lower"][headline]
        note = f"clean {rounded(clean)}, certified at {edits} edits {rounded(lower)}"
        return {"completed": scores.sentences, "note": f"{score_name(headline)} {note}"}

    return progress_bar("certify", total, state)


@contextmanager
def block_progress(name: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that shows how many blocks are done: a bar, or lines without a terminal."""
    with progress_bar(f"{name}: blocks", total) as show:

        def show_or_say(done: int) -> None:
            show(done)
            if done and not terminal(stderr=True).is_interactive:
                say(f"{done} of {total} blocks are done")

        yield show_or_say


# Warnings of Lightning and torch that do not concern the user; regular expressions.
_NOTICES = (
    # Resuming writes into the folder of the run that it resumes.
    r"Checkpoint directory .* exists and is not empty",
    r"Be aware that when using `ckpt_path`, callbacks used to create the checkpoint",
    r"The dirpath has changed from '.*'",
    # An optimizer of Lightning's command line gets a message of ours.
    r"`\w+.configure_optimizers` will be overridden by",
    # Pretrained encoders are loaded in evaluation mode.
    r"Found \d+ module\(s\) in eval mode at the start of training",
    # A corpus may have fewer batches than `log_every_n_steps`.
    r"The number of training batches \(\d+\) is smaller than the logging interval",
    # Batches come from arrays in memory, which is faster than worker processes.
    r"The '\w+_dataloader' does not have many workers",
    # Lightning calls deprecated functions of torch.
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",
    r"torch.distributed.nn.functional.all_gather is deprecated",
    # These scores are sums over all processes already.
    r"It is recommended to use `self.log\('(certified|clean|robust|test|val)/",
)


@contextmanager
def quiet() -> Iterator[None]:
    """Hide Lightning's tips and the warnings in `_NOTICES`."""
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
def progress_bar(
    name: str,
    total: int | None,
    state: Callable[..., dict[str, Any]] = lambda done: {"completed": done},
) -> Iterator[Callable[..., None]]:
    """Yield a function that moves a bar; without a terminal, it does nothing.

    Args:
        name: what stands before the bar.
        total: the number of steps, None if it is unknown yet.
        state: returns the new ``completed``, ``total`` and ``note`` of the bar, given the arguments
            of the function; by default that is the number of finished steps.
    """
    console = terminal(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    hidden = not console.is_interactive
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        bar = progress.add_task(name, total=total, note="")

        def show(*done: Any) -> None:
            if not hidden:
                progress.update(bar, **state(*done))

        yield show
