"""Attacking sentences into a folder, over one process or several.

New processes of this machine, or those that a launcher has started, open all by themselves; one
process writes. The files are the same for any number.
"""

import logging
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from robustparse import trust
from robustparse.api.progress import attack_progress
from robustparse.api.sources import DataSource, VictimSource
from robustparse.attacks.attack import PACKING, Attack
from robustparse.data.columns import columns_of
from robustparse.devices import gpus
from robustparse.errors import InputError
from robustparse.evaluation.attack_run.attack_folder import Summary, collect_into
from robustparse.evaluation.attack_run.ranks import Rank, Ranks, lines_of_processes
from robustparse.evaluation.attack_run.shards import Source, attacked_lines
from robustparse.recipes.class_paths import checked
from robustparse.recipes.recipe import Recipe
from robustparse.recipes.recipe_files import recipe_digests
from robustparse.tasks.task import Task
from robustparse.types import Example

# Keys of run.json, in their order.
_USED = (
    *("seed", "limit", "decoder", "beam", "precision", "mean", "victim"),
    *("data", "fraction", "columns", "tagger", "fraction_of"),
)


class Data(NamedTuple):
    """The sentences to attack, and warnings of what they lack, made when they are read."""

    task: Task
    examples: list[Example]
    warnings: Iterator[str]


@dataclass(frozen=True)
class AttackRun:
    """What is attacked and how; another process can be given it where its sources are plain values.

    Args:
        folder: of its files, with which a run that was stopped resumes.
        recipe: what the attack is made of.
        victim, data: what is attacked.
        seed: of the attack's random choices.
        device: where models compute.
        devices: over how many processes.
        check: refuses the task of the victim, before any data are read.
    """

    folder: Path
    recipe: Recipe
    victim: VictimSource
    data: DataSource
    seed: int
    device: str = "auto"
    devices: int = 1
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
            return self._collected(attack, *self.loaded(attack, 0, 1))
        return self._over_processes(attack)

    def loaded(self, attack: Attack, rank: int, count: int) -> tuple[Source, Data]:
        """Return the source of lines in one of this machine's processes, and all the sentences."""
        victim = self.victim.open(process_device(self.device, rank, count))
        if self.check is not None:
            self.check(victim.task)
        examples = self.data.examples(victim, attack.punctuation)
        self.data.check(examples, victim.task, attack)
        of_victim = victim.warnings(examples, self.data.name, attack.punctuation)
        warnings = chain(of_victim, attack.warnings(examples, victim))
        source = partial(attacked_lines, victim.task, attack, victim)
        return source, Data(victim.task, examples, warnings)

    def _collected(self, attack: Attack, source: Source, data: Data) -> Summary:
        """Write what a source gives into the folder, with a progress bar."""
        task, examples, warnings = data
        for warning in chain(warnings, task.not_written(examples, self.data.name)):
            print(f"robustparse: {warning}", file=sys.stderr)
        with attack_progress(len(examples), self.recipe.name) as progress:
            identity = self._identity(columns_of(examples))
            return collect_into(self.folder, task, attack, source, examples, identity, progress)

    def _identity(self, columns: list[str] | None) -> dict[str, Any]:
        """Return what tells this run from others; not over how many processes it goes.

        Args:
            columns: names of those that the sentences were read from, if they have any.
        """
        arguments = self.recipe.settings["init_args"]
        kept = {key: value for key, value in arguments.items() if key not in PACKING}
        settings = {**self.recipe.settings, "init_args": {**kept, "seed": self.seed}}
        used = {"seed": self.seed, **self.victim.settings}
        used |= {"data": self.data.name, **self.data.settings}
        used |= {} if columns is None else {"columns": columns}
        return {
            "attack": self.recipe.name,
            "victims": self.victim.names,
            "settings": settings,
            **{key: used[key] for key in _USED if key in used},
            "sha256": {
                **self.victim.digests(),
                "data": self.data.digest(),
                "recipe": recipe_digests(settings),
            },
        }

    def _over_processes(self, attack: Attack) -> Summary:
        """Let new processes attack too; this one writes."""
        source, data = self.loaded(attack, 0, self.devices)
        worker = partial(_worker, self, trust.trusted())
        lines = partial(lines_of_processes, source, self.folder, worker, self.devices)
        return self._collected(attack, lines, data)

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
            return ranks.lead(source, lambda lines: self._collected(attack, lines, data))
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
    checked([part for name in trusted for part in (trust.OPTION, name)])
    attack = run.recipe.attack()
    attack.seed = run.seed
    logging.getLogger("robustparse").setLevel(logging.ERROR)  # the first process has said it
    source, data = run.loaded(attack, ranks.rank.local_rank, run.devices)
    ranks.follow(source, data.examples)
