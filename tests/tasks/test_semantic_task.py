"""Semantic parsing as a task: files, scores, records, drawings, warnings, data modules."""

import json
import pickle
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import pytorch_lightning as pl

from robustparse.attacks.attack import usual_goal
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.attacks.goals.wrong_form import WrongForm
from robustparse.data.datamodule import Augmentation
from robustparse.data.read_options import FileUse, ReadOptions
from robustparse.data.utterances.forms import LogicalFormDataModule
from robustparse.errors import InputError
from robustparse.tasks.registry import named
from robustparse.tasks.semantic import semantic_task
from robustparse.types import Example, LogicalForm, Sentence

TASK = semantic_task()
GOLD = LogicalForm("( and ( a $0 ) ( b $0 ) )", "lambda")
RECORD = {
    "tokens": ["a", "<fine>", "river"],
    "adversarial_tokens": ["a", "<b>", "river"],
    "edited": [1],
    "gold": {"form": "( a s0 )", "language": "lambda"},
    "clean": {"form": "( a s0 )", "language": "lambda", "correct": 1},
    "attacked": {"form": "( < s0 )", "language": "lambda", "correct": 0},
}


def example(gold: LogicalForm = GOLD) -> Example:
    return Example(4, Sentence(("a", "b")), gold, "x")


def form(text: str) -> LogicalForm:
    return LogicalForm(text, "lambda")


def test_three_ways_to_be_right():
    answers = [
        GOLD,
        form("( and ( b $0 ) ( a $0 ) )"),
        form("( and ( a $1 ) ( b $1 ) )"),
        form("("),
    ]
    counted = np.ones(2, dtype=bool)  # one a word, as attacks keep them
    sums: dict[str, int] = {}
    for answer in answers:
        for name, value in TASK.scores.correct(answer, example(), counted).items():
            sums[name] = sums.get(name, 0) + value
    assert TASK.scores.score(sums) == {
        "exact_match": 50.0,
        "tranx_match": 50.0,
        "string_match": 25.0,
    }
    assert TASK.scores.score({"counted": 2, "correct": 1}) == {"exact_match": 50.0}
    assert TASK.scores.score({"counted": 0, "correct": 0}) == {"exact_match": None}
    renamed = form("( lambda $1 e ( a $1 ) )")
    found = TASK.scores.correct(renamed, example(form("( lambda $0 e ( a $0 ) )")), counted)
    assert found == {"counted": 1, "correct": 1, "tranx_match": 0, "string_match": 0}
    assert named("semantic").name == TASK.name


def test_answers_survive_as_records_and_between_processes():
    assert TASK.answers.from_record(TASK.answers.to_record(GOLD)) == GOLD
    moved = pickle.loads(pickle.dumps(GOLD))
    assert (moved, moved.language) == (GOLD, "lambda")
    for record, key in (({}, "form"), ({"form": "a", "language": "sql"}, "language")):
        with pytest.raises(InputError) as error:
            TASK.answers.from_record(record)
        assert error.value.key == key


def test_a_drawing_holds_both_texts_and_all_forms():
    picture = ElementTree.fromstring(TASK.pictures.draw(RECORD))
    cells = ["".join(cell.itertext()) for cell in picture.iter("td")]
    assert cells == ["a <fine> river", "( a s0 )", "a <b> river", "( < s0 )", "( a s0 )"]
    assert ["style" in code.attrib for code in picture.iter("code")] == [False, True, False]
    assert TASK.answers.changes(RECORD) == (1, 0, 1)
    ElementTree.fromstring(TASK.pictures.legend)


def test_usual_goals():
    assert isinstance(usual_goal(GOLD), WrongForm)
    assert isinstance(usual_goal("positive"), LabelFlip)


def test_tokens_that_a_parser_never_saw_are_warned_of():
    known = ["(", ")", "and", "a", "$0"]
    (warning,) = TASK.files.warnings([example(), example()], known, FileUse("x.tsv"))
    assert warning.startswith("x.tsv:5: ")
    assert "(b)" in warning
    assert "2 utterances" in warning
    assert not list(TASK.files.warnings([example()], [*known, "b"], FileUse("x.tsv")))
    # A variable of another name means the same.
    assert not list(
        TASK.files.warnings(
            [example(form("( lambda $7 e ( a $7 ) )"))], [*known, "lambda", "e"], FileUse("x.tsv")
        )
    )
    # "b" is a word of the utterance.
    assert not list(semantic_task(copy=True).files.warnings([example()], known, FileUse("x.tsv")))
    assert "(c)" in next(
        semantic_task(copy=True).files.warnings([example(form("c"))], known, FileUse("x.tsv"))
    )


def test_a_form_needs_the_slots_that_its_utterance_holds():
    one = Example(0, Sentence(("job", "in", "areaid0")), form("job ( ANS ) , loc ( areaid0 , c1 )"))
    assert TASK.files.needed(one) == {"areaid0"}
    pay = Example(0, Sentence(("over", "num_salary")), form("salary ( ANS , num_salary )"))
    assert TASK.files.needed(pay) == {"num_salary"}


@pytest.mark.parametrize(
    ("words", "gold", "warned"),
    [
        ("a city", "( in c0 )", True),
        ("a city in c0", "( in c0 )", False),
        ("a city", "( loc_2 ( city:t all ) )", False),  # the head of a call
        ("a city", "( loc_2 c0 )", True),
    ],
)
def test_slots_that_an_utterance_lacks_are_warned_of(words: str, gold: str, warned: bool) -> None:
    lacking = Example(0, Sentence(tuple(words.split())), form(gold))
    assert bool(list(TASK.files.warnings([lacking], gold.split(), FileUse("x.tsv")))) == warned


def write(path: Path, *rows: str) -> Path:
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


def test_files_are_read_and_written_back(tmp_path: Path):
    rows = ["all job\tjob ( ANS )", "job in it\tjob ( ANS ) , area ( ANS , areaid0 )"]
    examples = TASK.files.read(write(tmp_path / "jobs.tsv", *rows))
    assert [one.gold.language for one in examples] == ["prolog", "prolog"]
    assert "".join(map(TASK.files.write, examples)).splitlines() == rows
    assert TASK.files.write(examples[0], ["every", "job"]) == "every job\tjob ( ANS )\n"
    raw = TASK.files.read(write(tmp_path / "raw.tsv", "all job"), ReadOptions(gold=False))
    assert raw[0].gold == ""


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("b", "no logical form"),
        ("b\t", "no logical form"),
        ("b\t( a", "ends too early"),
        ("b\ta )", "token 2"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, row: str, found: str):
    with pytest.raises(InputError) as error:
        TASK.files.read(write(tmp_path / "x.tsv", "a\t( a s0 )", row))
    assert (error.value.line, found in error.value.found) == (2, True)


def test_a_missing_column_of_forms_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"id": 1, "utterance": "a", "sql": "( a s0 )"}\n')
    with pytest.raises(InputError) as error:
        TASK.files.read(path)
    assert "--columns" in str(error.value.remedy)
    (example,) = TASK.files.read(path, ReadOptions(["utterance", "sql"]))
    assert example.gold == "( a s0 )"
    assert [one.gold for one in TASK.files.read(path, ReadOptions(gold=False))] == [""]


def test_a_part_of_the_training_set_is_held_out(tmp_path: Path):
    rows = [f"w{number}\t( a s{number} )" for number in range(20)]
    write(tmp_path / "train.tsv", *rows)
    write(tmp_path / "test.tsv", *rows[:3])

    def texts(**settings: object) -> tuple[list[str], list[str]]:
        data = LogicalFormDataModule(folder=str(tmp_path), **settings)
        return tuple(  # type: ignore[return-value]
            [" ".join(one.sentence.words) for one in part]
            for part in (data.train_examples, data.examples("dev"))
        )

    train, dev = texts(held_out=0.25)
    assert (len(train), len(dev)) == (15, 5)
    assert sorted([*train, *dev]) == sorted(row.split("\t")[0] for row in rows)
    assert texts(held_out=0.25) == (train, dev)
    assert texts(held_out=0.25, seed=1) != (train, dev)
    with pytest.raises(InputError) as error:
        texts()
    assert "held_out" in str(error.value.remedy)
    write(tmp_path / "dev.tsv", rows[0])
    assert texts()[1] == ["w0"]
    with pytest.raises(InputError):
        LogicalFormDataModule(folder=str(tmp_path), held_out=1.0)
    with pytest.raises(InputError, match=r"0\.99 of 20 utterances leaves none to train on"):
        texts(held_out=0.99)
    with pytest.raises(InputError, match="with copies") as error:
        LogicalFormDataModule(
            folder=str(tmp_path), held_out=0.25, augmentation=Augmentation(["x.tsv"])
        )
    assert error.value.key == "data.init_args.held_out"


def test_held_out_utterances_that_nothing_reads_are_told(tmp_path: Path):
    data = LogicalFormDataModule(folder=str(tmp_path), held_out=0.25)
    data.trainer = pl.Trainer(limit_val_batches=0, logger=False)
    assert [warning.split(":")[0] for warning in data.doubts()] == ["data.init_args.held_out 0.25"]
    data.trainer = pl.Trainer(limit_val_batches=1.0, logger=False)
    assert not list(data.doubts())


def test_copies_with_other_tokens_are_refused(tmp_path: Path):
    write(tmp_path / "train.tsv", "a\t( a s0 )")
    copies = write(tmp_path / "copies.tsv", "b\t( a s0 )", "b\t( a s1 )")
    data = LogicalFormDataModule(folder=str(tmp_path), augmentation=Augmentation([str(copies)]))
    with pytest.raises(InputError) as error:
        _ = data.copies
    assert (error.value.line, "s1" in error.value.found) == (2, True)


RAW = """\
show me rivers in new york .	show me river in s0	( a s0 )	{"s0": "new york"}	exact
is c0 the capital of new york ?	is c0 the capit of s0	( b c0 s0 )	{"s0": "new york", "c0": ""}
rivers	river	( a r0 )	{"s0": null}
"""
"""The last line has a key of other lines, as in rows of Parquet."""


def test_raw_texts_are_reworded_and_read_as_slots_and_stems(tmp_path: Path):
    path = tmp_path / "raw.tsv"
    path.write_text(RAW)
    examples = TASK.files.read(path)
    assert [" ".join(one.sentence.words) for one in examples] == [
        *("show me river in s0", "is c0 the capit of s0", "river")
    ]
    first = TASK.files.surface(examples[0])
    assert first.words == ("show", "me", "rivers", "in", "new", "york", ".")
    assert TASK.files.write(examples[0]) == RAW.splitlines(keepends=True)[0]
    other = ["show", "me", "lakes", "in", "new", "york", "."]
    written = TASK.files.write(examples[0], other).split("\t")
    assert written[:2] == [" ".join(other), "show me lake in s0"]
    assert written[2:] == RAW.splitlines(keepends=True)[0].split("\t")[2:]

    def projected(row: int, text: str) -> str | None:
        words = text.split()
        copy = TASK.files.project(examples[row], words, [0] * len(words))
        if copy is None:
            return None
        assert (copy.id, copy.gold) == (row, examples[row].gold)
        return TASK.files.write(copy).split("\t")[0]

    assert projected(0, "in new york show rivers !") == "in s0 show river"
    assert projected(0, "new york new rivers york") == "s0 new river york"
    assert projected(0, "show me river in new york") is None  # the same in stems
    assert projected(0, "show me rivers in york new") is None  # the slot is lost
    assert projected(0, "show me rivers in New york") is None
    assert projected(1, "is c0 the capital of new york") is None
    assert projected(1, "c0 the capital of new york") == "c0 the capit of s0"
    assert projected(2, "the rivers") == "the river"
    assert projected(2, "?") is None


@pytest.mark.parametrize(
    ("raw", "utterance", "other", "read"),
    [
        (
            "Show The Alps and the cities",
            "Show c0 and the cities",
            "Show it And the cities",
            "Show it And the cities",
        ),
        ("Where are cities", "where are cities", "Where were Cities", "where were cities"),
        ("Where are cities", "Where are cities", "Where were Cities", "Where were Cities"),
        ("Cities here", "citi here", "Rivers Here", "river here"),
        ("Are Cities HERE", "are cities here", "Are Rivers", "are rivers"),
        ("where are cities", "where are cities", "where were cities", "where were cities"),
    ],
)
def test_a_new_raw_text_is_read_as_its_utterance_was(
    tmp_path: Path, raw: str, utterance: str, other: str, read: str
) -> None:
    slots = json.dumps({"c0": "The Alps"} if "c0" in utterance else {})
    path = write(tmp_path / "raw.tsv", f"{raw}\t{utterance}\t( a s0 )\t{slots}")
    (one,) = TASK.files.read(path)
    words = other.split()
    copy = TASK.files.project(one, words, [0] * len(words))
    assert copy is not None
    assert " ".join(copy.sentence.words) == read


def test_words_of_utterances_without_raw_texts_are_exchanged_as_they_are():
    gold = LogicalForm("( a c0 )", "lambda")
    one = Example(0, Sentence(("in", "c0")), gold, '{"u": "in c0", "f": "( a c0 )"}')
    assert TASK.files.surface(one) == one.sentence
    assert TASK.files.project(one, ("of", "c0"), (0, 1)).block == one.block
    assert TASK.files.project(one, ("in", "c1"), (0, 1)) is None


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("x.tsv", "river\tin s0\t( a s0 )\n", "x.tsv:1: 3 columns in 'river"),
        ("x.tsv", "river\tin s0\t( a s0 )\nin s0\t( a s0 )\n", "x.tsv:1: 3 columns in 'river"),
        ("x.tsv", "a\t( a s0 )\nriver\tin s0\t( a s0 )\n", "x.tsv:2: 3 columns in 'river"),
        ("x.tsv", "a\t( a s0 )\nriver\n", "x.tsv:2: no logical form; expected an utterance"),
        ("x.tsv", "a\t( a s0 )\nriver\t\n", "x.tsv:2: no logical form; expected an utterance"),
        ("x.tsv", "a\tjob(ANS)\n", "x.tsv:1: 'job(ANS)' is token 1"),
        ("x.tsv", "a\t(lambda $0 e (a $0))\n", "blanks around brackets"),
        ("x.tsv", "a\ta\t\t{}\n", "x.tsv:1: no logical form; expected an utterance"),
        ("x.jsonl", '{"premise": "a", "hypothesis": "b", "label": "c"}', "no column 'text'"),
        ("x.jsonl", '{"text": "a", "label": ""}', "x.jsonl:1: no logical form"),
    ],
)
def test_lines_that_are_no_utterance_and_form(tmp_path: Path, name: str, text: str, found: str):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as error:
        TASK.files.read(tmp_path / name)
    assert found in str(error.value)


def test_the_other_of_two_columns_holds_the_forms(tmp_path: Path):
    for name, text in (
        ("x.tsv", "question\tlogic\na\t( a s0 )\n"),
        ("x.csv", "logic,question\n( a s0 ),a\n"),
        ("x.jsonl", '{"question": "a", "logic": "( a s0 )"}\n'),
    ):
        (tmp_path / name).write_text(text)
        (example,) = TASK.files.read(tmp_path / name)
        assert (example.sentence.words, str(example.gold)) == (("a",), "( a s0 )")
    (tmp_path / "x.csv").write_text("id,question\nq1,a\n")
    (example,) = TASK.files.read(tmp_path / "x.csv", ReadOptions(gold=False))
    assert example.gold == ""
    assert TASK.files.write(example, None, "( a s0 )") == "q1,a,( a s0 )\n"
    with pytest.raises(InputError, match="no column 'label'"):
        TASK.files.read(tmp_path / "x.csv")


def test_forms_may_be_missing_where_none_are_needed(tmp_path: Path):
    for number, text in enumerate(("a\nb\t\nc\t( a s0 )\n", "A\ta\t\t{}\nB\tb\t( a )\t{}\n")):
        (tmp_path / f"{number}.tsv").write_text(text)
    read = [
        TASK.files.read(tmp_path / f"{number}.tsv", ReadOptions(gold=False)) for number in (0, 1)
    ]
    assert [[str(one.gold) for one in each] for each in read] == [
        ["", "", "( a s0 )"],
        ["", "( a )"],
    ]


def test_three_columns_of_forms_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match="columns: got"):
        TASK.files.read(tmp_path / "x.jsonl", ReadOptions(["a", "b", "c"]))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("rivers\triver\t( a s0 )\t[]", "raw.tsv:4"),
        ("rivers\triver\t( a s0 )\t{", "raw.tsv:4"),
        ('rivers\triver\t( a s0 )\t{"s0": 1}', "the raw text 'rivers' with the slots"),
        ("\triver\t( a s0 )\t{}", "the raw text ''"),
        ("rivers\triver\t( a s0\t{}", "raw.tsv:4"),
        ("river\t( a s0 )", "raw.tsv:4: 2 columns in 'river"),
        ("rivers\t\t( a s0 )\t{}", "raw.tsv:4: an empty text"),
    ],
)
def test_bad_lines_with_raw_texts(tmp_path: Path, line: str, found: str):
    path = tmp_path / "raw.tsv"
    path.write_text(f"{RAW}{line}\n")
    with pytest.raises(InputError) as error:
        TASK.files.read(path)
    assert found in str(error.value)


def test_utterances_without_a_slot_of_their_form_are_told():
    rows = [("in c0", "( a c0 )"), ("in", "( b c0 s1 )"), ("c0", "( a c0 $0 )"), ("s1", "( a c0 )")]
    examples = [
        Example(id_, Sentence(tuple(words.split())), form(gold))
        for id_, (words, gold) in enumerate(rows)
    ]
    known = ["(", ")", "a", "b", "c0", "s1", "$0"]
    (found,) = TASK.files.warnings(examples, known, FileUse("x.tsv"))
    assert found.startswith("x.tsv: 2 utterances do not hold every slot")
    assert found.endswith("guess: x.tsv:2, x.tsv:4")
    (many,) = TASK.files.warnings([examples[1]] * 21, known, FileUse("x.tsv"))
    assert many.endswith(", x.tsv:2, …")
    assert not list(TASK.files.warnings(examples[:1], known, FileUse("x.tsv")))
