"""``robustparse transfer``: sentences made against some models, given to others."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from robustparse import __version__
from robustparse.api.inputs import system_name
from robustparse.api.printed_tables import plain_table, print_table
from robustparse.api.victim_sources import VictimSource
from robustparse.cli.options import DecodingOptions, VictimOptions, as_list, check_distinct
from robustparse.errors import InputError, say
from robustparse.evaluation.records import TRANSFER
from robustparse.evaluation.transfer import Source, Transfer, check_same, read_source
from robustparse.evaluation.transfer import transfer as transferred
from robustparse.files.output_folders import make_folder
from robustparse.files.writing import write_json
from robustparse.metrics import score_name
from robustparse.victims.black_box import BlackBox


def transfer(
    folders: list[str],
    decoding: DecodingOptions,
    checkpoint: str | list[str] | None = None,
    victim: BlackBox | None = None,
    out: str | None = None,
) -> None:
    """Give the sentences of attacks to other models: how many of these are fooled too.

    Args:
        folders: output folders (--out) of attacks on the same data, the sources.
        decoding: how the targets compute.
        checkpoint: the targets: one checkpoint or folder of a training run, or several; commas join
            those of an ensemble.
        victim: a further target, such as ``hf:FOLDER``; see ``attack``.
        out: folder for transfer.json, which ``report`` draws.
    """
    targets = as_list(checkpoint)
    if not targets and victim is None:
        expected = "at least one target"
        raise InputError("neither is given", key="--checkpoint, --victim", expected=expected)
    check_distinct("--checkpoint", targets)
    sources = [read_source(Path(folder)) for folder in folders]
    check_same(sources)
    opened: dict[str, VictimSource] = {
        target: decoding.checkpoints(target.split(",")) for target in targets
    }
    if victim is not None:
        named = VictimOptions(victim=victim).source()
        opened[system_name(named.names)] = named
    targets = list(opened)
    columns = [
        _column(target, source, decoding.device, sources) for target, source in opened.items()
    ]
    task = sources[0].task
    names = [source.name for source in sources]
    if out is not None:
        rates = {
            score: [[asdict(column[row][score]) for column in columns] for row in range(len(names))]
            for score in task.scores.names
        }
        record = {"version": __version__, "task": task.name, "sources": names, "targets": targets}
        counts = {"n_sentences": len(sources[0].originals)}
        write_json(make_folder(Path(out)) / TRANSFER, {**record, **counts, "rates": rates})
    for score in task.scores.names:
        print_table(
            _table(score, names, targets, [[c[score] for c in column] for column in columns])
        )


def _column(
    target: str, victim: VictimSource, device: str, sources: Sequence[Source]
) -> list[dict[str, Transfer]]:
    """Score one target; a mistake names it."""
    try:
        opened = victim.open(device)
        first = sources[0]
        if opened.task.name == first.task.name:
            warnings = opened.warnings(first.originals, first.name)
            say(*(f"{target}: {warning}" for warning in warnings))
        return transferred(opened, sources)
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
    table = plain_table(title, ["made against"], [str(n) for n in range(1, 1 + len(targets))])
    rows = [f"source {number}" for number, _ in enumerate(sources, start=1)]
    for number, row in enumerate(rows):
        cells = [column[number] for column in columns]
        shares = ["-" if c.given_success is None else f"{c.given_success:.1f}" for c in cells]
        both = zip(cells, shares, strict=True)
        table.add_row(row, *(f"{cell.rate.estimate:.1f} ({each})" for cell, each in both))
    legend = [f"{row}: {source}" for row, source in zip(rows, sources, strict=True)]
    legend += [f"{number}: {target}" for number, target in enumerate(targets, start=1)]
    table.caption = "\n".join(legend)
    return table
