"""Workers for tests of processes, in a file of their own so that new processes can import them."""

import os
import signal
import time
from collections.abc import Sequence

import torch

from robustparse.evaluation.attack_run.ranks import Ranks
from robustparse.evaluation.attack_run.shards import Lines, Speed
from robustparse.types import DependencyTree, Example, Sentence

EXAMPLES = [Example(id_, Sentence(("word",)), DependencyTree((0,), ("root",))) for id_ in range(9)]


def lines(examples: Sequence[Example]) -> Lines:
    """A line for every sentence."""
    for example in examples:
        yield {"id": example.id, "pid": os.getpid(), "threads": torch.get_num_threads()}
    return Speed(forwards=len(examples), seconds=float(len(examples)))


def following(ranks: Ranks) -> None:
    """Attack this rank's share."""
    ranks.follow(lines, EXAMPLES)


def killed(ranks: Ranks) -> None:
    """Die after a line."""

    def source(examples: Sequence[Example]) -> Lines:
        yield from lines(examples[:1])
        os.kill(os.getpid(), signal.SIGKILL)
        return Speed()

    ranks.follow(source, EXAMPLES)


def never_ending(ranks: Ranks) -> None:
    """Finish a line and wait."""

    def source(examples: Sequence[Example]) -> Lines:
        yield from lines(examples[:1])
        time.sleep(600)
        return Speed()

    ranks.follow(source, EXAMPLES)
