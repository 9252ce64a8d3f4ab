"""Damage to a good file, and what a reader may make of it.

A damaged file is refused with an `InputError`, or accepted. What is accepted is compared: a reader
whose files are checked must return the value of the good file; a reader of plain text must return
what a second, plain reading of the damaged bytes returns, so that nothing was dropped or taken for
something else. ``HYPOTHESIS_PROFILE=long`` tries a thousand files a reader.
"""

import json
import re
import shutil
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from hypothesis import strategies as st

from robustparse.errors import InputError

CONTRACT = Path(__file__).parent / "contract"

Value = Any


def same(value: Value, expected: Value) -> bool:
    """Tell whether two values are the same; NaN is the same as itself."""
    return repr(value) == repr(expected)


class Reader(NamedTuple):
    """A reader of one file.

    Args:
        content: of a good file.
        read: reads a file; what it returns is compared.
        plain: reads the same in a plain way from damaged bytes; None where files are checked, so
            that the value must be that of the good file.
        name: of the file.
        beside: other files of its folder, by name.
        agree: compares what was read with what is expected.
    """

    content: bytes
    read: Callable[[Path], Value]
    plain: Callable[[bytes], Value] | None
    name: str
    beside: Mapping[str, bytes] = MappingProxyType({})
    agree: Callable[[Value, Value], bool] = same


def as_json(value: Value) -> bytes:
    return json.dumps(value, indent=1).encode()


def text_of(content: bytes) -> str:
    return content.decode("utf-8-sig")


def write(folder: Path, reader: Reader, content: bytes) -> Path:
    """Write a reader's file, and those beside it, into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, written in {**reader.beside, reader.name: content}.items():
        (folder / name).write_bytes(written)
    return folder / reader.name


def check_good(reader: Reader, folder: Path) -> None:
    """Check that a good file is read: a reader that refuses all files would pass `check`."""
    value = reader.read(write(folder / "good", reader, reader.content))
    if reader.plain is not None:
        expected = reader.plain(reader.content)
        assert reader.agree(value, expected), f"{value!r:.400} for {expected!r:.400}"


def check(reader: Reader, content: bytes, folder: Path) -> None:
    """Check that a damaged file is refused, or read as it should be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which a damaged file may well earn
        try:
            value = reader.read(write(folder / "damaged", reader, content))
        except InputError:
            return
    if reader.plain is None:
        expected = reader.read(write(folder / "good", reader, reader.content))
    else:
        expected = reader.plain(content)
    assert reader.agree(value, expected), f"a silent change: {value!r:.400} for {expected!r:.400}"


# Texts that readers of any format may stumble over.
NASTY = [
    *(b"\0", b"\\ud800", b"\\u0000", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80"),
    *(b"\xe2\x80\xa8", b"9" * 5000, b"[" * 100_000, b'{"a":' * 2000),
    *(b"1e999", b"NaN", b"-1", b"0", b"null", b"true", b"\t", b"\n", b"\r", b"\n\n", b" "),
    *(b"#", b'"', b"'", b",", b":", b"{}", b"[]", b"3-4", b"3.1"),
    *(b"&a *a", b"!!python/object:os.system", b"os.system", b"[bold]", b"[/b]", b"../..", b"%s"),
]
Draw = Callable[[Any], Any]


@st.composite
def damaged(draw: Draw, content: bytes) -> bytes:
    """Draw a file with one to three changes."""
    changes = (_bit, _byte, _alike, _alike, _cut, _inserted, _inserted, _lines)
    for change in draw(st.lists(st.sampled_from(changes), min_size=1, max_size=3)):
        content = change(draw, content)
    return content


def _position(draw: Draw, content: bytes) -> int:
    return int(draw(st.integers(0, max(0, len(content) - 1))))


def _bit(draw: Draw, content: bytes) -> bytes:
    """Flip a bit."""
    at, bit = _position(draw, content), 1 << draw(st.integers(0, 7))
    return content[:at] + bytes(b ^ bit for b in content[at : at + 1]) + content[at + 1 :]


def _byte(draw: Draw, content: bytes) -> bytes:
    """Put a printable character in place of another."""
    at = _position(draw, content)
    return content[:at] + bytes([draw(st.integers(32, 126))]) + content[at + 1 :]


def _alike(draw: Draw, content: bytes) -> bytes:
    """Put a letter in place of a letter, or a digit in place of a digit."""
    found = re.compile(rb"[0-9a-z]").search(content, _position(draw, content))
    if found is None:
        return content
    alphabet = b"0123456789" if found[0].isdigit() else b"abcdefghijklmnopqrstuvwxyz"
    new = bytes([draw(st.sampled_from(list(alphabet)))])
    return content[: found.start()] + new + content[found.end() :]


def _cut(draw: Draw, content: bytes) -> bytes:
    """Leave a piece out, or write it twice; or end there."""
    begin = _position(draw, content)
    end = min(len(content), begin + draw(st.sampled_from([1, 3, 30, 300, len(content)])))
    times = draw(st.sampled_from([0, 0, 2]))
    return content[:begin] + content[begin:end] * times + content[end:]


def _inserted(draw: Draw, content: bytes) -> bytes:
    """Insert a nasty text, or put it in place of a word."""
    text, begin = draw(st.sampled_from(NASTY)), _position(draw, content)
    word = re.compile(rb"[\w.]+").search(content, begin) if draw(st.booleans()) else None
    start, end = word.span() if word else (begin, begin)
    return content[:start] + text + content[end:]


def _lines(draw: Draw, content: bytes) -> bytes:
    """Drop a line, repeat it, or exchange two."""
    lines = content.splitlines(keepends=True) or [b""]
    first, second = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    kind = draw(st.sampled_from(["drop", "repeat", "exchange"]))
    if kind == "exchange":
        lines[first], lines[second] = lines[second], lines[first]
    else:
        lines[first] *= 0 if kind == "drop" else 2
    return b"".join(lines)
