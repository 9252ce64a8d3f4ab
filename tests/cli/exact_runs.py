"""Shipped recipes that several processes must train as one does, and torchrun to start them."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import yaml
from command_runs import free_port
from torch.distributed.launcher.api import elastic_launch
from torch.distributed.run import config_from_args, parse_args

from forks import Forked
from robustparse.cli.main import main
from small_runs import fit as small_fit
from small_runs import small

Program = Callable[[list[str]], None]

ROOT = Path(__file__).parents[2]
TOLERANCE = 1e-12
LONGEST = 900.0  # seconds, on a busy machine


def exact(path: Path, name: str, steps: int, faults: tuple[Any, ...] = (), **trainer: Any) -> Path:
    """A recipe without dropout, in float64, two batches a step, clipped; no more is changed."""
    config = small(name, steps, accumulate_grad_batches=2, gradient_clip_val=0.5, **trainer)
    config["trainer"] |= {"precision": "64-true", "limit_val_batches": 0, **trainer}
    config["trainer"].setdefault("callbacks", []).extend(faults)
    model = config["model"]["init_args"]
    model["dropout"] = model["encoder"]["init_args"]["dropout"] = 0.0
    for callback in config["trainer"]["callbacks"]:
        if callback["class_path"].endswith("PGD"):
            callback["init_args"]["random_start"] = True
        if name == "substitution":
            callback["init_args"]["mode"] = "append"  # which no shipped defense has
    path.write_text(yaml.safe_dump(config))
    return path


def fault(name: str, /, **settings: Any) -> dict[str, Any]:
    """A callback of ``faults``."""
    return {"class_path": f"faults.{name}", "init_args": settings}


def fit(config: Path, folder: Path, *options: str) -> list[str]:
    """The arguments of a run whose configuration may hold `faults`."""
    return [*small_fit(config, folder, *options), "--trust", "faults"]


@dataclass(frozen=True)
class Ended:
    """What a launcher left: its exit code and what it and its processes wrote to standard error."""

    returncode: int
    stderr: str


def train(
    config: Path,
    folder: Path,
    processes: int,
    *options: str,
    restarts: int = 0,
    program: Program = main,
    meeting: Sequence[str] = ("--standalone",),
) -> Ended:
    """``fit`` under torchrun, on one machine, in forks; ``meeting`` says where it meets others.

    Processes started again get a store of their own: in the old one are the addresses of the dead.
    """
    launcher = _launcher(
        processes, *meeting, "--max_restarts", str(restarts), "--start-method=fork"
    )
    fresh = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"} if restarts else {}
    given = (launcher, program, _fit(config, folder, processes, *options))
    launched = Forked(_launch, *given, OMP_NUM_THREADS="1", **fresh)
    _, errors = launched.communicate(LONGEST)
    assert launched.returncode is not None
    return Ended(launched.returncode, errors)


def train_by_command(config: Path, folder: Path, processes: int) -> Ended:
    """The same by torchrun itself and ``train.py``, as users start them."""
    here = [str(ROOT / "src"), str(ROOT / "bench"), str(Path(__file__).parent)]
    launcher = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        *_launcher(processes, "--standalone"),
    ]
    process = subprocess.Popen(
        [*launcher, str(ROOT / "train.py"), *_fit(config, folder, processes)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(here)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, errors = process.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        process.terminate()  # torchrun ends its workers then; killed it would leave them behind
        process.communicate()
        raise
    return Ended(process.returncode, errors)


def _launcher(processes: int, *options: str) -> list[str]:
    return [*options, "--nproc_per_node", str(processes)]


def _fit(config: Path, folder: Path, processes: int, *options: str) -> list[str]:
    devices = ("--trainer.devices", str(processes), "--trainer.strategy", "ddp")
    return fit(config, folder, *devices, *options)


def _launch(launcher: list[str], program: Program, arguments: list[str]) -> None:
    """What torchrun does, with a function in the place of a script."""
    given = parse_args([*launcher, "a script"])
    if given.standalone:
        given.rdzv_backend, given.rdzv_endpoint = "c10d", "localhost:0"
    config, *_ = config_from_args(given)
    elastic_launch(config, program)(arguments)


def train_on_two_machines(config: Path, folder: Path, restarts: int) -> list[Ended]:
    """One process on each; both are this machine, which need not know itself by its name."""
    place = ("--rdzv_endpoint", f"localhost:{free_port()}", "--local_addr", "localhost")
    meeting = ("--nnodes", "2", "--rdzv_backend", "c10d", "--rdzv_id", "run", *place)
    run = partial(train, config, folder, 1, restarts=restarts, meeting=meeting)
    with ThreadPoolExecutor(2) as pool:
        machines = [pool.submit(run, "--trainer.num_nodes", "2") for _ in range(2)]
        return [machine.result() for machine in machines]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """Those of ``last.ckpt``."""
    return torch.load(folder / "last.ckpt", weights_only=True)["state_dict"]


def largest_difference(one: Path, other: Path) -> float:
    """Between the weights of two runs."""
    first, second = weights(one), weights(other)
    assert first.keys() == second.keys()
    return max(float((first[name] - second[name]).abs().max()) for name in first)
