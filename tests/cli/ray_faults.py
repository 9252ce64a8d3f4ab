"""A search during which its process dies or waits, and a victim that counts its requests."""

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from robustparse.attacks.problem import Problem
from robustparse.attacks.search.requests import Answer, Searching
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.victims import BlackBox

LOG = Path("attacked")


class FaultySearch(Zheng2020):
    """Searches as its base class, and writes a line for each sentence that it begins.

    It works on a sentence for at least as many seconds as the file ``pace`` says. The process dies
    at the sentence whose id is in the file ``kill``, or at ``any`` sentence. It waits for its end
    at the sentence in the file ``hold``, which is then renamed to ``held``; or, if ``hold`` has the
    id of a node, there at any sentence with an odd id, for which sentences on other nodes wait.
    """

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching:
        """See `Search.run`."""
        with LOG.open("a") as log:
            log.write(f"{problem.id}\n")
        kill, hold, pace = Path("kill"), Path("hold"), Path("pace")
        if pace.exists():
            time.sleep(float(pace.read_text()))
        if kill.exists() and kill.read_text() in (str(problem.id), "any"):
            kill.unlink(missing_ok=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if hold.exists() and problem.id % 2:
            import ray  # within an actor

            with suppress(FileNotFoundError):  # another process was held
                where, node = hold.read_text(), ray.get_runtime_context().get_node_id()
                if where in (str(problem.id), node):
                    hold.rename("held")
                    where = node
                while where == node or (hold.exists() and len(where) == len(node)):
                    time.sleep(0.02)
        return (yield from super().run(problem, clean, rng))


class Counted(BlackBox):
    """Calls every text good; counts the texts, and writes a line when it is made."""

    def __init__(self, address: str = "") -> None:
        super().__init__("classification", labels=["bad", "good"])
        self.address = address
        self._requests = 0
        with Path("made").open("a") as log:
            log.write("made\n")

    def answer(self, texts: list[Sequence[str]]) -> list[tuple[str, list[float]]]:
        """See `BlackBox.answer`."""
        self._requests += len(texts)
        return [("good", [0.25, 0.75]) for _ in texts]

    def counts(self) -> dict[str, int]:
        """See `BlackBox.counts`."""
        none = dict.fromkeys(("repeated", "from_cache", "unreadable", "asked_twice"), 0)
        return {"requests": self._requests, **none}
