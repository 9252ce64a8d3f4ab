"""The shipped recipes on the sample treebank, small enough to run many of them, in forks.

Importing everything takes longer than such a run. A run is therefore forked from a process that has
imported everything once; what it then does is what ``train.py fit`` does. Several processes get the
environment that torchrun gives to its workers.
"""

import gc
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
import yaml

import robustparse as rp
from robustparse.data.sample.treebank import sample_treebank

CONFIGS = Path(__file__).parents[1] / "configs"
START = "experiment/ewt_biaffine_finetuning"
# What is trained: the clean parser, and each way to continue from it; an experiment, and defenses
# given after it.
RECIPES = {
    "clean": ["experiment/ewt_biaffine"],
    "fgm": [START, "defense/fgm"],
    "pgd": [START, "defense/pgd"],
    "freelb": [START, "defense/freelb"],
    "substitution": [START, "defense/substitution"],
    "substitution_fgm": [START, "defense/substitution", "defense/fgm"],
    "ascc": [START, "defense/ascc"],
    "encoding": ["experiment/ewt_biaffine"],
}
SIZES = {"word_dim": 16, "character_dim": 8, "character_out": 16, "hidden": 16, "layers": 1}
TABLE, ENCODING = "substitutes.jsonl", "encoding.jsonl"
LONGEST = 1200.0  # seconds, after which a run hangs


def recipe(name: str) -> dict[str, Any]:
    """Return the configuration of one of ``RECIPES``, as it is shipped."""
    return configuration(*RECIPES[name])


def configuration(*names: str) -> dict[str, Any]:
    """Join shipped configurations and those that they list, as ``fit`` does."""
    whole: dict[str, Any] = {}
    for name in names:
        content = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text("utf-8"))
        whole = _joined(whole, configuration(*content.pop("config", ())))
        whole = _joined(whole, content)
    return whole


def _joined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Lay settings over others; ``callbacks+`` adds to ``callbacks``."""
    whole = dict(first)
    for name, value in second.items():
        if name.endswith("+"):
            whole[name[:-1]] = [*(whole.get(name[:-1]) or ()), *value]
        elif isinstance(value, dict) and isinstance(whole.get(name), dict):
            whole[name] = _joined(whole[name], value)
        else:
            whole[name] = value
    return whole


def write_tables(folder: Path) -> None:
    """Write the substitution table and the encoding that some recipes read.

    Words of the sample that share a tag replace each other.
    """
    sentences = sample_treebank(0).train
    table = rp.substitutes(["training_words"], sentences, top=4, out=folder / TABLE)
    rp.encode(table, sentences, out=folder / ENCODING)


def small(
    name: str, steps: int, start: Path | None = None, tables: Path | None = None, **trainer: Any
) -> dict[str, Any]:
    """Return a recipe on the sample treebank with a small parser, 36 batches an epoch.

    Args:
        name: one of ``RECIPES``.
        steps: how long it runs.
        start: the checkpoint to fine-tune; none: from scratch.
        tables: the folder of ``write_tables``, for ``ascc`` and ``encoding``.
        trainer: settings of the Trainer over the recipe's.
    """
    config = recipe(name)
    if tables and name == "ascc":
        config["trainer"]["callbacks"][-1]["init_args"]["table"] = str(tables / TABLE)
    if tables and name == "encoding":
        config["model"]["init_args"]["encoding"] = str(tables / ENCODING)
    config["trainer"] |= {
        "accelerator": "cpu",
        "max_epochs": -1,
        "max_time": None,
        "max_steps": steps,
        "log_every_n_steps": 1,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        **trainer,
    }
    model = config["model"]["init_args"]
    continued = start is not None and RECIPES[name][0] == START
    model["encoder"]["init_args"] |= SIZES
    model |= {"arc_dim": 16, "label_dim": 8, "init_from": str(start) if continued else None}
    # The seed is the sample's too: fine-tuning continues with the sentences of the clean parser.
    config["data"]["init_args"] |= {"folder": "sample", "batches": {"words": 400}, "seed": 0}
    config["last_checkpoint"] = {"every_n_train_steps": 5}
    return config


def fit(config: Path, folder: Path, *options: str) -> list[str]:
    """Return the arguments of a run, which resumes where there is a checkpoint."""
    where = ["--trainer.default_root_dir", str(folder), "--ckpt_path", "last"]
    return ["fit", "--config", str(config), *where, *options]


class Run:
    """A command in one forked process or several.

    Args:
        arguments: of ``train.py``.
        log: takes what they print.
        processes: how many.
        cores: which core each may run on; none: on all.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        log: Path,
        processes: int = 1,
        cores: Sequence[int] | None = None,
    ) -> None:
        port = _free_port()
        self.started, self.log = time.perf_counter(), log
        self._statuses: dict[int, int | None] = {}
        if processes > 1:
            arguments = [*arguments, "--trainer.strategy", "ddp"]
        arguments = [*arguments, "--trainer.devices", str(processes)]
        for rank in range(processes):
            place = _environment(rank, processes, port) if processes > 1 else {}
            core = None if cores is None else cores[rank]
            self._statuses[_forked(arguments, log, place, core)] = None

    def alive(self) -> bool:
        """Whether any process still runs."""
        for pid, status in self._statuses.items():
            if status is None and (ended := os.waitpid(pid, os.WNOHANG)) != (0, 0):
                self._statuses[pid] = os.waitstatus_to_exitcode(ended[1])
        return any(status is None for status in self._statuses.values())

    def wait(self, reached: Callable[[], bool] | None = None) -> float:
        """Until it ends, or something is reached; the seconds since its start.

        Raises:
            RuntimeError: it still runs after ``LONGEST``.
        """
        while self.alive() and (reached is None or not reached()):
            if time.perf_counter() - self.started > LONGEST:
                self.kill()
                raise RuntimeError(f"a run hangs; {self.log} holds what it printed")
            time.sleep(0.005)
        return time.perf_counter() - self.started

    def kill(self) -> bool:
        """SIGKILL all that still run; whether there were any."""
        running = self.alive()
        for pid, status in self._statuses.items():
            if status is None:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                self._statuses[pid] = -signal.SIGKILL
        return running

    def finish(self) -> float:
        """Wait for its end; the seconds it took.

        Raises:
            RuntimeError: it failed or hangs.
        """
        seconds = self.wait()
        if any(self._statuses.values()):
            raise RuntimeError(f"a run failed; {self.log} holds what it printed")
        return seconds


class Clock(pl.Callback):
    """Writes the words a second of a run, over all its processes.

    Args:
        path: the file for the figure.
        warm: optimiser steps before those that count.
    """

    def __init__(self, path: str, warm: int) -> None:
        self.path, self.warm = path, warm
        self._words, self._start = 0.0, 0.0

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Count the words of the global batch."""
        if trainer.global_step <= self.warm:
            self._words, self._start = 0.0, time.perf_counter()
        else:
            self._words += float(batch.weight)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write the figure."""
        seconds = time.perf_counter() - self._start
        if trainer.is_global_zero:
            Path(self.path).write_text(str(self._words / seconds))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _environment(rank: int, processes: int, port: int) -> dict[str, str]:
    ranks = {"RANK": rank, "LOCAL_RANK": rank, "GROUP_RANK": 0}
    sizes = {"WORLD_SIZE": processes, "LOCAL_WORLD_SIZE": processes, "MASTER_PORT": port}
    names = {"MASTER_ADDR": "127.0.0.1", "TORCHELASTIC_RUN_ID": "forked"}
    return {name: str(value) for name, value in (ranks | sizes | names).items()}


def _forked(
    arguments: Sequence[str], log: Path, environment: dict[str, str], core: int | None
) -> int:
    """Return the pid of a fork that runs a command and ends."""
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    gc.freeze()  # a search for garbage would copy all memory that is shared
    with log.open("a") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    os.environ.update(environment)
    if core is not None:
        os.sched_setaffinity(0, [core])
    status = 1
    try:
        torch.set_num_threads(1)
        from robustparse.cli.main import main

        main(list(arguments))
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
