"""CoNLL-X: the columns it shares with CoNLL-U, several roots, no second parse."""

import pytest

from robustparse.data.conllu import (
    ENDINGS,
    file_ending,
    read_treebank,
    unknown_label,
)
from robustparse.data.sentence_lines import with_parse
from robustparse.data.splits import find_split
from robustparse.errors import InputError
from robustparse.types import DependencyTree

ROWS = [
    ["1", "#", "_", "#", "#", "_", "2", "nmod", "3", "amod"],
    ["2", "5", "5", "CD", "CD", "_", "0", "root", "0", "root"],
    ["3", "Yes", "yes", "UH", "UH", "a|b", "0", "root", "_", "_"],
]
TEXT = "\n".join("\t".join(row) for row in ROWS) + "\n\n"


@pytest.mark.parametrize("name", ["dev.conllx", "dev.conll", "DEV.CONLL"])
def test_words_tags_and_several_roots_are_read(tmp_path, name):
    path = tmp_path / name
    path.write_text(TEXT)
    (example,) = read_treebank(path)
    assert example.sentence.words == ("#", "5", "Yes")
    assert example.sentence.upos == ("#", "CD", "UH")
    assert example.gold == DependencyTree((2, 0, 0), ("nmod", "root", "root"))
    assert file_ending(path) == ".conllx"


def test_a_parse_is_written_without_the_second_one(tmp_path):
    path = tmp_path / "dev.conllx"
    path.write_text(TEXT)
    (example,) = read_treebank(path)
    tree = DependencyTree((3, 1, 0), ("a", "b", "root"))
    rows = [line.split("\t") for line in with_parse(example.block, tree).split("\n")]
    assert rows == [
        [*ROWS[0][:6], "3", "a", "_", "_"],
        [*ROWS[1][:6], "1", "b", "_", "_"],
        [*ROWS[2][:6], "0", "root", "_", "_"],
    ]


# The file, its content, the line that is named and what is found there.
BAD = {
    "CoNLL-X as CoNLL-U": ("dev.conllu", TEXT, 3, "a second root (the first is on line 2)"),
    "a range": ("dev.conllx", TEXT.replace("2\t5\t5", "1-2\t5\t5"), 2, "word id '1-2'"),
    "a cycle": (
        "dev.conll",
        TEXT.replace("\t0\troot\t0\troot", "\t1\troot\t0\troot"),
        1,
        "the heads from word 1 form a cycle and never reach a root (head 0)",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_sentences_are_named_by_file_and_line(tmp_path, name):
    file, content, line, found = BAD[name]
    (tmp_path / file).write_text(content)
    with pytest.raises(InputError) as caught:
        read_treebank(tmp_path / file)
    assert (caught.value.path, caught.value.line) == (str(tmp_path / file), line)
    assert caught.value.found == found
    assert (caught.value.remedy is not None) == (name == "a range")


def test_an_unknown_label_is_named_with_its_line_whatever_the_second_parse_is(tmp_path):
    path = tmp_path / "dev.conllx"
    path.write_text(TEXT + TEXT.replace("nmod", "vocative"))
    error = unknown_label(read_treebank(path), path, ["nmod", "root"])
    assert (error.path, error.line) == (str(path), 5)
    assert error.found.startswith("dependency label 'vocative'")


def test_a_split_may_be_in_either_format(tmp_path):
    (tmp_path / "ptb-train.conllx").write_text(TEXT)
    assert find_split(tmp_path, "train", ENDINGS).name == "ptb-train.conllx"
    (tmp_path / "train.conllu").write_text(TEXT)
    with pytest.raises(InputError, match=r"\(ptb-train.conllx, train.conllu\)"):
        find_split(tmp_path, "train", ENDINGS)
