"""``robustparse.share``: write the folder of a system: its model, its card and its entry."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from robustparse.api.data_sources import DataFile
from robustparse.api.inputs import digest
from robustparse.api.worst_of_attacks import worst_of_attacks
from robustparse.errors import InputError
from robustparse.evaluation.record_files import read_record
from robustparse.evaluation.records import SCORES, RunRecord
from robustparse.files.checkpoints import checkpoint_file
from robustparse.files.json_text import as_written
from robustparse.files.output_folders import make_folder
from robustparse.files.paths import with_home
from robustparse.files.writing import write_text
from robustparse.models.base import Model
from robustparse.models.checkpoint import specification
from robustparse.pretrained.hub import WEIGHTS
from robustparse.reports.card import CARD, card, check_unedited
from robustparse.reports.entry import ENTRY, Entry, ModelEntry, as_json
from robustparse.reports.new_entry import About, check_runs, make_entry
from robustparse.reports.page import read_contents


def share(
    folder: str | Path,
    results: str | Path | Sequence[str | Path],
    checkpoint: str | Path | None = None,
    *,
    name: str | None = None,
    paper: str | None = None,
    extra_data: str | None = None,
    license: str | None = None,
    data_license: str | None = None,
) -> tuple[Path, Path]:
    """Write a card and a leaderboard entry from results, and with a checkpoint the model itself.

    All results are checked before anything is written.

    >>> share("my-parser", ["attacked", "scores"], "runs/ewt_biaffine")  # doctest: +SKIP

    Args:
        folder: the output folder, which may already hold a shared model.
        results: see the option of ``robustparse share``.
        checkpoint: see the option of ``robustparse share``.
        name: see the option of ``robustparse share``.
        paper: see the option of ``robustparse share``.
        extra_data: see the option of ``robustparse share``.
        license: see the option of ``robustparse share``.
        data_license: see the option of ``robustparse share``.

    Returns:
        The paths of the card and of the entry.

    Raises:
        InputError: the folder has a ``README.md`` that `share` did not write, or that was edited
            since; or see `make_entry`, `Model.from_pretrained` and `Model.save_pretrained`.
    """
    several = [results] if isinstance(results, str | Path) else results
    out, folders = with_home(folder), [with_home(each) for each in several]
    about = About(name or out.resolve().name, paper, extra_data, license, data_license)
    check_unedited(out / CARD)
    model, model_entry, digests = _shared_model(out, checkpoint)
    contents = read_contents(folders)
    worst = worst_of_attacks([system.path for system in contents.systems])
    contents.worst = [replace(each, name=about.name) for each in worst]
    entry = make_entry(contents, about, model_entry, digests)
    for result in folders:
        if (result / SCORES).exists():
            _check_scores(result / SCORES, entry, contents.systems[0].run, digests)
    make_folder(out)
    if checkpoint is not None and model is not None:
        model.save_pretrained(out)
    write_text(out / CARD, card(entry, contents, about))
    write_text(out / ENTRY, as_json(entry))
    return out / CARD, out / ENTRY


def _shared_model(
    out: Path, checkpoint: str | Path | None
) -> tuple[Model | None, ModelEntry | None, list[str]]:
    """Return the model of a checkpoint or of the output folder, its entry, and its files' digests.

    Without a checkpoint and a shared model, return ``(None, None, [])``.
    """
    weights = out / WEIGHTS
    if checkpoint is None and not weights.exists():
        return None, None, []
    file = weights if checkpoint is None else checkpoint_file(checkpoint)
    model = Model.from_pretrained(file)
    with TemporaryDirectory() as temporary:
        if checkpoint is not None:
            model.save_pretrained(temporary)
            weights = Path(temporary, WEIGHTS)
        entry = ModelEntry(
            class_path=specification(model)["class_path"],
            parameters=sum(parameter.numel() for parameter in model.parameters()),
            sha256=digest(str(weights)),
            trained_on=model.trained_on,
        )
    return model, entry, [digest(str(file)), entry["sha256"]]


def _check_scores(path: Path, entry: Entry, run: RunRecord, model_digests: Sequence[str]) -> None:
    """Check that ``scores.json``, which has no digests, belongs to the model and data of the entry.

    Raises:
        InputError: the number of sentences differs, or a checkpoint or data file that the scores
            name is missing or has changed.
    """
    scores = read_record(path, dict[str, Any])
    expected, sentences = len(entry["counted"]), scores.get("n_sentences")
    if sentences != expected:
        remedy = "run evaluate again with the --data and --limit of the attacks"
        problem = f"has {sentences} sentences"
        raise InputError(problem, path=path, expected=f"{expected}", remedy=remedy)
    with as_written(path, "evaluate"):
        data = DataFile(scores["data"])
        victims = [str(each) for each in scores["checkpoints"]]
    checkpoints = [] if "victim" in scores else victims
    for file in [*checkpoints, *(data.names if entry["data"]["sha256"] else [])]:
        if not Path(file).exists():
            problem = f"names {file}, which is missing"
            remedy = "move it back, or run evaluate again"
            raise InputError(problem, path=path, remedy=remedy)
    attacked = run.get("sha256", {})
    digests = {**attacked, "data": data.digest()}
    if checkpoints:
        digests["checkpoint"] = [digest(file) for file in checkpoints]
    if digests.get("checkpoint") in [[each] for each in model_digests]:  # the same model
        digests["checkpoint"] = attacked.get("checkpoint")
    settings = {"victims": victims, "seed": run.get("seed"), "attack": "evaluate"}
    check_runs([run, {**scores, **settings, "sha256": digests}], model_digests)
