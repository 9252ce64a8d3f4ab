"""A search during which its process dies or waits, once for each file that asks for it."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from robustparse.attacks.problem import Problem
from robustparse.attacks.search.requests import Answer, Searching
from robustparse.attacks.search.zheng2020 import Zheng2020

LOG = Path("attacked")


class FaultySearch(Zheng2020):
    """Searches as its base class, and writes a line for each sentence that it begins.

    The file ``kill`` names a sentence by its id, at which the process dies. The file ``hold`` names
    a sentence, or a node whose next sentence with an odd id is meant: the process then waits for
    its end, with a file ``held``.
    """

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching:
        """See `Search.run`."""
        with LOG.open("a") as log:
            log.write(f"{problem.id}\n")
        kill, hold = Path("kill"), Path("hold")
        if kill.exists() and kill.read_text() == str(problem.id):
            kill.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        if hold.exists() and problem.id % 2:
            import ray  # within an actor

            if hold.read_text() in (str(problem.id), ray.get_runtime_context().get_node_id()):
                hold.rename("held")
                while True:
                    time.sleep(0.02)
        return (yield from super().run(problem, clean, rng))
