"""``robustparse.transfer``: sentences that attacks made against some models, given to others."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from robustparse import __version__
from robustparse.api.attack import Victims, victim_source
from robustparse.api.printed_tables import as_text, transfer_table
from robustparse.api.results import AttackResults, attack_folders
from robustparse.api.victim_sources import VictimSource
from robustparse.data.read_options import FileUse
from robustparse.errors import InputError, say
from robustparse.evaluation.records import TRANSFER
from robustparse.evaluation.transfer import Source, Transfer, check_same, read_source
from robustparse.evaluation.transfer import transfer as transfer_to
from robustparse.files.output_folders import make_folder
from robustparse.files.paths import with_home
from robustparse.files.writing import write_json


@dataclass(frozen=True)
class TransferRates:
    """How many sentences of each source fool each target; printed as a table for each score.

    Attributes:
        sources: the folders of the attacks.
        targets: the names of the models.
        rates: for each score of the task, a row for each source with a cell for each target.
    """

    sources: list[str]
    targets: list[str]
    rates: dict[str, list[list[Transfer]]]

    def __repr__(self) -> str:
        return "\n\n".join(
            as_text(transfer_table(score, self.sources, self.targets, rates))
            for score, rates in self.rates.items()
        )


def transfer(
    attacked: Sequence[AttackResults | str | Path],
    targets: Mapping[str, Victims | VictimSource],
    *,
    out: str | Path | None = None,
    device: str = "auto",
) -> TransferRates:
    """Give the sentences of attacks to other models: how many of these are fooled too.

    Args:
        attacked: results or folders of finished attacks on the same data.
        targets: the models by their names; see `robustparse.attack`.
        out: the folder for transfer.json, which `robustparse.report` draws; None writes nothing.
        device: where the models compute; ``auto`` takes a GPU if there is one.

    Raises:
        InputError: there is no attack or no target, an attack is not finished, the attacks have
            different sentences, or a target cannot be used; the error names the target.
    """
    if not isinstance(targets, Mapping) or not targets:
        expected = "at least one model, by its name"
        raise InputError(f"got {targets!r:.60}", key="targets", expected=expected)
    if not (folders := attack_folders(attacked)):
        expected = "at least one finished attack"
        raise InputError("names no folder", key="attacked", expected=expected)
    sources = [read_source(folder) for folder in folders]
    check_same(sources)
    columns = [
        _column(name, victim_source(target), device, sources) for name, target in targets.items()
    ]
    task = sources[0].task
    rates = {
        score: [[column[row][score] for column in columns] for row in range(len(sources))]
        for score in task.scores.names
    }
    result = TransferRates([source.name for source in sources], [*targets], rates)
    if out is not None:
        record = {
            "version": __version__,
            "task": task.name,
            "sources": result.sources,
            "targets": result.targets,
            "n_sentences": len(sources[0].originals),
            "rates": asdict(result)["rates"],
        }
        write_json(make_folder(with_home(out)) / TRANSFER, record)
    return result


def _column(
    name: str, target: VictimSource, device: str, sources: Sequence[Source]
) -> list[dict[str, Transfer]]:
    """Score one target on the sentences of each source; a mistake names it."""
    try:
        victim, first = target.open(device), sources[0]
        if victim.task.name == first.task.name:
            warnings = victim.warnings(first.originals, FileUse(first.name))
            say(*(f"{name}: {warning}" for warning in warnings))
        return transfer_to(victim, sources)
    except InputError as error:
        error.path = error.path or name
        raise
