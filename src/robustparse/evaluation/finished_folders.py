"""Read the output folder of a finished attack or evaluation."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from robustparse.data.read_options import Known, ReadOptions
from robustparse.errors import InputError
from robustparse.evaluation.certificate_records import CERTIFICATES
from robustparse.evaluation.example_records import read_records
from robustparse.evaluation.record_files import REMEDY, converted, read_record
from robustparse.evaluation.records import (
    EXAMPLES,
    PAIR_MEASURES,
    RUN,
    SCORES,
    SUMMARY,
    TRANSFER,
    ExampleRecord,
    Percentages,
    RunRecord,
    ScoresRecord,
    Summary,
)
from robustparse.files.json_text import as_written
from robustparse.files.paths import check_folder, in_short
from robustparse.tasks.registry import named
from robustparse.tasks.task import Task
from robustparse.types import Example

T = TypeVar("T")

# Map a file to the command that writes it; an attack may have the same folder, but for certify.
_WRITERS = {
    CERTIFICATES: "certify",
    TRANSFER: "transfer",
    SCORES: "evaluate",
    "config.yaml": "fit",
}

SCORES_REMEDY = "give a folder that `robustparse evaluate --out` wrote, or run it again"


def read_summary(folder: Path, remedy: str = REMEDY) -> Summary:
    """Read the ``summary.json`` of a folder.

    Raises:
        InputError: it is missing or damaged, or the folder is of another command.
    """
    check_folder(folder, remedy=remedy)
    expected = "the output folder of an attack"
    writers = [command for file, command in _WRITERS.items() if (folder / file).exists()]
    attacked = (folder / SUMMARY).exists() or (folder / EXAMPLES).exists()
    if writers and (writers[0] == "certify" or not attacked):  # certify writes a summary as well
        problem, other = f"was written by {writers[0]}", "name one that `robustparse attack` wrote"
        raise InputError(problem, path=folder, expected=expected, remedy=other)
    if not (folder / SUMMARY).exists():
        inside = [str(path.parent) for path in sorted(folder.glob(f"*/{SUMMARY}"))]
        remedy = f"give the folders in it: {in_short(inside)}" if inside else remedy
        raise InputError("no such file", path=folder / SUMMARY, expected=expected, remedy=remedy)
    return read_record(folder / SUMMARY, Summary, remedy)


def read_finished(folder: Path) -> tuple[Summary, list[ExampleRecord]]:
    """Read the summary and the records of a finished attack.

    Raises:
        InputError: a file is missing or damaged, or the two differ in their numbers of sentences.
    """
    summary = read_summary(folder)
    if not (folder / EXAMPLES).exists():
        raise InputError("no such file", path=folder / EXAMPLES, remedy=REMEDY)
    records = list(read_records(folder / EXAMPLES))
    check_count(folder, summary, records)
    return summary, records


def check_count(folder: Path, summary: Summary, records: Sequence[ExampleRecord]) -> None:
    """Check that a folder has a record for each sentence of its summary.

    A file may have been cut, or a run with a higher limit may have been interrupted.

    Raises:
        InputError: it has fewer or more records.
    """
    if len(records) != summary["n_sentences"]:
        raise InputError(
            f"has {len(records)} sentences",
            path=folder / EXAMPLES,
            expected=f"{summary['n_sentences']}, as in {SUMMARY}",
            remedy="run the same attack again, which attacks missing sentences",
        )


def read_run(folder: Path) -> RunRecord:
    """Read the ``run.json`` of a folder, empty if it has none.

    Raises:
        InputError: it is damaged.
    """
    return read_record(folder / RUN, RunRecord) if (folder / RUN).exists() else {}


def read_scores(folder: Path, name: str = "") -> ScoresRecord:
    """Read the ``scores.json`` of a folder, of the system with this name.

    Raises:
        InputError: it is missing or damaged, or lacks a score of its task.
    """
    path = folder / SCORES
    content: dict[str, Any] = read_record(path, dict[str, Any], SCORES_REMEDY)
    with as_written(path, "evaluate"):
        task = named(content["task"])
        sentences = content.get("n_sentences")
        operations = converted(content.get("perturbed", {}), dict[str, Percentages])
        files = converted(content.get("perturbed_files", {}), dict[str, Percentages])
        return ScoresRecord(
            task,
            converted(_chosen(content, task.scores.names), Percentages),
            {key: _chosen(row, task.scores.names) for key, row in operations.items()},
            {key: _chosen(row, ("rows", *PAIR_MEASURES)) for key, row in files.items()},
            None if sentences is None else converted(sentences, int),
            name,
        )


def check_scored(folder: Path) -> None:
    """Check that the scores in a folder are of the victims and the data that were attacked there.

    Raises:
        InputError: ``scores.json`` or ``run.json`` is damaged, or they name other files.
    """
    scores, run = read_record(folder / SCORES, dict[str, Any], SCORES_REMEDY), read_run(folder)
    for key, scored, attacked in (
        ("victims", scores.get("checkpoints"), run.get("victims")),
        ("data", scores.get("data"), run.get("data")),
    ):
        if scored is not None and attacked is not None and scored != attacked:
            raise InputError(
                f"the {key} are {_listed(scored)}",
                path=folder / SCORES,
                expected=f"{_listed(attacked)}, as in {RUN}",
                remedy="write attacks and scores of other victims and data to other folders",
            )


def _listed(names: str | Sequence[str]) -> str:
    return names if isinstance(names, str) else ", ".join(names)


def _chosen(row: Mapping[str, T], names: Sequence[str]) -> dict[str, T]:
    return {name: row[name] for name in names}


def read_adversarial(folder: Path, task: Task, records: Sequence[ExampleRecord]) -> list[Example]:
    """Read the adversarial sentences of a finished attack, in the order of its records.

    Raises:
        InputError: there is not exactly one such file, or it has another number of sentences.
    """
    paths = sorted(folder.glob("adversarial.*"))
    if len(paths) != 1:
        problem = f"{len(paths)} files adversarial.*"
        raise InputError(problem, path=folder, expected="one", remedy=REMEDY)
    labels = {label for record in records if isinstance(label := record["gold"].get("label"), str)}
    known = Known(read_run(folder).get("columns"), labels or None)
    copies = task.files.read(paths[0], ReadOptions(known=known))
    if len(copies) != len(records):
        problem = f"{len(copies)} sentences, and {len(records)} lines in {EXAMPLES}"
        raise InputError(problem, path=paths[0], remedy=REMEDY)
    return copies
