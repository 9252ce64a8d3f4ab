"""Make a system's entry on a leaderboard from the folders of its results."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from robustparse import __version__
from robustparse.errors import InputError
from robustparse.evaluation.certificate_records import CertificateRun, CertifiedSummary
from robustparse.evaluation.record_files import converted
from robustparse.evaluation.records import RunRecord, data_name
from robustparse.evaluation.worst_of_attacks import system_of
from robustparse.reports.attacked_systems import AttackedSystem
from robustparse.reports.entry import (
    FORMAT,
    AttackEntry,
    CertifiedEntry,
    Entry,
    ModelEntry,
    check_bounds,
    commands_of,
    recipe_digest,
)
from robustparse.reports.page import Contents

_Run = TypeVar("_Run", RunRecord, CertificateRun)


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
    about: About,
    model: ModelEntry | None = None,
    model_digests: Sequence[str] = (),
) -> Entry:
    """Make the entry of a system from its results.

    Args:
        contents: the results of the system, with the worst of its attacks.
        about: what the results do not say.
        model: the shared model, if there is one.
        model_digests: digests of the model's files; empty if the system is not a shared model.

    Raises:
        InputError: a result cannot be read, there is no attack, or results are those of another
            system or of other sentences.
    """
    if contents.unread:
        raise InputError(contents.unread[0])
    systems = contents.systems
    if not systems:
        problem, remedy = "no folder of an attack among the results", "add the --out of an attack"
        raise InputError(problem, key="--results", remedy=remedy)
    first, worst, runs = systems[0], contents.worst, [system.run for system in systems]
    proven = [system.summary for system in contents.certified]
    check_runs([*runs, *proven], model_digests)
    for summary in proven:
        _check_certified(summary, first)
    if len(systems) > 1 and not (len(worst) == 1 and len(worst[0].attacks) == len(systems)):
        problem, remedy = "attacks on systems that are not identified", "run the attacks again"
        raise InputError(problem, key="--results", expected="one system", remedy=remedy)
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
    """Check that runs are not shards, belong to one system, and have the same sentences.

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
            problem, remedy = f"a result of shard {run['shard']}", "merge the shards first"
            raise InputError(problem, key=key, remedy=remedy)
        if model_digests and digests.get("checkpoint") not in [[each] for each in model_digests]:
            raise InputError(
                "a result of another model",
                key=key,
                remedy="give --checkpoint the model that it was made with, or run it again with "
                "the folder of the shared model",
            )
        if system_of(run) != system_of(runs[0]):
            problem, remedy = "a result of another system", "leave it out, or run it again"
            raise InputError(problem, key=key, expected="one system", remedy=remedy)
        if _sentences(run) != _sentences(runs[0]):
            problem, remedy = "a result on other data", "leave it out, or run it again"
            expected = "the same data, --fraction and, with a fraction, --seed"
            raise InputError(problem, key=key, expected=expected, remedy=remedy)


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
        problem = f"{summary['n_sentences']} sentences"
        raise InputError(problem, key=key, expected=f"the {size} of the attacks", remedy=remedy)
    try:
        check_bounds(summary["certified"], attacked.summary["clean"], attacked.task)
    except ValueError as error:
        raise InputError(str(error), key=key, remedy=remedy) from None
