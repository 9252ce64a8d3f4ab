"""The output folder of an attack: written record by record, and resumed after any interruption.

``examples.jsonl`` grows by a line a finished sentence and ends sorted by id. A run that was killed
continues with the sentences that have no record. ``run.json`` describes the run, so that records of
different runs never mix; one process at a time may write into the folder.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Self

from robustparse.attacks.attack import Attack
from robustparse.attacks.victim import Victim
from robustparse.evaluation.attack_log import remove_logs
from robustparse.evaluation.attack_processes import Source, Speed, attacked_records, drain
from robustparse.evaluation.attack_summary import AttackSummary
from robustparse.evaluation.attack_sums import AttackSums
from robustparse.evaluation.claim import claim
from robustparse.evaluation.example_records import all_records, check_record, share_files
from robustparse.evaluation.finished_folders import read_summary
from robustparse.evaluation.record_files import RecordFile
from robustparse.evaluation.records import EXAMPLES, SUMMARY, ExampleRecord, RunRecord, Summary
from robustparse.evaluation.shards import record_file, remove_record, write_shard
from robustparse.evaluation.versions import versions
from robustparse.files.json_text import as_written
from robustparse.files.output_folders import locked, make_folder
from robustparse.files.writing import write_json, write_pieces, written
from robustparse.tasks.task import Task
from robustparse.types import Example

_DELETE = "delete the file and run the attack again"


class AttackFolder:
    """The output folder of an attack that is written or resumed; `open` makes one.

    Opening reads the records of an earlier run once; `append` adds one; `finish` reads them once
    more to sort them, and writes the other files in the same pass.

    Attributes:
        totals: sums over all records so far.
        pending: the sentences that have no record yet.
        finished: the summary of a finished run, else None.
    """

    def __init__(
        self, folder: Path, task: Task, attack: Attack, examples: Sequence[Example], run: RunRecord
    ) -> None:
        self.folder, self.task, self.attack, self.run = folder, task, attack, run
        self.totals = AttackSummary(task)
        self._examples = {example.id: example for example in examples}
        self._records = RecordFile(folder / EXAMPLES, ExampleRecord)
        self._read_earlier_records()
        self.pending = [each for each in examples if each.id not in self._records.positions]
        last = record_file(folder) if "shard" in run else folder / SUMMARY
        done = not self.pending and last.exists()
        self.finished = read_summary(folder, _DELETE) if done else None
        if not done:
            remove_record(folder)

    @classmethod
    @contextmanager
    def open(
        cls, folder: Path, task: Task, attack: Attack, examples: Sequence[Example], run: RunRecord
    ) -> Iterator[Self]:
        """Open a folder and hold its lock.

        Args:
            folder: is made if it does not exist, and continued if it holds the same run.
            task: of the victim.
            attack: the attack, for error messages and warnings.
            examples: the sentences to attack, with distinct ids.
            run: what distinguishes this run from others.

        Raises:
            InputError: the folder is not writable, in use, damaged, or holds another run.
        """
        with locked(make_folder(folder), "attack", "--out"):
            yield cls(folder, task, attack, examples, run)

    def append(self, record: ExampleRecord) -> None:
        """Write the record of a finished sentence, which is on disk when this returns.

        Raises:
            InputError: the file cannot be written.
        """
        self._records.append(record)
        self.totals.add(record)

    def finish(self, speed: Speed) -> Summary:
        """Sort ``examples.jsonl``, write the adversarial file and the summary.

        Args:
            speed: what the sentences took that were pending.

        Raises:
            InputError: the attack could change no sentence (`ChangeableSentences.check`; not in a
                shard), records were lost, or a file cannot be written.
        """
        ending = self.task.files.ending_for([*self._examples.values()])
        with (
            written(self.folder / EXAMPLES) as examples,
            written(self.folder / f"adversarial{ending}") as adversarial,
        ):
            attacked = (
                (self._examples[record["id"]], record["adversarial_tokens"], None)
                for record in self._records.sorted_into(examples)
            )
            head = write_pieces(adversarial, self.task.files.write_all(attacked))
        for file in share_files(self.folder):
            file.unlink()
        remove_logs(self.folder)
        if "shard" not in self.run:  # others may hold sentences that the attack can change
            self.totals.changeable.check(self.attack, [*self._examples.values()])
        summary = self.totals.summary(
            self.run, self.attack.budget, speed.summary(len(self.pending)), versions()
        )
        write_json(self.folder / SUMMARY, summary)
        if "shard" in self.run:
            totals = {"attack": self.totals.counts(), "speed": asdict(speed)}
            sums = {**totals, "pending": len(self.pending)}
            heads = {EXAMPLES: "", f"adversarial{ending}": head}
            shard, run = self.run["shard"], self.run
            write_shard(self.folder, "attack", shard, self.task, run, sums, heads)
        return summary

    def _read_earlier_records(self) -> None:
        """Read and check the records of an earlier run, and remove what a kill left behind."""
        earlier = all_records(self.folder)
        first = next(earlier, None)
        claim(self.folder, self.run, RunRecord, EXAMPLES, begun=first is not None)
        of_processes = []
        for stored in chain([first] if first else [], earlier):
            record = stored.record
            with as_written(stored.path, "attack", line=stored.line):
                if record["id"] not in self._examples:
                    raise ValueError(f"no sentence {record['id']} in the data")
                check_record(self.task, record, self._examples[record["id"]])
                self.totals.add(record)
            if stored.path == self._records.path:
                self._records.keep(stored)
            else:
                of_processes.append(record)
        self._records.cut_off()
        for record in of_processes:
            self._records.append(record)
        for file in share_files(self.folder):
            file.unlink()


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
    """Write the output folder of an attack, or resume it; see `AttackFolder`.

    Args:
        folder, task, attack, examples, run: see `AttackFolder.open`.
        source: attacks the sentences that have no record, in this process or in others.
        on_sentence: called after every sentence with the sums so far.

    Returns:
        The summary. Times and forwards are those of the last uninterrupted stretch of the run, None
        if it had nothing left to attack.

    Raises:
        InputError: see `AttackFolder`.
    """
    with AttackFolder.open(folder, task, attack, examples, run) as out:
        if out.finished is not None:
            return out.finished

        def take(record: ExampleRecord) -> None:
            out.append(record)
            on_sentence(out.totals.sums)

        return out.finish(drain(source(out.pending), take))
