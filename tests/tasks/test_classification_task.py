"""Classification as a task: scores, records, drawings, warnings."""

import pickle
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from robustparse.data.read_options import FileUse
from robustparse.errors import InputError
from robustparse.tasks.classification import CLASSIFICATION
from robustparse.tasks.registry import named
from robustparse.types import Example, Label, Layout, Row, Sentence

TASK = CLASSIFICATION
SURE = Label("pos", {"neg": 0.12344, "pos": 0.87656})
RECORD = {
    "tokens": ["a", "<fine>", "film"],
    "adversarial_tokens": ["a", "<b>", "film"],
    "edited": [1],
    "gold": {"label": "pos"},
    "clean": {"label": "pos", "probabilities": {"neg": 0.1, "pos": 0.9}, "correct": 1},
    "attacked": {"label": "neg", "probabilities": {"neg": 0.8, "pos": 0.2}, "correct": 0},
}


def example(gold: str) -> Example:
    return Example(4, Sentence(("a", "b")), gold)


def test_sums_add_up_to_accuracy():
    counted = np.ones(2, dtype=bool)  # one a word, as attacks keep them
    sums = [
        TASK.scores.correct(SURE, example(gold), counted) for gold in ("pos", "neg", "odd", "pos")
    ]
    total = {name: sum(one[name] for one in sums) for name in ("counted", "correct")}
    assert TASK.scores.score(total) == {"accuracy": 50.0}
    assert TASK.scores.score({"counted": 0, "correct": 0}) == {"accuracy": None}
    assert TASK.scores.counted(example("pos").sentence, "penn").tolist() == [True]
    assert named("classification").name == TASK.name


def test_answers_survive_as_records_and_between_processes():
    assert TASK.answers.to_record("pos") == {"label": "pos"}
    record = TASK.answers.to_record(SURE)
    assert record == {"label": "pos", "probabilities": {"neg": 0.1234, "pos": 0.8766}}
    again = TASK.answers.from_record(record)
    assert again == "pos"
    assert again.probabilities == record["probabilities"]
    moved = pickle.loads(pickle.dumps(SURE))
    assert (moved, moved.probabilities) == (SURE, SURE.probabilities)


@pytest.mark.parametrize(
    ("record", "key"),
    [
        ({}, "label"),
        ({"label": 1}, "label"),
        ({"label": "pos", "probabilities": [1]}, "probabilities"),
        ({"label": "pos", "probabilities": {"pos": "<script>"}}, "probabilities"),
        ({"label": "pos", "probabilities": {"pos": 1.5}}, "probabilities"),
    ],
)
def test_what_is_no_record_is_refused(record, key):
    with pytest.raises(InputError) as error:
        TASK.answers.from_record(record)
    assert error.value.key == key
    for draw in (TASK.pictures.draw, TASK.answers.changes):
        with pytest.raises(InputError) as error:
            draw({**RECORD, "attacked": record})
        assert error.value.key == f"attacked: {key}"


def test_a_drawing_holds_both_texts_and_all_probabilities():
    picture = ElementTree.fromstring(TASK.pictures.draw(RECORD))
    text = ["".join(cell.itertext()) for cell in picture.iter("td")]
    assert text[:2] == ["a <fine> film", "a <b> film"]
    assert [mark.text for mark in picture.iter("mark")] == ["<fine>", "<b>"]
    heads = ["".join(cell.itertext()) for cell in picture.iter("th")]
    assert heads[-2:] == ["pos (gold)", "neg"]
    assert [bold.text for bold in picture.iter("b")] == ["90.0 %", "80.0 %"]
    bars = [float(bar.get("width")) for bar in picture.iter("rect")]
    assert bars == [90.0, 20.0, 10.0, 80.0]
    assert TASK.answers.changes(RECORD) == (1, 0, 1)
    ElementTree.fromstring(TASK.pictures.legend)
    # Of a model that gives no probabilities, and of a label that it never saw.
    plain = {**RECORD, "gold": {"label": "odd"}, "clean": {"label": "pos"}}
    assert "odd (gold)" in TASK.pictures.draw({**plain, "attacked": {"label": "neg"}})


def test_labels_that_a_classifier_never_saw_are_warned_of_by_line_and_number():
    examples = [example("pos"), example("odd"), example("even")]
    (warning,) = TASK.files.warnings(examples, ["neg", "pos"], FileUse("x.tsv"))
    assert warning.startswith("x.tsv:5: label 'odd'")
    assert "2 in all, count as wrong" in warning
    (warning,) = TASK.files.warnings(examples, ["neg", "pos"], FileUse("x.tsv", training=True))
    assert warning.endswith("are not learnt")
    assert not list(TASK.files.warnings(examples[:1], ["pos"], FileUse("x.tsv")))


def test_a_label_that_no_text_has_is_warned_of_where_there_are_enough_texts():
    known, examples = ["yes", "no", "maybe"], [example("yes"), example("no")]
    assert not list(TASK.files.warnings(examples * 14, known, FileUse("x.tsv")))
    (warning,) = TASK.files.warnings(examples * 15, known, FileUse("x.tsv"))
    assert warning.startswith("x.tsv: no text has the label 'maybe'")
    assert "the classifier has 3 labels" in warning
    (warning,) = TASK.files.warnings(examples * 15, known, FileUse("x.tsv", training=True))
    assert warning.endswith("training may unlearn it")


def test_texts_in_quotation_marks_are_warned_of_if_all_are():
    def warnings(*texts: str) -> list[str]:
        examples = [Example(0, Sentence(tuple(text.split())), "pos") for text in texts]
        return [*TASK.files.warnings(examples, ["pos"], FileUse("x.tsv"))]

    (warning,) = warnings('"a good film"', '" bad "')
    assert warning.startswith("x.tsv: ")
    assert warnings('"a good film"', "bad") == warnings('"a good film"') == []
    assert warnings('"a" or "b"', '"bad"') == warnings('"', '"') == []


def test_what_a_model_cannot_read_is_refused_by_line():
    def check(examples):
        raise InputError("cannot be read")

    row = Row(7, {0: "a b", 1: "pos"}, Layout("tsv", (0,), 1))
    for each, line in ((row, 7), (None, None)):
        with pytest.raises(InputError) as error:
            TASK.files.check([replace(example("pos"), row=each)], "x.tsv", check)
        assert (error.value.path, error.value.line) == ("x.tsv", line)
