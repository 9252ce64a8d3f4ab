"""An attack over several processes, which a launcher such as ``torchrun`` or rank 0 has started.

They share the folder and a key-value store. Rank 0 holds the folder's lock, tells the others which
sentences are left, attacks its share, and writes ``examples.jsonl``; every other rank keeps its
lines in a file of its own, ``examples.<rank>.jsonl``, which rank 0 reads as it grows, or the next
run after a kill. If rank 0 or the launcher dies, the others end at their next line. Nothing but
JSON comes back from them, so that nothing is unpickled.
"""

import json
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
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

from robustparse.errors import InputError, ProcessDiedError, Stopped
from robustparse.evaluation.attack_run.shards import Lines, Source, Speed, drain, shard
from robustparse.evaluation.lines import GrowingFile, append_line, part_file
from robustparse.types import Example

T = TypeVar("T")

_PENDING, _END = "pending", "end"
_PATIENCE = timedelta(days=365)  # a launcher ends the ranks that wait for a dead one
_PAUSE = 0.05  # seconds between two looks at the store
_SECONDS_TO_END = 20.0


@dataclass(frozen=True)
class Rank:
    """One of several processes.

    Args:
        rank: its number, from 0.
        count: of all processes.
        local_rank: its number on its machine.
        local_count: of the processes of its machine.
    """

    rank: int
    count: int
    local_rank: int
    local_count: int

    @classmethod
    def launched(cls) -> "Rank | None":
        """Read ``RANK``, ``WORLD_SIZE`` and their like; None where nobody has set them.

        Raises:
            InputError: they are no numbers that fit each other.
        """
        if not {"RANK", "WORLD_SIZE"} <= set(os.environ):
            return None
        given = {key: os.environ[key] for key in ("RANK", "WORLD_SIZE")}
        given["LOCAL_RANK"] = os.environ.get("LOCAL_RANK", given["RANK"])
        given["LOCAL_WORLD_SIZE"] = os.environ.get("LOCAL_WORLD_SIZE", given["WORLD_SIZE"])
        values = ", ".join(f"{key}={value}" for key, value in given.items())
        try:
            rank = cls(*map(int, given.values()))
        except ValueError:
            expected = "whole numbers, as torchrun sets them"
            raise InputError(values, expected=expected) from None
        if not 0 <= rank.rank < rank.count or not 0 <= rank.local_rank < rank.local_count:
            raise InputError(values, expected="ranks from 0, below the number of processes")
        return rank


class Ranks:
    """What the processes of one run tell each other.

    What methods take as ``attacked`` attacks sentences in this process.

    Args:
        rank: this process.
        folder: where the run's files are; all processes see it.
        store: what they tell each other through.
        started: the other ranks, if this process has started them.
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
        # torchrun keeps its store when it starts the ranks again, and with it what they had said.
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
        """Collect the lines of all ranks; for rank 0 of a launcher.

        ``collect`` writes what a source gives, if anything is left to attack.
        """
        collected = collect(partial(self.lines, attacked))
        if not self._store.check([_PENDING]):  # the others wait to be told
            drain(self.lines(attacked, ()), lambda _: None)
        return collected

    def lines(self, attacked: Source, pending: Sequence[Example]) -> Lines:
        """Yield the lines of all ranks for the sentences that are left; for rank 0.

        Raises:
            InputError: a process that this one has started raised one.
            ProcessDiedError: such a process was killed, or ended otherwise before its time.
            RuntimeError: such a process raised anything else; holds its traceback.
        """
        self._store.set(_PENDING, json.dumps([example.id for example in pending]))
        others = {n: GrowingFile(part_file(self.folder, n)) for n in range(1, self.rank.count)}
        speeds: list[Speed] = []
        with closing(self._own(attacked, pending)) as own:
            attacking = True
            while attacking or others:
                line, speed = _next(own)
                if line is not None:
                    yield line
                    self._check_parent()
                elif speed is not None:
                    attacking = False
                    speeds.append(speed)
                else:
                    time.sleep(_PAUSE)
                for rank, file in list(others.items()):
                    speed = self._ended(rank)  # before its file is read, so that no line is missed
                    yield from file.new_lines()
                    if speed is not None:
                        speeds.append(speed)
                        del others[rank]
        return Speed.together(speeds)

    def follow(self, attacked: Source, examples: Sequence[Example]) -> None:
        """Attack this rank's share of what is left of all sentences, into its file; for others."""
        while not self._store.check([_PENDING]):
            self._check_parent()
            time.sleep(_PAUSE)
        self._check_parent()  # else the next run's file may be overwritten
        ids = set(json.loads(self._store.get(_PENDING)))
        pending = [example for example in examples if example.id in ids]
        speed = Speed()
        if len(pending) > self.rank.rank:
            path = part_file(self.folder, self.rank.rank)
            path.unlink(missing_ok=True)

            def write(line: dict[str, Any]) -> None:
                append_line(path, line)
                self._check_parent()

            speed = drain(self._own(attacked, pending), write)
        self.end(speed=asdict(speed))

    def end(self, **message: Any) -> None:
        """Tell rank 0 that this rank has ended, by its ``speed``, a ``mistake`` or a ``fault``."""
        self._store.set(f"{_END}/{self.rank.rank}", json.dumps(message))

    def _own(self, attacked: Source, pending: Sequence[Example]) -> Lines:
        """Yield the lines of this rank's share."""
        mine = shard(pending, self.rank.rank, self.rank.count)
        return (yield from attacked(mine)) if mine else Speed()

    def _check_parent(self) -> None:
        if os.getppid() != self._parent:
            raise RuntimeError(f"rank {self.rank.rank}: the launcher has ended")

    def _ended(self, rank: int) -> Speed | None:
        """Return what another rank took, if it has ended; raises what it raised."""
        process = self._started.get(rank)
        alive = process is None or process.is_alive()  # asked first: it may end after its message
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
            "kept, and the same command continues with the others (with fewer --devices, if you "
            "like)"
        )


def _next(lines: Lines) -> tuple[dict[str, Any] | None, Speed | None]:
    """Take the next line, or what they took in the end; neither of lines that have ended."""
    try:
        return next(lines), None
    except StopIteration as stop:
        return None, stop.value


Worker = Callable[[Ranks], None]
"""Loads all by itself and calls `Ranks.follow`, in a new process; it can be pickled."""


def lines_of_processes(
    attacked: Source, folder: Path, worker: Worker, count: int, pending: Sequence[Example]
) -> Lines:
    """Attack sentences in this process and in new ones, which end with it.

    Args:
        attacked: attacks sentences in this process.
        folder: where the run's files are.
        worker: what each of the new processes does.
        count: of the processes, this one included; no more than there are sentences are used.
        pending: the sentences.

    Raises:
        InputError, ProcessDiedError, RuntimeError: see `Ranks.lines`.
    """
    count = max(1, min(count, len(pending)))
    threads = torch.get_num_threads()
    with TemporaryDirectory(prefix="robustparse-") as private:
        store = str(Path(private) / "store")
        with _starting(worker, folder, store, count, max(1, threads // count)) as started:
            ranks = Ranks(Rank(0, count, 0, count), folder, FileStore(store, count), started)
            torch.set_num_threads(max(1, threads // count))
            try:
                return (yield from ranks.lines(attacked, pending))
            finally:
                torch.set_num_threads(threads)


@contextmanager
def _starting(
    worker: Worker, folder: Path, store: str, count: int, threads: int
) -> Iterator[dict[int, SpawnProcess]]:
    """Start ranks 1 to ``count - 1``; they have ended when this ends."""
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


def _stop(number: int, _: object) -> None:
    raise Stopped(number)


def _work(worker: Worker, rank: Rank, folder: Path, store: str, threads: int) -> None:
    """Run a new process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started it ends it,
    signal.signal(signal.SIGTERM, _stop)  # so that checkers it started end too
    torch.set_num_threads(threads)
    ranks = Ranks(rank, folder, FileStore(store, rank.count))
    try:
        worker(ranks)
    except InputError as error:
        ranks.end(mistake=str(error))
    except Exception:  # the process that started this one raises it
        ranks.end(fault=traceback.format_exc())
