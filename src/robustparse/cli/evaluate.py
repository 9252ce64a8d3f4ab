"""``robustparse evaluate``: score a checkpoint or another victim, also under perturbations."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from robustparse.api.evaluate import scored_into
from robustparse.api.inputs import system_name
from robustparse.api.printed_tables import pairs_table, print_table, score_table, service_note
from robustparse.cli.options import ShardedDataOptions, VictimOptions, check_distinct
from robustparse.errors import InputError, say
from robustparse.metrics import PunctuationPolicy
from robustparse.perturbations.perturbation import Perturbation
from robustparse.tasks.task import Task


def evaluate(
    data: ShardedDataOptions,
    victim: VictimOptions,
    out: str | None = None,
    punctuation: PunctuationPolicy = "none",
    seed: int = 0,
    perturbed: list[Perturbation] | None = None,
    perturbed_files: str | None = None,
    hypothesis_only: str | None = None,
) -> None:
    """Score a checkpoint, or a --victim, on a data file.

    Args:
        data: the sentences.
        victim: the model to score.
        out: folder for scores.json and the answers: predictions in the format of the data,
            answers.jsonl, and perturbed.jsonl for perturbed sentences.
        punctuation: which punctuation is left out of the scores. For attacked data choose none or
            penn: unicode would count inserted words.
        seed: seed of the perturbations' random choices and of the built-in sample.
        perturbed: also score the data under each of these operations, such as ``typos,final_stop``;
            or a folder of perturbed texts, as for ``--perturbed_files``.
        perturbed_files: folder of perturbed texts, a file OPERATION.tsv for each operation, with
            the columns perturbed text, original, answer.
        hypothesis_only: for pairs, a checkpoint that reads only the hypothesis; its scores show how
            often the label is clear without the premise (Gururangan et al. 2018).
    """
    operations = perturbed or []
    check_distinct("--perturbed", [operation.name for operation in operations])
    source, file = victim.source(), data.file(seed)
    if file.shard is not None and out is None:
        raise InputError("is missing", key="--out", remedy="name a folder for the shard")
    if file.shard is not None and perturbed_files is not None:
        problem, remedy = "is scored as a whole", "leave it out, or score without --shard"
        raise InputError(problem, key="--perturbed_files", remedy=remedy)
    task, scores = scored_into(
        None if out is None else Path(out),
        source,
        file,
        operations,
        perturbed_files,
        hypothesis_only,
        punctuation,
        seed,
        victim.device,
    )
    _print(system_name(source.names), task, scores)


def _print(name: str, task: Task, scores: Mapping[str, Any]) -> None:
    """Print the scores of a system."""
    names = (*task.scores.names, *task.scores.further)
    of_systems = {name: scores, "hypothesis only": scores.get("hypothesis_only")}
    rows = {each: {key: row[key] for key in names} for each, row in of_systems.items() if row}
    print_table(score_table(rows | scores.get("perturbed", {})))
    if "perturbed_files" in scores:
        print_table(pairs_table(scores["perturbed_files"], scores["worst_case"]))
    if "service" in scores:
        say(f"{name}: {service_note(scores['service'])}")
