"""Workers for tests of processes, in a file of their own so that new processes can import them."""

import os
import signal
import time
from collections.abc import Sequence

import torch

from example_records import record
from robustparse.evaluation.attack_processes import Ranks, Records, Speed
from robustparse.types import DependencyTree, Example, Sentence

EXAMPLES = [Example(id_, Sentence(("word",)), DependencyTree((0,), ("root",))) for id_ in range(9)]


def lines(examples: Sequence[Example]) -> Records:
    """A record for every sentence; its queries are the process and its number of threads."""
    for example in examples:
        made_by = {"charged": os.getpid(), "unique": torch.get_num_threads()}
        yield record(example.id, queries=made_by)
    return Speed(forwards=len(examples), seconds=float(len(examples)))


def following(ranks: Ranks) -> None:
    """Attack this rank's share."""
    ranks.follow(lines, EXAMPLES)


def killed(ranks: Ranks) -> None:
    """Die after a line."""

    def source(examples: Sequence[Example]) -> Records:
        yield from lines(examples[:1])
        os.kill(os.getpid(), signal.SIGKILL)
        return Speed()

    ranks.follow(source, EXAMPLES)


def never_ending(ranks: Ranks) -> None:
    """Finish a line and wait."""

    def source(examples: Sequence[Example]) -> Records:
        yield from lines(examples[:1])
        time.sleep(600)
        return Speed()

    ranks.follow(source, EXAMPLES)
