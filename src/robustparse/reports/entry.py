"""A system's entry on a leaderboard, ``entry.json``: its scores, and how to compute them again.

As in RobustBench (Croce et al. 2021), an entry is one small file. It holds the scores of a system
under attacks on the same sentences, what is right under all of them and what is certified, the
settings of every run, and the counts of each sentence, from which the scores follow and by which a
part of the runs can be checked. `new_entry` makes it from results.
"""

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from robustparse import __version__
from robustparse.errors import InputError
from robustparse.evaluation.certificate_records import Bounds, CertificateRun
from robustparse.evaluation.record_files import converted, read_record
from robustparse.evaluation.records import Count, Percentages, RunRecord
from robustparse.evaluation.significance import correct_parts, score_in_percent
from robustparse.files.json_text import as_written
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


def check_bounds(certified: Mapping[str, Bounds], clean: Percentages, task: Task) -> None:
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
        check_bounds(certified["certified"], entry["clean"], task)


def _check_in_all(in_all: Counts, attacks: Sequence[Counts]) -> None:
    """Check that no more is right under all attacks than under each of them."""
    by_sentence = zip(*map(correct_parts, attacks), strict=True)
    for number, (right, of_attacks) in enumerate(
        zip(correct_parts(in_all), by_sentence, strict=True), start=1
    ):
        if right > min(of_attacks):
            problem = f"sentence {number} has {right}, and {min(of_attacks)} under an attack"
            raise ValueError(f"right_in_all: {problem}")
