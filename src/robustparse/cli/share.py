"""``robustparse share``: write the folder of a system: its model, its card and its entry."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from robustparse.api.data_sources import DataFile
from robustparse.api.inputs import digest
from robustparse.api.worst_of_attacks import worst_of_attacks
from robustparse.cli.options import as_list
from robustparse.errors import InputError
from robustparse.evaluation.record_files import read_record
from robustparse.evaluation.records import SCORES, RunRecord
from robustparse.files.checkpoints import checkpoint_file
from robustparse.files.json_text import as_written
from robustparse.files.output_folders import make_folder
from robustparse.files.writing import write_text
from robustparse.models.base import Model
from robustparse.models.checkpoint import specification
from robustparse.pretrained.hub import WEIGHTS
from robustparse.reports.attacked_systems import names_of
from robustparse.reports.card import CARD, card, is_unedited
from robustparse.reports.entry import ENTRY, Entry, ModelEntry, as_json
from robustparse.reports.new_entry import About, check_runs, make_entry
from robustparse.reports.page import read_contents


def share(
    folder: str,
    results: str | list[str],
    checkpoint: str | None = None,
    name: str | None = None,
    paper: str | None = None,
    extra_data: str | None = None,
    license: str | None = None,
    data_license: str | None = None,
) -> None:
    """Write a card and a leaderboard entry from results, and with --checkpoint the model itself.

    All results are checked before anything is written.

    Args:
        folder: the output folder, which may already hold a shared model.
        results: output folders of attacks on the system, and of certify and evaluate.
        checkpoint: write this model into the folder: a checkpoint, or the folder of a training run.
        name: the name of the system; by default that of the folder.
        paper: the title or the address of the paper that describes it.
        extra_data: what it was trained on besides the training data of the corpus.
        license: the licence of the model, such as apache-2.0.
        data_license: the licence of the sentences, such as cc-by-sa-4.0.

    Raises:
        InputError: the folder has a ``README.md`` that this command did not write, or that was
            edited since; or see `make_entry`, `Model.from_pretrained` and `Model.save_pretrained`.
    """
    out, several = Path(folder), [Path(each) for each in as_list(results)]
    about = About(name or out.resolve().name, paper, extra_data, license, data_license)
    written = out / CARD
    if written.exists() and not (
        written.is_file() and is_unedited(written.read_text("utf-8", "replace"))
    ):
        found = "share did not write it, or it was edited since"
        remedy = "move it, and copy your text into the new one"
        raise InputError(found, path=written, remedy=remedy)
    model, known, model_digests = None, None, []
    if checkpoint is not None:
        path = checkpoint_file(checkpoint)
        model = Model.from_pretrained(path)
        with TemporaryDirectory() as temporary:
            model.save_pretrained(temporary)
            known = _model_entry(model, Path(temporary, WEIGHTS))
        model_digests = [digest(str(path)), known["sha256"]]
    elif (weights := out / WEIGHTS).exists():
        known = _model_entry(Model.from_pretrained(weights), weights)
        model_digests = [known["sha256"]]
    contents = read_contents(several, names_of(several))
    attacked = [system.path for system in contents.systems]
    worst = [replace(each, name=about.name) for each in worst_of_attacks(attacked)]
    entry = make_entry(contents, worst, about, known, model_digests)
    for result in several:
        if (result / SCORES).exists():
            _check_scores(result / SCORES, entry, contents.systems[0].run, model_digests)
    contents = replace(contents, worst=worst)
    make_folder(out)
    if model is not None:
        model.save_pretrained(out)
    write_text(written, card(entry, contents, about))
    write_text(out / ENTRY, as_json(entry))
    print(written, out / ENTRY, sep="\n")


def _model_entry(model: Model, weights: Path) -> ModelEntry:
    return ModelEntry(
        class_path=specification(model)["class_path"],
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        sha256=digest(str(weights)),
        trained_on=model.trained_on,
    )


def _check_scores(path: Path, entry: Entry, run: RunRecord, model_digests: Sequence[str]) -> None:
    """Check that ``scores.json``, which has no digests, belongs to the model and data of the entry.

    Raises:
        InputError: they have another number of sentences, or a checkpoint or the data that they
            name are missing or different.
    """
    scores = read_record(path, dict[str, Any])
    size, found = len(entry["counted"]), scores.get("n_sentences")
    if found != size:
        remedy = "run evaluate again with the --data and --limit of the attacks"
        raise InputError(f"has {found} sentences", path=path, expected=f"{size}", remedy=remedy)
    with as_written(path, "evaluate"):
        data = DataFile(scores["data"])
        victims = [str(each) for each in scores["checkpoints"]]
    checkpoints = [] if "victim" in scores else victims
    for file in [*checkpoints, *(data.names if entry["data"]["sha256"] else [])]:
        if not Path(file).exists():
            found, remedy = f"names {file}, which is missing", "move it back, or run evaluate again"
            raise InputError(found, path=path, remedy=remedy)
    attacked = run.get("sha256", {})
    digests = {**attacked, "data": data.digest()}
    if checkpoints:
        digests["checkpoint"] = [digest(file) for file in checkpoints]
    if digests.get("checkpoint") in [[each] for each in model_digests]:  # the same model
        digests["checkpoint"] = attacked.get("checkpoint")
    settings = {"victims": victims, "seed": run.get("seed"), "attack": "evaluate"}
    check_runs([run, {**scores, **settings, "sha256": digests}], model_digests)
