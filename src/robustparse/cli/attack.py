"""``robustparse attack``: attack a checkpoint on a data file, into a folder."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from jsonargparse import ArgumentError, ArgumentParser, Namespace
from rich.console import Console

from robustparse.attacks.attack import Attack
from robustparse.cli.config_errors import shorten
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
from robustparse.evaluation.robustness import attack_into
from robustparse.files import read_text
from robustparse.parsers.decoders import Decoder
from robustparse.parsers.victim import ParserVictim

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
    """


def command(arguments: Sequence[str]) -> None:
    """Parse options, run, print a table."""
    parser = options_of(attack, "attack")
    options = attack_options(parser, arguments)
    recipe = options.attack
    settings = json.loads(parser.dump(options, format="json"))["attack"]
    name = recipe_name(recipe)
    given: dict[str, Any] = instantiate_options(parser, options)
    chosen: Attack = given["attack"]
    chosen.seed = given["seed"]
    module = load_parser(given["checkpoint"], given["decoder"], given["device"])
    examples = load_examples(
        given["data"], given["limit"], given["seed"], module, share=given["share"]
    )
    run = {
        "attack": name,
        "victims": [given["checkpoint"]],
        "seed": given["seed"],
        "settings": settings,
        "limit": given["limit"],
        "decoder": given["decoder"],
        "share": given["share"],
        "data": given["data"],
        "sha256": {"checkpoint": digest(given["checkpoint"]), "data": digest(given["data"])},
    }
    with attack_progress(len(examples), name) as progress:
        summary = attack_into(
            Path(given["out"]), chosen, examples, ParserVictim(module), run, progress
        )
    Console().print(summary_table({Path(given["checkpoint"]).stem: summary}))


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
