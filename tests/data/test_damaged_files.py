"""No damaged file of a user ends in a traceback, or changes a result in silence."""

import json
from pathlib import Path
from typing import Any

import pytest
from damaged_files import given_readers
from damaged_tables import table_readers
from damaged_tags import tag_readers
from damaged_utterances import utterance_readers
from hypothesis import given
from hypothesis import strategies as st

from damage import Reader, check, check_good, damaged
from robustparse.errors import InputError

READERS = {**given_readers(), **utterance_readers(), **table_readers(), **tag_readers()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


@pytest.mark.parametrize("name", READERS)
def test_a_good_file_is_read(name: str, folder: Path) -> None:
    check_good(READERS[name], folder)


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
def test_a_damaged_file_is_refused_or_read_as_it_is(name: str, folder: Path, data: Any) -> None:
    check(READERS[name], data.draw(damaged(READERS[name].content)), folder)


# The check itself finds the faults of readers that have some.

GOOD = b'{"words": ["one", "two"], "number": 12}'


def plain(content: bytes) -> Any:
    return json.loads(content)


def refusing(path: Path) -> Any:
    try:
        return plain(path.read_bytes())
    except (ValueError, RecursionError):
        raise InputError("not JSON", path=path) from None


@pytest.mark.parametrize(
    ("read", "oracle", "content", "fault"),
    [
        (refusing, plain, b"{}", None),
        (refusing, plain, b"{", None),
        (refusing, None, b"{}", AssertionError),  # trusts what it should check
        (lambda path: plain(path.read_bytes()), plain, b"{", ValueError),  # careless
        (lambda path: plain(GOOD), plain, b"{}", AssertionError),  # blind
    ],
)
def test_a_fault_is_found(read: Any, oracle: Any, content: bytes, fault: Any, folder: Path) -> None:
    reader = Reader(GOOD, read, oracle, "a.json")
    if fault is None:
        check(reader, content, folder)
    else:
        with pytest.raises(fault):
            check(reader, content, folder)
