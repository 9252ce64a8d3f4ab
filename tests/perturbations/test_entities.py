"""Entities replaced by others of their class, with their tags."""

from pathlib import Path

import pytest

from robustparse.data.tags.schemes import legal, spans
from robustparse.errors import InputError
from robustparse.perturbations import EntityReplacement
from robustparse.tasks.tags import TAGS
from robustparse.types import Example, Sentence, TagSequence

TRAINING = "Oslo B-x\n\nNew B-x\nYork I-x\n\nthe O\nBonn B-y\n"


@pytest.fixture
def operation(tmp_path: Path) -> EntityReplacement:
    (tmp_path / "train.conll").write_text(TRAINING)
    return EntityReplacement(str(tmp_path / "train.conll"))


def example(words: str, tags: str, id_: int = 0) -> Example:
    return Example(id_, Sentence((*words.split(),)), TagSequence((*tags.split(),)))


@pytest.mark.parametrize(
    ("words", "tags", "expected", "carried"),
    [
        ("in Oslo now", "O B-x O", "in New York now", "O B-x I-x O"),
        ("New York", "B-x I-x", "Oslo", "B-x"),
        ("Oslo Oslo", "B-x B-x", "New York New York", "B-x I-x B-x I-x"),
        ("the Bonn", "O B-y", "the Bonn", "O B-y"),  # there is no other
        ("a dog", "DET NOUN", "a dog", "DET NOUN"),
        ("Rome", "B-z", "Rome", "B-z"),
    ],
)
def test_tags_are_carried_along(operation, words, tags, expected, carried):
    one = example(words, tags)
    (rewording,) = operation.rewordings([one], 0)
    assert " ".join(rewording.words) == expected
    if expected == words:
        return
    changed = TAGS.files.project(one, *rewording)
    assert changed.gold.tags == (*carried.split(),)
    assert legal(changed.gold.tags)
    assert [span.kind for span in spans(changed.gold.tags)] == [
        span.kind for span in spans(one.gold.tags)
    ]


def test_only_tags_tell_entities(operation, tmp_path):
    with pytest.raises(InputError) as error:
        operation.rewordings([Example(0, Sentence(("a",)), "label")], 0)
    assert error.value.expected == "tags of entities"
    (tmp_path / "none.conll").write_text("a DET\n")
    with pytest.raises(InputError) as error:
        EntityReplacement(str(tmp_path / "none.conll")).rewordings([example("a", "O")], 0)
    assert error.value.path == str(tmp_path / "none.conll")
