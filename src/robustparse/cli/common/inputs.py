"""What the commands share: reading their checkpoint and data, and parsing their options."""

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentError, ArgumentParser, Namespace

from robustparse.cli.common.config_errors import (
    check_config_file,
    config_files,
    mistake_in,
    shorten,
    with_nearest,
)
from robustparse.data.conllu import check_readable, read_treebank
from robustparse.data.datamodule import MAX_LENGTH, SAMPLE
from robustparse.data.sample.treebank import sample_treebank
from robustparse.data.shares import Unit, check_share, draw_share
from robustparse.devices import chosen_device
from robustparse.errors import InputError, check_seed
from robustparse.files import file_digest
from robustparse.metrics import PunctuationPolicy
from robustparse.models.base import Model
from robustparse.models.dependency.decoders import Decoder
from robustparse.models.load import load
from robustparse.types import Example


def options_of(
    function: Callable[..., Any], name: str, skip: Collection[str] = ()
) -> ArgumentParser:
    """Return a parser whose options are the function's parameters, save those to skip."""
    parser = ArgumentParser(
        prog=f"robustparse {name}", description=_summary(function), exit_on_error=False
    )
    parser.add_argument("--config", action="config", help="a YAML file with any of the options")
    parser.add_function_arguments(function, sub_configs=True, skip=set(skip))
    return parser


def _summary(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").strip().split("\n\n")[0]


def parse_options(parser: ArgumentParser, arguments: Sequence[str]) -> Namespace:
    """Return the options as given.

    Raises:
        InputError: names the option or the key of a configuration file that cannot be used.
    """
    files = list(config_files(arguments))
    for path in files:
        check_config_file(path)
    try:
        options: Namespace = parser.parse_args(list(arguments))
    except ArgumentError as error:
        names = "".join(f"{path}: " for path in files)
        known = [f"--{name}" for name in vars(parser.get_defaults())]
        raise InputError(with_nearest(f"{names}{shorten(str(error))}", known)) from None
    return options


def instantiate_options(parser: ArgumentParser, options: Namespace) -> dict[str, Any]:
    """Return the function's arguments, objects made.

    Raises:
        InputError: a class does not take its arguments.
    """
    try:
        arguments: dict[str, Any] = parser.instantiate_classes(options).as_dict()
    except ValueError as error:
        if mistake := mistake_in(error):
            raise InputError(mistake) from error
        raise
    arguments.pop("config", None)
    return arguments


def load_parser(checkpoint: str, decoder: Decoder | None, device: str) -> Model:
    """Return the parser of a checkpoint, on a device.

    Args:
        checkpoint: its path.
        decoder: instead of the one it was trained with.
        device: ``cpu``, ``cuda``, ``cuda:1`` and so on; ``auto`` takes a GPU where there is one.

    Raises:
        InputError: see ``load``; or there is no such device.
    """
    chosen = chosen_device("--device", device)
    return load(checkpoint, decoder).to(chosen)


def load_examples(
    data: str,
    limit: int | None,
    seed: int,
    parser: Model,
    max_length: int = MAX_LENGTH,
    share: float = 1.0,
    unit: Unit = "sentences",
    split: str = "test",
    punctuation: PunctuationPolicy = "none",
) -> list[Example]:
    """Return the sentences of a file, or of a split of the sample, that the parser can read.

    Args:
        data: a CoNLL-U or CoNLL-X file, or ``sample``.
        limit: take only so many sentences from the front.
        seed: of the sample's grammar.
        parser: the parser that will be scored on them.
        max_length: longest allowed sentence, in words.
        share: take only this share of the sentences, drawn from (seed).
        unit: what the share counts, see ``draw_share``.
        split: of the sample.
        punctuation: which words are to count.

    Raises:
        InputError: the file cannot be used, or holds a sentence that the parser cannot read or one
            whose words cannot be counted, or a number is out of range.
    """
    check_seed("--seed", seed)
    if limit is not None and limit < 1:
        raise InputError(f"--limit must be >= 1, got {limit}")
    if max_length < 1:
        raise InputError(f"--max_length must be >= 1, got {max_length}")
    check_share(share, "--tokens" if unit == "tokens" else "--share")
    sample = data == SAMPLE
    whole: list[Example] = (
        getattr(sample_treebank(seed), split)
        if sample
        else read_treebank(data, max_length, limit="--max_length")
    )
    kept = draw_share([len(example.sentence) for example in whole], share, unit, seed)
    examples = [whole[index] for index in kept][:limit]
    check_readable(examples, data, parser.check, punctuation)
    return examples


def remarks_on(
    examples: Sequence[Example],
    data: str,
    parser: Model,
    punctuation: PunctuationPolicy = "none",
) -> Iterator[str]:
    """On tags and labels of a file of which scores suffer: the parser or the policy knows none."""
    yield from parser.warnings(examples, data, punctuation)


def digest(path: str) -> str:
    """SHA-256 of a file; the sample has none."""
    return "" if path == SAMPLE else file_digest(Path(path))
