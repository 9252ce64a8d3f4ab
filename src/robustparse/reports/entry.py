"""A system's entry on a leaderboard, ``entry.json``: its scores, and how to compute them again.

As in RobustBench (Croce et al. 2021), an entry is one small file. It holds the scores of a system
under attacks on the same sentences, what is right under all of them and what is certified, the
settings of every run, and the counts of each sentence, from which the scores follow and by which a
part of the runs can be checked.
"""

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, cast

from robustparse import __version__
from robustparse.errors import InputError
from robustparse.evaluation.certificate_records import Bounds, CertificateRun
from robustparse.evaluation.records import (
    Count,
    Percentages,
    RunRecord,
    VictimRun,
    converted,
    read_record,
)
from robustparse.evaluation.significance import score_in_percent
from robustparse.evaluation.worst_of_attacks import WorstOfAttacks, system_of
from robustparse.files import as_written
from robustparse.reports.page import Contents
from robustparse.tasks.certificate_drawing import edit_number
from robustparse.tasks.registry import named

ENTRY = "entry.json"
FORMAT = 1
_REMEDY = "take another entry, or run `robustparse share` again"
_SAME = 0.005  # percentage points, more than rounding changes
# Options of the command that made a run, with the values that need not be given.
_OPTIONS = {
    **{"limit": None, "fraction": 1.0, "columns": None, "tagger": None, "decoder": None},
    **{"beam": None, "mean": "probabilities", "precision": "32-true"},
}

Counts = list[int | list[int]]
"""Right parts of the answer to each sentence, with the divisor if it is not the counted parts."""


class AttackEntry(TypedDict):
    """An attack.

    Attributes:
        run: the content of ``run.json``: recipe, seed, data and digests.
        recipe: digest of the recipe's settings and of the files that they name.
        attacked: scores under the attack.
        success_rate: successes among the attacked sentences, in percent.
        right: the counts of the headline score.
    """

    run: RunRecord
    recipe: str
    attacked: Percentages
    success_rate: float | None
    right: Counts


class CertifiedEntry(TypedDict):
    """Certified scores.

    Attributes:
        run: the content of ``run.json``: substitution table, data and digests.
        certified: bounds of the scores by number of edits.
    """

    run: CertificateRun
    certified: dict[str, Bounds]


class ModelEntry(TypedDict):
    """A shared model.

    Attributes:
        class_path: its class.
        parameters: the number of its parameters.
        sha256: digest of its weights' file, which covers the other files too.
        trained_on: digest of the training data, None if unknown.
    """

    class_path: str
    parameters: Count
    sha256: str
    trained_on: str | None


class DataEntry(TypedDict):
    """The sentences: name and digest of their file, and its licence if known."""

    name: str
    sha256: str
    license: str | None


class Entry(TypedDict):
    """A system's entry; scores are percentages, None if not computed.

    Attributes:
        format: the number of this format.
        version: the version of robustparse that wrote it.
        name: the name of the system.
        paper: where it is described.
        extra_data: what it was trained on besides the training data of the corpus.
        task: the task of its answers.
        data: the sentences.
        counted: parts of each sentence that enter the scores.
        clean: scores on the original sentences.
        right: the counts of the headline score on the original sentences.
        attacks: the attacks, all on the same sentences.
        worst_of_attacks: estimates with 95 % intervals; None for a single attack.
        certified: certified scores.
        model: the shared model; None for another system.
        commands: what makes the runs again, for readers; see `commands_of`.
    """

    format: int
    version: str
    name: str
    paper: str | None
    extra_data: str | None
    task: str
    data: DataEntry
    counted: list[Count]
    clean: Percentages
    right: Counts
    attacks: list[AttackEntry]
    worst_of_attacks: dict[str, tuple[float, float, float]] | None
    certified: list[CertifiedEntry]
    model: ModelEntry | None
    commands: list[str]


class About(NamedTuple):
    """What results do not say about a system.

    Args:
        name: its name.
        paper: the title or the address of the paper that describes it.
        extra_data: what it was trained on besides the training data of the corpus.
        license: the licence of the model.
        data_license: the licence of the sentences.
    """

    name: str
    paper: str | None = None
    extra_data: str | None = None
    license: str | None = None
    data_license: str | None = None


def make_entry(
    contents: Contents,
    worst: Sequence[WorstOfAttacks],
    about: About,
    model: ModelEntry | None = None,
    known_as: Sequence[str] = (),
) -> Entry:
    """Make the entry of a system from its results.

    Args:
        contents: the results of the system.
        worst: the worst of its attacks.
        about: what the results do not say.
        model: the shared model, if there is one.
        known_as: digests of the model's files; empty if the system is no shared model.

    Raises:
        InputError: a result cannot be read, there is no attack, or results are those of another
            system or of other sentences.
    """
    if contents.unread:
        raise InputError(contents.unread[0])
    systems = contents.systems
    if not systems:
        raise InputError("no folder of an attack among the results", key="--results")
    first, runs = systems[0], [system.run for system in systems]
    proven = [{**system.summary} for system in contents.certified]
    _check_runs([*runs, *proven], known_as)  # type: ignore[list-item]
    if len(systems) > 1 and not (len(worst) == 1 and len(worst[0].attacks) == len(systems)):
        raise InputError("attacks on different systems", key="--results", expected="one system")
    entry = Entry(
        format=FORMAT,
        version=__version__,
        name=about.name,
        paper=about.paper,
        extra_data=about.extra_data,
        task=first.task.name,
        data={
            "name": Path(first.run.get("data", "")).name,
            "sha256": str(first.run.get("sha256", {}).get("data", "")),
            "license": about.data_license,
        },
        counted=[*first.counts.counted],
        clean=first.summary["clean"],
        right=[*first.counts.clean],
        attacks=[
            AttackEntry(
                run=_without_paths(system.run),
                recipe=recipe_digest(system.run),
                attacked=system.summary["attacked"],
                success_rate=system.summary["success_rate"],
                right=[*system.counts.attacked],
            )
            for system in systems
        ],
        worst_of_attacks={
            score: (interval.estimate, interval.lower, interval.upper)
            for score, interval in worst[0].worst.items()
        }
        if worst
        else None,
        certified=[_certified(summary) for summary in proven],
        model=model,
        commands=[],
    )
    entry["commands"] = commands_of(entry)
    return entry


def _without_paths(run: RunRecord) -> RunRecord:
    """Return a run without the paths of the checkpoints, which others do not have."""
    return cast(RunRecord, {key: value for key, value in run.items() if key != "victims"})


def _certified(summary: Mapping[str, Any]) -> CertifiedEntry:
    keys = (*VictimRun.__annotations__, *CertificateRun.__annotations__)
    run = cast(RunRecord, {key: summary[key] for key in keys if key in summary})
    return CertifiedEntry(
        run=cast(CertificateRun, _without_paths(run)), certified=summary["certified"]
    )


def _check_runs(runs: Sequence[RunRecord], known_as: Sequence[str]) -> None:
    """Check that runs belong to one system, and have the same data.

    Raises:
        InputError: they do not, or a run is not that of the shared model.
    """
    for run in runs:
        digests = run.get("sha256", {})
        of_run = f"--results: {run.get('attack', 'certify')} on {' '.join(run.get('victims', []))}"
        if known_as and digests.get("checkpoint") not in [[digest] for digest in known_as]:
            raise InputError(
                "a result of another model",
                key=of_run,
                remedy="give --checkpoint the model that it was made with, or run it again with "
                "the folder of the shared model",
            )
        if system_of(run) != system_of(runs[0]):
            raise InputError("a result of another system", key=of_run, expected="one system")
        if digests.get("data") != runs[0].get("sha256", {}).get("data"):
            raise InputError("a result on other data", key=of_run, expected="the same data")


def recipe_digest(run: Mapping[str, Any]) -> str:
    """Return the digest of an attack's settings and of the files that they name."""
    content = [run.get("settings"), run.get("sha256", {}).get("recipe")]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def commands_of(entry: Entry) -> list[str]:
    """Return the commands that make the runs of an entry again, without output folders."""
    runs: list[tuple[str, tuple[str, ...], Mapping[str, Any]]] = [
        *(("attack", ("attack",), attack["run"]) for attack in entry["attacks"]),
        *(("certify", ("substitutes", "edits", "cap"), each["run"]) for each in entry["certified"]),
    ]
    return [
        _command(name, {key: run.get(key) for key in keys}, run, entry["name"])
        for name, keys, run in runs
    ]


def _command(name: str, options: Mapping[str, Any], run: Mapping[str, Any], model: str) -> str:
    given = {**options, "checkpoint": model, "data": run.get("data"), "seed": run.get("seed")}
    if "victim" in run:
        given["victim"] = run["victim"]
        del given["checkpoint"]
    given |= {key: run[key] for key, value in _OPTIONS.items() if run.get(key, value) != value}
    words = ["robustparse", name]
    for key, value in given.items():
        if value is not None:
            text = value if isinstance(value, str) else json.dumps(value)
            words += [f"--{key}", shlex.quote(text)]
    return " ".join(words)


def as_json(entry: Entry) -> str:
    """Return the content of an entry's file, each list of counts on one line."""
    fields = (f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in entry.items())
    return "{\n" + ",\n".join(fields) + "\n}\n"


def read_entry(path: Path) -> Entry:
    """Read an entry, by its file or its folder.

    Raises:
        InputError: it is missing or damaged, or its scores do not follow from its counts.
    """
    path = path / ENTRY if path.is_dir() else path
    entry = read_record(path, Entry, _REMEDY)
    if entry["format"] != FORMAT:
        problem = f"format {entry['format']}, and this version {__version__} reads {FORMAT}"
        remedy = f"use robustparse {entry['version']}, which wrote it"
        raise InputError(problem, path=path, remedy=remedy)
    with as_written(path, "share"):
        _check_claims(entry)
    return entry


def _check_claims(entry: Entry) -> None:
    """Check that scores follow from counts, and that the others are there.

    Raises:
        Exception: they do not, or are missing; see `files.as_written`.
    """
    headline = named(entry["task"]).scores.headline
    entry["attacks"][0]
    claims = [(entry["clean"], entry["right"])]
    claims += [(attack["attacked"], attack["right"]) for attack in entry["attacks"]]
    for scores, right in claims:
        claimed, counted = scores[headline], score_in_percent(right, entry["counted"])
        if claimed is None or not abs(claimed - counted) < _SAME:
            raise ValueError(f"{headline} is {claimed}, and {counted:.2f} by its counts")
    for attack in entry["attacks"]:
        converted(attack["run"].get("sha256", {}).get("recipe", {}), dict[str, str])
    if entry["worst_of_attacks"] is not None:
        entry["worst_of_attacks"][headline]
    for certified in entry["certified"]:
        for edits, bounds in certified["certified"].items():
            edit_number(edits), bounds["lower"][headline]
