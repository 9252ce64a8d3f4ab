"""Workers for tests of processes, in a file of their own so that new processes can import them."""

import os
import signal
import time
from collections.abc import Sequence

import torch

from robustparse.errors import InputError
from robustparse.evaluation.shards import Lines
from robustparse.evaluation.speed import Speed


def lines(rank: int, ids: Sequence[int]) -> Lines:
    """A line for every sentence."""
    for id_ in ids:
        yield {"id": id_, "rank": rank, "pid": os.getpid(), "threads": torch.get_num_threads()}
    return Speed(forwards=len(ids), seconds=1.0 + rank)


def failing(how: str, rank: int, ids: Sequence[int]) -> Lines:
    """Rank 1 fails after its first line; the others go on until they are ended."""
    for number, id_ in enumerate(ids):
        yield {"id": id_, "rank": rank}
        if rank == 1:
            _fail(how)
        elif number == 1:
            time.sleep(600)
    return Speed()


def _fail(how: str) -> None:
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "exits":
        os._exit(3)
    elif how == "mistake":
        raise InputError("grammar: the checker died")
    raise ValueError("a fault of ours")
