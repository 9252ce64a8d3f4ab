"""Every error of a treebank, with its file and line."""

import re

import pytest
from conllu_texts import GOOD, row

from robustparse.data.conllu import (
    _check_tree,
    read_treebank,
    unknown_label,
    warn_of_labels,
)
from robustparse.data.read_options import ReadOptions
from robustparse.errors import InputError
from robustparse.types import DependencyTree, Example, Sentence

TEN = "10 separated by tabs"


def head(words: int) -> str:
    return f"a number from 0 to {words}"


def number(expected: int) -> str:
    return f"{expected}: ids count the words of a sentence from 1"


# The lines of a sentence, the line that is named, what is found and what is expected there.
BAD = {
    "nine columns": ("1\ta\t_\tX\tX\t_\t0\troot\t_\n\n", 4, "9 columns in '1.*'", TEN),
    "eleven columns": (row(1)[:-1] + "\t_\n\n", 4, "11 columns in '1.*'", TEN),
    "spaces": ("1 a _ X X _ 0 root _ _\n\n", 4, "1 columns in '1 a.*'", TEN),
    "range of nine": (row(1) + "2-3\tb\t_\t_\t_\t_\t_\t_\t_\n\n", 5, "9 columns in '2-3.*'", TEN),
    "head out of range": (row(1) + row(2, "b", 3, "dep") + "\n", 5, "head '3'", head(2)),
    "head negative": (row(1) + row(2, "b", -1, "dep") + "\n", 5, "head '-1'", head(2)),
    "head no number": (row(1, "a", "_") + "\n", 4, "head '_'", head(1)),
    "head superscript": (row(1, "a", "²") + "\n", 4, "head '²'", head(1)),
    "head of 5000 digits": (row(1, "a", "9" * 5000) + "\n", 4, "head '9{20}'", head(1)),
    "cycle": (
        row(1) + row(2, "b", 3, "dep") + row(3, "c", 4, "dep") + row(4, "d", 2, "dep") + "\n",
        5,
        r"the heads from word 2 form a cycle and never reach a root \(head 0\)",
        "a tree",
    ),
    "self head": (row(1) + row(2, "b", 2, "dep") + "\n", 5, ".* from word 2 .* cycle.*", "a tree"),
    "no root": (row(1, "a", 2) + row(2, "b", 1) + "\n", 4, ".* from word 1 .* cycle.*", "a tree"),
    "cycle after a word": (
        row(1, "a", 2) + row(2, "b", 2, "dep") + "\n",
        5,
        ".* from word 2 .* cycle.*",
        "a tree",
    ),
    "CoNLL-U Plus": (
        "# global.columns = ID FORM UPOS LEMMA\n" + row(1) + "\n",
        4,
        "CoNLL-U Plus .* 'ID FORM UPOS LEMMA'",
        "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC",
    ),
    "two roots": (
        row(1) + row(2, "b") + "\n",
        5,
        r"a second root \(the first is on line 4\)",
        "one word with head 0",
    ),
    "ids start at two": (row(2) + "\n", 4, "word id '2'", number(1)),
    "id left out": (row(1) + row(3, "b", 1, "dep") + "\n", 5, "word id '3'", number(2)),
    "id twice": (row(1) + row(1, "b", 1, "dep") + "\n", 5, "word id '1'", number(2)),
    "id no number": (row("x") + "\n", 4, "word id 'x'", number(1)),
    "empty form": (
        row(1) + row(2, "", 1, "dep") + "\n",
        5,
        r"the form \(column 2\) is empty",
        "text",
    ),
    **{
        f"form of {names}": (
            row(1, form) + "\n",
            4,
            rf"the form \(column 2\) holds only blanks \({re.escape(names)}\)",
            "text",
        )
        for form, names in (
            (" ", "U+0020"),
            ("\u00a0", "U+00A0"),
            ("\u3000 \u3000", "U+0020, U+3000"),
        )
    },
    "form that begins with a blank": (
        row(1, "\u00a0a b") + "\n",
        4,
        r"the form \(column 2\) '.*' begins or ends with a blank \(U\+0020, U\+00A0\)",
        "text",
    ),
    "label that ends with a blank": (
        row(1, "a", 0, "root ") + "\n",
        4,
        r"the label \(column 8\) 'root ' begins or ends with a blank \(U\+0020\)",
        "text",
    ),
    "empty label": (row(1, "a", 0, "") + "\n", 4, r"the label \(column 8\) is empty", "text"),
    "comment after a word": (
        row(1) + "#\tb\t_\tX\tX\t_\t1\tdep\t_\t_\n\n",
        5,
        r"'#.*' after a word",
        "comments before the first word",
    ),
    **{
        f"{id_} with a head": (row(1) + row(id_, "b", 1, "dep") + "\n", 5, ".* the head '1'", "_")
        for id_ in ("1.1", "2-3")
    },
    **{
        f"id {id_} after {words}": (
            "".join(row(n, "a", n - 1, "dep") for n in range(1, words + 1))
            + f"{id_}\tb"
            + "\t_" * 8
            + "\n\n",
            4 + words,
            f"id '{id_}'",
            expected,
        )
        for words, id_, expected in (
            (1, "1-2", "2-N before its words"),
            (1, "2-2", "2-N before its words"),
            (1, "3-4", "2-N before its words"),
            (1, "0.1", "1.1"),
            (1, "1.2", "1.1"),
            (2, "1.1", "2.1"),
        )
    },
    "overlapping ranges": (
        "1-3\tb" + "\t_" * 8 + "\n" + row(1) + "2-3\tb" + "\t_" * 8 + "\n\n",
        6,
        "id '2-3'",
        "2-N before its words",
    ),
    "range beyond the end": (
        row(1) + "2-3\tb" + "\t_" * 8 + "\n" + row(2, "b", 1, "dep") + "\n",
        5,
        "a range to word 3 of a sentence of 2",
        "one that ends at word 2 or earlier",
    ),
    "NUL": (row(1, "a\0") + "\n", 4, "a NUL character, which does not occur in text", None),
    "comments only": ("# a\n# b\n\n", 4, "a sentence without words", "one line per word"),
}


@pytest.mark.parametrize("parsed", [True, False])
@pytest.mark.parametrize("name", BAD)
def test_bad_sentences_are_named_by_file_and_line(tmp_path, name, parsed):
    bad, line, found, expected = BAD[name]
    path = tmp_path / "bad.conllu"
    path.write_text(GOOD + bad + GOOD, encoding="utf-8")
    if not parsed and expected in (*map(head, range(3)), "a tree", "one word with head 0"):
        examples = read_treebank(path, ReadOptions(gold=False))
        assert not any(any(each.gold.heads) for each in examples)
        return
    with pytest.raises(InputError) as caught:
        read_treebank(path, ReadOptions(gold=parsed))
    assert re.fullmatch(found, caught.value.found)
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert caught.value.expected == expected


UNPARSED = row(1, "a", "_", "_") + row(2, "b", "_", "_") + "\n"


@pytest.mark.parametrize("ending", ["conllu", "conllx"])
def test_text_without_parses_is_read_where_none_is_needed(tmp_path, ending):
    path = tmp_path / f"raw.{ending}"
    path.write_text(GOOD + UNPARSED)
    parsed, raw = read_treebank(path, ReadOptions(gold=False))
    assert parsed.gold == DependencyTree((0,), ("root",))
    assert raw.sentence == Sentence(("a", "b"), ("NOUN", "NOUN"), ("NN", "NN"))
    assert raw.gold.heads == (0, 0)
    assert raw.block == UNPARSED.strip()
    with pytest.raises(InputError) as caught:
        read_treebank(path)
    assert (caught.value.line, caught.value.found, caught.value.expected) == (
        4,
        "head '_'",
        head(2),
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n\n  \n", "the file is empty"),
        (GOOD.encode() + b"1\tcaf\xe9\t_", ":4: not UTF-8"),
        (bytes(range(128, 250)), ":1: not UTF-8"),
        (b"\xef\xbb\xbf\n", "the file is empty"),
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
    assert len(read_treebank(treebank, ReadOptions(max_length=8))) == 3
    with pytest.raises(InputError, match="8 words") as caught:
        read_treebank(treebank, ReadOptions(max_length=7, limit="--max-length"))
    assert (caught.value.path, caught.value.line) == (str(treebank), 19)  # its first line
    assert "--max-length" in caught.value.remedy


def test_unknown_labels_are_named_by_file_and_line(treebank, examples):
    known = {label for example in examples for label in example.gold.labels}
    assert unknown_label(examples, treebank, known) is None
    assert warn_of_labels(examples, treebank, known, "are lost") == ""
    lines = treebank.read_text().split("\n")
    for label in sorted(known):
        others = known - {label}
        error = unknown_label(examples, treebank, others)
        assert f"label {label!r}, which" in error.found
        assert error.path == str(treebank)
        assert error.expected == f"one of {', '.join(sorted(others))}"
        assert lines[error.line - 1].split("\t")[7] == label
        before = lines[: error.line - 1]
        assert not any(line.split("\t")[7:8] == [label] for line in before)
        words = sum(example.gold.labels.count(label) for example in examples)
        warning = warn_of_labels(examples, treebank, others, "are lost")
        assert warning.startswith(f"{treebank}:{error.line}: dependency label {label!r}")
        assert warning.endswith(f"such labels, {words} in all, are lost")


CRLF = (GOOD + row(1) + row(2, "b", 1, "new")).replace("\n", "\r\n")
TWICE = GOOD + row(1, label="new") + "\n" + GOOD + row(1, label="new")


@pytest.mark.parametrize(("content", "line"), [(CRLF, 5), (TWICE, 4)])
def test_the_first_of_equal_sentences_is_named_whatever_ends_lines(tmp_path, content, line):
    path = tmp_path / "a.conllu"
    path.write_bytes(content.encode())
    error = unknown_label(read_treebank(path), path, ["root"])
    assert (error.found.split(",")[0], error.line) == ("dependency label 'new'", line)


def test_examples_name_the_file_that_they_were_read_from(treebank):
    error = unknown_label(read_treebank(treebank), "examples", ["root"])
    assert error is not None
    assert error.path == str(treebank)
    assert error.line is not None


@pytest.mark.parametrize("block", ["", "1\tnot\tthere"])
def test_unknown_labels_without_a_file_name_the_sentence(treebank, block):
    tree = DependencyTree((0, 1), ("root", "new"))
    made = Example(4, Sentence(("a", "b")), tree, block)
    error = unknown_label([made], treebank, ["root"])
    assert error.found.startswith("sentence 5, word 2: dependency label 'new'")
    assert error.line is None


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
        with pytest.raises(InputError, match="form a cycle and never reach a root"):
            _check_tree("a.conllx", range(1, words + 1), heads, single_root=False)


HIDDEN = row(1, "_") + row(2, "_", 1, "dep") + "\n"


def test_a_treebank_without_its_text_is_told(tmp_path):
    path = tmp_path / "hidden.conllu"
    path.write_text(HIDDEN + HIDDEN)
    for parsed in (True, False):
        with pytest.raises(InputError) as caught:
            read_treebank(path, ReadOptions(gold=parsed))
        assert caught.value.path == str(path)
        assert "4 words" in caught.value.found
        assert caught.value.remedy
    path.write_text(HIDDEN + GOOD)
    hidden, shown = read_treebank(path)
    assert (hidden.sentence.words, shown.sentence.words) == (("_", "_"), ("Hi",))
