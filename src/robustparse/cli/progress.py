"""The progress bar of an attack, with the clean and the robust score so far."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from robustparse.evaluation.tally import Tally


@contextmanager
def attack_progress(total: int, name: str) -> Iterator[Callable[[Tally], None]]:
    """Yields what to call with the sums after every sentence; shows nothing in a log file."""
    console = Console(stderr=True)
    if not console.is_interactive:
        yield lambda tally: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[scores]}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(name, total=total, scores="")

        def update(tally: Tally) -> None:
            scores = tally.scores()
            clean, robust = scores["clean"]["las"], scores["attacked"]["las"]
            shown = "" if clean is None else f"LAS clean {clean:.1f}, attacked {robust:.1f}"
            progress.update(task, completed=scores["n_sentences"], scores=shown)

        yield update
