"""The scores of `evaluate`, from sums over sentences."""

from collections.abc import Mapping
from typing import Any

from robustparse.evaluation.accumulator import Sums
from robustparse.evaluation.clean import scored
from robustparse.evaluation.perturbed import perturbed_scores
from robustparse.tasks.task import Task


def evaluated(
    task: Task, run: Mapping[str, Any], sums: Sums, pairs: Mapping[str, Any] = {}
) -> dict[str, Any]:
    """Return the content of ``scores.json`` without versions.

    Args:
        task: the task of the victim.
        run: by key:
            ``about``: task, checkpoints, data and punctuation;
            ``settings``: those of the victim;
            ``seed``: the seed of perturbations;
            ``hypothesis_only``: the checkpoint that reads only the hypotheses.
        sums: by key, where keys without data map to {}:
            ``sentences``, ``words``: numbers;
            ``clean``: correct parts of the answers, see `clean.sums_of`;
            ``classes``: the same by class;
            ``perturbed``: the same by operation;
            ``hypothesis_only``: the same of answers to the hypotheses only;
            ``service``: counts of a service.
        pairs: scores on ready-made perturbed texts (`pairs.pairs_report`).
    """
    perturbed = perturbed_scores(task, sums["perturbed"])
    classes = task.scores.by_class(sums["classes"])
    checkpoint, of_hypotheses = run["hypothesis_only"], sums["hypothesis_only"]
    hypothesis_only = {"checkpoint": checkpoint, **scored(task, of_hypotheses)}
    optional = {
        "perturbed": perturbed,
        "by_class": classes,
        "service": sums["service"],
        "hypothesis_only": hypothesis_only if of_hypotheses else {},
    }
    return {
        **run["about"],
        "n_sentences": sums["sentences"],
        "n_words": sums["words"],
        **scored(task, sums["clean"]),
        **run["settings"],
        **({"seed": run["seed"]} if perturbed else {}),
        **{name: value for name, value in optional.items() if value},
        **pairs,
    }
