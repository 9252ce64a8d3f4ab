"""``robustparse evaluate``: score a checkpoint or another victim, also under perturbations."""

from pathlib import Path

from robustparse.api.evaluation_run import Evaluation, EvaluationRun
from robustparse.api.inputs import system_name
from robustparse.api.printed_tables import pairs_table, print_table, score_table, service_note
from robustparse.cli.options import ShardedDataOptions, VictimOptions, check_distinct
from robustparse.errors import say
from robustparse.metrics import PunctuationPolicy
from robustparse.perturbations.perturbation import Perturbation


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
    run = EvaluationRun(
        source, file, punctuation, seed, operations, perturbed_files, hypothesis_only
    )
    result = run.run(victim.device, None if out is None else Path(out))
    _print(system_name(source.names), result)


def _print(name: str, result: Evaluation) -> None:
    """Print the scores of a system."""
    task, scores = result.task, result.scores
    rows = {
        name: {each: scores[each] for each in (*task.scores.names, *task.scores.further)},
        "hypothesis only": result.hypothesis_only,
        **scores.get("perturbed", {}),
    }
    print_table(score_table({name: row for name, row in rows.items() if row}))
    if result.pairs:
        print_table(pairs_table(**result.pairs))
    if result.service:
        say(f"{name}: {service_note(result.service)}")
