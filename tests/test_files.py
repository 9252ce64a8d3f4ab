"""Clear errors for what cannot be read or written; files whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from robustparse.errors import InputError
from robustparse.files import make_folder, read_json, read_text, write_text


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
        (b"\xef\xbb\xbf\xe9\nok", r":1: not UTF-8 \(byte 0xe9\).* iconv -f latin1 "),
        ("ok\n".encode("utf-16"), r":1: not UTF-8 \(byte 0xff\).* iconv -f utf-16 "),
        (b"\xfe\xff" + "ok\n".encode("utf-16-be"), r":1: not UTF-8.* iconv -f utf-16 "),
    ],
)
def test_unreadable_content_names_the_file_and_the_line(tmp_path, content, message):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_text(path)
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
