"""``robustparse attack``: attack a checkpoint on a data file, into a folder."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import yaml
from jsonargparse import ArgumentError, ArgumentParser, Namespace
from rich.console import Console

from robustparse.attacks.attack import Attack
from robustparse.cli.config_errors import shorten
from robustparse.cli.devices import process_device
from robustparse.cli.inputs import (
    digest,
    instantiate_options,
    load_examples,
    load_parser,
    options_of,
    parse_options,
)
from robustparse.cli.progress import attack_progress
from robustparse.cli.tables import summary_table
from robustparse.errors import InputError
from robustparse.evaluation.processes import lines_of_processes
from robustparse.evaluation.ranks import Rank, Ranks
from robustparse.evaluation.robustness import Summary, collect_into
from robustparse.evaluation.shards import Lines, Source, attacked_lines
from robustparse.files import read_text
from robustparse.parsers.base import ParserModule
from robustparse.parsers.decoders import Decoder
from robustparse.parsers.victim import ParserVictim
from robustparse.types import Example

_READ_TWICE = re.compile(r"Config file loop detected: (?:.* -> )?(\S+)$")


def attack(
    attack: Attack,
    checkpoint: str,
    data: str,
    out: str,
    limit: int | None = None,
    seed: int = 0,
    decoder: Decoder | None = None,
    share: float = 1.0,
    device: str = "auto",
    devices: int = 1,
) -> None:
    """Attack a checkpoint on a data file; run again on the same folder, it goes on.

    Args:
        attack: a recipe, for example configs/attack/zheng2020_blackbox.yaml.
        checkpoint: the parser to attack.
        data: a CoNLL-U or CoNLL-X file, or ``sample`` for the embedded test sentences.
        out: folder for examples.jsonl, adversarial.conllu (or .conllx) and summary.json.
        limit: attack only so many sentences, from the front.
        seed: of the attack's random choices, and of the sample's grammar.
        decoder: instead of the one the parser was trained with.
        share: attack only this share of the sentences, drawn at random from the seed.
        device: where the parser computes: auto, cpu or cuda.
        devices: over how many processes the sentences are shared: GPUs if device takes one,
            else processes on the CPU. Results do not depend on it. Under torchrun the processes
            are those it has started.
    """


def command(arguments: Sequence[str]) -> None:
    """Parse options, run, print a table."""
    job = _Job.of(arguments)
    rank = Rank.launched()
    if rank is not None and rank.count > 1:
        summary = _as_rank(job, rank)
    elif job.given["devices"] == 1:
        source, examples = job.loaded(0, 1)
        summary = _collected(job, source, examples)
    else:
        summary = _over_processes(job)
    if summary is not None:
        Console().print(summary_table({Path(job.given["checkpoint"]).stem: summary}))


@dataclass(frozen=True)
class _Job:
    """What the options ask for.

    Args:
        arguments: of the command line.
        given: the function's arguments, objects made.
        name: of the recipe.
        settings: of the recipe, as plain values.
    """

    arguments: Sequence[str]
    given: dict[str, Any]
    name: str
    settings: dict[str, Any]

    @classmethod
    def of(cls, arguments: Sequence[str]) -> "_Job":
        """From the command line."""
        parser = options_of(attack, "attack")
        options = attack_options(parser, arguments)
        recipe = options.attack
        settings = json.loads(parser.dump(options, format="json"))["attack"]
        name = recipe_name(recipe)
        given: dict[str, Any] = instantiate_options(parser, options)
        given["attack"].seed = given["seed"]
        return cls(list(arguments), given, name, settings)

    def loaded(self, rank: int, count: int) -> tuple[Source, list[Example]]:
        """What attacks sentences as one of this machine's processes, and all the sentences."""
        given = self.given
        device = process_device(given["device"], rank, count)
        module = load_parser(given["checkpoint"], given["decoder"], device)
        if module.device.type == "cuda":
            torch.cuda.set_device(module.device)  # where other models go that take a GPU
        return partial(attacked_lines, given["attack"], ParserVictim(module)), self.examples(module)

    def examples(self, module: ParserModule) -> list[Example]:
        """All the sentences, checked against the parser."""
        given = self.given
        return load_examples(
            given["data"], given["limit"], given["seed"], module, share=given["share"]
        )

    def run(self) -> dict[str, Any]:
        """What tells this run from others; not over how many processes it goes."""
        given = self.given
        return {
            "attack": self.name,
            "victims": [given["checkpoint"]],
            "seed": given["seed"],
            "settings": self.settings,
            "limit": given["limit"],
            "decoder": given["decoder"],
            "share": given["share"],
            "data": given["data"],
            "sha256": {"checkpoint": digest(given["checkpoint"]), "data": digest(given["data"])},
        }


def _collected(job: _Job, source: Source, examples: Sequence[Example]) -> Summary:
    """Write what a source gives into the folder, with a progress bar."""
    with attack_progress(len(examples), job.name) as progress:
        return collect_into(Path(job.given["out"]), source, examples, job.run(), progress)


def _over_processes(job: _Job) -> Summary:
    """Let new processes attack; this one writes."""
    given, count = job.given, job.given["devices"]
    process_device(given["device"], 0, count)  # before anything is started
    examples = job.examples(load_parser(given["checkpoint"], given["decoder"], "cpu"))
    worker = partial(_worker, job.arguments, count)
    return _collected(job, partial(lines_of_processes, worker, count), examples)


def _worker(arguments: Sequence[str], count: int, rank: int, ids: Sequence[int]) -> Lines:
    """What one of the new processes does: load all by itself, attack the sentences given."""
    source, examples = _Job.of(arguments).loaded(rank, count)
    by_id = {example.id: example for example in examples}
    return source([by_id[id_] for id_ in ids])


def _as_rank(job: _Job, rank: Rank) -> Summary | None:
    """Attack as one of the processes that a launcher has started; the first one has the summary."""
    if job.given["devices"] not in (1, rank.count):
        raise InputError(
            f"--devices {job.given['devices']}: the launcher has started {rank.count} processes; "
            "leave --devices out"
        )
    source, examples = job.loaded(rank.local_rank, rank.local_count)
    ranks = Ranks(rank, Path(job.given["out"]))
    if rank.rank == 0:
        return ranks.lead(source, lambda lines: _collected(job, lines, examples))
    ranks.follow(source, examples)
    return None


def attack_options(parser: ArgumentParser, arguments: Sequence[str]) -> Namespace:
    """The options, ``--attack`` among them; a mistake in a recipe's file is said as such."""
    try:
        return parse_options(parser, arguments)
    except InputError as error:
        # jsonargparse reads a wrong file once more, as a class path, and reports only that.
        if found := _READ_TWICE.search(str(error)):
            _check_recipe(Path(found[1]))
        raise


def _check_recipe(path: Path) -> None:
    alone = ArgumentParser(exit_on_error=False)
    alone.add_argument("--attack", type=Attack)
    try:
        alone.parse_object({"attack": yaml.safe_load(read_text(path))})
    except ArgumentError as error:
        raise InputError(f"{path}: {shorten(str(error))}") from None


def recipe_name(recipe: Any) -> str:
    """The stem of the recipe's file, or the search's class."""
    path = recipe.get("__path__")
    if path is not None:
        return Path(str(path)).stem
    return str(recipe.init_args.search.class_path).rpartition(".")[2].lower()
