"""Writes what others need of a system: the model's folder, its card and its leaderboard entry."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from robustparse.api.inputs import digest
from robustparse.api.worst_of_attacks import worst_of_attacks
from robustparse.errors import InputError
from robustparse.evaluation.records import SCORES, read_record
from robustparse.files import checkpoint_file, make_folder, write_text
from robustparse.models.base import Model
from robustparse.models.checkpoint import specification
from robustparse.pretrained.hub import WEIGHTS
from robustparse.reports.attacked_systems import names_of
from robustparse.reports.card import CARD, card
from robustparse.reports.entry import ENTRY, About, Entry, ModelEntry, as_json, make_entry
from robustparse.reports.page import read_contents


def share(
    folder: Path, results: Sequence[Path], about: About, checkpoint: str | None = None
) -> Entry:
    """Write a card and an entry into the folder of a system; with a checkpoint, also its model.

    Args:
        folder: the folder of a shared model, or of another system, which then holds no model.
        results: folders of attacks, and of `certify` and `evaluate`, of this system.
        about: what the results do not say.
        checkpoint: the model to write into the folder first.

    Raises:
        InputError: the folder has a ``README.md`` that this function did not write; or see
            `make_entry`, `Model.from_pretrained` and `Model.save_pretrained`.
    """
    if (folder / CARD).exists() and not (folder / ENTRY).exists():
        remedy = "move it, or choose another folder"
        raise InputError("a file of yours would be replaced", path=folder / CARD, remedy=remedy)
    known_as = []
    if checkpoint is not None:
        path = checkpoint_file(checkpoint)
        known_as.append(digest(str(path)))
        Model.from_pretrained(path).save_pretrained(folder)
    weights, model = folder / WEIGHTS, None
    if weights.exists():
        known_as.append(digest(str(weights)))
        model = _model(weights)
    contents = read_contents(results, names_of(results))
    attacked = [system.path for system in contents.systems]
    worst = [replace(each, name=about.name) for each in worst_of_attacks(attacked)]
    entry = make_entry(contents, worst, about, model, known_as)
    for result in results if known_as else ():
        _check_scores(result, known_as)
    contents = replace(contents, worst=worst)
    write_text(make_folder(folder) / CARD, card(entry, contents, about))
    write_text(folder / ENTRY, as_json(entry))
    return entry


def _model(weights: Path) -> ModelEntry:
    model = Model.from_pretrained(weights)
    return ModelEntry(
        class_path=specification(model)["class_path"],
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        sha256=digest(str(weights)),
        trained_on=model.trained_on,
    )


def _check_scores(folder: Path, known_as: Sequence[str]) -> None:
    """Check that the scores of `evaluate`, which have no digest, are those of the model.

    Raises:
        InputError: the checkpoint that they name is another one, or is gone.
    """
    if (folder / SCORES).exists():
        named = read_record(folder / SCORES, dict[str, object]).get("checkpoints")
        paths = [str(path) for path in named] if isinstance(named, list) else []
        if [digest(path) for path in paths] not in [[each] for each in known_as]:
            raise InputError(
                "scores of another model",
                path=folder / SCORES,
                key="checkpoints",
                remedy="run evaluate again with --checkpoint and the folder of the shared model",
            )
