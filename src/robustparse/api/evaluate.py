"""``robustparse.evaluate``, ``read`` and ``sample``: sentences, and scores on them."""

from collections.abc import Sequence
from pathlib import Path

from robustparse.api.attack import Examples, Victims, data_source, victim_source
from robustparse.api.inputs import system_name
from robustparse.api.results import Scores
from robustparse.data.datamodule import SAMPLE
from robustparse.evaluation.clean import predictions, scores_of
from robustparse.metrics import PunctuationPolicy
from robustparse.tasks.task import Task, named
from robustparse.types import Example


def read(
    path: str | Path,
    task: str | Task = "dependency",
    max_length: int | None = None,
    columns: Sequence[str] | None = None,
) -> list[Example]:
    """Read the examples of a file.

    Args:
        path: the file.
        task: says of what kind its answers are: a name, or a model's ``task``.
        max_length: longest allowed sentence in words; None allows any.
        columns: for texts in tables, the names of the columns of text and answer, where these have
            other names than usual.

    Raises:
        InputError: names file and line of what cannot be used.
    """
    return _task(task).read(path, max_length, columns=columns)


def sample(task: str | Task = "dependency", split: str = "test", *, seed: int = 0) -> list[Example]:
    """Make the examples of a split (``train``, ``dev``, ``test``) of the embedded data.

    Args:
        task: a name, or a model's ``task``.
        split: of the sample.
        seed: of its grammar.
    """
    return _task(task).sample(seed, split)


def evaluate(
    victim: Victims,
    examples: Examples = SAMPLE,
    *,
    punctuation: PunctuationPolicy = "none",
    limit: int | None = None,
    device: str = "auto",
) -> Scores:
    """Score a victim on sentences.

    Args:
        victim: see `robustparse.attack`.
        examples: see `robustparse.attack`.
        punctuation: which words count, where answers have parts.
        limit: see `robustparse.attack`.
        device: see `robustparse.attack`.

    Raises:
        InputError: something cannot be used as given; see the message.
    """
    source = victim_source(victim)
    opened = source.open(device)
    found = data_source(examples, 0, limit).examples(opened, punctuation)
    answers = list(predictions(opened, found))
    scores = scores_of(opened.task, answers, found, punctuation)
    return Scores(system_name(source.names), scores, answers)


def _task(task: str | Task) -> Task:
    return named(task) if isinstance(task, str) else task
