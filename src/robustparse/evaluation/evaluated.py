"""The scores of `evaluate`, from sums over sentences."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from robustparse.evaluation.accumulator import Sums
from robustparse.evaluation.clean import scored
from robustparse.evaluation.perturbed import perturbed_scores
from robustparse.evaluation.versions import versions
from robustparse.files import write_json
from robustparse.tasks.task import Task


def evaluated(
    task: Task, run: Mapping[str, Any], sums: Sums, pairs: Mapping[str, Any] = {}
) -> dict[str, Any]:
    """Return the content of ``scores.json`` but for the versions.

    Args:
        task: the task of the victim.
        run: ``about`` the run, the ``settings`` of the victim, the ``seed`` of perturbations, and
            the checkpoint that reads the ``hypothesis_only``.
        sums: the sums of ``sentences``, ``words``, of what is right in ``clean`` answers
            (`clean.sums_of`), by class (``classes``), under operations (``perturbed``), and by the
            hypothesis only (``blind``); and counts of a ``service``. Sums of nothing are empty.
        pairs: scores on ready-made perturbed texts (`pairs.pairs_report`).
    """
    noisy = perturbed_scores(task, sums["perturbed"])
    classes = task.scores.by_class(sums["classes"])
    blind = {"checkpoint": run["hypothesis_only"], **scored(task, sums["blind"])}
    further = {
        "perturbed": noisy,
        "by_class": classes,
        "service": sums["service"],
        "hypothesis_only": blind if sums["blind"] else {},
    }
    return {
        **run["about"],
        "n_sentences": sums["sentences"],
        "n_words": sums["words"],
        **scored(task, sums["clean"]),
        **run["settings"],
        **({"seed": run["seed"]} if noisy else {}),
        **{name: value for name, value in further.items() if value},
        **pairs,
    }


def write_scores(path: Path, report: Mapping[str, Any]) -> None:
    """Write scores and the versions of the libraries."""
    write_json(path, {**report, "versions": versions()})
