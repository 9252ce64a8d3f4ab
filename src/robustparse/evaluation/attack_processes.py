"""Attack sentences in this process or in several; each yields records and returns its speed.

A launcher such as ``torchrun`` or rank 0 starts the processes, which share the folder and a
key-value store. Rank 0 locks the folder, announces which sentences are pending, attacks its share
and writes ``examples.jsonl``. Every other rank appends its records to ``examples.<rank>.jsonl``,
which rank 0 reads meanwhile; after a kill, the next run reads it. If rank 0 or the launcher dies,
the other ranks end at their next record. Messages are JSON, so nothing is unpickled.
"""

import json
import os
import signal
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from functools import partial
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import torch
from torch.distributed import FileStore, Store  # type: ignore[attr-defined]
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from robustparse.attacks.attack import Attack
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.victim import Victim, counts_of
from robustparse.errors import InputError, ProcessDiedError, Stopped
from robustparse.evaluation.accumulator import added
from robustparse.evaluation.example_records import example_record, share_file
from robustparse.evaluation.record_files import RecordFile, append_record
from robustparse.evaluation.records import ExampleRecord
from robustparse.tasks.task import Task
from robustparse.types import Example

T = TypeVar("T")

_PENDING, _END = "pending", "end"
_PATIENCE = timedelta(days=365)  # a launcher ends the ranks that wait for a dead one
_PAUSE = 0.05  # seconds between two looks at the store
_SECONDS_TO_END = 20.0


@dataclass(frozen=True)
class Speed:
    """The time and the forward passes of one process, or the sums of several.

    Args:
        forwards: forward passes of the victim.
        texts: texts in these passes.
        seconds: wall-clock time; of the slowest process.
        process_seconds: the same, summed over the processes.
        victim_seconds: seconds spent in the victim, summed over the processes.
        model_seconds: seconds spent in other models, by class name, summed over the processes.
        counts: what the victim counted (`CountingVictim`), summed over the processes.
    """

    forwards: int = 0
    texts: int = 0
    seconds: float = 0.0
    process_seconds: float = 0.0
    victim_seconds: float = 0.0
    model_seconds: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    @classmethod
    def together(cls, speeds: Sequence["Speed"]) -> "Speed":
        """Add up the speeds of processes that ran at the same time."""
        total = added(map(asdict, (cls(), *speeds)))
        total["seconds"] = max((speed.seconds for speed in speeds), default=0.0)
        total["model_seconds"] = dict(sorted(total["model_seconds"].items()))
        return cls(**total)

    def summary(self, sentences: int) -> dict[str, Any]:
        """Return the keys of ``summary.json``; values are None if no sentence was attacked."""
        without_models = self.process_seconds - sum(self.model_seconds.values())
        values = {
            "victim_forwards": self.forwards,
            "victim_texts": self.texts,
            "texts_per_forward": self.texts / max(1, self.forwards),
            "seconds": self.seconds,
            "other_model_seconds": self.model_seconds,
            "sentences_per_second": sentences / self.seconds if self.seconds else None,
            "victim_share_of_seconds": self.victim_seconds / without_models
            if without_models > 0
            else None,
            **({"service": self.counts} if self.counts else {}),
        }
        return values if sentences else dict.fromkeys(values)


Records = Generator[ExampleRecord, None, Speed]
"""Yields the records of finished sentences, in any order; returns the speed."""

Source = Callable[[Sequence[Example]], Records]
"""Attacks sentences."""


def share_of(examples: Sequence[Example], rank: int, count: int) -> list[Example]:
    """Return the share of one process; every sentence belongs to exactly one share.

    Sentences are distributed by falling length, so that shares have equally many long ones. Results
    follow from (seed, id) and do not depend on the distribution. Ranks count from 0.
    """
    by_length = sorted(examples, key=lambda example: (-len(example.sentence), example.id))
    return by_length[rank::count]


def attacked_records(
    task: Task, attack: Attack, victim: Victim, examples: Sequence[Example]
) -> Records:
    """Attack sentences in this process."""
    statistics, before = Statistics(), counts_of(victim)
    with closing(attack.run(examples, victim, statistics)) as results:
        for result in results:
            yield example_record(task, result)
    counts = {name: count - before[name] for name, count in counts_of(victim).items()}
    totals = {**vars(statistics), "model_seconds": dict(statistics.model_seconds)}
    return Speed(**totals, process_seconds=statistics.seconds, counts=counts)


def drain(records: Records, take: Callable[[ExampleRecord], None]) -> Speed:
    """Pass on every record as it comes; return the speed."""
    try:
        while True:
            take(next(records))
    except StopIteration as stop:
        speed: Speed = stop.value
        return speed
    finally:
        records.close()


@dataclass(frozen=True)
class Rank:
    """One of several processes.

    Args:
        rank: the number of the process, from 0.
        count: the number of processes.
        local_rank: the number of the process on its machine, from 0.
        local_count: the number of processes on its machine.
    """

    rank: int
    count: int
    local_rank: int
    local_count: int

    @classmethod
    def launched(cls) -> "Rank | None":
        """Read ``RANK``, ``WORLD_SIZE`` and similar variables; None if they are not set.

        Raises:
            InputError: they are not numbers, or are inconsistent.
        """
        if not {"RANK", "WORLD_SIZE"} <= set(os.environ):
            return None
        variables = {key: os.environ[key] for key in ("RANK", "WORLD_SIZE")}
        variables["LOCAL_RANK"] = os.environ.get("LOCAL_RANK", variables["RANK"])
        variables["LOCAL_WORLD_SIZE"] = os.environ.get("LOCAL_WORLD_SIZE", variables["WORLD_SIZE"])
        values = ", ".join(f"{key}={value}" for key, value in variables.items())
        try:
            rank = cls(*map(int, variables.values()))
        except ValueError:
            expected = "whole numbers, as torchrun sets them"
            raise InputError(values, expected=expected) from None
        if not 0 <= rank.rank < rank.count or not 0 <= rank.local_rank < rank.local_count:
            raise InputError(values, expected="ranks from 0, below the number of processes")
        return rank


class Ranks:
    """Communication between the processes of one run.

    The argument ``attacked`` of the methods is a source that attacks sentences in this process.

    Args:
        rank: this process.
        folder: the folder of the run, which all processes share.
        store: the key-value store for messages.
        started: the other ranks, if this process started them.
    """

    def __init__(
        self,
        rank: Rank,
        folder: Path,
        store: Store,
        started: Mapping[int, SpawnProcess] | None = None,
    ) -> None:
        self.rank, self.folder, self._started = rank, folder, started or {}
        self._parent = os.getppid()
        # torchrun keeps its store, with old messages, when it restarts the ranks.
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        self._store = PrefixStore(f"robustparse/{attempt}", store)

    @classmethod
    def launched(cls, rank: Rank, folder: Path) -> "Ranks":
        """Join the other ranks of a launcher.

        Raises:
            InputError: the address of the store is not set.
        """
        try:
            return cls(rank, folder, next(rendezvous("env://", timeout=_PATIENCE))[0])
        except ValueError as error:
            raise InputError(
                f"RANK and WORLD_SIZE are set, but {error}",
                remedy="start the ranks with torchrun, or unset both",
            ) from None

    def lead(self, attacked: Source, collect: Callable[[Source], T]) -> T:
        """Collect the records of all ranks, as rank 0 of a launcher.

        ``collect`` writes the records of a source, unless nothing is pending.
        """
        collected = collect(partial(self.records, attacked))
        if not self._store.check([_PENDING]):  # the others wait for it
            drain(self.records(attacked, ()), lambda _: None)
        return collected

    def records(self, attacked: Source, pending: Sequence[Example]) -> Records:
        """Yield the records of all ranks for the pending sentences, as rank 0.

        Raises:
            InputError: a process that this one started raised an InputError.
            ProcessDiedError: such a process was killed, or ended too early.
            RuntimeError: such a process raised another error; the message holds its traceback.
        """
        self._store.set(_PENDING, json.dumps([example.id for example in pending]))
        others = {
            rank: RecordFile(share_file(self.folder, rank), ExampleRecord)
            for rank in range(1, self.rank.count)
        }
        speeds: list[Speed] = []
        with closing(self._share(attacked, pending)) as share:
            attacking = True
            while attacking or others:
                record, speed = _next(share)
                if record is not None:
                    yield record
                    self._check_parent()
                elif speed is not None:
                    attacking = False
                    speeds.append(speed)
                else:
                    time.sleep(_PAUSE)
                for rank, file in list(others.items()):
                    # Asked before its file is read, so that no record is missed.
                    speed = self._ended(rank)
                    yield from file.new_records()
                    if speed is not None:
                        speeds.append(speed)
                        del others[rank]
        return Speed.together(speeds)

    def follow(self, attacked: Source, examples: Sequence[Example]) -> None:
        """Attack this rank's share of the pending sentences into its file, as another rank."""
        while not self._store.check([_PENDING]):
            self._check_parent()
            time.sleep(_PAUSE)
        self._check_parent()  # otherwise it could overwrite a file of the next run
        ids = set(json.loads(self._store.get(_PENDING)))
        pending = [example for example in examples if example.id in ids]
        speed = Speed()
        if len(pending) > self.rank.rank:
            path = share_file(self.folder, self.rank.rank)
            path.unlink(missing_ok=True)

            def write(record: ExampleRecord) -> None:
                append_record(path, record)
                self._check_parent()

            speed = drain(self._share(attacked, pending), write)
        self.end(speed=asdict(speed))

    def end(self, **message: Any) -> None:
        """Tell rank 0 that this rank has ended: its ``speed``, a ``mistake`` or a ``fault``."""
        self._store.set(f"{_END}/{self.rank.rank}", json.dumps(message))

    def _share(self, attacked: Source, pending: Sequence[Example]) -> Records:
        """Yield the records of this rank's share."""
        examples = share_of(pending, self.rank.rank, self.rank.count)
        return (yield from attacked(examples)) if examples else Speed()

    def _check_parent(self) -> None:
        if os.getppid() != self._parent:
            raise RuntimeError(f"rank {self.rank.rank}: the launcher has ended")

    def _ended(self, rank: int) -> Speed | None:
        """Return the speed of another rank if it has ended; raise its error if it failed."""
        process = self._started.get(rank)
        # Asked before its message is read: it may end afterwards.
        alive = process is None or process.is_alive()
        who = f"process {rank} of {self.rank.count}"
        if self._store.check([f"{_END}/{rank}"]):
            message = json.loads(self._store.get(f"{_END}/{rank}"))
            if "mistake" in message:
                raise InputError(message["mistake"])
            if "fault" in message:
                raise RuntimeError(f"{who} failed:\n{message['fault']}")
            return Speed(**message["speed"])
        if process is None or alive:
            return None
        code = process.exitcode or 0
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        raise ProcessDiedError(
            f"{who} was ended {how}, perhaps for lack of memory; the sentences finished so far are "
            "kept, and the same command attacks the others (also with fewer --devices)"
        )


def _next(records: Records) -> tuple[ExampleRecord | None, Speed | None]:
    """Return the next record, or the speed at the end; neither if the records had ended."""
    try:
        return next(records), None
    except StopIteration as stop:
        return None, stop.value


Worker = Callable[[Ranks], None]
"""Runs in a new process: loads everything and calls `Ranks.follow`; it can be pickled."""


def records_of_processes(
    attacked: Source, folder: Path, worker: Worker, count: int, pending: Sequence[Example]
) -> Records:
    """Attack sentences in this process and in new processes, which end with it.

    Args:
        attacked: attacks sentences in this process.
        folder: the folder of the run.
        worker: runs in each new process.
        count: the number of processes with this one; at most one for each sentence.
        pending: the sentences.

    Raises:
        InputError, ProcessDiedError, RuntimeError: see `Ranks.records`.
    """
    count = max(1, min(count, len(pending)))
    threads = torch.get_num_threads()
    with TemporaryDirectory(prefix="robustparse-") as private:
        store = str(Path(private) / "store")
        with _starting(worker, folder, store, count, max(1, threads // count)) as started:
            ranks = Ranks(Rank(0, count, 0, count), folder, FileStore(store, count), started)
            torch.set_num_threads(max(1, threads // count))
            try:
                return (yield from ranks.records(attacked, pending))
            finally:
                torch.set_num_threads(threads)


@contextmanager
def _starting(
    worker: Worker, folder: Path, store: str, count: int, threads: int
) -> Iterator[dict[int, SpawnProcess]]:
    """Start ranks 1 to ``count - 1``, and end them on exit."""
    context = get_context("spawn")  # a fork of a process with threads or a GPU may hang
    started: dict[int, SpawnProcess] = {}
    try:
        for number in range(1, count):
            rank = Rank(number, count, number, count)
            arguments = (worker, rank, folder, store, threads)
            started[number] = context.Process(target=_work, args=arguments)
            started[number].start()
        yield started
    except BaseException:
        for process in started.values():
            process.terminate()
        raise
    finally:
        for process in started.values():
            process.join(_SECONDS_TO_END)
            process.kill()
            process.join()


def _work(worker: Worker, rank: Rank, folder: Path, store: str, threads: int) -> None:
    """Run a new process."""

    def stop(number: int, _: object) -> None:
        raise Stopped(number)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # rank 0 ends the process
    signal.signal(signal.SIGTERM, stop)  # its own child processes end too
    torch.set_num_threads(threads)
    ranks = Ranks(rank, folder, FileStore(store, rank.count))
    try:
        worker(ranks)
    except InputError as error:
        ranks.end(mistake=str(error))
    except Exception:  # the process that started this one raises it
        ranks.end(fault=traceback.format_exc())
