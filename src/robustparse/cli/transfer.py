"""``robustparse transfer``: sentences made against some models, given to others."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich import box
from rich.table import Table

from robustparse import __version__
from robustparse.api.sources import Checkpoints
from robustparse.api.tables import terminal
from robustparse.errors import InputError
from robustparse.evaluation.transfer import Source, Transfer, check_same, read_source
from robustparse.evaluation.transfer import transfer as transferred
from robustparse.files import make_folder, write_text
from robustparse.metrics import score_name
from robustparse.models.load import Decoder
from robustparse.models.scores import Mean
from robustparse.models.victim import Precision
from robustparse.reports.tables.heat_map import FILE


def transfer(
    folders: list[str],
    checkpoint: str | list[str],
    out: str | None = None,
    decoder: Decoder | None = None,
    beam: int | None = None,
    device: str = "auto",
    precision: Precision = "32-true",
    mean: Mean = "probabilities",
) -> None:
    """Give the sentences of attacks to other models: how many of these are fooled too.

    Args:
        folders: output folders (--out) of attacks on the same data, the sources.
        checkpoint: the targets: one path or several; commas join those of an ensemble.
        out: folder for transfer.json, which ``report`` draws.
        decoder: the decoder of parsers, instead of those they were trained with.
        beam: hypotheses that beam search keeps, instead of as many as in training.
        device: where the targets compute: auto, cpu or cuda.
        precision: precision of all passes; bf16-mixed is faster on processors with bfloat16
            products, and may change a few answers.
        mean: what the models of an ensemble average: probabilities, or logits, which amounts to
            the geometric mean of their probabilities.
    """
    targets = [checkpoint] if isinstance(checkpoint, str) else checkpoint
    if len(set(targets)) < len(targets):
        raise InputError("names a target twice", key="--checkpoint", remedy="name each once")
    sources = [read_source(Path(folder)) for folder in folders]
    check_same(sources)
    columns = [
        _column(
            target, Checkpoints(target.split(","), decoder, beam, precision, mean), device, sources
        )
        for target in targets
    ]
    task = sources[0].task
    names = [source.name for source in sources]
    if out is not None:
        rates = {
            score: [[asdict(one[row][score]) for one in columns] for row in range(len(names))]
            for score in task.scores
        }
        record = {"version": __version__, "task": task.name, "sources": names, "targets": targets}
        counts = {"n_sentences": len(sources[0].originals)}
        content = json.dumps({**record, **counts, "rates": rates}, indent=2)
        write_text(make_folder(Path(out)) / FILE, f"{content}\n")
    for score in task.scores:
        terminal().print(
            _table(score, names, targets, [[c[score] for c in one] for one in columns])
        )


def _column(
    target: str, checkpoints: Checkpoints, device: str, sources: Sequence[Source]
) -> list[dict[str, Transfer]]:
    """Score one target; a mistake names it."""
    try:
        return transferred(checkpoints.open(device), sources)
    except InputError as error:
        error.path = error.path or target
        raise


def _table(
    score: str,
    sources: Sequence[str],
    targets: Sequence[str],
    columns: Sequence[Sequence[Transfer]],
) -> Table:
    title = f"lower {score_name(score)}, % of all sentences (of those that fooled the source)"
    table = Table(title=title, box=box.SIMPLE, collapse_padding=True, pad_edge=False)
    table.add_column("made against")
    for place, _ in enumerate(targets, start=1):
        table.add_column(str(place), justify="right", no_wrap=True)
    rows = [f"source {place}" for place, _ in enumerate(sources, start=1)]
    for place, row in enumerate(rows):
        table.add_row(row, *(_cell(column[place]) for column in columns))
    given = [f"{row}: {source}" for row, source in zip(rows, sources, strict=True)]
    given += [f"{place}: {target}" for place, target in enumerate(targets, start=1)]
    table.caption = "\n".join(given)
    return table


def _cell(found: Transfer) -> str:
    given = "-" if found.given_success is None else f"{found.given_success:.1f}"
    return f"{found.rate.estimate:.1f} ({given})"
