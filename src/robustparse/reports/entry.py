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
from typing import Any, NamedTuple, TypedDict, TypeVar

from robustparse import __version__
from robustparse.errors import InputError
from robustparse.evaluation.certificate_records import Bounds, CertificateRun, CertifiedSummary
from robustparse.evaluation.record_files import converted, read_record
from robustparse.evaluation.records import Count, Percentages, RunRecord, data_name
from robustparse.evaluation.significance import correct_parts, score_in_percent
from robustparse.evaluation.worst_of_attacks import WorstOfAttacks, system_of
from robustparse.files.json_text import as_written
from robustparse.reports.attacked_systems import AttackedSystem
from robustparse.reports.page import Contents
from robustparse.tasks.certificate_drawing import edit_number
from robustparse.tasks.registry import named
from robustparse.tasks.task import Task

ENTRY = "entry.json"
FORMAT = 1
_REMEDY = "take another entry, or run `robustparse share` again"
_SAME = 0.005  # percentage points, more than rounding changes
# Options of the command that made a run, with their default values.
_OPTIONS = {
    "limit": None,
    "fraction": 1.0,
    "columns": None,
    "tagger": None,
    "decoder": None,
    "beam": None,
    "mean": "probabilities",
    "precision": "32-true",
}
_Run = TypeVar("_Run", RunRecord, CertificateRun)

Counts = list[int | list[int]]
"""Correct parts per sentence; ``[correct, divisor]`` for scores such as F1."""


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
        sha256: SHA-256 of ``model.safetensors``, whose metadata covers the other files.
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
        right_in_all: the counts of what is right under all attacks; None for a single attack.
        certified: certified scores.
        model: the shared model; None for another system.
        commands: the commands of the runs, for readers; see `commands_of`.
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
    right_in_all: Counts | None
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
    model_digests: Sequence[str] = (),
) -> Entry:
    """Make the entry of a system from its results.

    Args:
        contents: the results of the system.
        worst: the worst of its attacks.
        about: what the results do not say.
        model: the shared model, if there is one.
        model_digests: digests of the model's files; empty if the system is no shared model.

    Raises:
        InputError: a result cannot be read, there is no attack, or results are those of another
            system or of other sentences.
    """
    if contents.unread:
        raise InputError(contents.unread[0])
    systems = contents.systems
    if not systems:
        found, remedy = "no folder of an attack among the results", "add the --out of an attack"
        raise InputError(found, key="--results", remedy=remedy)
    first, runs = systems[0], [system.run for system in systems]
    proven = [system.summary for system in contents.certified]
    check_runs([*runs, *proven], model_digests)
    for summary in proven:
        _check_certified(summary, first)
    if len(systems) > 1 and not (len(worst) == 1 and len(worst[0].attacks) == len(systems)):
        found, remedy = "attacks on systems that are not identified", "run the attacks again"
        raise InputError(found, key="--results", expected="one system", remedy=remedy)
    headline = first.task.scores.headline
    entry = Entry(
        format=FORMAT,
        version=__version__,
        name=about.name,
        paper=about.paper,
        extra_data=about.extra_data,
        task=first.task.name,
        data={
            "name": data_name(first.run.get("data", "")),
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
        right_in_all=[*worst[0].right[headline]] if worst else None,
        certified=[
            CertifiedEntry(
                run=_without_paths(converted({**summary}, CertificateRun)),
                certified=summary["certified"],
            )
            for summary in proven
        ],
        model=model,
        commands=[],
    )
    entry["commands"] = commands_of(entry)
    return entry


def _without_paths(run: _Run) -> _Run:
    """Return a run without the paths of the checkpoints, which others do not have."""
    kept = run.copy()
    kept.pop("victims", None)
    return kept


def check_runs(runs: Sequence[Mapping[str, Any]], model_digests: Sequence[str]) -> None:
    """Check that runs are whole, belong to one system, and have the same sentences.

    Args:
        runs: the contents of ``run.json``.
        model_digests: digests of the files of the shared model; empty if there is none.

    Raises:
        InputError: they do not, or a run is not that of the shared model.
    """
    for run in runs:
        digests = run.get("sha256", {})
        victims = " ".join(run.get("victims", []))
        key = f"--results: {run.get('attack', 'certify')} on {victims}"
        if "shard" in run:
            found, remedy = f"a result of shard {run['shard']}", "merge the shards first"
            raise InputError(found, key=key, remedy=remedy)
        if model_digests and digests.get("checkpoint") not in [[each] for each in model_digests]:
            raise InputError(
                "a result of another model",
                key=key,
                remedy="give --checkpoint the model that it was made with, or run it again with "
                "the folder of the shared model",
            )
        if system_of(run) != system_of(runs[0]):
            found, remedy = "a result of another system", "leave it out, or run it again"
            raise InputError(found, key=key, expected="one system", remedy=remedy)
        if _sentences(run) != _sentences(runs[0]):
            found, remedy = "a result on other data", "leave it out, or run it again"
            expected = "the same data, --fraction and, with a fraction, --seed"
            raise InputError(found, key=key, expected=expected, remedy=remedy)


def _sentences(run: Mapping[str, Any]) -> list[Any]:
    """Return what determines the sentences of a run, except for how many there are."""
    digest, fraction = run.get("sha256", {}).get("data"), run.get("fraction") or 1.0
    drawn = [fraction, run.get("fraction_of"), run.get("seed")] if fraction < 1 else []
    if not digest:  # the sample, which the seed draws
        drawn += [run.get("data"), run.get("seed")]
    return [digest, *drawn]


def _check_certified(summary: CertifiedSummary, attacked: AttackedSystem) -> None:
    """Check that certified scores are those of the attacked sentences."""
    key, size = "--results: certify", len(attacked.counts.counted)
    remedy = "certify with the --data, --limit and --punctuation of the attacks"
    if summary["n_sentences"] != size:
        found = f"{summary['n_sentences']} sentences"
        raise InputError(found, key=key, expected=f"the {size} of the attacks", remedy=remedy)
    try:
        _check_bounds(summary["certified"], attacked.summary["clean"], attacked.task)
    except ValueError as error:
        raise InputError(str(error), key=key, remedy=remedy) from None


def _check_bounds(certified: Mapping[str, Bounds], clean: Percentages, task: Task) -> None:
    """Check that certified scores do not exceed their upper bounds and the clean score."""
    headline = task.scores.headline
    most = clean[headline]
    for edits, bounds in certified.items():
        edit_number(edits)
        lower, upper = bounds["lower"][headline], bounds["upper"][headline]
        if lower is None or upper is None or most is None:
            raise ValueError(f"certified: no {headline} at {edits} edits")
        if not 0 <= lower <= min(upper, most) + _SAME:
            raise ValueError(
                f"certified: {headline} is {lower:.2f} at {edits} edits, above {most:.2f} without "
                f"edits or above its upper bound {upper:.2f}"
            )


def attack_name(run: Mapping[str, Any]) -> str:
    """Return the name of the recipe of a run; runs of old versions have none."""
    return str(run.get("attack", "attack"))


def recipe_digest(run: Mapping[str, Any]) -> str:
    """Return the digest of an attack's settings and of the files that they name."""
    content = [run.get("settings"), run.get("sha256", {}).get("recipe")]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def commands_of(entry: Entry) -> list[str]:
    """Return the commands of an entry's runs.

    They name a recipe and a model, but no paths of these, no changed settings of recipes (which the
    entry holds under ``settings``) and no output folders.
    """
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
        problem = f"has format {entry['format']}; robustparse {__version__} reads only {FORMAT}"
        remedy = f"use robustparse {entry['version']}, which wrote it"
        raise InputError(problem, path=path, remedy=remedy)
    with as_written(path, "share"):
        _check_claims(entry)
    return entry


def _check_claims(entry: Entry) -> None:
    """Check that headline scores follow from counts, and that the other keys exist.

    Raises:
        Exception: they do not, or are missing; see `as_written`.
    """
    task = named(entry["task"])
    headline, attacks = task.scores.headline, entry["attacks"]
    if not attacks:
        raise ValueError("attacks is empty")
    claims = [("clean", entry["clean"][headline], entry["right"])]
    for attack in attacks:
        claims.append((attack_name(attack["run"]), attack["attacked"][headline], attack["right"]))
        converted(attack["run"].get("sha256", {}).get("recipe", {}), dict[str, str])
        if not 0 <= (attack["success_rate"] or 0) <= 100:
            raise ValueError(f"success_rate is {attack['success_rate']}")
    worst, in_all = entry["worst_of_attacks"], entry["right_in_all"]
    if [worst is None, in_all is None] != [len(attacks) == 1] * 2:
        raise ValueError(f"worst_of_attacks and right_in_all do not fit {len(attacks)} attacks")
    if worst is not None and in_all is not None:
        claims.append(("worst_of_attacks", worst[headline][0], in_all))
        _check_in_all(in_all, [attack["right"] for attack in attacks])
    for name, claimed, right in claims:
        counted = score_in_percent(right, entry["counted"])
        if claimed is None or not abs(claimed - counted) < _SAME:
            raise ValueError(f"{name}: {headline} is {claimed}, and {counted:.2f} by its counts")
    for certified in entry["certified"]:
        _check_bounds(certified["certified"], entry["clean"], task)


def _check_in_all(in_all: Counts, attacks: Sequence[Counts]) -> None:
    """Check that no more is right under all attacks than under each of them."""
    by_sentence = zip(*map(correct_parts, attacks), strict=True)
    for number, (right, of_attacks) in enumerate(
        zip(correct_parts(in_all), by_sentence, strict=True), start=1
    ):
        if right > min(of_attacks):
            problem = f"sentence {number} has {right}, and {min(of_attacks)} under an attack"
            raise ValueError(f"right_in_all: {problem}")
