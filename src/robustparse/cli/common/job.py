"""Attacking a data file as a command asks for it, over one process or several.

New processes of this machine, or those that a launcher has started, load all by themselves; one
process writes. The files are the same for any number.
"""

import json
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import torch
import yaml
from jsonargparse import ArgumentError, ArgumentParser, Namespace

from robustparse.attacks.attack import PACKING, Attack
from robustparse.cli.common.config_errors import shorten
from robustparse.cli.common.devices import process_device
from robustparse.cli.common.freed_memory import keep_freed_memory
from robustparse.cli.common.inputs import (
    digest,
    instantiate_options,
    load_examples,
    load_parser,
    options_of,
    parse_options,
    remarks_on,
)
from robustparse.cli.common.progress import attack_progress
from robustparse.cli.common.recipe_files import recipe_digests
from robustparse.data.conllu import check_readable
from robustparse.errors import InputError
from robustparse.evaluation.attack_folder import Summary, collect_into
from robustparse.evaluation.ranks import Rank, Ranks, lines_of_processes
from robustparse.evaluation.shards import Source, attacked_lines
from robustparse.files import read_text
from robustparse.models.base import Model
from robustparse.models.victim import ModelVictim
from robustparse.tasks.task import Task
from robustparse.types import Example

_NO_RECIPE = re.compile(r'Parser key "attack": Expected a path but (.+) either not accessible')
_CLASS_PATH = re.compile(r"\w+(\.[A-Za-z_]\w*)+")
_READ_TWICE = re.compile(r"Config file loop detected: (?:.* -> )?(\S+)$")


class Data(NamedTuple):
    """The sentences to attack, and remarks on what they lack, made when they are read."""

    task: Task
    examples: list[Example]
    remarks: Iterator[str]


class Attacked(NamedTuple):
    """The sentences of a finished attack, and its summary."""

    task: Task
    examples: list[Example]
    summary: Summary


@dataclass(frozen=True)
class Job(ABC):
    """What the options of a command ask for; each command that attacks has a class of its own.

    Args:
        arguments: of the command line.
        given: the command's options, objects made.
        name: of the recipe.
        settings: of the recipe, as plain values, but for those that change no outcome.

    Attributes:
        split: of the sample.
    """

    arguments: Sequence[str]
    given: dict[str, Any]
    name: str
    settings: dict[str, Any]
    split: ClassVar[str]

    @staticmethod
    @abstractmethod
    def function() -> Callable[..., None]:
        """Return the command, whose parameters are its options."""

    @property
    @abstractmethod
    def folder(self) -> Path:
        """Where the attack's files go."""

    @abstractmethod
    def drawn(self) -> dict[str, Any]:
        """Which ``share`` of the sentences is attacked, and what it is a ``share_of``, if not them.

        Raises:
            InputError: the options contradict each other.
        """

    @classmethod
    def of(cls, arguments: Sequence[str]) -> Self:
        """From the command line."""
        function = cls.function()
        parser = options_of(function, function.__name__)
        options = _attack_options(parser, arguments)
        settings = json.loads(parser.dump(options, format="json"))["attack"]
        for key in PACKING:
            settings["init_args"].pop(key, None)
        name = _recipe_name(options.attack)
        given = instantiate_options(parser, options)
        if given["seed"] is None:
            given["seed"] = given["attack"].seed
        given["attack"].seed = settings["init_args"]["seed"] = given["seed"]
        return cls(list(arguments), given, name, settings)

    def attacked(self) -> Attacked | None:
        """Attack, or go on where it stopped; None where another process has the outcome."""
        rank = Rank.launched()
        if rank is not None and rank.count > 1:
            return self._as_rank(rank)
        if self.given["devices"] == 1:
            return self._collected(*self._loaded(0, 1))
        return self._over_processes()

    def _loaded(self, rank: int, count: int) -> tuple[Source, Data]:
        """Return the source of lines in one of this machine's processes, and all the sentences."""
        given = self.given
        device = process_device(given["device"], rank, count)
        module = load_parser(given["checkpoint"], given["decoder"], device)
        if module.device.type == "cuda":
            torch.cuda.set_device(module.device)  # where other models go that take a GPU
        victim = ModelVictim([module], given["precision"])
        source = partial(attacked_lines, module.task, given["attack"], victim)
        return source, self._data(module)

    def _data(self, module: Model) -> Data:
        """All the sentences, checked against the parser."""
        given, drawn = self.given, self.drawn()
        punctuation = given["attack"].punctuation
        examples = load_examples(
            *(given["data"], given["limit"], given["seed"], module, given["max_length"]),
            share=drawn["share"],
            unit=drawn.get("share_of", "sentences"),
            split=self.split,
            punctuation=punctuation,
        )
        check_readable(examples, given["data"], given["attack"].check)
        warnings = (one.warnings(examples) for one in given["attack"].constraints)
        remarks = remarks_on(examples, given["data"], module, punctuation)
        return Data(module.task, examples, chain(remarks, *warnings))

    def _collected(self, source: Source, data: Data) -> Attacked:
        """Write what a source gives into the folder, with a progress bar."""
        task, examples, remarks = data
        for remark in remarks:
            print(f"robustparse: {remark}", file=sys.stderr)
        with attack_progress(len(examples), self.name) as progress:
            run = self._run()
            summary = collect_into(self.folder, task, source, examples, run, progress)
            return Attacked(task, examples, summary)

    def _run(self) -> dict[str, Any]:
        """Return what tells this run from others; not over how many processes it goes."""
        given = self.given
        return {
            "attack": self.name,
            "victims": [given["checkpoint"]],
            "settings": self.settings,
            **{key: given[key] for key in ("seed", "limit", "decoder", "precision", "data")},
            **self.drawn(),
            "sha256": {
                **{key: digest(given[key]) for key in ("checkpoint", "data")},
                "recipe": recipe_digests(self.settings),
            },
        }

    def _over_processes(self) -> Attacked:
        """Let new processes attack too; this one writes."""
        count = self.given["devices"]
        source, data = self._loaded(0, count)
        worker = partial(_worker, type(self), self.arguments)
        lines = partial(lines_of_processes, source, self.folder, worker, count)
        return self._collected(lines, data)

    def _as_rank(self, rank: Rank) -> Attacked | None:
        """Attack as one of the processes that a launcher has started; the first one writes."""
        if self.given["devices"] not in (1, rank.count):
            raise InputError(
                f"--devices {self.given['devices']}: the launcher has started {rank.count} "
                "processes; leave --devices out"
            )
        source, data = self._loaded(rank.local_rank, rank.local_count)
        ranks = Ranks.launched(rank, self.folder)
        if rank.rank == 0:
            return ranks.lead(source, lambda lines: self._collected(lines, data))
        ranks.follow(source, data.examples)
        return None


def _worker(job: type[Job], arguments: Sequence[str], ranks: Ranks) -> None:
    """Load all by itself and attack a share of the sentences, in a new process."""
    keep_freed_memory()
    place = job.of(arguments)
    source, data = place._loaded(ranks.rank.local_rank, place.given["devices"])
    ranks.follow(source, data.examples)


def _attack_options(parser: ArgumentParser, arguments: Sequence[str]) -> Namespace:
    """Return the options, ``--attack`` among them; a mistake in a recipe's file is said as such."""
    try:
        return parse_options(parser, arguments)
    except InputError as error:
        # jsonargparse reads a wrong file once more, as a class path, and reports only that.
        if found := _READ_TWICE.search(str(error)):
            _check_recipe(Path(found[1]))
        if found := _NO_RECIPE.search(str(error)):
            path = Path(found[1])
            if path.suffix in (".yaml", ".yml") or not _CLASS_PATH.fullmatch(found[1]):
                raise InputError(
                    f"--attack {path}: no such file; give the path of a recipe, as of those in "
                    "configs/attack"
                ) from None
        raise


def _check_recipe(path: Path) -> None:
    alone = ArgumentParser(exit_on_error=False)
    alone.add_argument("--attack", type=Attack)
    try:
        alone.parse_object({"attack": yaml.safe_load(read_text(path))})
    except ArgumentError as error:
        raise InputError(f"{path}: {shorten(str(error))}") from None


def _recipe_name(recipe: Any) -> str:
    """Return the stem of the recipe's file, or the search's class."""
    path = recipe.get("__path__")
    if path is not None:
        return Path(str(path)).stem
    return str(recipe.init_args.search.class_path).rpartition(".")[2].lower()
