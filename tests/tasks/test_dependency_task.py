"""The task of dependency parsing: what every room asks of it, and records that are none."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robustparse.data.read_options import FileUse, ReadOptions
from robustparse.data.sample.treebank import sample_treebank
from robustparse.errors import InputError
from robustparse.evaluation.clean import scores_of
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.tasks.registry import named
from robustparse.tasks.task import Task
from robustparse.types import DependencyTree, Example, Prediction, Sentence

TASK: Task = DEPENDENCY
WORDS = ("The", "old", "dog", "barks", "!")
GOLD = DependencyTree((3, 3, 4, 0, 4), ("det", "amod", "nsubj", "root", "punct"))
BEFORE = DependencyTree((3, 3, 4, 0, 3), ("det", "amod", "obj", "root", "punct"))
AFTER = DependencyTree((2, 4, 2, 0, 4), ("det", "amod", "nsubj", "root", "punct"))
EXAMPLE = Example(7, Sentence(WORDS), GOLD)
LINE = {
    "tokens": list(WORDS),
    "adversarial_tokens": ["The", "cold", "dog", "barks", "!"],
    "edited": [1],
    **{
        key: TASK.answers.to_record(tree)
        for key, tree in (("gold", GOLD), ("clean", BEFORE), ("attacked", AFTER))
    },
}


def test_tasks_are_found_by_their_names():
    assert TASK.scores.headline in TASK.scores.names
    with pytest.raises(InputError) as error:
        named("parsing")
    assert (error.value.key, error.value.expected) == (
        "task",
        "dependency, classification, semantic, tags",
    )


def test_what_is_written_is_read_again(tmp_path, treebank):
    examples = TASK.files.read(treebank)
    copy = tmp_path / f"copy{TASK.files.ending(treebank)}"
    copy.write_text("".join(map(TASK.files.write, examples)), "utf-8")
    read = TASK.files.read(copy)
    assert [(one.sentence, one.gold) for one in read] == [
        (one.sentence, one.gold) for one in examples
    ]
    assert "".join(map(TASK.files.write, read)) == copy.read_text("utf-8")
    copy.write_text(TASK.files.write(EXAMPLE))
    made = TASK.files.read(copy)[0]
    assert (made.sentence, made.gold) == (EXAMPLE.sentence, GOLD)
    assert [TASK.files.ending(name) for name in ("a.conllx", "a.CONLL", "a.conllu", "")] == [
        *(".conllx", ".conllx"),
        *(".conllu", ".conllu"),
    ]
    with pytest.raises(InputError, match="raise --longest"):
        TASK.files.read(treebank, ReadOptions(max_length=4, limit="--longest"))


def test_other_words_and_another_answer_take_the_place_of_an_examples_own(tmp_path, treebank):
    path, example = tmp_path / "other.conllu", TASK.files.read(treebank)[0]
    words = ("Do", "n't", "feed", "the", "dogs", ".")
    tree = replace(example.gold, heads=(0, 1, 1, 1, 1, 1))
    for given, answer in ((words, None), (None, tree), (words, tree)):
        path.write_text(TASK.files.write(example, given, answer), "utf-8")
        (found,) = TASK.files.read(path)
        assert found.sentence.words == (given or example.sentence.words)
        assert found.gold == (answer or example.gold)


def test_unparsed_files_need_no_gold_answers(tmp_path):
    path = tmp_path / "plain.conllu"
    path.write_text("1\tdogs" + "\t_" * 8 + "\n\n")
    assert TASK.files.read(path, ReadOptions(gold=False))[0].sentence.words == ("dogs",)
    with pytest.raises(InputError) as error:
        TASK.files.read(path)
    assert "plain.conllu:1" in str(error.value)


def test_the_embedded_data_are_the_seeds(monkeypatch):
    for split in ("train", "dev", "test"):
        assert TASK.files.sample(0, split) == sample_treebank(0).split(split)
    made = staticmethod(lambda seed: SimpleNamespace(split=lambda name: [seed, name]))
    monkeypatch.setattr(type(TASK.files), "corpus", made)
    assert TASK.files.sample(4, "dev") == [4, "dev"]


def test_sums_and_scores_by_hand():
    counted = TASK.scores.counted(EXAMPLE.sentence, "unicode")
    assert counted.tolist() == [True] * 4 + [False]
    sums = TASK.scores.correct(BEFORE, EXAMPLE, counted)
    assert sums == {
        **{"counted": 4, "correct_heads": 4, "correct_labels": 3},
        **{"sentences": 1, "complete_heads": 1, "complete_labels": 0},
    }
    assert TASK.scores.score(sums) == {"uas": 100.0, "las": 75.0, "ucm": 100.0, "lcm": 0.0}
    of_a_line = {name: sums[name] for name in ("counted", *TASK.scores.sums)}
    assert tuple(TASK.scores.score(of_a_line)) == TASK.scores.names
    assert TASK.scores.score({**of_a_line, "counted": 0}) == {"uas": None, "las": None}


def test_scores_of_a_file_are_those_of_its_added_sums():
    rng = np.random.default_rng(0)
    examples, predictions, right = TASK.files.sample(0, "dev")[:40], [], np.zeros(2)
    for example in examples:
        heads = tuple(int(h) if rng.random() < 0.8 else 0 for h in example.gold.heads)
        predictions.append(Prediction(example.id, replace(example.gold, heads=heads)))
        same = np.array(heads) == np.array(example.gold.heads)
        right += same.sum(), same.all()
    words = sum(len(example.sentence) for example in examples)
    scores = scores_of(TASK, predictions[::-1], examples, "none")
    assert scores["uas"] == scores["las"] == pytest.approx(100 * right[0] / words)
    assert scores["ucm"] == scores["lcm"] == pytest.approx(100 * right[1] / 40)
    assert 0 < right[1] < 40


def test_records_of_answers():
    assert TASK.answers.to_record(BEFORE) == {
        "heads": [3, 3, 4, 0, 3],
        "labels": list(BEFORE.labels),
    }
    for tree in (GOLD, BEFORE, DependencyTree((), ())):
        assert TASK.answers.from_record({**TASK.answers.to_record(tree), "uas": 3.0}) == tree


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"heads": None}, "heads"),
        ({"heads": [0, True]}, "heads"),
        ({"heads": [0, 1.0]}, "heads"),
        ({"heads": [0, 3]}, "heads"),
        ({"heads": [0, -1]}, "heads"),
        ({"heads": [0]}, "heads"),
        ({"labels": "ab"}, "labels"),
        ({"labels": ["root", 3]}, "labels"),
    ],
)
def test_records_that_are_no_trees(change: dict[str, Any], key: str):
    record = {"heads": [0, 1], "labels": ["root", "obj"], **change}
    with pytest.raises(InputError) as error:
        TASK.answers.from_record(record)
    assert error.value.key == key
    line = {**LINE, "tokens": ["a", "b"], "edited": [], "gold": record}
    for ask in (TASK.pictures.draw, TASK.answers.changes):
        with pytest.raises(InputError) as error:
            ask(line)
        assert error.value.key == f"gold: {key}"


def test_a_line_is_drawn_and_its_changes_are_counted():
    picture = TASK.pictures.draw(LINE)
    assert picture.startswith("<svg")
    assert ">cold</text>" in picture
    assert "svg" in TASK.pictures.legend
    # Changed but not substituted: The, dog, !. Before: dog's label and !'s head are wrong.
    assert TASK.answers.changes(LINE) == (3, 2, 3)
    with pytest.raises(InputError) as error:
        TASK.pictures.draw(
            {**LINE, "clean": TASK.answers.to_record(DependencyTree((0,), ("root",)))}
        )
    assert (error.value.key, error.value.expected) == ("clean: heads", "5 heads from 0 to 5")


def test_warnings_of_what_lowers_scores(treebank):
    examples = TASK.files.read(treebank)
    names = {label for example in examples for label in example.gold.labels}

    def warnings(known: set[str], **settings: Any) -> list[str]:
        return list(TASK.files.warnings(examples, known, FileUse(treebank, **settings)))

    assert warnings(names) == warnings(names, punctuation="penn") == []
    (scored,) = warnings(names - {"det"})
    assert scored.endswith("3 in all, count as wrong in LAS")
    assert f"{treebank}:10: dependency label 'det'" in scored
    (trained,) = warnings(names - {"det"}, training=True)
    assert trained.endswith("3 in all, train heads only")
    untold = [Example(0, Sentence((",",), xpos=("PUNCT",)), DependencyTree((0,), ("root",)))]
    (told,) = TASK.files.warnings(untold, {"root"}, FileUse(treebank, "penn"))
    assert told.startswith("punctuation policy 'penn' leaves out no word")
    long, short = examples[0], Example(9, Sentence(("_",)), untold[0].gold)
    blank = replace(long, sentence=Sentence(("_",) * len(long.sentence)))
    (missing,) = TASK.files.warnings([*examples, blank, short], names, FileUse(treebank))
    assert missing.startswith(f"{treebank}:{long.line}: 1 of {len(examples) + 2} ")


def test_examples_that_cannot_be_used_are_named_with_their_line(treebank):
    def refuse(examples: list[Example]) -> None:
        if examples[0].id == 1:
            raise InputError("too short")

    with pytest.raises(InputError, match="too short") as caught:
        TASK.files.check(TASK.files.read(treebank), treebank, refuse)
    assert (caught.value.path, caught.value.line) == (str(treebank), 15)
    TASK.files.check(TASK.files.read(treebank)[:1], treebank, refuse, "penn")
