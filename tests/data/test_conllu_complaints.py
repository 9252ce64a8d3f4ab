"""Every complaint about a treebank, with its file and line."""

import re

import pytest
from conllu_texts import GOOD, row

from robustparse.data.conllu import check_labels, read_treebank
from robustparse.data.conllu_rows import _check_tree
from robustparse.errors import InputError
from robustparse.types import DependencyTree, Example, Sentence

BAD = {
    "nine columns": ("1\ta\t_\tX\tX\t_\t0\troot\t_\n\n", 4, "9 columns, expected 10"),
    "eleven columns": (row(1)[:-1] + "\t_\n\n", 4, "11 columns, expected 10"),
    "spaces": ("1 a _ X X _ 0 root _ _\n\n", 4, "1 columns, expected 10"),
    "range of nine": (row(1) + "2-3\tb\t_\t_\t_\t_\t_\t_\t_\n\n", 5, "9 columns"),
    "head out of range": (row(1) + row(2, "b", 3, "dep") + "\n", 5, "head '3', expected .* 0 to 2"),
    "head negative": (row(1) + row(2, "b", -1, "dep") + "\n", 5, "head '-1', expected"),
    "head no number": (row(1, "a", "_") + "\n", 4, "head '_', expected a number from 0 to 1"),
    "head superscript": (row(1, "a", "²") + "\n", 4, "head '²', expected a number"),
    "head of 5000 digits": (row(1, "a", "9" * 5000) + "\n", 4, "head '9+', expected a number"),
    "cycle": (
        row(1) + row(2, "b", 3, "dep") + row(3, "c", 4, "dep") + row(4, "d", 2, "dep") + "\n",
        5,
        "heads from word 2 leads round a cycle",
    ),
    "self head": (row(1) + row(2, "b", 2, "dep") + "\n", 5, "from word 2 leads round a cycle"),
    "no root": (row(1, "a", 2) + row(2, "b", 1) + "\n", 4, "never to a root"),
    "two roots": (row(1) + row(2, "b") + "\n", 5, "a second root .*is on line 4"),
    "ids start at two": (row(2) + "\n", 4, "word id '2', expected 1"),
    "id left out": (row(1) + row(3, "b", 1, "dep") + "\n", 5, "word id '3', expected 2"),
    "id twice": (row(1) + row(1, "b", 1, "dep") + "\n", 5, "word id '1', expected 2"),
    "id no number": (row("x") + "\n", 4, "word id 'x', expected 1"),
    "empty form": (row(1) + row(2, "", 1, "dep") + "\n", 5, r"form \(column 2\) is empty"),
    "comments alone": ("# a\n# b\n\n", 4, "a sentence without words"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_sentences_are_named_by_file_and_line(tmp_path, name):
    bad, line, message = BAD[name]
    path = tmp_path / "bad.conllu"
    path.write_text(GOOD + bad + GOOD, encoding="utf-8")
    for _ in range(2):  # what failed must not be found in the cache
        with pytest.raises(InputError, match=message) as caught:
            read_treebank(path)
        assert str(caught.value).startswith(f"{path}:{line}: ")


UNPARSED = row(1, "a", "_", "_") + row(2, "b", "_", "_") + "\n"


@pytest.mark.parametrize("ending", ["conllu", "conllx"])
def test_text_without_parses_is_read_where_none_is_needed(tmp_path, ending):
    path = tmp_path / f"raw.{ending}"
    path.write_text(GOOD + UNPARSED)
    for _ in range(2):  # what was read without parses is never taken for what has them
        parsed, raw = read_treebank(path, parsed=False)
        assert parsed.gold == DependencyTree((0,), ("root",))
        assert raw.sentence == Sentence(("a", "b"), ("NOUN", "NOUN"), ("NN", "NN"))
        assert raw.gold.heads == (0, 0)
        assert raw.block == UNPARSED.strip()
        with pytest.raises(InputError, match=":4: head '_', expected a number from 0 to 2"):
            read_treebank(path)


@pytest.mark.parametrize("name", BAD)
def test_bad_sentences_are_bad_without_parses_too(tmp_path, name):
    bad, line, message = BAD[name]
    path = tmp_path / "bad.conllu"
    # A sentence of which one word alone has no head is spoilt, not unparsed.
    half = row(1, "a", "_") + row(2, "b") + "\n"
    bad, message = (half, "head '_', expected") if name == "head no number" else (bad, message)
    path.write_text(GOOD + bad, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        read_treebank(path, parsed=False)
    assert str(caught.value).startswith(f"{path}:{line}: ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n\n  \n", "the file is empty"),
        (GOOD.encode() + b"1\tcaf\xe9\t_", ":4: not UTF-8"),
        (bytes(range(128, 250)), ":1: not UTF-8"),
    ],
)
def test_bad_files_are_named(tmp_path, content, message):
    path = tmp_path / "bad.conllu"
    path.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(str(path)) + ".*" + message):
        read_treebank(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"missing\.conllu: no such file"):
        read_treebank(tmp_path / "missing.conllu")


def test_a_sentence_over_the_limit_is_named(treebank):
    assert len(read_treebank(treebank, max_length=8)) == 3
    # The third sentence's first line.
    with pytest.raises(InputError, match=r":19: the sentence has 8 words, over the limit of 7"):
        read_treebank(treebank, max_length=7)


def test_unknown_labels_are_named_by_file_and_line(treebank, examples):
    known = {label for example in examples for label in example.gold.labels}
    check_labels(examples, treebank, known)
    lines = treebank.read_text().split("\n")
    for label in sorted(known):
        with pytest.raises(InputError, match=f"label {label!r}, which .* never saw") as caught:
            check_labels(examples, treebank, known - {label})
        at = int(re.match(re.escape(str(treebank)) + r":(\d+): ", str(caught.value)).group(1))
        assert lines[at - 1].split("\t")[7] == label
        assert not any(line.split("\t")[7:8] == [label] for line in lines[: at - 1])


def test_unknown_labels_are_found_under_windows_line_ends(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_bytes((GOOD + row(1) + row(2, "b", 1, "new")).replace("\n", "\r\n").encode())
    with pytest.raises(InputError, match=r"a\.conllu:5: dependency label 'new'"):
        check_labels(read_treebank(path), path, ["root"])


def test_of_equal_sentences_the_first_is_named(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(GOOD + row(1, label="new") + "\n" + GOOD + row(1, label="new"))
    with pytest.raises(InputError, match=r"a\.conllu:4: dependency label 'new'"):
        check_labels(read_treebank(path), path, ["root"])


def test_unknown_labels_without_a_file_name_the_sentence(treebank):
    made = Example(4, Sentence(("a", "b")), DependencyTree((0, 1), ("root", "new")))
    with pytest.raises(InputError, match=r"sentence 5, word 2: dependency label 'new'"):
        check_labels([made], treebank, ["root"])


@pytest.mark.parametrize("roots", [(0,), (0, 0)])
def test_the_check_of_a_chain_takes_a_few_steps_a_word(roots):
    class Counted(list):
        read = 0

        def __getitem__(self, at):
            self.read += 1
            return super().__getitem__(at)

    words = 500
    falling = Counted([*range(2, words + 1), 0])  # every word hangs from the next one
    rising = Counted([*roots, *range(len(roots), words)])
    for heads in (falling, rising):
        _check_tree("a.conllx", range(1, words + 1), heads, single_root=False)
        assert heads.read <= 2 * words
        heads[words // 2] = 1 if heads is falling else words
        with pytest.raises(InputError, match="leads round a cycle, never to a root"):
            _check_tree("a.conllx", range(1, words + 1), heads, single_root=False)
