"""Attack sentences in one process or several, and write the results into a folder.

Every process opens the victim and the data by itself; one process writes. The processes are started
here or by a launcher. Their number does not change the files.
"""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from robustparse import trust
from robustparse.api.data_sources import DataSource, settings_of
from robustparse.api.progress import attack_progress
from robustparse.api.victim_sources import VictimSource
from robustparse.attacks.attack import Attack
from robustparse.data.columns import columns_of
from robustparse.data.read_options import FileUse
from robustparse.devices import gpus
from robustparse.errors import InputError, check_least, say
from robustparse.evaluation.attack_folder import collect_into
from robustparse.evaluation.attack_processes import (
    Rank,
    Ranks,
    Source,
    attacked_records,
    records_of_processes,
)
from robustparse.evaluation.clean import AnsweringVictim
from robustparse.evaluation.records import RunRecord, Summary
from robustparse.options.arguments import checked
from robustparse.options.recipe import Recipe
from robustparse.options.recipe_digests import recipe_digests
from robustparse.options.recipe_facts import recipes_without
from robustparse.tasks.task import Task
from robustparse.types import Example


@dataclass(frozen=True)
class AttackRun:
    """An attack on a victim and sentences; it can be pickled if its sources can.

    Args:
        folder: the output folder, in which an interrupted run resumes.
        recipe: the settings of the attack.
        victim: the source of the victim.
        data: the source of the sentences.
        seed: the seed of the attack's random choices.
        device: where models compute.
        devices: the number of processes.
        check: called with the victim's task before data are read; raises if the task does not fit.
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
        """Attack or resume; return the summary, or None if another process writes it.

        Args:
            attack: the attack of the recipe; its seed is set here.
        """
        attack.seed = self.seed
        rank = Rank.launched()
        if rank is not None and rank.count > 1:
            return self._as_rank(attack, rank)
        victim, examples = self.loaded(attack, 0, self.devices)
        source: Source = partial(attacked_records, victim.task, attack, victim)
        if self.devices > 1:  # processes that attack too; this one writes
            worker = partial(_worker, self, trust.trusted())
            source = partial(records_of_processes, source, self.folder, worker, self.devices)
        return self._collected(attack, source, victim, examples)

    def loaded(
        self, attack: Attack, rank: int, count: int
    ) -> tuple[AnsweringVictim, list[Example]]:
        """Return the victim in one of this machine's processes, and all sentences."""
        victim = self.victim.open(process_device(self.device, rank, count))
        if victim.one_process and count > 1:
            problem = f"{count} processes for a victim whose limits hold for one"
            remedy = "leave it out; --victim.max_concurrent says how many requests are sent at once"
            raise InputError(problem, key="--devices", remedy=remedy)
        check_scores(attack, victim)
        if self.check is not None:
            self.check(victim.task)
        examples = self.data.examples(victim, attack.punctuation)
        victim.task.files.check(examples, self.data.name, attack.check)
        return victim, examples

    def _collected(
        self, attack: Attack, source: Source, victim: AnsweringVictim, examples: list[Example]
    ) -> Summary:
        """Write the records of a source into the folder, with a progress bar."""
        task, name = victim.task, self.data.name
        say(*victim.warnings(examples, FileUse(name, attack.punctuation)))
        say(*attack.warnings(examples, victim), *task.files.not_written(examples, name))
        with attack_progress(len(examples), self.recipe.name) as progress:
            identity = self._identity(columns_of(examples))
            return collect_into(self.folder, task, attack, source, examples, identity, progress)

    def _identity(self, columns: list[str] | None) -> RunRecord:
        """Return what distinguishes this run from others; the number of processes does not.

        Args:
            columns: the names of the columns that the sentences were read from, if any.
        """
        arguments = self.recipe.settings["init_args"]
        kept = {key: value for key, value in arguments.items() if key not in Attack.PACKING}
        settings = {**self.recipe.settings, "init_args": {**kept, "seed": self.seed}}
        identity = {
            "attack": self.recipe.name,
            "victims": self.victim.names,
            "settings": settings,
            **settings_of(self.victim, self.data, self.seed, columns),
            "sha256": {
                **self.victim.digests(),
                "data": self.data.digest(),
                "recipe": recipe_digests(settings),
            },
        }
        return cast(RunRecord, identity)

    def _as_rank(self, attack: Attack, rank: Rank) -> Summary | None:
        """Attack as one of a launcher's processes; the first one writes."""
        if self.devices not in (1, rank.count):
            raise InputError(
                f"{self.devices}, but the launcher has started {rank.count} processes",
                key="--devices",
                remedy="leave --devices out",
            )
        victim, examples = self.loaded(attack, rank.local_rank, rank.local_count)
        source = partial(attacked_records, victim.task, attack, victim)
        ranks = Ranks.launched(rank, self.folder)
        if rank.rank == 0:
            return ranks.lead(
                source, partial(self._collected, attack, victim=victim, examples=examples)
            )
        ranks.follow(source, examples)
        return None


def check_scores(attack: Attack, victim: AnsweringVictim) -> None:
    """Reject an attack that needs probabilities if the victim answers without.

    Raises:
        InputError: names the recipes that do without.
    """
    try:
        attack.check_scores(victim)
    except InputError as error:
        able = recipes_without(("probabilities", "gradients"), victim.task.name)
        error.key = "--attack"
        error.remedy = f"choose a recipe that does without: {', '.join(able)}"
        raise


def process_device(device: str, rank: int, count: int) -> str:
    """Return the device for process `rank` of `count` on this machine.

    ``cuda``, and ``auto`` on a machine with GPUs, give each process the GPU with its rank.

    Raises:
        InputError: there are no processes, or more than GPUs, or the device names a single GPU.
    """
    check_least("--", devices=count)
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
    """Load the victim and the data, and attack a share of the sentences, in a new process."""
    checked([token for name in trusted for token in (trust.OPTION, name)])
    attack = run.recipe.attack()
    attack.seed = run.seed
    logging.getLogger("robustparse").setLevel(logging.ERROR)  # the first process has warned
    victim, examples = run.loaded(attack, ranks.rank.local_rank, run.devices)
    ranks.follow(partial(attacked_records, victim.task, attack, victim), examples)
