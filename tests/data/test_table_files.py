"""Tables of every kind: the same rows in, the same rows out, and what is taken for a header."""

import csv
import gzip
import io
import json
import os
import re
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from robustparse.data.labels import labels_are_numbers
from robustparse.data.read_options import Known, ReadOptions
from robustparse.data.splits import find_split
from robustparse.data.tables import ENDINGS, ending_of, read_table
from robustparse.data.text_datamodule import TextDataModule
from robustparse.data.text_files import read_texts
from robustparse.data.utterances.forms import read_forms
from robustparse.errors import InputError
from robustparse.tasks.classification import CLASSIFICATION
from robustparse.tasks.semantic import semantic_task

TASK = CLASSIFICATION


def texts_of(path: Path, *options: Any, **more: Any) -> list[tuple[str, str]]:
    examples = read_texts(path, ReadOptions(*options, **more))
    return [(" ".join(each.sentence.words), each.gold) for each in examples]


def write(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8", newline="")
    return path


CSV = {
    "header": 'text,label\r\n"a ""fine"" film , really",pos\r\ndull,neg\r\n',
    "other order and more columns": 'id,label,text\n1,pos,"a ""fine"" film , really"\n2,neg,dull\n',
    "a usual name of labels": "label,review\n" + 'pos,"a ""fine"" film , really"\nneg,dull\n',
    "capitals": 'Text,Label\n"a ""fine"" film , really",pos\ndull,neg\n',
    "semicolons": 'text;label\n"a ""fine"" film , really";pos\ndull;neg\n',
    "semicolons without quotes": 'text;label\na "fine" film , really;pos\ndull;neg\n',
    "tabs": 'text\tlabel\n"a ""fine"" film , really"\tpos\ndull\tneg\n',
    "as Excel says": 'sep=;\r\ntext;label\r\n"a ""fine"" film , really";pos\r\ndull;neg\r\n',
    "line break in another cell": (
        'text,label,note\n"a ""fine"" film , really",pos,"a\nb"\ndull,neg,"c\n"\n'
    ),
    "line break in a cell": 'text,label\n"a ""fine""\nfilm , really",pos\ndull,neg\n',
    "no header": '"a ""fine"" film , really",pos\ndull,neg\n',
    "byte order mark": '\ufefftext,label\n"a ""fine"" film , really",pos\ndull,neg\n',
    "joined files": '\ufefftext,label\n"a ""fine"" film , really",pos\n\ufeffdull,neg\n',
    "spaces after commas": 'label, text\npos, "a ""fine"" film , really"\nneg, dull\n',
    "empty lines": '"text","label"\r\n\r\n"a ""fine"" film , really",pos\n\n\ndull,neg\n',
    "index of pandas": ',text,label\n0,"a ""fine"" film , really",pos\n1,dull,neg\n',
}


@pytest.mark.parametrize("name", CSV)
def test_csv_is_read_as_csv(name: str, tmp_path: Path):
    path = write(tmp_path / "x.csv", CSV[name])
    assert texts_of(path) == [('a "fine" film , really', "pos"), ("dull", "neg")]
    # Copies are CSV of the same columns, with a header where there was one.
    examples = read_texts(path)
    copies = write(
        tmp_path / "y.csv", "".join(TASK.files.write_all((one, None, None) for one in examples))
    )
    assert read_table(copies).rows[0][1] == read_table(path).rows[0][1]
    assert texts_of(copies) == texts_of(path)
    written = [one.row.values for one in read_texts(copies)]
    assert written == [one.row.values for one in examples]


def test_quotation_marks_after_a_space_may_belong_to_the_text(tmp_path: Path):
    path = write(tmp_path / "x.csv", 'label,text\npos, "Great" film\nneg,  "dull" one\n')
    assert texts_of(path) == [('"Great" film', "pos"), ('"dull" one', "neg")]


LINES = {
    "after a cell of three lines": ('text,label\n"a\nb\nc",pos\nd,e,f\n', 5, "3 columns"),
    "a quotation mark out of place": ('text,label\na,pos\n"b" c,neg\n', 3, "not CSV"),
    "an open quotation mark": ('text,label\na,pos\n"b c,neg\nd,pos\n', 3, "not CSV"),
    "an empty text": ('text,label\n"a\nb",pos\n"",neg\n', 4, "an empty text"),
    "a name twice": ("text,text,label\na,b,pos\n", 1, "the column 'text' twice"),
    "after an empty line": ("text,label\n\na,pos\nb,c,neg\n", 4, "3 columns"),
    "an empty first line": ('\ntext,label\n"a, b",pos\n', 1, "an empty text"),
    "four columns without names": ("a,b,c,pos\n", 1, "4 columns"),
    "a header again": ("text,label\na,pos\ntext,label\nb,neg\n", 3, "the header of line 1"),
    "no label": ("text,id\na,1\nb,2\n", 2, "no column 'label'"),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_of_csv_are_counted_in_cells_too(name: str, tmp_path: Path):
    content, line, found = LINES[name]
    path = write(tmp_path / "x.csv", content)
    with pytest.raises(InputError) as error:
        read_texts(path)
    assert (error.value.path, error.value.line) == (str(path), line)
    assert found in error.value.found


QUOTED = {
    "all fields": ('"text"\t"label"\n"a ""b"" c"\t"pos"\n"d"\t"neg"\n', ('a "b" c', "pos")),
    "numbers are not": ('"text"\t"label"\n"a ""b"" c"\t1\n"d"\t0\n', ('a "b" c', "1")),
    "a tab in a text": ('"text"\t"label"\n"a\t""b"" c"\t"pos"\n"d"\t"neg"\n', ('a "b" c', "pos")),
    "texts begin with one": ('"a" b c\tpos\n"d"\tneg\n', ('"a" b c', "pos")),
    "texts are quotations": ('"a b c"\tpos\n"d"\tneg\n', ('"a b c"', "pos")),
    "truth values are not": (
        '"text"\t"label"\n"a ""b"" c"\tTRUE\n"d"\tFALSE\n',
        ('a "b" c', "TRUE"),
    ),
    "numbers before texts": (
        '"index"\t"text"\t"label"\n1\t"a ""b"" c"\t"pos"\n2\t"d"\t"neg"\n',
        ('a "b" c', "pos"),
    ),
    "only where it is needed": (
        'text\tlabel\n"a ""b"" c"\tpos\n"d, e"\tneg\nf\t""\n',
        ('a "b" c', "pos"),
    ),
    "those with commas, as Excel": ('"a, b"\tpos\nc\tneg\n"d, e"\tneg\n', ("a, b", "pos")),
    "one of those with commas": ('"a, b"\tpos\nc, d\tneg\n"e, f"\tneg\n', ('"a, b"', "pos")),
    "stray ones in two lines": (
        'good\tpos\n" well ""so-called"" art\tneg\nwhat a "\tpos\n',
        ("good", "pos"),
    ),
    "one quoted, one in a text": ('"a ""b"" c"\tpos\nd " e\tneg\n', ('"a ""b"" c"', "pos")),
    "doubled in a text": ('a ""b"" c\tpos\n"d"\tneg\n', ('a ""b"" c', "pos")),
    "an empty quotation": ('"a b"\tpos\n""\t\n', ('"a b"', "pos")),
    "one in a text": ('a " b c\tpos\nd\tneg\n', ('a " b c', "pos")),
}


@pytest.mark.parametrize("name", QUOTED)
def test_only_a_tsv_file_of_quoted_fields_is_unquoted(name: str, tmp_path: Path):
    content, first = QUOTED[name]
    path = write(tmp_path / "x.tsv", content)
    assert texts_of(path)[0] == first
    copy = write(
        tmp_path / "y.tsv", "".join(TASK.files.write_all((e, None, None) for e in read_texts(path)))
    )
    assert texts_of(copy) == texts_of(path)


@pytest.mark.parametrize("mark", ['"', "'"])
def test_labels_in_quotation_marks_are_refused(mark: str, tmp_path: Path):
    """In a file of which not all fields are quoted."""
    path = write(tmp_path / "x.tsv", f"a b c\tpos\nd\t{mark}neg{mark}\n")
    with pytest.raises(InputError) as error:
        read_texts(path)
    assert (error.value.path, error.value.line) == (str(path), 2)
    assert f"{mark}neg{mark}" in error.value.found


def test_lines_may_end_with_a_carriage_return_alone(tmp_path: Path):
    for name, content in (("x.tsv", "a b\tpos\rc\tneg\r"), ("x.csv", "text,label\ra b,pos\rc,neg")):
        assert texts_of(write(tmp_path / name, content)) == [("a b", "pos"), ("c", "neg")]


def test_a_csv_column_of_texts_begins_with_its_name(tmp_path: Path):
    path = write(tmp_path / "x.csv", "review\na film\nno film\n")
    assert texts_of(path, gold=False) == [("a film", ""), ("no film", "")]
    path = write(tmp_path / "x.csv", "great\na film\ndull\n")
    assert [text for text, _ in texts_of(path, gold=False)] == ["great", "a film", "dull"]


def test_an_empty_line_of_a_csv_column_is_an_empty_text(tmp_path: Path):
    with pytest.raises(InputError) as error:
        texts_of(write(tmp_path / "x.csv", "text\na film\n\nno film\n"), gold=False)
    assert error.value.line == 3


@pytest.mark.parametrize("content", ["a film\ngood, bad film\n", "good, bad film\na film\n"])
def test_texts_of_csv_are_not_cut_at_commas_without_quotation_marks(content: str, tmp_path: Path):
    with pytest.raises(InputError) as error:
        texts_of(write(tmp_path / "x.csv", content), gold=False)
    assert error.value.line == 2


ROWS = [("good film , really", "pos"), ("bad film", "neg")] * 6


def tsv(path: Path, *header: str, rows: list[tuple[str, str]] = ROWS) -> Path:
    lines = [header] if header else []
    return write(path, "".join("\t".join(row) + "\n" for row in [*lines, *rows]))


HEADERS = {
    "usual names": (("sentence", "label"), Known(), 12),
    "any names": (("the film's review", "what critics felt"), Known(), 12),
    "another script": (("отзыв", "тональность"), Known(), 12),
    "a label of a classifier": (("so so", "mixed"), Known(labels=["pos", "neg", "mixed"]), 13),
    "no label of a classifier": (("so so", "mixed"), Known(labels=["pos", "neg"]), 12),
    "a label in other casing": (("so so", "Pos"), Known(labels=["pos", "neg"]), 13),
    "a label of another split": (("so so", "mixed"), Known(other_labels=lambda: {"mixed": 1}), 13),
    "a label of this file": (("so so", "pos"), Known(), 13),
    "a text called text": (("text", "pos"), Known(), 13),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_first_line_whose_label_occurs_nowhere_else_is_a_header(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    header, known, count = HEADERS[name]
    path = tsv(tmp_path / "x.tsv", *header)
    found = texts_of(path, known=known)
    assert found[-12:] == ROWS
    assert len(found) == count
    guessed = count == 12 and name != "usual names"
    assert [f"{path}: line 1 " in message for message in caplog.messages] == [True] * guessed


def test_rare_labels_do_not_make_a_header(tmp_path: Path):
    """In a file of few rows, or where other labels are rare too."""
    assert len(read_texts(tsv(tmp_path / "few.tsv", "so so", "mixed", rows=ROWS[:5]))) == 6
    many = [(f"text {i}", f"label {i // 2}") for i in range(0, 60)]
    many += [(f"rare text {i}", f"rare {i}") for i in range(20)]
    assert len(read_texts(tsv(tmp_path / "many.tsv", "a rare text", "once", rows=many))) == 81


JSON = ['{"text": "a", "label": "b"}\n{}\n', '[{"text": "a"},\n{}]', '[\n {"text": "a"}\n]\n']


@pytest.mark.parametrize("content", JSON)
def test_json_under_another_name_is_refused(content: str, tmp_path: Path):
    with pytest.raises(InputError) as error:
        read_texts(write(tmp_path / "x.tsv", content), ReadOptions(gold=False))
    assert (error.value.line, ".jsonl" in str(error.value.remedy)) == (1, True)


def test_a_text_may_begin_with_a_bracket(tmp_path: Path):
    path = write(tmp_path / "x.tsv", "[ 1 ]\tpos\n{ a film }\tneg\n")
    assert texts_of(path) == [("[ 1 ]", "pos"), ("{ a film }", "neg")]


NAMES = {
    "two names": "review,stars\na good film,four\na bad film,one\n",
    "of one row": "review,stars\na good film,four\n",
    "row numbers without a name": ",review,stars\n1,a good film,four\n2,a bad film,one\n",
    "empty columns": "review,stars,,,\na good film,four,,,\na bad film,one,,x,\n",
}


@pytest.mark.parametrize("known", [Known(), Known(labels=["pos", "neg"])], ids=["none", "other"])
@pytest.mark.parametrize("name", NAMES)
def test_single_words_above_longer_texts_are_a_header(name: str, known: Known, tmp_path: Path):
    """Even in a file of few rows whose labels the classifier does not know."""
    path = write(tmp_path / "x.csv", NAMES[name])
    columns = None if NAMES[name].startswith("review,stars\n") else ["review", "stars"]
    rows = [("a good film", "four"), ("a bad film", "one")]
    assert texts_of(path, columns, known=known) == rows[: NAMES[name].count("film")]
    rows = write(tmp_path / "y.csv", "fine,one\nbad film,one\n")
    assert len(read_texts(rows, ReadOptions(known=known))) == 2


def test_row_names_without_a_name_are_refused_with_a_remedy(tmp_path: Path):
    path = write(tmp_path / "x.tsv", '"text"\t"label"\n"1"\t"a film"\t"pos"\n')
    with pytest.raises(InputError) as error:
        read_texts(path)
    assert error.value.line == 2
    assert "row.names" in str(error.value.remedy)


def test_the_splits_of_a_corpus_tell_headers_together(tmp_path: Path):
    for split, count in (("train", 12), ("dev", 2), ("test", 1)):
        tsv(tmp_path / f"{split}.tsv", "review", "sentiment", rows=ROWS[:count])
    data = TextDataModule(folder=str(tmp_path))
    counts = {split: len(data.examples(split)) for split in ("train", "dev", "test")}
    assert counts == {"train": 12, "dev": 2, "test": 1}
    # Of a few rows too, if their headers agree.
    for split in ("train", "dev", "test"):
        tsv(tmp_path / f"{split}.tsv", "review", "sentiment", rows=ROWS[:2])
    assert [len(TextDataModule(folder=str(tmp_path)).examples(split)) for split in counts] == [
        2
    ] * 3
    (tmp_path / "test.tsv").unlink()
    # A class that is rare in one split is none in the corpus.
    tsv(tmp_path / "train.tsv", "so so", "mixed")
    tsv(tmp_path / "dev.tsv", rows=[*ROWS, ("hm", "mixed")])
    assert len(TextDataModule(folder=str(tmp_path)).examples("train")) == 13


UNLABELLED = {
    "GLUE": "index\tsentence\n0\tgood film\n1\tbad film\n",
    "GLUE, pairs aside": "sentence\tindex\ngood film\t0\nbad film\t1\n",
    "a text a line": "good film\nbad film\n",
    "a column of one name": "text\ngood film\nbad film\n",
    "its label is empty": "good film\t\nbad film\t-\n",
}
REFUSED = {
    "numbers without a header": "0\tgood film\n1\tbad film\n",
    "a header of unknown names": "id\treview\n0\tgood film\n1\tbad film\n",
    "ids that are words": "a0\tgood film\nb1\tbad film\n",
    "numbers after the texts": "good film\t10\nbad film\t11\n",
    "a number, a text and a label": "0\tgood film\tpos\n1\tbad film\tneg\n",
}


@pytest.mark.parametrize("name", UNLABELLED)
def test_without_labels_the_texts_are_found(name: str, tmp_path: Path):
    path = write(tmp_path / "x.tsv", UNLABELLED[name])
    known = Known(labels=["pos", "neg"])
    assert texts_of(path, gold=False, known=known) == [("good film", ""), ("bad film", "")]
    with pytest.raises(InputError):
        read_texts(path, ReadOptions(known=known))


@pytest.mark.parametrize("name", REFUSED)
def test_or_the_file_is_refused(name: str, tmp_path: Path):
    path = write(tmp_path / "x.tsv", REFUSED[name])
    with pytest.raises(InputError) as error:
        read_texts(path, ReadOptions(gold=False, known=Known(labels=["pos", "neg"])))
    assert (error.value.path, error.value.line) == (str(path), 1)
    assert "--columns" in str(error.value.remedy)


@pytest.mark.parametrize("labelled", [True, False])
def test_labels_before_texts_without_blanks_are_refused(labelled: bool, tmp_path: Path):
    rows = ["sentiment,content", *(f"{number % 2},电影很无聊{number}" for number in range(9))]
    path = write(tmp_path / "x.csv", "\n".join(rows))
    with pytest.raises(InputError) as error:
        read_texts(path, ReadOptions(gold=labelled))
    assert (error.value.path, error.value.line) == (str(path), 1)
    assert len(read_texts(path, ReadOptions(["content", "sentiment"], gold=labelled))) == 9


def test_answers_are_added_where_there_were_no_labels(tmp_path: Path):
    path = write(tmp_path / "x.tsv", UNLABELLED["GLUE"])
    examples = read_texts(path, ReadOptions(gold=False))
    written = "".join(TASK.files.write_all((one, None, "pos") for one in examples))
    assert written == "index\tsentence\tlabel\n0\tgood film\tpos\n1\tbad film\tpos\n"


MARKED = {
    "a hyphen among words": (["yes", "no", "-", "no"], [0, 1, 3]),
    "a hyphen opposite a plus": (["+", "-", "+", "-"], [0, 1, 2, 3]),
    "nothing": (["yes", "", "no", " "], [0, 2]),
    "-1 among words": (["yes", "-1", "no", "-1"], [0, 2]),
    "-1 below three classes": (["0", "-1", "1", "2"], [0, 2, 3]),
    "-1 and 1": (["-1", "1", "1", "-1"], [0, 1, 2, 3]),
    "-2 to 2": (["-1", "1", "-2", "2"], [0, 1, 2, 3]),
    "-1, 0, 1": (["-1", "0", "1", "-1"], [0, 1, 2, 3]),
    "-1 in one of twenty rows": (["-1", *["0", "1"] * 10], [*range(1, 21)]),
}


@pytest.mark.parametrize("name", MARKED)
@pytest.mark.parametrize("kind", ["tsv", "jsonl", "numbers"])
def test_rows_without_an_agreed_label_are_left_out_and_counted(
    name: str, kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    labels, kept = MARKED[name]
    if kind == "tsv":
        path = tsv(tmp_path / "x.tsv", rows=[(f"text {i}", x) for i, x in enumerate(labels)])
    else:
        typed = [int(x) if kind == "numbers" and x.strip("-").isdigit() else x for x in labels]
        rows = [{"text": f"text {i}", "label": x} for i, x in enumerate(typed)]
        path = write(tmp_path / "x.jsonl", "\n".join(map(json.dumps, rows)))
    assert [one.id for one in read_texts(path)] == kept
    left = len(labels) - len(kept)
    counted = f"{path}: {left} of {len(labels)} rows"
    assert sum(counted in message for message in caplog.messages) == (left > 0)
    assert len(read_texts(path, ReadOptions(gold=False))) == len(labels)
    # What a classifier answers is a class, and nothing else is one.
    present = {*labels} - {"", " ", "-", "-1"}
    known = Known(labels=[*present, "-", "-1"])
    examples = read_texts(path, ReadOptions(known=known))
    assert len(examples) == sum(1 for label in labels if label.strip())
    without = read_texts(path, ReadOptions(known=Known(labels=sorted(present))))
    assert Counter(one.gold for one in without).keys() == present


@pytest.mark.parametrize(("elsewhere", "kept"), [("01", 0), ("-1 1", 3), ("01-2", 0)])
def test_a_test_set_of_nothing_but_minus_one_has_no_labels(
    elsewhere: str, kept: int, tmp_path: Path
):
    others = Counter(dict.fromkeys(re.findall(r"-?\d", elsewhere), 9))
    path = tsv(tmp_path / "x.tsv", rows=[(f"text {i}", "-1") for i in range(3)])
    known = Known(other_labels=lambda: others)
    if kept:
        assert len(read_texts(path, ReadOptions(known=known))) == kept
    else:
        with pytest.raises(InputError, match="no row has a label"):
            read_texts(path, ReadOptions(known=known))


def named(path: Path, rows: list[dict[str, Any]]) -> Path:
    """The same rows in a file of any kind, by its name."""
    import datasets

    ending = path.suffix
    if ending == ".jsonl":
        return write(path, "\n".join(map(json.dumps, rows)))
    if ending == ".json":
        return write(path, json.dumps(rows, indent=1))
    data = datasets.Dataset.from_list(rows)
    if ending == ".parquet":
        data.to_parquet(path)
    else:
        data.save_to_disk(path)
    return path


VALUES = [
    {"id": 7, "text": "a  fine film", "label": 1, "meta": {"a": [0.5, None]}, "who": None},
    {"id": 8, "text": "dull", "label": 0, "meta": {"a": [2.0]}, "who": "x\u2028y"},
]


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.parquet", "x"])
def test_what_is_not_changed_keeps_name_value_and_type(name: str, tmp_path: Path):
    path = named(tmp_path / name, VALUES)
    examples = read_texts(path)
    assert examples[0].gold == "1"
    out = tmp_path / f"out{ending_of(path)}"
    new = [(examples[0], None, None), (examples[1], ["bad"], None)]
    write(out, "".join(TASK.files.write_all(new)))
    expected = [VALUES[0], {**VALUES[1], "text": "bad"}]
    assert [values for _, values in read_table(out).rows] == expected
    assert [list(values) for _, values in read_table(out).rows] == [list(VALUES[0])] * 2
    assert len(out.read_text().splitlines()) == (4 if name == "x.json" else 2)


@pytest.mark.parametrize("labels", [(True, False), (5.0, 1.0)], ids=["booleans", "floats"])
@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet"])
def test_booleans_and_floats_are_labels_too(name: str, labels: tuple[Any, Any], tmp_path: Path):
    rows = [{"text": "good", "label": labels[0]}, {"text": "dull", "label": labels[1]}]
    examples = read_texts(named(tmp_path / name, rows))
    assert [example.gold for example in examples] == [*map(str, labels)]
    assert labels_are_numbers(examples)
    out = tmp_path / "out.jsonl"
    other = [(one, None, examples[1 - at].gold) for at, one in enumerate(examples)]
    write(out, "".join(TASK.files.write_all(other)))
    written = [row["label"] for _, row in read_table(out).rows]
    assert written == [*reversed(labels)]
    assert [*map(type, written)] == [*map(type, labels)]


def test_the_first_row_of_json_may_lack_columns(tmp_path: Path):
    first, second = {"text": "a b"}, {"text": "c", "stars": "one", "id": 7}
    path = named(tmp_path / "x.jsonl", [first, *[second] * 3, {**second, "stars": "two"}, first])
    examples = read_texts(path, ReadOptions(gold=False))
    assert [example.gold for example in examples] == ["", "one", "one", "one", "two", ""]
    path = named(tmp_path / "y.jsonl", [first, {"text": "c", "program": "( a )"}])
    forms = read_forms(path, ReadOptions(gold=False))
    assert [str(example.gold) for example in forms] == ["", "( a )"]


def test_a_nul_character_is_refused_in_parquet_too(tmp_path: Path):
    path = named(tmp_path / "x.parquet", [{"text": "a", "meta": ["b", "c\0d"]}])
    with pytest.raises(InputError) as error:
        read_table(path)
    assert (error.value.path, error.value.line) == (str(path), 1)


def test_a_cell_of_csv_may_be_long(tmp_path: Path):
    limit, text = csv.field_size_limit(), "word " * 30_000 + "x"
    path = write(tmp_path / "x.csv", f'text,label\n"{text}",pos\nb,neg\n')
    assert read_table(path).rows[1][1] == {0: text, 1: "pos"}
    assert csv.field_size_limit() == limit


def test_json_lists_say_the_line_of_an_object(tmp_path: Path):
    path = write(
        tmp_path / "x.json", '[\n {"text": "a",\n  "label": 1},\n {"text": "", "label": 1}]'
    )
    with pytest.raises(InputError) as error:
        read_texts(path)
    assert (error.value.line, error.value.found) == (4, "an empty text")
    write(path, '{"text": "a", "label": 1}\n{"text": "b", "label": 1}\n')
    assert texts_of(path) == [("a", "1"), ("b", "1")]
    assert (
        "".join(TASK.files.write_all((e, None, None) for e in read_texts(path))) == path.read_text()
    )


def test_columns_with_names_are_found_or_named(tmp_path: Path):
    path = write(tmp_path / "x.csv", "who,review,stars\nme,good,5\nyou,bad,1\n")
    assert texts_of(path, ["review", "stars"]) == [("good", "5"), ("bad", "1")]
    known = Known(columns=["review", "stars"])
    assert texts_of(path, known=known) == [("good", "5"), ("bad", "1")]
    usual = write(tmp_path / "y.csv", "text,label\ngood,5\nbad,1\n")
    assert texts_of(usual, known=known) == [("good", "5"), ("bad", "1")]
    with pytest.raises(InputError) as error:
        read_texts(usual, ReadOptions(["review", "stars"]))
    assert error.value.line == 1
    nli = "gold_label\tsentence1_parse\tsentence1\tsentence2\n-\tx\ta\tb\nyes\ty\tc d\te\n"
    (pair,) = read_texts(write(tmp_path / "snli.txt", nli))
    assert (pair.sentence.context, pair.sentence.words, pair.gold) == (("c", "d"), ("e",), "yes")
    reversed_pair = "text_b,text_a,label\ne,c d,yes\nf,g,no\n"
    (pair, _) = read_texts(write(tmp_path / "z.csv", reversed_pair))
    assert (pair.sentence.context, pair.sentence.words, pair.gold) == (("c", "d"), ("e",), "yes")


FORMS = [("name the city", "( a c0 )"), ("which river", "( b r0 )")]
HEADED = {
    "none": ("", None),
    "usual": ("text\tlabel\n", None),
    "any": ("Anfrage\tForm\n", None),
    "of two words": ("user Anfrage\tForm\n", None),
    "named": ("q\tmy form\n", ["q", "my form"]),
}


@pytest.mark.parametrize("name", HEADED)
def test_headers_of_utterances_are_one_token_where_forms_have_more(name: str, tmp_path: Path):
    header, columns = HEADED[name]
    path = write(tmp_path / "x.tsv", header + "".join("\t".join(row) + "\n" for row in FORMS))
    found = read_forms(path, ReadOptions(columns))
    assert [(" ".join(e.sentence.words), str(e.gold)) for e in found] == FORMS
    assert [e.line for e in found] == [1 + bool(header), 2 + bool(header)]


@pytest.mark.parametrize("row", ["where am i\there", "it\t$0", "lima\tc0"])
def test_a_first_form_of_one_token_is_no_header(row: str, tmp_path: Path):
    """If its utterance is long, it cannot be a name, or another form holds the token."""
    rows = [tuple(row.split("\t")), *FORMS]
    path = write(tmp_path / "x.tsv", "".join("\t".join(each) + "\n" for each in rows))
    assert [(" ".join(e.sentence.words), str(e.gold)) for e in read_forms(path)] == rows


def test_raw_utterances_are_read_from_every_kind(tmp_path: Path):
    raw = [["show rivers", "show river", "( a r0 )", '{"r0": "rivers"}']]
    names = ["raw", "text", "form", "slots"]
    rows = [dict(zip(names, raw[0], strict=True))]
    paths = [
        write(tmp_path / "x.tsv", "\t".join(raw[0]) + "\n"),
        write(tmp_path / "h.tsv", "\t".join(names) + "\n" + "\t".join(raw[0]) + "\n"),
        write(
            tmp_path / "order.tsv",
            'Form\tid\tText\tSlots\tRaw\n( a r0 )\t{1\tshow river\t{"r0": "rivers"}\tshow rivers\n',
        ),
        write(tmp_path / "x.csv", 'show rivers,show river,( a r0 ),"{""r0"": ""rivers""}"\n'),
        named(tmp_path / "x.jsonl", rows),
        named(tmp_path / "x.parquet", rows),
    ]
    for path in paths:
        (example,) = read_forms(path)
        assert semantic_task().files.surface(example).words == ("show", "rivers"), path
        out = write(
            tmp_path / f"out{ending_of(path)}",
            "".join(semantic_task().files.write_all([(example, ["list", "rivers"], None)])),
        )
        (copy,) = read_forms(out)
        assert semantic_task().files.surface(copy).words == ("list", "rivers")
        assert (copy.sentence.words, copy.gold) == (("list", "river"), "( a r0 )")


def packed_zip(path: Path, name: str, content: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, content)
    return path


def test_packed_tables_are_read_by_the_name_they_had(tmp_path: Path):
    content = b'text,label\n"a , b",pos\n'
    (tmp_path / "train.csv.gz").write_bytes(gzip.compress(content))
    packed_zip(tmp_path / "dev.zip", "my-dev.csv", content)
    for split in ("train", "dev"):
        path = find_split(tmp_path, split, ENDINGS)
        assert texts_of(path) == [("a , b", "pos")]
        assert ending_of(path) == ".csv"
    parquet = io.BytesIO(named(tmp_path / "x.parquet", VALUES).read_bytes())
    (tmp_path / "y.parquet.gz").write_bytes(gzip.compress(parquet.getvalue()))
    (tmp_path / "unnamed").write_bytes(parquet.getvalue())
    for name in ("y.parquet.gz", "unnamed"):
        assert len(read_texts(tmp_path / name)) == 2


PIPED = {
    "x": "".join(f"a text {row}\t{row % 2}\n" for row in range(900)),  # more than a buffer holds
    "x.jsonl": "".join(f'{{"text": "a b", "label": "{row % 2}"}}\n' for row in range(900)),
    "x.csv": '"a text, really",pos\n"b",neg\n',
    "x.json": '[{"text": "a b", "label": "x"},\n {"text": "c", "label": "y"}]',
    "x.tsv": '"a b"\t"pos"\n"c"\t"neg"\n\n',  # an empty line ends many files
}


@pytest.mark.parametrize("name", PIPED)
@pytest.mark.parametrize("choose", [None, lambda lengths: range(1, len(lengths))])
def test_a_pipe_is_read_as_the_file(name: str, choose: Any, tmp_path: Path):
    pipe = tmp_path / name
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / name).write_text(PIPED[name])
    os.mkfifo(pipe)

    def write() -> None:
        pipe.write_text(PIPED[name])
        while True:  # nothing is left for who opens it again
            pipe.write_text("")

    Thread(target=write, daemon=True).start()
    read = read_texts(pipe, ReadOptions(choose=choose))
    whole = read_texts(tmp_path / "files" / name, ReadOptions(choose=choose))
    assert [(each.id, each.sentence, each.gold) for each in read] == [
        (each.id, each.sentence, each.gold) for each in whole
    ]
    assert read


BINARY: dict[str, Callable[[], bytes]] = {
    "x.parquet": lambda: b"PAR1 and no more",
    "x.csv": lambda: b"PAR1 and no more",
}


@pytest.mark.parametrize("name", BINARY)
def test_a_damaged_parquet_file_is_called_one(name: str, tmp_path: Path):
    (tmp_path / name).write_bytes(BINARY[name]())
    with pytest.raises(InputError) as error:
        read_texts(tmp_path / name)
    assert "Parquet" in error.value.found
    assert "iconv" not in str(error.value)


def test_one_dataset_is_no_folder_of_splits(tmp_path: Path):
    named(tmp_path / "x", VALUES)
    with pytest.raises(InputError) as error:
        find_split(tmp_path / "x", "train", ENDINGS)
    assert (error.value.path, "splits" in error.value.found) == (str(tmp_path / "x"), True)
    assert "train_file" in str(error.value.remedy)
