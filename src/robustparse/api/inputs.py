"""Models from checkpoints, and sentences from files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from robustparse.data.datamodule import MAX_LENGTH, SAMPLE
from robustparse.data.fractions import FractionOf, check_fraction, draw_fraction
from robustparse.devices import chosen_device
from robustparse.errors import InputError, check_seed
from robustparse.files import file_digest, folder_digest
from robustparse.metrics import PunctuationPolicy
from robustparse.models.base import Model
from robustparse.models.load import Decoder, load
from robustparse.tasks.task import Task
from robustparse.types import Example

Paths = list[str] | str
"""What `--checkpoint` takes: one path or several, which make an ensemble."""


class Reader(Protocol):
    """A model, or another victim."""

    @property
    def task(self) -> Task:
        """The kind of its answers."""

    def check(self, examples: Sequence[Example]) -> None:
        """Refuse sentences that it cannot read."""


def as_list(paths: Paths) -> list[str]:
    """Return one path or several as a list.

    Raises:
        InputError: there is none.
    """
    several = [paths] if isinstance(paths, str) else list(paths)
    if not several:
        raise InputError("names no file", key="--checkpoint")
    return several


def load_models(
    checkpoints: Paths, decoder: Decoder | None = None, device: str = "auto"
) -> list[Model]:
    """Load models that answer together.

    Raises:
        InputError: see ``load``; or there is no such device.
    """
    chosen = chosen_device("--device", device)
    return [load(path, decoder).to(chosen) for path in as_list(checkpoints)]


def load_examples(
    data: str,
    limit: int | None,
    seed: int,
    model: Reader,
    max_length: int = MAX_LENGTH,
    fraction: float = 1.0,
    unit: FractionOf = "sentences",
    split: str = "test",
    punctuation: PunctuationPolicy = "none",
    columns: list[str] | None = None,
) -> list[Example]:
    """Return the sentences of a file, or of a split of the sample, that a victim can read.

    Arguments are options of ``attack`` and ``augment``; ``model`` is the victim, and
    ``punctuation`` says which words count.

    Raises:
        InputError: see `read_examples`; or the file holds a sentence that the model cannot read, or
            one whose words cannot be counted.
    """
    task = model.task
    examples = read_examples(task, data, limit, seed, max_length, fraction, unit, split, columns)
    task.check(examples, data, model.check, punctuation)
    return examples


def read_examples(
    task: Task,
    data: str,
    limit: int | None,
    seed: int,
    max_length: int = MAX_LENGTH,
    fraction: float = 1.0,
    unit: FractionOf = "sentences",
    split: str = "test",
    columns: list[str] | None = None,
) -> list[Example]:
    """Return the sentences of a file, or of a split of the sample; see `load_examples`.

    Raises:
        InputError: the file cannot be used, or a number is out of range.
    """
    check_seed("--seed", seed)
    for name, value in (("--limit", limit), ("--max_length", max_length)):
        if value is not None and value < 1:
            raise InputError(f"must be >= 1, got {value}", key=name)
    check_fraction("--tokens" if unit == "tokens" else "--fraction", fraction)
    if data == SAMPLE:
        whole = task.sample(seed, split)
    else:
        whole = task.read(data, max_length, limit="--max_length", columns=columns)
    kept = draw_fraction([len(example.sentence) for example in whole], fraction, unit, seed)
    return [whole[index] for index in kept][:limit]


def digest(path: str) -> str:
    """SHA-256 of a file or folder; the sample and data that are not on this machine have none."""
    if path == SAMPLE or not Path(path).exists():
        return ""
    return folder_digest(Path(path)) if Path(path).is_dir() else file_digest(Path(path))
