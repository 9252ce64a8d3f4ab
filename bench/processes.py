"""Words a second in two processes on two cores over those in one process on one core.

    python bench/processes.py --folder UD_English-EWT --json

The ``--recipe``, as shipped, trains with its own sizes, precision and adversary. Each process has
one thread and one of the two ``--cores``. The two kinds of run take turns. A run's rate is that of
``--steps`` steps after ``--warm`` others; ``ratio`` is that of the medians over the ``--rounds``.
The bar is 1.6. Both cores must be free: what shares a core with one process holds up the other,
for they meet in every step.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import yaml

import robustparse.cli.fit  # noqa: F401 - imported once, for all forks
from robustparse.data.treebank_datamodule import TreebankDataModule
from small_runs import RECIPES, Run, recipe, small

KINDS = {"one": 1, "two": 2}


def settings(options: argparse.Namespace, figures: Path) -> dict[str, Any]:
    """Return the recipe on the requested data, from scratch, without validation and checkpoints."""
    steps = options.warm + options.steps
    if options.small:
        config = small(options.recipe, steps)
    else:
        config = recipe(options.recipe)
        config["model"]["init_args"]["init_from"] = None
        config["data"]["init_args"]["folder"] = options.folder
    config["trainer"] |= {
        "accelerator": "cpu",
        "max_epochs": -1,
        "max_time": None,
        "max_steps": steps,
        "limit_val_batches": 0,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    clock = {"path": str(figures), "warm": options.warm}
    config["trainer"].setdefault("callbacks", []).append(
        {"class_path": "small_runs.Clock", "init_args": clock}
    )
    return config


def rate(config: Path, figures: Path, processes: int, cores: list[int]) -> float:
    """Words a second of one run."""
    log = figures.with_suffix(".log")
    with tempfile.TemporaryDirectory(dir=figures.parent) as folder:
        where = ["--trainer.default_root_dir", folder]
        Run(
            ["fit", "--trust", "small_runs", "--config", str(config), *where], log, processes, cores
        ).finish()
    return float(figures.read_text())


def measure(options: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Return the medians, and their ratio."""
    figures, config = folder / "rate", folder / "run.yaml"
    config.write_text(yaml.safe_dump(settings(options, figures)))
    rates: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(options.rounds):
        for kind, processes in KINDS.items():
            rates[kind].append(rate(config, figures, processes, options.cores))
    medians = {f"words_per_second_{kind}": statistics.median(rates[kind]) for kind in KINDS}
    one, two = medians.values()
    return {**medians, "ratio": two / one}


def main() -> None:
    """Print the figures; with ``--json`` as one object on the last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="sample", help="a treebank's folder, or sample")
    parser.add_argument("--recipe", choices=list(RECIPES), default="clean")
    parser.add_argument(
        "--small", action="store_true", help="a small parser on the sample: a trial"
    )
    parser.add_argument("--steps", type=int, default=60, help="that are timed")
    parser.add_argument("--warm", type=int, default=10, help="before them")
    parser.add_argument("--rounds", type=int, default=3, help="of one run of each kind")
    parser.add_argument("--cores", type=int, nargs=2, default=sorted(os.sched_getaffinity(0))[:2])
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    if len(options.cores) < 2:
        sys.exit("processes.py needs two cores, this process may use one")
    torch.set_num_threads(1)
    if not options.small:
        _ = TreebankDataModule(folder=options.folder).train_examples  # cached, for all forks
    with tempfile.TemporaryDirectory(prefix="processes-") as folder:
        figures = measure(options, Path(folder))
    for name, value in figures.items():
        print(f"{name:>20} {value:10.2f}")
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
