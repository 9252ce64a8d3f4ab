"""Training killed at random moments, continued, and compared with training never stopped.

    python bench/kill_resume.py --json

Clean training and each adversary of the shipped recipes run on the sample treebank with a small
parser, in one process and in two. For every kill a run gets SIGKILL, all its processes at once,
somewhere in a step drawn at random; it is then continued with ``--ckpt_path last`` and must leave
what a run leaves that was never stopped: weights, optimiser, schedule, step and epoch in
``last.ckpt`` and the figures in ``metrics.csv``, bit for bit.
"""

import argparse
import csv
import json
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import yaml

import robustparse.cli.fit  # noqa: F401 - imported once, for all forks
from robustparse.data.sample.treebank import sample_treebank
from small_runs import RECIPES, Run, fit, small, write_tables

PARTS = ("state_dict", "optimizer_states", "lr_schedulers", "global_step", "epoch")
CLOCK = "seconds"  # how the names of figures of the clock end, which differ between any two runs
ATTEMPTS = 10  # to hit a run before its end


def differences(run: Path, reference: Path) -> list[str]:
    """Return what differs between two runs that ended; nothing if one is as good as the other."""
    one, other = (torch.load(f / "last.ckpt", weights_only=True) for f in (run, reference))
    found = [part for part in PARTS if not same(one[part], other[part])]
    return found + (["metrics.csv"] if figures(run) != figures(reference) else [])


def same(one: Any, other: Any) -> bool:
    """Bit for bit."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def figures(folder: Path) -> list[tuple[str, ...]]:
    """Return the rows of ``metrics.csv``, those of the clock left out."""
    with (folder / "metrics.csv").open(newline="") as file:
        return sorted(tuple(row) for row in csv.reader(file) if not row[1].endswith(CLOCK))


def logged_steps(folder: Path) -> int:
    """How many steps are in ``metrics.csv``."""
    path = folder / "metrics.csv"
    rows = path.read_text().splitlines()[1:] if path.exists() else []
    return int(rows[-1].split(",")[0]) + 1 if rows else 0


class Victim:
    """One recipe in several processes, run once without a stop.

    Args:
        config: the recipe, written.
        folder: for its runs.
        processes: how many.
    """

    def __init__(self, config: Path, folder: Path, processes: int) -> None:
        folder.mkdir()
        self.config, self.folder, self.processes = config, folder, processes
        self.log, self.whole = folder / "log", folder / "whole"
        run = self._run(self.whole)
        first = run.wait(lambda: logged_steps(self.whole) > 0)
        seconds = run.finish() - first
        self.steps = logged_steps(self.whole)
        self.seconds_per_step = seconds / self.steps

    def _run(self, folder: Path) -> Run:
        return Run(fit(self.config, folder), self.log, self.processes)

    def kill(self, dice: random.Random) -> tuple[bool, bool]:
        """Kill a run, continue it: whether amid an epoch, whether it ends as the whole one."""
        folder = self.folder / "killed"
        for _ in range(ATTEMPTS):
            run = self._run(folder)
            step = dice.randrange(self.steps)
            run.wait(lambda step=step: logged_steps(folder) > step)
            time.sleep(dice.uniform(0.0, 2.0 * self.seconds_per_step))
            if run.kill():
                break
            shutil.rmtree(folder)
        else:
            raise RuntimeError(f"runs end too soon to be killed: {self.config}")
        last = folder / "last.ckpt"
        position = 0
        if last.exists():
            loops = torch.load(last, weights_only=True)["loops"]
            position = loops["fit_loop"]["state_dict"]["combined_loader"][0]["position"]
        self._run(folder).finish()
        found = differences(folder, self.whole)
        if found:
            print(f"{self.config.name}: {', '.join(found)} differ", file=sys.stderr)
        shutil.rmtree(folder)
        return bool(position), not found


def measure(options: argparse.Namespace, folder: Path) -> dict[str, dict[str, float]]:
    """Return the figures of every recipe."""
    dice = random.Random(options.seed)
    rows: dict[str, dict[str, float]] = {}
    start = None
    write_tables(folder)
    for name in options.recipes:
        config = folder / f"{name}.yaml"
        config.write_text(yaml.safe_dump(small(name, options.steps, start, folder)))
        row = dict.fromkeys(("kills", "identical", "mid_epoch", "two_processes"), 0)
        shares = {1: options.kills - options.kills // 4, 2: options.kills // 4}
        for processes, kills in shares.items():
            if not kills:
                continue
            victim = Victim(config, folder / f"{name}{processes}", processes)
            start = start or victim.whole / "last.ckpt"  # the first is the clean parser
            for _ in range(kills):
                mid_epoch, identical = victim.kill(dice)
                row["kills"] += 1
                row["identical"] += identical
                row["mid_epoch"] += mid_epoch
                row["two_processes"] += processes == 2
        rows[name] = row
        print(
            f"{name:>15} " + ", ".join(f"{value} {key}" for key, value in row.items()), flush=True
        )
    return rows


def main() -> None:
    """Print the figures; with ``--json`` as one object on the last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipes", nargs="+", choices=list(RECIPES), default=list(RECIPES))
    parser.add_argument("--kills", type=int, default=4, help="of each; a fourth in two processes")
    parser.add_argument("--steps", type=int, default=60, help="optimiser steps of a run")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    torch.set_num_threads(1)
    sample_treebank(0)  # once, for all forks
    with tempfile.TemporaryDirectory(prefix="kill-resume-") as folder:
        rows = measure(options, Path(folder))
    if options.json:
        print(json.dumps(rows))
    sys.exit(any(row["identical"] != row["kills"] for row in rows.values()))


if __name__ == "__main__":
    main()
