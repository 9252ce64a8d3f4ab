"""Labelled texts in TSV, JSON lines and datasets: read, written back, and refused by line."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from robustparse.data import conllu
from robustparse.data.datamodule import Augmentation
from robustparse.data.read_options import ReadOptions
from robustparse.data.splits import find_split
from robustparse.data.tables import ENDINGS
from robustparse.data.tags import tagged_sentences
from robustparse.data.text_datamodule import TextDataModule
from robustparse.data.text_files import read_texts
from robustparse.errors import InputError
from robustparse.tasks.classification import CLASSIFICATION
from robustparse.types import Example, Sentence

TASK = CLASSIFICATION
ROWS = [("a fine  film .", "pos", 1), ("dull", "neg", 2), ("é\u00a0{ü} \u2028 !", "pos", 3)]
WORDS = [("a", "fine", "film", "."), ("dull",), ("é", "{ü}", "!")]
NAMED = ["review", "verdict"]


def tsv(path: Path) -> Path:
    path.write_text("".join(f"{text}\t{label}\r\n" for text, label, _ in ROWS), encoding="utf-8")
    return path


def jsonl(path: Path) -> Path:
    rows = [{"id": id_, "verdict": label, "review": text} for text, label, id_ in ROWS]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def saved(path: Path) -> Path:
    datasets = pytest.importorskip("datasets")
    features = {"review": datasets.Value("string"), "id": datasets.Value("int64")}
    features["verdict"] = datasets.ClassLabel(names=["neg", "pos"])
    rows = [{"review": text, "verdict": label, "id": id_} for text, label, id_ in ROWS]
    data = datasets.Dataset.from_list(rows, features=datasets.Features(features))
    datasets.DatasetDict({"train": data, "validation": data}).save_to_disk(path)
    return path / "train"


def formatted(path: Path) -> Path:
    """A dataset as it is saved after training: one column, in arrays."""
    data = pytest.importorskip("datasets").load_from_disk(saved(path))
    data.with_format("numpy", columns=["verdict"]).save_to_disk(path / "formatted")
    return path / "formatted"


SOURCES = {
    "x.tsv": (tsv, None),
    "x.jsonl": (jsonl, NAMED),
    "x": (saved, NAMED),
    "y": (formatted, NAMED),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_format_gives_the_same_examples_and_takes_them_back(name: str, tmp_path: Path):
    make, columns = SOURCES[name]
    path = make(tmp_path / name)
    found = read_texts(path, ReadOptions(columns))
    assert [example.sentence.words for example in found] == WORDS
    assert [(example.id, example.gold) for example in found] == [(0, "pos"), (1, "neg"), (2, "pos")]
    # As they stand there, and with other words or another label, in a file that is read again.
    out = tmp_path / f"out{TASK.files.ending(path)}"
    for words, answer in ((None, None), (("new",), None), (None, "neg")):
        out.write_text(
            "".join(TASK.files.write(one, words, answer) for one in found), encoding="utf-8"
        )
        again = read_texts(out, ReadOptions(columns))
        assert [one.sentence.words for one in again] == ([words] * 3 if words else WORDS)
        assert [one.gold for one in again] == ([answer] * 3 if answer else ["pos", "neg", "pos"])
    if name == "x.jsonl":
        assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == [1, 2, 3]


PAIR = Example(0, Sentence(("a", "dog"), context=("the", "cat")), "no")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("x.tsv", "the cat\ta dog\tno\n"),
        ("x.jsonl", '{"id": 7, "hypothesis": "a dog", "label": "no", "premise": "the cat"}\n'),
        ("made.tsv", TASK.files.write(PAIR)),
    ],
)
def test_pairs_are_read_and_written_back(file: str, content: str, tmp_path: Path):
    (tmp_path / file).write_text(content)
    (pair,) = read_texts(tmp_path / file)
    assert (pair.sentence, pair.gold) == (PAIR.sentence, "no")
    assert pair.sentence.marks == ("the cat", "the cat")
    (tmp_path / f"again_{file}").write_text(TASK.files.write(pair, ("two", "dogs"), "yes"))
    (again,) = read_texts(tmp_path / f"again_{file}")
    assert again.sentence == Sentence(("two", "dogs"), context=("the", "cat"))
    assert again.gold == "yes"


def test_pairs_of_a_dataset_are_read_by_their_usual_names(tmp_path: Path):
    datasets = pytest.importorskip("datasets")
    rows = {"hypothesis": ["a dog"], "label": ["no"], "premise": ["the cat"]}
    datasets.Dataset.from_dict(rows).save_to_disk(str(tmp_path / "x"))
    (pair,) = read_texts(tmp_path / "x")
    assert (pair.sentence, pair.gold) == (PAIR.sentence, "no")


def test_a_dataset_says_which_row_is_half_a_pair(tmp_path: Path):
    datasets = pytest.importorskip("datasets")
    rows = {"premise": ["the cat", "a cow"], "hypothesis": ["a dog", None], "label": ["no", "no"]}
    datasets.Dataset.from_dict(rows).save_to_disk(str(tmp_path / "x"))
    with pytest.raises(InputError) as error:
        read_texts(tmp_path / "x")
    assert (error.value.line, error.value.found) == (2, "an empty second text")
    del rows["hypothesis"]
    datasets.Dataset.from_dict(rows).save_to_disk(str(tmp_path / "y"))
    with pytest.raises(InputError) as error:
        read_texts(tmp_path / "y")
    assert error.value.found == "no column 'hypothesis': the second text of the pair is missing"
    assert error.value.expected == "one of premise, label"


def test_texts_made_in_memory_are_written_as_tsv():
    example = Example(0, TASK.files.sample(0, "test")[0].sentence, "mixed")
    assert TASK.files.write(example) == " ".join(example.sentence.words) + "\tmixed\n"


MISTAKES = {
    "no label": ("x.tsv", "good\tpos\nbad\n", None, 2, "no label", "separated by tabs"),
    "empty text": ("x.tsv", "good\tpos\n \tneg\n", None, 2, "the text is ' '", "words,"),
    "a header alone": ("x.tsv", "sentence\tlabel\n", None, 1, "a header", None),
    "empty line": ("x.tsv", "good\tpos\n\nbad\tneg\n", None, 2, "an empty text", None),
    "three texts": (
        "x.tsv",
        "a\tb\tc\tpos\n",
        None,
        1,
        "4 columns in 'a\\tb",
        "a text and a label",
    ),
    "second text gone": (
        "x.tsv",
        "a\tb\tpos\na\tpos\n",
        None,
        2,
        "2 columns in 'a\\tpos', a pair without its second text or its label",
        "a premise, a hypothesis and a label, separated by tabs, as in the lines before",
    ),
    "hypothesis gone": ("x.tsv", "a\tb\tpos\na\t\tpos", None, 2, "an empty second text", "words,"),
    "a pair among texts": ("x.tsv", "a\tpos\na\tb\tpos", None, 2, "3 columns", "a text and"),
    "no premise": ("x.tsv", "a\tb\tpos\n \tb\tpos", None, 2, "the first text is ' '", "words,"),
    "no hypothesis": (
        "x.jsonl",
        '{"premise": "a", "hypothesis": "", "label": 1}',
        None,
        1,
        "an empty second text",
        None,
    ),
    "empty premise": (
        "x.jsonl",
        '{"premise": null, "hypothesis": "a", "label": 1}',
        None,
        1,
        "an empty first text",
        None,
    ),
    "first row without its hypothesis": (
        "x.jsonl",
        '{"premise": "a", "label": 1}',
        None,
        1,
        "no column 'hypothesis': the second text of the pair is missing",
        "one of premise, label",
    ),
    "second row without its hypothesis": (
        "x.jsonl",
        '{"premise": "a", "hypothesis": "b", "label": 1}\n{"premise": "a", "label": 1}',
        None,
        2,
        "no column 'hypothesis': the second text of the pair is missing",
        "one of premise, label",
    ),
    "first row without its premise": (
        "x.jsonl",
        '{"hypothesis": "a", "label": 1}',
        None,
        1,
        "no column 'premise'",
        "one of hypothesis, label",
    ),
    "no second column": ("x.jsonl", '{"a": "x"}', ["a", "b", "c"], 1, "no column 'b'", "one of a"),
    "names for none": ("x.tsv", "a\tpos\n", NAMED, 1, "no column 'review'", "a first line"),
    "no column": ("x.jsonl", '{"text": "a"}', NAMED, 1, "no column 'review'", "one of text"),
    "no label there": (
        "x.jsonl",
        '{"review": "a"}',
        NAMED,
        1,
        "no column 'verdict'",
        "one of review",
    ),
    "null": ("x.jsonl", '{"text": "a", "label": null}', None, 1, "no row has a label", "labels"),
    "a number": ("x.jsonl", '{"text": 3, "label": 1}', None, 1, "the text is 3", None),
    "a label that is a list": (
        "x.jsonl",
        '{"text": "a", "label": ["b"]}',
        *(None, 1, "the label is ['b']", "a text or a whole"),
    ),
    "a fraction": ("x.jsonl", '{"text": "a", "label": 0.5}', None, 1, "the label is 0.5", None),
    "a number of pandas": (
        "x.csv",
        "text,label\nb,0.0\nc,1.0\na,1\n",
        *(None, 3, "the label 1.0, which elsewhere is 1", "1"),
    ),
    "a list": ("x.jsonl", '{"text": "a", "label": 1}\n[1]', None, 2, "found list", "a JSON object"),
    "torn": ("x.jsonl", '{"text": "a", "la', None, 1, "not JSON", "a JSON object"),
    "one object": (
        "x.json",
        '{\n "data": [1]\n}',
        None,
        None,
        "one JSON",
        "an object on",
    ),
    "a list in a line": ("x.jsonl", '[{"text": "a"}]', None, None, "one JSON", "an object on"),
    "a list in lines": ("x.jsonl", '[\n{"text": "a"}]', None, None, "one JSON", "an object on"),
    "surrogate": (
        "x.jsonl",
        '{"text": "\\ud800", "label": 1}',
        None,
        1,
        "half a surrogate pair",
        None,
    ),
    "NUL": ("x.jsonl", '{"text": "a\\u0000", "label": 1}', None, 1, "cannot be used", None),
    "digits": ("x.jsonl", "9" * 5000, None, 1, "cannot be used", None),
    "depth": ("x.jsonl", "[" * 100_000, None, 1, "nested too deep", None),
    "NUL byte": ("x.tsv", "a b\tpos\na\0\tneg", None, 2, "a NUL character", None),
    "one name": ("x.jsonl", "{}", ["text"], None, "got ['text']", "the column of the text, or"),
    "long premise": (
        "x.tsv",
        "a b c d\ta b\tpos",
        None,
        1,
        "4 words in the first text",
        None,
    ),
    "long hypothesis": ("x.tsv", "a b\ta b c d\tpos", None, 1, "4 words in the second text", None),
    "long": ("x.tsv", "a b\tpos\na b c d\tneg", None, 2, "4 words", None),
}


REMEDIES = {
    "long": "raise --max_length",
    "no column": "--columns",
    "no label there": "--columns",
    "a pair among texts": "add the second text to line 1",
    "first row without its hypothesis": "'[sentence1, sentence2, label]'",
    "first row without its premise": "'[sentence1, sentence2, label]'",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named_by_file_and_line(name: str, tmp_path: Path):
    file, content, columns, line, found, expected = MISTAKES[name]
    path = tmp_path / file
    path.write_text(content)
    with pytest.raises(InputError) as error:
        read_texts(path, ReadOptions(columns, max_length=3, limit="--max_length"))
    assert error.value.line == line
    assert error.value.path == (None if name == "one name" else str(path))
    assert found in error.value.found
    assert (expected or "") in (error.value.expected or "")
    if name in REMEDIES:
        assert REMEDIES[name] in error.value.remedy


def test_a_dataset_without_the_named_columns_or_split_is_refused(tmp_path: Path):
    split = saved(tmp_path / "x")
    with pytest.raises(InputError) as error:
        read_texts(split)
    assert (error.value.path, error.value.found) == (str(split), "no column 'text'")
    assert error.value.expected == "one of review, verdict, id"
    with pytest.raises(InputError) as error:
        read_texts(split.parent, ReadOptions(NAMED))
    assert error.value.found == "holds the splits train, validation"
    with pytest.raises(InputError) as error:  # offline, as tests are
        read_texts("datasets:nobody/nothing:train")
    assert error.value.path == "datasets:nobody/nothing:train"


def test_labels_may_be_missing_where_nobody_looks_at_them(tmp_path: Path):
    path = tmp_path / "x.tsv"
    path.write_text("good\nbad\tneg\n")
    found = read_texts(path, ReadOptions(gold=False))
    assert [example.gold for example in found] == ["", "neg"]
    assert TASK.files.write(found[0], answer="pos") == "good\tpos\n"


def test_splits_are_found_by_the_end_of_their_names(tmp_path: Path):
    tsv(tmp_path / "mr-train.tsv")
    jsonl(tmp_path / "dev.jsonl")
    assert find_split(tmp_path, "train", ENDINGS).name == "mr-train.tsv"
    assert find_split(tmp_path, "dev", ENDINGS).name == "dev.jsonl"
    assert str(find_split("datasets:imdb", "dev", ENDINGS)) == "datasets:imdb:validation"
    saved_split = tmp_path / "x" / "validation"
    assert find_split(saved(tmp_path / "x").parent, "dev", ENDINGS) == saved_split
    saved_split.rename(saved_split.with_name("valid"))
    assert find_split(tmp_path / "x", "dev", ENDINGS).name == "valid"
    (tmp_path / "train.jsonl").write_text("{}")
    for split, count in (("train", 2), ("test", 0)):
        with pytest.raises(InputError) as error:
            find_split(tmp_path, split, ENDINGS)
        assert error.value.found.startswith(f"{count} files ")
        assert error.value.remedy == f"name it with {split}_file"


PARTS = ("train-00000-of-00002-0a1b2c3d4e.{}", "train-00001-of-00002-f6a7b8c9.{}")
NAMES = {
    "hidden files": (("._x-test.{}", ".test.{}", "x-test.{}"), "test", "x-test.{}"),
    "longer words": (("latest.{}", "contest.{}", "test.{}"), "test", "test.{}"),
    "a longer word": (("contest.{}", "x.{}"), "test", "contest.{}"),
    "digits": (("mr2test.{}",), "test", "mr2test.{}"),
    "capitals": (("X-Test.{}",), "test", "X-Test.{}"),
    "other names of dev": (("valid.{}", "invalid.{}"), "dev", "valid.{}"),
    "a longer name of dev": (("mrvalidation.{}",), "dev", "mrvalidation.{}"),
    "one part": (("validation-00000-of-00001.{}",), "dev", "validation-00000-of-00001.{}"),
    "all parts": (
        ("train-00000-of-00002.{}", "train-00001-of-00002.{}", "test.{}"),
        "train",
        f"train-{'[0-9]' * 5}-of-00002.{{}}",
    ),
    "parts with fingerprints": (
        (*PARTS, "test.{}"),
        "train",
        f"train-{'[0-9]' * 5}-of-00002-*.{{}}",
    ),
    "one part with a fingerprint": (
        ("train-00000-of-00002-0a1b2c3d4e.{}", "train-00001-of-00002.{}"),
        "train",
        None,
    ),
    "another file named like a part": (
        (*PARTS, "train-00000-of-00002-old.{}"),
        "train",
        None,
    ),
    "a part twice": (
        ("train-00000-of-00001-0a1b2c3d4e.{}", "train-00000-of-00001-f6a7b8c9.{}"),
        "train",
        None,
    ),
    "a missing part": (("train-00001-of-00002.{}",), "train", None),
    "parts of two files": (("train-00000-of-00001.{}", "train-00000-of-00002.{}"), "train", None),
    "a part of another name": (
        ("train-00000-of-00001.{}", "small-train-00000-of-00001.{}"),
        "train",
        None,
    ),
    "a part too many": (
        ("train-00000-of-00002.{}", "train-00001-of-00002.{}", "train-00002-of-00002.{}"),
        "train",
        None,
    ),
    "parts and a file": (("train-00000-of-00001.{}", "train.{}"), "train", None),
    "two files": (("dev.{}", "validation.{}"), "dev", None),
    "val": (("my_val.{}", "eval.{}"), "dev", "my_val.{}"),
    "none": (("eval.{}", "dev.txt", "dev"), "dev", None),
}


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_corpus_finds_its_splits_alike(tmp_path: Path, name: str):
    names, split, expected = NAMES[name]
    corpora = {"tsv": ENDINGS, "conllu": conllu.ENDINGS, "conll": tagged_sentences.ENDINGS}
    for ending, endings in corpora.items():
        (tmp_path / ending).mkdir()
        for each in names:
            (tmp_path / ending / each.format(ending)).touch()
        if expected is None:
            with pytest.raises(InputError):
                find_split(tmp_path / ending, split, endings)
        else:
            found = find_split(tmp_path / ending, split, endings)
            assert found.name == expected.format(ending)


def test_a_split_of_several_files_is_read_as_one(tmp_path: Path):
    """The parts of a dataset on the hub are found; other files are named by a pattern."""
    rows = [f"text {row}\t{row % 3 - 1}\n" for row in range(60)]
    folder = tmp_path / "with [brackets]"
    folder.mkdir()
    (tmp_path / "whole.tsv").write_text("".join(rows))
    (tmp_path / "test.tsv").write_text("a text\t0\n")
    for part in range(3):
        text = "".join(rows[20 * part : 20 * part + 20])
        (folder / f"train-0000{part}-of-00003.tsv").write_text(text)
        (tmp_path / f"my{part}.tsv").write_text(text)

    def read(**files: str) -> list[tuple[int, Sentence, str]]:
        data = TextDataModule(test_file=str(tmp_path / "test.tsv"), **files)
        return [(each.id, each.sentence, each.gold) for each in data.examples("train")]

    whole = read(train_file=str(tmp_path / "whole.tsv"))
    assert len(whole) == 60
    assert read(folder=str(folder)) == whole
    assert read(train_file=str(tmp_path / "my?.tsv")) == whole
    with pytest.raises(InputError):
        read(train_file=str(tmp_path / "none*.tsv"))
    for name in ("train_file", "folder"):
        with pytest.raises(InputError) as error:
            read(**{name: ""})
        assert error.value.key == f"data.init_args.{name}"


def test_copies_with_an_unknown_label_are_refused(tmp_path: Path):
    train, copies = tsv(tmp_path / "train.tsv"), tmp_path / "copies.tsv"
    copies.write_text("a\tpos\nb\tgreat\n")
    data = TextDataModule(train_file=str(train), augmentation=Augmentation([str(copies)]))
    with pytest.raises(InputError) as error:
        data.augmented_examples  # noqa: B018
    assert (error.value.path, error.value.line) == (str(copies), 2)
    assert error.value.expected == "one of neg, pos"


def test_training_texts_without_blanks_are_counted(tmp_path: Path):
    for text, counted in (
        ("这部电影非常好看", True),
        ("这 部 电影 非常 好看", False),
        ("fine", False),
    ):
        (tmp_path / "train.tsv").write_text(f"so so\tneg\n{text}!\tpos\n{text}\tpos\n")
        (tmp_path / "test.tsv").write_text("good\tpos\n")
        doubts = list(TextDataModule(folder=str(tmp_path)).doubts())
        assert len(doubts) == counted
        assert all(f"{tmp_path / 'train.tsv'}: 2 of the 3 texts" in each for each in doubts)


def test_test_texts_among_the_training_texts_are_counted(
    tmp_path: Path, shared: Path, caplog: pytest.LogCaptureFixture
):
    rows = ["a\tb\tyes", "a\tc\tno", "b\tc\tno"]
    for split in ("train", "dev"):
        (tmp_path / f"{split}.tsv").write_text("\n".join([*rows, "c\tb\tyes"]))
    (tmp_path / "test.tsv").write_text("\n".join(["b\ta\tyes", *rows[1:]]))
    (warning,) = TextDataModule(folder=str(tmp_path)).doubts()
    assert warning.startswith(f"{tmp_path / 'test.tsv'}: 2 of the 3 texts are in the training file")
    assert "the first in line 2" in warning
    data = TextDataModule(folder=str(tmp_path))
    model = SimpleNamespace(check_readable=lambda *_: None, warnings=lambda *_: ["of the model"])
    data.trainer = SimpleNamespace(lightning_module=model, global_rank=0, world_size=1)
    for split in ("train", "dev", "train"):
        data._read(split)
    assert caplog.messages == ["of the model", warning, "of the model"]
    (tmp_path / "test.tsv").write_text("b\ta\tyes")
    assert not list(TextDataModule(folder=str(tmp_path)).doubts())
    (tmp_path / "test.tsv").write_text("torn")
    assert not list(TextDataModule(folder=str(tmp_path)).doubts())
    assert not list(TextDataModule(folder="sample").doubts())
    (warning,) = TextDataModule(folder=str(shared / "data/classification/sick")).doubts()
    assert "46 of the 4926 texts" in warning


def test_long_texts_are_left_out_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "train.tsv"
    path.write_text("a b\tc\tno\na b c d\te\tno\na\tb c d e\tyes\na\tb c d\tyes\n")
    data = TextDataModule(folder=str(tmp_path), max_length=3, long_texts="omit")
    for _ in range(2):
        assert [example.id for example in data.read(path)] == [0, 3]
    (warning,) = caplog.messages
    assert warning.startswith(f"{path}: 2 of 4 lines are left out")
    assert warning.endswith("line 2")
    data.max_length = 4
    assert [example.id for example in data.read(path)] == [0, 1, 2, 3]
    assert len(caplog.messages) == 1
    data.max_length = 1
    with pytest.raises(InputError) as caught:
        data.read(path)
    assert (caught.value.path, "data.init_args.max_length" in str(caught.value.expected)) == (
        str(path),
        True,
    )
    with pytest.raises(InputError) as caught:
        TextDataModule(folder=str(tmp_path), max_length=3).read(path)
    assert (caught.value.line, "long_texts" in str(caught.value.remedy)) == (2, True)


def test_copies_follow_the_last_training_text(tmp_path: Path) -> None:
    train, copies = tmp_path / "train.tsv", tmp_path / "copies.tsv"
    train.write_text("a b c d\tno\na\tno\nb\tyes\n")
    copies.write_text("c\tyes\n")
    data = TextDataModule(
        train_file=str(train),
        augmentation=Augmentation([str(copies)]),
        max_length=3,
        long_texts="omit",
    )
    ids = [example.id for example in (*data.train_examples, *data.augmented_examples)]
    assert ids == [1, 2, 3]
