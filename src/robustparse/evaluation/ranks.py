"""An attack over processes that a launcher such as ``torchrun`` has started, on any machines.

They share the folder and a key-value store. Rank 0 holds the folder's lock, tells the others which
sentences are left, and writes ``examples.jsonl``; every other rank keeps its lines in a file of its
own, ``examples.<rank>.jsonl``, which rank 0 takes in at the end, or the next run after a kill.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from robustparse.errors import InputError
from robustparse.evaluation.lines import each_line, json_line, part_file
from robustparse.evaluation.shards import Lines, Source, drain, shard
from robustparse.evaluation.speed import Speed
from robustparse.types import Example

T = TypeVar("T")

_PENDING, _SPEED = "pending", "speed"
_PATIENCE = timedelta(days=365)  # a launcher ends the ranks that wait for a dead one


@dataclass(frozen=True)
class Rank:
    """One of several processes, as their launcher has told it.

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
        """From ``RANK``, ``WORLD_SIZE`` and their like; None where nobody has set them.

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
            raise InputError(f"{values}: expected whole numbers, as torchrun sets them") from None
        if not 0 <= rank.rank < rank.count or not 0 <= rank.local_rank < rank.local_count:
            raise InputError(f"{values}: expected ranks from 0, below the number of processes")
        return rank


class Ranks:
    """What the processes of one run tell each other.

    Args:
        rank: this process.
        folder: where the run's files are; all processes see it.

    Raises:
        InputError: the address of the store is not set.
    """

    def __init__(self, rank: Rank, folder: Path) -> None:
        self.rank, self.folder = rank, folder
        self._parent = os.getppid()
        try:
            store = next(rendezvous("env://", timeout=_PATIENCE))[0]
        except ValueError as error:
            raise InputError(
                f"RANK and WORLD_SIZE are set, but {error}; start the ranks with torchrun, or "
                "unset both"
            ) from None
        # torchrun keeps its store when it starts the ranks again, and with it what they had said.
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        self._store = PrefixStore(f"robustparse/{attempt}", store)

    def lead(self, attacked: Source, collect: Callable[[Source], T]) -> T:
        """For rank 0: collect this one's lines and those of all others.

        Args:
            attacked: attacks sentences in this process.
            collect: writes what a source gives, if anything is left to attack.
        """
        left: Sequence[Example] = ()

        def lines(pending: Sequence[Example]) -> Lines:
            nonlocal left
            left = pending
            self._announce(left)
            own = yield from self._share(attacked, pending)
            speeds = [own, *self._speeds()]
            for rank in range(1, self.rank.count):
                yield from each_line(part_file(self.folder, rank))
            return Speed.together(speeds)

        collected = collect(lines)
        if not left:
            self._announce(left)
            self._speeds()  # the store may end with this process: let the others read it first
        return collected

    def follow(self, attacked: Source, examples: Sequence[Example]) -> None:
        """For the other ranks: attack this one's share of what is left, into its file.

        Args:
            attacked: attacks sentences in this process.
            examples: all sentences of the run.
        """
        ids = set(json.loads(self._store.get(_PENDING)))
        pending = [example for example in examples if example.id in ids]
        speed = Speed()
        if len(pending) > self.rank.rank:
            path = part_file(self.folder, self.rank.rank)
            with path.open("w", encoding="utf-8") as file:

                def write(line: dict[str, Any]) -> None:
                    file.write(json_line(line))
                    file.flush()

                speed = drain(self._share(attacked, pending), write)
        self._store.set(f"{_SPEED}/{self.rank.rank}", json.dumps(asdict(speed)))

    def _announce(self, pending: Sequence[Example]) -> None:
        self._store.set(_PENDING, json.dumps([example.id for example in pending]))

    def _speeds(self) -> list[Speed]:
        """Return what the others took, once they are done."""
        others = range(1, self.rank.count)
        return [Speed(**json.loads(self._store.get(f"{_SPEED}/{rank}"))) for rank in others]

    def _share(self, attacked: Source, pending: Sequence[Example]) -> Lines:
        """Yield the lines of one rank, as long as its launcher lives."""
        lines = attacked(shard(pending, self.rank.rank, self.rank.count))
        try:
            while True:
                yield next(lines)
                if os.getppid() != self._parent:
                    raise RuntimeError(f"rank {self.rank.rank}: the launcher has ended")
        except StopIteration as stop:
            speed: Speed = stop.value
            return speed
        finally:
            lines.close()
