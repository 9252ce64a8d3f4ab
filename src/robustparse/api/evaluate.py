"""``robustparse.evaluate``, ``read`` and ``sample``: sentences, and scores on them."""

from collections.abc import Sequence

from robustparse.api.attack import Examples, Victims, victim_source
from robustparse.api.data_sources import data_source
from robustparse.api.inputs import check_same_kind, data_files, file_names, system_name
from robustparse.api.results import Scores
from robustparse.data.datamodule import SAMPLE
from robustparse.data.read_options import FileUse, ReadOptions
from robustparse.errors import InputError, say
from robustparse.evaluation.clean import predictions, scores_of
from robustparse.files.paths import Sources
from robustparse.metrics import PunctuationPolicy
from robustparse.tasks.registry import named, other_task
from robustparse.tasks.task import Task
from robustparse.types import Example


def read(
    path: Sources,
    task: str | Task = "dependency",
    max_length: int | None = None,
    columns: Sequence[str] | None = None,
) -> list[Example]:
    """Read the examples of a file, or of several as of one file that joins them.

    Args:
        path: the file, or several of one kind; patterns such as ``part-*.tsv`` name the files that
            they match.
        task: the kind of its answers: a name, or a model's ``task``.
        max_length: words in the longest allowed sentence; None allows any.
        columns: for texts in tables, the names of the columns of text and answer, if they are
            unusual.

    Raises:
        InputError: the file cannot be used, and the error names the line; or the ending of its name
            belongs to another task.
    """
    names = file_names(path)
    if names is None:
        raise InputError(f"got {path!r:.60}", key="path", expected="a file, or several")
    files, kind = data_files(names), _task(task)
    check_same_kind(files)
    if (other := other_task(files[0], kind)) is not None:
        problem = f"got {kind.name}, to which files with this ending do not belong"
        remedy = f"give task={other.name!r}, or the task of your model"
        raise InputError(problem, path=files[0], key="task", remedy=remedy)
    return kind.files.read(files, ReadOptions(columns, max_length))


def sample(task: str | Task = "dependency", split: str = "test", *, seed: int = 0) -> list[Example]:
    """Make the examples of a split of the built-in data.

    Args:
        task: a name, or a model's ``task``.
        split: ``train``, ``dev`` or ``test``.
        seed: the seed of the grammar that generates them.
    """
    return _task(task).files.sample(seed, split)


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
        punctuation: which punctuation is left out of the scores of parsers and taggers.
        limit: see `robustparse.attack`.
        device: see `robustparse.attack`.

    Raises:
        InputError: an argument cannot be used.
    """
    source = victim_source(victim)
    opened = source.open(device)
    data = data_source(examples, limit=limit)
    sentences = data.examples(opened, punctuation)
    say(*opened.warnings(sentences, FileUse(data.name, punctuation)))
    answers = list(predictions(opened, sentences))
    scores = scores_of(opened.task, answers, sentences, punctuation)
    return Scores(system_name(source.names), scores, answers)


def _task(task: str | Task) -> Task:
    return named(task) if isinstance(task, str) else task
