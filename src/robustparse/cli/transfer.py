"""``robustparse transfer``: sentences made against some models, given to others."""

from pathlib import Path

from rich.table import Table

from robustparse.api.inputs import system_name
from robustparse.api.printed_tables import plain_table, print_table
from robustparse.api.transfer import TransferRates
from robustparse.api.transfer import transfer as transfer_to
from robustparse.api.victim_sources import VictimSource
from robustparse.cli.options import DecodingOptions, VictimOptions, as_list, check_distinct
from robustparse.errors import InputError
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
    names = as_list(checkpoint)
    if not names and victim is None:
        expected = "at least one target"
        raise InputError("neither is given", key="--checkpoint, --victim", expected=expected)
    check_distinct("--checkpoint", names)
    targets: dict[str, VictimSource] = {
        name: decoding.checkpoints(name.split(",")) for name in names
    }
    if victim is not None:
        named = VictimOptions(victim=victim).source()
        targets[system_name(named.names)] = named
    paths = [Path(folder) for folder in folders]
    result = transfer_to(paths, targets, decoding.device, None if out is None else Path(out))
    for score in result.rates:
        print_table(_table(score, result))


def _table(score: str, result: TransferRates) -> Table:
    title = f"lower {score_name(score)}, % of all sentences (of those that fooled the source)"
    numbers = [str(number) for number in range(1, 1 + len(result.targets))]
    table = plain_table(title, ["made against"], numbers)
    legend = []
    for number, (source, cells) in enumerate(
        zip(result.sources, result.rates[score], strict=True), start=1
    ):
        shares = ["-" if c.given_success is None else f"{c.given_success:.1f}" for c in cells]
        both = zip(cells, shares, strict=True)
        table.add_row(
            f"source {number}", *(f"{cell.rate.estimate:.1f} ({share})" for cell, share in both)
        )
        legend.append(f"source {number}: {source}")
    legend += map("{}: {}".format, numbers, result.targets)
    table.caption = "\n".join(legend)
    return table
