"""Finds a task by its name, by a file or by an answer."""

from pathlib import Path

from robustparse.data.tables import ending_of, is_dataset
from robustparse.data.tags.tagged_sentences import holds_lines
from robustparse.errors import InputError
from robustparse.files.compression import plain_ending
from robustparse.tasks.classification import CLASSIFICATION
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.tasks.semantic import semantic_task
from robustparse.tasks.tags import TAGS
from robustparse.tasks.task import Record, Task, WritesPairs


def all_tasks(language: str | None = None) -> list[Task]:
    """Return every task; semantic parsing in a language, see `semantic_task`."""
    return [DEPENDENCY, CLASSIFICATION, semantic_task(language), TAGS]


def named(name: str, language: str | None = None) -> Task:
    """Find a task by its name, and by the language of its logical forms, as in a summary.

    Raises:
        InputError: the name is unknown.
    """
    tasks = {task.name: task for task in all_tasks(language)}
    if name not in tasks:
        raise InputError(repr(name), key="task", expected=", ".join(tasks))
    return tasks[name]


def task_of_answer(record: Record) -> Task:
    """Find the task that can read the record of an answer.

    Raises:
        InputError: no task can.
    """
    for task in all_tasks():
        try:
            task.answers.from_record(record)
        except InputError:
            continue
        return task
    names = ", ".join(task.name for task in all_tasks())
    raise InputError(f"got {record!r:.60}", expected=f"an answer of a task: {names}")


def task_of(path: str | Path) -> Task:
    """Find the task that uses a file's name ending, or that of tables for a dataset.

    Files of CoNLL-X and of CoNLL-2003 both end in ``.conll``: their columns tell the task.

    Raises:
        InputError: no task does.
    """
    ending = ending_of(path) if is_dataset(path) else plain_ending(path)
    for task in all_tasks():
        if ending in task.files.endings:
            return TAGS if ending == ".conll" and holds_lines(path) else task
    names = ", ".join(task.name for task in all_tasks())
    raise InputError("does not say its task", path=path, remedy=f"give --task, one of {names}")


def check_ending(path: str | Path, task: Task) -> None:
    """Reject a file whose name ending belongs to another task.

    Raises:
        InputError: names both tasks.
    """
    if (other := other_task(path, task)) is not None:
        raise InputError(
            f"the model's task is {task.name}, and files ending in {plain_ending(path)} belong to "
            f"the task {other.name}",
            path=path,
            remedy="give a checkpoint of that task, or other data",
        )


def other_task(path: str | Path, task: Task) -> Task | None:
    """Return the task to which the ending of a file's name belongs; None if `task` has it too."""
    ending = plain_ending(path)
    if ending in task.files.endings:
        return None
    return next((other for other in all_tasks() if ending in other.files.endings), None)


def pairs_of(task: Task, remedy: str | None = None) -> WritesPairs:
    """Return the files of a task as a writer of perturbed texts next to their originals.

    Raises:
        InputError: its answers are not written in columns; the error gives the ``remedy``.
    """
    if isinstance(task.files, WritesPairs):
        return task.files
    able = [other.name for other in all_tasks() if isinstance(other.files, WritesPairs)]
    problem = f"answers of the task {task.name} are not written in a column"
    expected = f"a task with one answer for each text ({', '.join(able)})"
    raise InputError(problem, key="task", expected=expected, remedy=remedy)
