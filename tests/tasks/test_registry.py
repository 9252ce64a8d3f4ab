"""Tasks found by name, by file and by answer, and what only some of them can do."""

from pathlib import Path

import pytest

from robustparse.errors import InputError
from robustparse.tasks.registry import (
    all_tasks,
    check_ending,
    named,
    pairs_of,
    task_of,
    task_of_answer,
)
from robustparse.tasks.task import Concatenates, WritesPairs

NAMES = ["dependency", "classification", "semantic", "tags"]


def test_every_task_has_a_name_and_a_headline_among_its_scores() -> None:
    assert [task.name for task in all_tasks()] == NAMES
    for task in all_tasks():
        assert named(task.name).name == task.name
        assert task.scores.headline in task.scores.names


def test_semantic_parsing_carries_its_language() -> None:
    task = named("semantic", "prolog")
    assert task.answers.language == "prolog"
    assert task.files.answer("job ( ANS )").language == "prolog"  # type: ignore[attr-defined]
    assert [named(name, "prolog").answers.language for name in NAMES[:2]] == [None, None]
    assert named("semantic").answers.language is None


def test_a_dataset_holds_texts_as_a_table_does(tmp_path: Path) -> None:
    (tmp_path / "state.json").touch()
    assert task_of(tmp_path).name == "classification"


def test_files_and_answers_tell_their_task(tmp_path: Path) -> None:
    assert [task_of(name).name for name in ("a.conllu", "b.tsv", "c.jsonl")] == [
        *("dependency", "classification", "classification")
    ]
    for content, name in (("a X\nb Y\n", "tags"), ("1\ta" + "\t_" * 8 + "\n", "dependency")):
        (tmp_path / "a.conll").write_text(content)
        assert task_of(tmp_path / "a.conll").name == name
    with pytest.raises(InputError) as error:
        task_of("a.txt")
    assert error.value.path == "a.txt"
    records = (
        {"heads": [0], "labels": ["root"]},
        {"label": "pos"},
        {"form": "( a )", "language": "lambda"},
        {"tags": ["O"], "text_label": "x"},
    )
    assert [task_of_answer(record).name for record in records] == NAMES
    with pytest.raises(InputError):
        task_of_answer({})
    check_ending("a.conllu", named("dependency"))
    check_ending("a.txt", named("dependency"))
    with pytest.raises(InputError) as error:
        check_ending("a.tsv", named("dependency"))
    assert error.value.path == "a.tsv"


def test_a_task_has_an_ability_or_lacks_it() -> None:
    tasks = all_tasks()
    assert [isinstance(task.files, WritesPairs) for task in tasks] == [False, True, True, False]
    assert [isinstance(task.files, Concatenates) for task in tasks] == [False, False, True, False]
    assert [pairs_of(task) is task.files for task in tasks[1:3]] == [True, True]
    with pytest.raises(InputError) as error:
        pairs_of(tasks[0])
    assert "dependency" in error.value.found
    assert "classification, semantic" in str(error.value.expected)
