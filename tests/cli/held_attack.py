"""The program, which waits after a certain sentence while a file, the gate, is there.

For tests that kill or look at an attack in its midst, however busy the machine is.
"""

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from robustparse.api import attack_run
from robustparse.cli.main import main
from robustparse.evaluation import attack_processes
from robustparse.evaluation.attack_processes import Records
from robustparse.evaluation.attack_sums import AttackSums


def run(gate: Path, at: int, options: Sequence[str]) -> None:
    """Run it in this process, which ends with it, and in forks where it starts others.

    Args:
        gate: the file.
        at: how many sentences are finished when it waits: of a launcher's rank its own, else all of
            the folder.
        options: the program's.
    """
    parent = os.getppid()

    def hold(finished: int) -> None:
        while finished == at and gate.exists() and os.getppid() == parent:
            time.sleep(0.02)

    @contextmanager
    def progress(total: int, name: str) -> Iterator[Callable[[AttackSums], None]]:
        yield lambda tally: hold(tally.sums["sentences"])

    def lines(*arguments: Any) -> Records:
        attacked, finished = attack_processes.attacked_records(*arguments), 0
        while True:
            try:
                line = next(attacked)
            except StopIteration as stop:
                return stop.value
            yield line  # asked for the next one, this one is in the file
            finished += 1
            hold(finished)

    attack_processes.get_context = lambda _: multiprocessing.get_context("fork")
    if "RANK" in os.environ:
        attack_run.attacked_records = lines
    else:
        attack_run.attack_progress = progress
    main(options)
