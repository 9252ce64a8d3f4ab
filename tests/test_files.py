"""Clear errors for what cannot be read or written; files whole or not at all."""

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from robustparse.errors import InputError
from robustparse.files import compression, reading
from robustparse.files.checkpoints import checkpoint_file
from robustparse.files.compression import plain_name
from robustparse.files.json_text import read_json
from robustparse.files.output_folders import make_folder
from robustparse.files.paths import check_folder
from robustparse.files.reading import opened, read_lines, read_text
from robustparse.files.writing import write_text
from robustparse.pretrained.loading import model_folder


def zipped(**content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in content.items():
            archive.writestr(name.replace("_", "."), text)
    return packed.getvalue()


def lines(path: Path) -> str:
    """The text of a file, as its lines are read one by one."""
    return "".join(f"{line}\n" for _, line in read_lines(path))


READERS = (read_text, lines)
TEXT = "naïve\nline\n".encode()
PACKED = {"gzip": gzip.compress(TEXT), "xz": lzma.compress(TEXT), "zip": zipped(a_tsv=TEXT)}


@pytest.mark.parametrize("name", ["a.txt", "a.gz", "a.conllu"])
@pytest.mark.parametrize("how", PACKED)
def test_packed_text_is_unpacked_whatever_its_name(how, name, tmp_path):
    (tmp_path / name).write_bytes(PACKED[how])
    for read in READERS:
        assert read(tmp_path / name) == TEXT.decode()


BROKEN = {
    "torn gzip": (PACKED["gzip"][:-9], "gzip"),
    "torn xz": (PACKED["xz"][:-9], "xz"),
    "torn zip": (PACKED["zip"][:-9], "zip"),
    "altered zip": (PACKED["zip"][:38] + b"\xff" + PACKED["zip"][39:], "zip"),
    "altered gzip": (PACKED["gzip"][:12] + b"\xff" + PACKED["gzip"][13:], "gzip"),
    "two files": (zipped(a_txt=b"a", b_txt=b"b"), "zip"),
    "no file": (zipped(), "zip"),
    "bzip2": (bz2.compress(TEXT), "bzip2"),
    "twice": (gzip.compress(PACKED["xz"]), "xz"),
    "too large": (gzip.compress(b"a" * 2000), "GiB"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_unpacked_is_called_packed(name, tmp_path, monkeypatch):
    monkeypatch.setattr(compression, "MOST_UNPACKED", 1000)
    content, says = BROKEN[name]
    (tmp_path / "a").write_bytes(content)
    for read in READERS:
        with pytest.raises(InputError) as caught:
            read(tmp_path / "a")
        assert caught.value.path == str(tmp_path / "a")
        assert says in caught.value.found
        assert "iconv" not in str(caught.value)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "last.ckpt", "other.bin"])
def test_what_git_has_not_fetched_is_a_pointer(name, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    pointer = tmp_path / name
    pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0a\nsize 9\n")
    readers = [*READERS, checkpoint_file]
    if name in ("model.safetensors", "tokenizer.json"):
        readers.append(lambda path: model_folder(str(path.parent), download=False))
    else:  # a file that a pretrained model does not need
        model_folder(str(tmp_path), download=False)
    for read in readers:
        with pytest.raises(InputError) as caught:
            read(pointer)
        assert caught.value.path == str(pointer)
        assert "Git LFS" in caught.value.found


def test_a_fault_of_what_reads_a_packed_file_is_no_damage(tmp_path):
    (tmp_path / "a").write_bytes(PACKED["gzip"])
    with pytest.raises(ValueError, match="a bug"), opened(tmp_path / "a"):
        raise ValueError("a bug")


def test_a_packed_file_says_what_it_is_called_when_unpacked(tmp_path):
    (tmp_path / "b.zip").write_bytes(zipped(a_tsv=TEXT))
    (tmp_path / "c.zip").write_bytes(b"PK")
    names = {"x/a.csv.gz": "a.csv", "a.conllu.XZ": "a.conllu", "a.tsv": "a.tsv", "a": "a"}
    names |= {str(tmp_path / "b.zip"): "a.tsv", str(tmp_path / "c.zip"): "c"}
    assert {name: plain_name(name) for name in names} == names


@pytest.mark.parametrize(
    ("content", "numbered"),
    [
        (b"\n \na\n\nb\r\n\n\r\n", [(1, ""), (2, " "), (3, "a"), (4, ""), (5, "b")]),
        (b"\xef\xbb\xbfa\rb\r", [(1, "a"), (2, "b")]),
        (b"a\rb\nc", [(1, "a\rb"), (2, "c")]),
        (b"a\n \n\n", [(1, "a"), (2, " ")]),
    ],
)
@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_lines_are_those_of_the_whole_text(piece, content, numbered, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_PIECE", piece)
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    assert list(read_lines(path)) == numbered
    whole = read_text(path).rstrip("\r\n").split("\n")
    assert [line.removesuffix("\r") for line in whole] == [line for _, line in numbered]


def test_a_pipe_is_read(tmp_path):
    for content in (TEXT, PACKED["gzip"]):
        for read in READERS:
            reader, writer = os.pipe()
            os.write(writer, content)
            os.close(writer)
            assert read(Path(f"/dev/fd/{reader}")) == TEXT.decode()
            os.close(reader)


def test_lines_are_read_piece_by_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_PIECE", 1)
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\n\xff\n")
    rest = read_lines(path)
    assert next(rest) == (1, "a")
    with pytest.raises(InputError) as caught:
        next(rest)
    assert caught.value.line == 2


def test_a_byte_order_mark_is_no_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffnaïve\r\n".encode())
    assert read_text(path) == "naïve\r\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b" \n\t\n", "the file is empty"),
        (b"ok\nna\xefve\n", r":2: not UTF-8 \(byte 0xef\)"),
        (b"\xef\xbb\xbfok\n\n\xff", r":3: not UTF-8 \(byte 0xff\)"),
        (b"\xef\xbb\xbf\xe9\nok", r":1: not UTF-8 \(byte 0xe9\).* iconv -f cp1252 "),
        (b"\xd0\xcf\x11\xe0\0\0", r":1: not UTF-8 \(byte 0xd0\).* CSV"),
        ("ok\n".encode("utf-16"), r":1: not UTF-8 \(byte 0xff\).* iconv -f utf-16 "),
        (b"\xfe\xff" + "ok\n".encode("utf-16-be"), r":1: not UTF-8.* iconv -f utf-16 "),
    ],
)
def test_unreadable_content_names_the_file_and_the_line(tmp_path, content, message):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    for read in READERS:
        with pytest.raises(InputError, match=message) as caught:
            read(path)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "kind", "line", "key"),
    [
        ('{"a": 1,\n', dict, 2, None),
        ("{}", list, None, None),
        ("[]", dict, None, None),
        ('"text"', dict, None, None),
        ("", object, None, None),
        ('[{"a": 1, "b": 2, "a": 3}]', list, None, "'a'"),
        ("[" * 100_000, list, None, None),
        ("[" + "1" * 5000 + "]", list, None, None),  # more digits than Python reads
    ],
)
def test_what_is_not_the_json_wanted(tmp_path, content, kind, line, key):
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        read_json(path, kind, "delete the file")
    error = caught.value
    assert (error.path, error.line, error.key) == (str(path), line, key)
    assert error.remedy == ("delete the file" if content else None)


def test_json_of_the_kind_wanted(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('\ufeff{"a": [{"b": 1}, {"b": 2}]}')
    assert read_json(path, dict) == read_json(path, object) == {"a": [{"b": 1}, {"b": 2}]}


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(InputError, match=r"nothing\.txt: no such file"):
        read_text(tmp_path / "nothing.txt")
    with pytest.raises(InputError, match="a folder; expected a file"):
        read_text(tmp_path)
    for read in (read_text, check_folder, checkpoint_file):
        with pytest.raises(InputError) as error:
            read(Path("https://example.org/x"))
        assert error.value.remedy is not None


def test_writing_makes_the_folder_and_replaces_the_file(tmp_path):
    path = tmp_path / "deep" / "er" / "a.txt"
    write_text(path, "one")
    write_text(path, "zwölf\n")
    assert path.read_bytes() == "zwölf\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert os.listdir(path.parent) == ["a.txt"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "new \ud800")

    def refuse(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(InputError, match="disk full") as error:
        write_text(path, "new")
    assert error.value.path == str(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_file_is_never_seen_half_written(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    seen = []
    replace = os.replace

    def watch(source, target):
        seen.append((os.path.dirname(source), path.read_text(), Path(source).read_text()))
        replace(source, target)

    monkeypatch.setattr(os, "replace", watch)
    write_text(path, "new")
    # Aside in the same folder, hence on the same file system, and complete before the rename.
    assert seen == [(str(tmp_path), "old", "new")]
    assert path.read_text() == "new"


def test_a_file_that_is_a_folder_is_refused(tmp_path):
    (tmp_path / "taken" / "a").mkdir(parents=True)
    with pytest.raises(InputError, match=r"taken: a folder; expected the name of a file"):
        write_text(tmp_path / "taken", "x")
    assert os.listdir(tmp_path) == ["taken"]
    assert os.listdir(tmp_path / "taken") == ["a"]


def test_a_link_stays_a_link_and_permissions_stay(tmp_path):
    path, link = tmp_path / "a.txt", tmp_path / "link.txt"
    path.touch(mode=0o600)
    link.symlink_to(path.name)
    write_text(link, "new")
    assert link.is_symlink()
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o600)


def test_what_is_no_regular_file_is_refused(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(InputError) as error:
        write_text(path, "new")
    assert (error.value.path, error.value.found) == (str(path), "not a regular file")
    assert path.is_fifo()


def test_an_output_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "taken").write_text("x")
    with pytest.raises(InputError, match=r"taken.*not writable.*choose another"):
        make_folder(tmp_path / "taken")
    with pytest.raises(InputError, match=r"taken.*not writable"):
        write_text(tmp_path / "taken" / "a.txt", "x")
    assert make_folder(tmp_path / "new" / "one").is_dir()
    assert os.listdir(tmp_path / "new" / "one") == []


@pytest.mark.parametrize("name", ["x.tar", "x.tar.gz", "x.lzma", "x.Z"])
def test_archives_are_no_text_in_a_wrong_encoding(name: str, tmp_path: Path):
    """Nor are files packed in a way that is not unpacked: the message says what they are."""
    path, inner = tmp_path / name, tmp_path / "a.tsv"
    inner.write_text("a film\tpos\n")
    if ".tar" in name:
        with tarfile.open(path, "w:gz" if name.endswith("gz") else "w") as archive:
            archive.add(inner, "a.tsv")
    elif name == "x.lzma":
        path.write_bytes(lzma.compress(inner.read_bytes(), lzma.FORMAT_ALONE))
    else:
        path.write_bytes(b"\x1f\x9d\x90a")
    with pytest.raises(InputError) as error:
        read_text(path)
    assert (error.value.path, error.value.line, error.value.remedy) == (
        str(path),
        None,
        "unpack the file",
    )


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    check_folder(tmp_path)
    (tmp_path / "x").touch()
    found = []
    for name in ("x", "y"):
        with pytest.raises(InputError) as error:
            check_folder(tmp_path / name, remedy="name another")
        found.append(error.value.found)
        assert (error.value.path, error.value.remedy) == (str(tmp_path / name), "name another")
    assert len(set(found)) == 2
