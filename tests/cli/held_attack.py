"""The program, which waits behind a certain sentence while a file, the gate, is there.

For tests that kill or look at an attack in its midst, however busy the machine is. The numbers
come from ``HELD_AT`` and ``GATE``; a rank counts its own sentences, else all of the folder count.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from robustparse.api import attack_run
from robustparse.cli.main import main
from robustparse.evaluation import shards
from robustparse.evaluation.shards import Lines
from robustparse.evaluation.tally import Tally

PARENT = os.getppid()


def hold(finished: int) -> None:
    gate = Path(os.environ["GATE"])
    while finished == int(os.environ["HELD_AT"]) and gate.exists() and os.getppid() == PARENT:
        time.sleep(0.02)


@contextmanager
def progress(total: int, name: str) -> Iterator[Callable[[Tally], None]]:
    yield lambda tally: hold(tally.sums["sentences"])


def lines(*arguments: Any) -> Lines:
    attacked, finished = shards.attacked_lines(*arguments), 0
    while True:
        try:
            line = next(attacked)
        except StopIteration as stop:
            return stop.value
        yield line  # asked for the next one, this one is in the file
        finished += 1
        hold(finished)


if __name__ == "__main__":  # not in the processes that it starts
    if "RANK" in os.environ:
        attack_run.attacked_lines = lines
    else:
        attack_run.attack_progress = progress
    main()
