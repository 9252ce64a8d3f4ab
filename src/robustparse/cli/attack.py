"""``robustparse attack``: attack a checkpoint or another victim on a data file, into a folder."""

from pathlib import Path

from robustparse.api.attack_run import AttackRun
from robustparse.api.printed_tables import print_table, summary_table, terminal
from robustparse.attacks.attack import Attack
from robustparse.cli.options import (
    AttackOptions,
    ShardedDataOptions,
    TypedOptions,
    VictimOptions,
    as_list,
    refuse,
)
from robustparse.errors import InputError
from robustparse.evaluation.attack_log import Format, write_log
from robustparse.options.recipe import Recipe

NO_LICENSE = "unknown"


def attack(
    attack: Attack,
    out: str,
    data: ShardedDataOptions,
    victim: VictimOptions,
    run: AttackOptions,
    typed: TypedOptions,
    fraction: float = 1.0,
    format: Format | list[Format] | None = None,
    license: str = NO_LICENSE,
) -> None:
    """Attack a model on a data file, or on typed sentences (``--text`` or ``--interactive``).

    Args:
        attack: a recipe: the name of an installed one, such as ``pwws``, or the path of a file.
        out: the folder to write: examples.jsonl, the adversarial data file, summary.json. The same
            command resumes there.
        data: the sentences.
        victim: the model to attack.
        run: how the attack runs.
        typed: sentences that are typed, which the command line alone can give.
        fraction: attack only this fraction of the sentences, drawn at random with the seed.
        format: also write the sentences as ``csv`` or ``parquet`` with the columns of TextAttack's
            log, or as a ``dataset`` that ``datasets.load_dataset`` reads; or several of these.
        license: the licence of the sentences, for the card of the dataset, such as cc-by-4.0.
    """
    only = "applies only with --text or --interactive on the command line"
    refuse(typed, only, "give one of them there, or leave this option out")
    check_format(data.shard, format, license)
    seed = attack.seed if run.seed is None else run.seed
    attack_run = AttackRun(
        folder=Path(out),
        recipe=Recipe.of(attack),
        victim=victim.source(),
        data=data.file(seed, fraction, tagger=run.tagger),
        seed=seed,
        device=victim.device,
        devices=run.devices,
    )
    summary = attack_run.attacked(attack)
    if summary is None:
        return  # another process writes
    print_table(summary_table({Path(out).resolve().name: summary}))  # the name in `report`
    for path in [] if format is None else write_log(Path(out), as_list(format), license):
        terminal().print(str(path), soft_wrap=True)


def check_format(shard: str | None, format: object, license: str) -> None:
    """Check that a shard writes no other formats, and that a licence is of a dataset.

    Raises:
        InputError: ``--format`` is given with ``--shard``, or ``--license`` without a dataset.
    """
    if license != NO_LICENSE and "dataset" not in as_list(format):
        problem, remedy = "applies to --format dataset only", "add that, or leave this out"
        raise InputError(problem, key="--license", remedy=remedy)
    if shard is not None and format is not None:
        remedy = (
            "leave it out; after merging, run it again with --format and the merged --out, without "
            "--shard and --engine"
        )
        raise InputError("applies to all sentences", key="--format", remedy=remedy)
