"""The output folder of an attack: written record by record, and resumed after any interruption.

``examples.jsonl`` gets a line for each finished sentence; at the end, it is sorted by id. A run
that was killed continues with the sentences that have no record. ``run.json`` describes the run, so
that records of different runs never mix; one process at a time may write into the folder.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path

from robustparse.attacks.attack import Attack
from robustparse.attacks.victim import Victim
from robustparse.evaluation.attack_log import remove_logs
from robustparse.evaluation.attack_processes import Source, attacked_records, drain
from robustparse.evaluation.attack_summary import AttackSummary
from robustparse.evaluation.attack_sums import AttackSums
from robustparse.evaluation.claim import claim
from robustparse.evaluation.example_records import all_records, check_record, share_files
from robustparse.evaluation.finished_folders import read_summary
from robustparse.evaluation.record_files import RecordFile
from robustparse.evaluation.records import (
    EXAMPLES,
    SUMMARY,
    ExampleRecord,
    RunRecord,
    Summary,
    versions,
)
from robustparse.evaluation.shards import record_file, remove_record, write_shard
from robustparse.files.json_text import as_written
from robustparse.files.output_folders import locked, make_folder
from robustparse.files.writing import write_json, write_pieces, written
from robustparse.tasks.task import Task
from robustparse.types import Example

_DELETE = "delete the file and run the attack again"


def attack_into(
    folder: Path,
    task: Task,
    attack: Attack,
    examples: Sequence[Example],
    victim: Victim,
    run: RunRecord,
    on_sentence: Callable[[AttackSums], None] = lambda _: None,
) -> Summary:
    """Attack examples in this process; see `collect_into`."""
    source = partial(attacked_records, task, attack, victim)
    return collect_into(folder, task, attack, source, examples, run, on_sentence)


def collect_into(
    folder: Path,
    task: Task,
    attack: Attack,
    source: Source,
    examples: Sequence[Example],
    run: RunRecord,
    on_sentence: Callable[[AttackSums], None] = lambda _: None,
) -> Summary:
    """Write the output folder of an attack, or resume it.

    The records of an earlier run are read once at the start; all are read once more at the end, to
    sort them and to write the other files in the same pass.

    Args:
        folder: is made if it does not exist, and continued if it holds the same run.
        task: the victim's task.
        attack: the attack, for error messages and warnings.
        source: attacks the sentences that have no record, in this process or in others.
        examples: the sentences to attack, with distinct ids.
        run: what distinguishes this run from others.
        on_sentence: called after every sentence with the sums so far.

    Returns:
        The summary. Times and forwards cover only this call; they are None if no sentence was left
        to attack.

    Raises:
        InputError: the folder is not writable, in use, damaged, or holds another run; the attack
            could change no sentence (`ChangeableSentences.check`; not in a shard); or records were
            lost.
    """
    by_id = {example.id: example for example in examples}
    with locked(make_folder(folder), "attack", "--out"):
        totals, records = AttackSummary(task), RecordFile(folder / EXAMPLES, ExampleRecord)
        _add_earlier(records, by_id, run, totals)
        pending = [each for each in examples if each.id not in records.positions]
        last = record_file(folder) if "shard" in run else folder / SUMMARY
        if not pending and last.exists():
            return read_summary(folder, _DELETE)
        remove_record(folder)

        def take(record: ExampleRecord) -> None:
            records.append(record)
            totals.add(record)
            on_sentence(totals.sums)

        speed = drain(source(pending), take)
        ending = task.files.ending_for(examples)
        with (
            written(folder / EXAMPLES) as lines,
            written(folder / f"adversarial{ending}") as adversarial,
        ):
            attacked = (
                (by_id[record["id"]], record["adversarial_tokens"], None)
                for record in records.sorted_into(lines)
            )
            head = write_pieces(adversarial, task.files.write_all(attacked))
        for file in share_files(folder):
            file.unlink()
        remove_logs(folder)
        if "shard" not in run:  # others may hold sentences that the attack can change
            totals.changeable.check(attack, examples)
        summary = totals.summary(run, attack.budget, speed.summary(len(pending)), versions())
        write_json(folder / SUMMARY, summary)
        if "shard" in run:
            sums = {"attack": totals.counts(), "speed": asdict(speed), "pending": len(pending)}
            heads = {EXAMPLES: "", f"adversarial{ending}": head}
            write_shard(folder, "attack", run["shard"], task, run, sums, heads)
        return summary


def _add_earlier(
    records: RecordFile[ExampleRecord],
    examples: Mapping[int, Example],
    run: RunRecord,
    totals: AttackSummary,
) -> None:
    """Keep the records of an earlier run, and remove what a kill left behind."""
    folder = records.path.parent
    earlier = all_records(folder)
    first = next(earlier, None)
    claim(folder, run, RunRecord, EXAMPLES, begun=first is not None)
    of_processes = []
    for stored in chain([first] if first else [], earlier):
        record = stored.record
        with as_written(stored.path, "attack", line=stored.line):
            if record["id"] not in examples:
                raise ValueError(f"no sentence {record['id']} in the data")
            check_record(totals.task, record, examples[record["id"]])
            totals.add(record)
        if stored.path == records.path:
            records.keep(stored)
        else:
            of_processes.append(record)
    records.cut_off()
    for record in of_processes:
        records.append(record)
    for file in share_files(folder):
        file.unlink()
