import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pytest

from robustparse import vectors
from robustparse.errors import InputError
from robustparse.vectors import read_lowered, read_vectors

THREE = "the 0.5 -1 2e-3\nThe .25 +3 0\nß 1. -0.0 7E2\n"


def zipped(files: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def written(tmp_path, content, name="vectors.txt"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("header", ["", "3 3\n", "\ufeff3 3\n", "\ufeff"])
def test_words_and_values_in_the_order_of_the_file(tmp_path, header):
    words, values = read_vectors(written(tmp_path, header + THREE))
    assert words == ["the", "The", "ß"]
    assert values.dtype == np.float32
    assert np.array_equal(
        values, np.array([[0.5, -1, 0.002], [0.25, 3, 0], [1, 0, 700]], np.float32)
    )


def test_compressed_crlf_tabs_and_trailing_blanks_read_the_same(tmp_path):
    plain = read_vectors(written(tmp_path, THREE))
    text = THREE.encode()
    packed = (gzip.compress(text, mtime=0), lzma.compress(text), zipped({"vectors.txt": THREE}))
    odd = THREE.replace("\n", " \r\n").replace(" ", "\t", 2) + "\n"
    for other in (*packed, odd.encode()):
        words, values = read_vectors(written(tmp_path, other, "other.gz"))
        assert words == plain[0]
        assert np.array_equal(values, plain[1])


def test_only_newlines_divide_lines_and_only_ascii_blanks_divide_fields(tmp_path):
    words, _ = read_vectors(written(tmp_path, "a\u00a0b 1\nc\u0085d 2\ne\u2028 3\n"))
    assert words == ["a\u00a0b", "c\u0085d", "e\u2028"]


def test_a_line_that_begins_with_a_blank_holds_the_empty_word(tmp_path):
    words, values = read_vectors(written(tmp_path, "a 1 2\n 3 4\n"))
    assert words == ["a", ""]
    assert values.tolist() == [[1, 2], [3, 4]]


BLANKS = """\
. . . 0.3 0.4
at name@domain.com\t0.1 -0.2
12 1/2 5e-1 6
the 1 2
2.5 7 8
•  2  x 0.5 .25
"""


@pytest.mark.parametrize("header", ["", "6 2\n", "\ufeff"])
@pytest.mark.parametrize("limit", [None, 1, 6])
def test_words_that_hold_blanks(tmp_path, header, limit):
    """The fourth line is the first one to tell how many values there are."""
    words, values = read_vectors(written(tmp_path, header + BLANKS), limit)
    expected = [". . .", "at name@domain.com", "12 1/2", "the", "2.5", "•  2  x"]
    assert words == expected[:limit]
    rows = [[0.3, 0.4], [0.1, -0.2], [0.5, 6], [1, 2], [7, 8], [0.5, 0.25]]
    assert np.array_equal(values, np.array(rows[:limit], np.float32))


@pytest.mark.parametrize("lines", [1, 2, 3])
def test_chunks_of_words_that_hold_blanks(tmp_path, monkeypatch, lines):
    words, values = read_vectors(written(tmp_path, BLANKS))
    monkeypatch.setattr(vectors, "_LINES_AT_ONCE", lines)
    others, same = read_vectors(written(tmp_path, BLANKS))
    assert others == words
    assert np.array_equal(same, values)


def test_lines_that_never_tell_how_many_values_there_are(tmp_path, monkeypatch):
    monkeypatch.setattr(vectors, "_LINES_WITHOUT_WIDTH", 3)
    file = written(tmp_path, "a 1 x\nb 1 y\nc d 2\ne 1 2\n")
    with pytest.raises(InputError, match="txt:1: 'x' is not a number"):
        read_vectors(file)
    monkeypatch.setattr(vectors, "_LINES_WITHOUT_WIDTH", 4)
    with pytest.raises(InputError, match="txt:1: 'x' is not a number"):
        read_vectors(file)


def binary(values, end=b""):
    """Words `a`, `b`, … as word2vec writes them with `-binary 1`; its own program ends lines."""
    rows = np.array(values, np.float32)
    entries = [bytes([97 + at]) + b" " + row.tobytes() + end for at, row in enumerate(rows)]
    return b"%d %d\n" % rows.shape + b"".join(entries)


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_word2vecs_binary_format_is_named(tmp_path, end, pack):
    for values in ([[0.5, 1]], np.random.default_rng(0).normal(size=(40, 50)), np.zeros((9, 3))):
        path = written(tmp_path, pack(binary(values, end)), "vectors.bin")
        with pytest.raises(InputError) as caught:
            read_vectors(path)
        assert str(caught.value).startswith(f"{path}: word vectors in word2vec's binary format")
        assert "save_word2vec_format(text, binary=False)" in str(caught.value)


def test_a_text_with_an_odd_character_is_not_called_binary(tmp_path):
    path = written(tmp_path, "2 2\na 1 2\nb\x01 1 x\n")
    with pytest.raises(InputError, match=":3: 'x' is not a number"):
        read_vectors(path)


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_the_limit_leaves_the_rest_unread(tmp_path, limit):
    words, values = read_vectors(written(tmp_path, "9 3\n" * (limit < 4) + THREE), limit)
    assert len(words) == len(values) == min(limit, 3)


@pytest.mark.parametrize("lines", [1, 2, 3, 1000])
def test_the_size_of_a_chunk_changes_nothing(tmp_path, monkeypatch, lines):
    rng = np.random.default_rng(5)
    table = rng.normal(size=(11, 4)).astype(np.float32)
    text = "".join(f"w{i} {' '.join(map(repr, row.tolist()))}\n" for i, row in enumerate(table))
    monkeypatch.setattr(vectors, "_LINES_AT_ONCE", lines)
    for header in ("", "11 4\n"):
        words, values = read_vectors(written(tmp_path, header + text))
        assert words == [f"w{i}" for i in range(11)]
        assert np.array_equal(values, table)
    assert read_vectors(written(tmp_path, text), 7)[0] == words[:7]


@pytest.mark.parametrize("lines", [1, 2, 1000])
@pytest.mark.parametrize("header", ["", "5 2\n"])
def test_the_first_vector_of_a_word_counts(tmp_path, monkeypatch, caplog, lines, header):
    monkeypatch.setattr(vectors, "_LINES_AT_ONCE", lines)
    path = written(tmp_path, header + "a b 1 2\nc 3 4\na b 5 6\nd 7 8\nc 9 9\n")
    words, values = read_vectors(path)
    assert words == ["a b", "c", "d"]
    assert values.tolist() == [[1, 2], [3, 4], [7, 8]]
    first = 1 + bool(header)
    assert caplog.messages == [
        f"{path}:{first + 2}: the word 'a b' is already in line {first}, whose vector counts; "
        "repeats: 2"
    ]
    assert read_vectors(path, 3)[0] == words


def test_a_word_that_is_cut_amid_a_character_is_warned_of(tmp_path, caplog):
    path = written(tmp_path, b"a 1 2\nb\xe4\xb8 3 4\nb\xff 5 6\n")
    words, values = read_vectors(path)
    assert words[0] == "a"
    assert len(set(words)) == 3
    assert values.tolist() == [[1, 2], [3, 4], [5, 6]]
    (message,) = caplog.messages
    assert message.startswith(f"{path}:2: ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a 1 2\nb 1\n", ":2: 1 values after the word 'b'; expected 2"),
        ("a 1 2\nb 1 2 3\nc 1\n", ":2: 3 values"),
        ("2 3\na 1 2\nb 1 2\n", ":2: 2 values"),
        ("a 1 2\n b 1 2\n", ":2: 3 values after the word ''"),
        ("a 1 2\nb -3 1 2\n", ":2: 3 values after the word 'b'; expected 2 as in line 1"),
        ("2 2\na 1 2\nb 5 6 1 2\n", ":3: 4 values after the word 'b'; expected 2 as in line 1"),
        (
            "a b 1 2\nc 1 2\nd nan 1 2\n",
            ":3: 3 values after the word 'd'; expected 2 as in line 2",
        ),
        ("a b 1 2\nc 1 2\nd 1\n", ":3: 1 values after the word 'd'; expected 2 as in line 2"),
        ("a b 1 x\nc 1 2\n", ":1: 'x' is not a number"),
        ("a x\n", ":1: 'x' is not a number"),
        ("1 0\na 1\n", ":1: no values"),
        ("a 1 2\n\nb\n", ":3: 0 values"),
        ("a\nb 1\n", ":1: no values"),
        ("a 1 2\nb 1 x\n", ":2: 'x' is not a number"),
        ("a 1 2\nb 1.5.2 2\n", ":2: '1.5.2' is not a number"),
        ("a 1 2\nb 1_0 2\n", ":2: '1_0' is not a number"),
        ("a 1 2\nb 1,5 2\n", ":2: '1,5' is not a number"),
        ("a 1 2\nb 0x1 2\n", ":2: '0x1' is not a number"),
        ("a 1 2\nb nan 2\n", ":2: 'nan' is not a number"),
        ("a 1 2\nb 1 -inf\n", ":2: '-inf' is not a number"),
        ("a 1 2\nb 1 1e39\n", ":2: '1e39' is not a number"),
        ("3 2\na 1 2\nb 1 2\n", ":1: the header promises 3 words, the file holds 2"),
        ("1e9 2\na {} 2\n", ":2: 2 values after the word 'a'; expected 1 as in line 1"),
        ("", "no word vectors"),
        ("\n \n", "no word vectors"),
        ("2 2\n", "no word vectors"),
        (gzip.compress(THREE.encode(), mtime=0)[:-9], "gzip, and cannot be unpacked"),
        (b"\x1f\x8bno gzip", "gzip, and cannot be unpacked"),
        (lzma.compress(THREE.encode())[:-9], "xz, and cannot be unpacked"),
        (zipped({"a.txt": THREE})[:-9], "zip, and cannot be unpacked"),
        (zipped({"a.txt": THREE, "b.txt": THREE}), "a zip archive of 2 files"),
        (bz2.compress(THREE.encode()), "compressed by bzip2"),
        (THREE.encode("utf-16"), "UTF-16"),
        (b"\xba\x16\x4f\x2f\x0c\0\0\0", "fastText's binary format"),
    ],
)
def test_bad_files_are_named_with_their_line(tmp_path, content, message):
    path = written(tmp_path, content)
    with pytest.raises(InputError) as caught:
        read_vectors(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_a_missing_file_and_a_senseless_limit(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_vectors(tmp_path / "none")
    with pytest.raises(InputError, match="limit must be >= 1"):
        read_vectors(written(tmp_path, THREE), 0)


def test_lowered_words_have_the_row_of_their_first_form_that_has_a_vector(tmp_path):
    path = written(tmp_path, "A 0 0\nb 1 2\na 3 4\nB 5 6\nc 0 0\n")
    row_of, values = read_lowered(path)
    assert row_of == {"a": 2, "b": 1}
    assert values.dtype == np.float64
    assert values.tolist() == [[0, 0], [1, 2], [3, 4], [5, 6], [0, 0]]
    assert read_lowered(path, 2)[0] == {"b": 1}
