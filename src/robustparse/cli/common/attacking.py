"""Attacking a data file into a folder, over one process or several.

New processes of this machine, or those that a launcher has started, load all by themselves; one
process writes. The files are the same for any number.
"""

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import torch
from rich.console import Console

from robustparse import trust
from robustparse.attacks.attack import PACKING, Attack
from robustparse.cli.common.class_paths import checked
from robustparse.cli.common.inputs import digest, load_examples, load_models
from robustparse.cli.common.options import Recipe
from robustparse.cli.common.progress import attack_progress
from robustparse.cli.common.recipe_files import recipe_digests
from robustparse.cli.common.tables import summary_table
from robustparse.data.fractions import FractionOf
from robustparse.devices import gpus
from robustparse.errors import InputError
from robustparse.evaluation.attack_folder import Summary, collect_into
from robustparse.evaluation.ranks import Rank, Ranks, lines_of_processes
from robustparse.evaluation.shards import Source, attacked_lines
from robustparse.models.base import Model
from robustparse.models.load import Decoder
from robustparse.models.victim import ModelVictim, Precision
from robustparse.tasks.task import Task
from robustparse.types import Example


class Data(NamedTuple):
    """The sentences to attack, and warnings of what they lack, made when they are read."""

    task: Task
    examples: list[Example]
    warnings: Iterator[str]


@dataclass(frozen=True)
class AttackRun:
    """What is attacked and how, as plain values that another process can be given.

    Fields are the options of ``attack``; ``split`` is of the sample, ``unit`` what the fraction
    counts.
    """

    folder: Path
    recipe: Recipe
    checkpoints: list[str]
    data: str
    split: str
    seed: int
    limit: int | None
    fraction: float
    unit: FractionOf
    decoder: Decoder | None
    device: str
    devices: int
    precision: Precision
    max_length: int
    columns: list[str] | None = None
    check: Callable[[Task], None] | None = None

    def attacked(self, attack: Attack) -> Summary | None:
        """Attack, or resume where it stopped; None where another process has the summary.

        Args:
            attack: as the recipe says, but for its seed.
        """
        attack.seed = self.seed
        rank = Rank.launched()
        if rank is not None and rank.count > 1:
            return self._as_rank(attack, rank)
        if self.devices == 1:
            return self._collected(*self.loaded(attack, 0, 1))
        return self._over_processes(attack)

    def loaded(self, attack: Attack, rank: int, count: int) -> tuple[Source, Data]:
        """Return the source of lines in one of this machine's processes, and all the sentences."""
        device = process_device(self.device, rank, count)
        models = load_models(self.checkpoints, self.decoder, device)
        if self.check is not None:
            self.check(models[0].task)
        if models[0].device.type == "cuda":
            torch.cuda.set_device(models[0].device)  # where other models go that take a GPU
        source = partial(
            attacked_lines, models[0].task, attack, ModelVictim(models, self.precision)
        )
        return source, self._sentences(attack, models[0])

    def _sentences(self, attack: Attack, model: Model) -> Data:
        """Return all the sentences, checked against the model and the attack."""
        punctuation = attack.punctuation
        examples = load_examples(
            *(self.data, self.limit, self.seed, model, self.max_length),
            *(self.fraction, self.unit, self.split, punctuation, self.columns),
        )
        model.task.check(examples, self.data, attack.check)
        warnings = model.warnings(examples, self.data, punctuation)
        return Data(model.task, examples, chain(warnings, attack.warnings(examples)))

    def _collected(self, source: Source, data: Data) -> Summary:
        """Write what a source gives into the folder, with a progress bar; print the scores."""
        task, examples, warnings = data
        for warning in warnings:
            print(f"robustparse: {warning}", file=sys.stderr)
        with attack_progress(len(examples), self.recipe.name) as progress:
            identity = self._identity()
            summary = collect_into(self.folder, task, source, examples, identity, progress)
        Console().print(summary_table({Path(self.checkpoints[0]).stem: summary}))
        return summary

    def _identity(self) -> dict[str, Any]:
        """Return what tells this run from others; not over how many processes it goes."""
        arguments = self.recipe.settings["init_args"]
        kept = {key: value for key, value in arguments.items() if key not in PACKING}
        settings = {**self.recipe.settings, "init_args": {**kept, "seed": self.seed}}
        keys = ("seed", "limit", "decoder", "precision", "data", "fraction")
        return {
            "attack": self.recipe.name,
            "victims": self.checkpoints,
            "settings": settings,
            **{key: getattr(self, key) for key in keys},
            **({} if self.columns is None else {"columns": self.columns}),
            "fraction_of": self.unit,
            "sha256": {
                "checkpoint": [digest(path) for path in self.checkpoints],
                "data": digest(self.data),
                "recipe": recipe_digests(settings),
            },
        }

    def _over_processes(self, attack: Attack) -> Summary:
        """Let new processes attack too; this one writes."""
        source, data = self.loaded(attack, 0, self.devices)
        worker = partial(_worker, self, trust.trusted_modules())
        lines = partial(lines_of_processes, source, self.folder, worker, self.devices)
        return self._collected(lines, data)

    def _as_rank(self, attack: Attack, rank: Rank) -> Summary | None:
        """Attack as one of the processes that a launcher has started; the first one writes."""
        if self.devices not in (1, rank.count):
            raise InputError(
                f"{self.devices}, but the launcher has started {rank.count} processes",
                key="--devices",
                remedy="leave --devices out",
            )
        source, data = self.loaded(attack, rank.local_rank, rank.local_count)
        ranks = Ranks.launched(rank, self.folder)
        if rank.rank == 0:
            return ranks.lead(source, lambda lines: self._collected(lines, data))
        ranks.follow(source, data.examples)
        return None


def process_device(device: str, rank: int, count: int) -> str:
    """Return what one of several processes of this machine is given as its ``--device``.

    ``auto`` takes GPUs where there are any, ``cuda`` GPUs, ``cpu`` none; a rank, from 0, gets the
    GPU of its number.

    Raises:
        InputError: fewer than one process, more processes than GPUs, or one GPU named for all.
    """
    if count < 1:
        raise InputError(f"must be >= 1, got {count}", key="--devices")
    if count == 1:
        return device
    if re.fullmatch("cuda:[0-9]+", device):
        raise InputError(
            f"{device} names one GPU, and there are {count} processes",
            key="--device",
            remedy="give --device cuda (process i takes GPU i; CUDA_VISIBLE_DEVICES chooses which "
            "there are), or one process",
        )
    if device == "cuda" or (device == "auto" and gpus()):
        if count > gpus():
            raise InputError(
                f"{count}, but this machine has {gpus()} GPUs that torch can use",
                key="--devices",
                remedy="give at most as many, or --device cpu for processes without one",
            )
        return f"cuda:{rank}"
    return device


def _worker(run: AttackRun, trusted: list[str], ranks: Ranks) -> None:
    """Load all by itself and attack a share of the sentences, in a new process."""
    checked([part for module in trusted for part in (trust.OPTION, module)])
    attack = run.recipe.attack()
    attack.seed = run.seed
    source, data = run.loaded(attack, ranks.rank.local_rank, run.devices)
    ranks.follow(source, data.examples)
