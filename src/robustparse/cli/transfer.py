"""``robustparse transfer``: sentences made against some models, given to others."""

from robustparse.api.inputs import system_name
from robustparse.api.printed_tables import print_table, transfer_table
from robustparse.api.transfer import transfer as transfer_to
from robustparse.api.victim_sources import VictimSource
from robustparse.cli.options import DecodingOptions, VictimOptions, as_list, check_distinct
from robustparse.errors import InputError
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
    result = transfer_to(folders, targets, out=out, device=decoding.device)
    for score, rates in result.rates.items():
        print_table(transfer_table(score, result.sources, result.targets, rates))
