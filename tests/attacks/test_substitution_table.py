"""Substitution tables: their files, their digest, the casing of substitutes."""

from pathlib import Path

import pytest

from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.errors import InputError

TABLE = SubstitutionTable({"big": ["large", "great"], "cat": ["dog"], "a": []}, {"sources": ["x"]})


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    TABLE.write(tmp_path / "table.jsonl")
    read = SubstitutionTable.read(tmp_path / "table.jsonl")
    assert read.substitutes == {"big": ("large", "great"), "cat": ("dog",)}
    assert read.settings == TABLE.settings
    assert read.digest == TABLE.digest


def test_the_digest_follows_from_words_and_substitutes_alone() -> None:
    reordered = SubstitutionTable(dict(reversed(TABLE.substitutes.items())))
    assert reordered.digest == TABLE.digest
    for other in ({"big": ["great", "large"], "cat": ["dog"]}, {"cat": ["dog"]}):
        assert SubstitutionTable(other).digest != TABLE.digest


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("big", ["large", "great"]),
        ("Big", ["Large", "Great"]),
        ("BIG", ["LARGE", "GREAT"]),
        ("a", []),
        ("new", []),
    ],
)
def test_substitutes_take_the_casing_of_the_word(word: str, expected: list[str]) -> None:
    assert TABLE.of(word) == expected


@pytest.mark.parametrize(
    ("second", "line"),
    [
        ('{"word": "big"}', 2),
        ('{"word": "big", "substitutes": "great"}', 2),
        ('{"word": "big", "substitutes": []}', 2),
        ('{"word": "big", "substitutes": ["Great"]}', 2),
        ('{"word": "big", "substitutes": ["very great"]}', 2),
        ('{"word": "big", "substitutes": [1]}', 2),
        ('{"word": "big", "substitutes": ["big"]}', 2),
        ('{"word": "big", "substitutes": ["great", "great"]}', 2),
        ('{"word": "cat", "substitutes": ["dog"]}\n{"word": "cat", "substitutes": ["cow"]}', 3),
        ("big great", 2),
    ],
)
def test_a_line_that_is_no_row_is_named(tmp_path: Path, second: str, line: int) -> None:
    path = tmp_path / "table.jsonl"
    path.write_text("{}\n" + second)
    with pytest.raises(InputError) as error:
        SubstitutionTable.read(path)
    assert (error.value.path, error.value.line) == (str(path), line)


def test_a_file_without_words_is_no_table(tmp_path: Path) -> None:
    """As a lexicon, which is one JSON object."""
    path = tmp_path / "lexicon.json"
    path.write_text('{"good": ["fine"]}')
    with pytest.raises(InputError, match="no word"):
        SubstitutionTable.read(path)


def test_a_table_needs_its_settings(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    path.write_text('{"word": "cat", "substitutes": ["dog"]}\n')
    with pytest.raises(InputError) as error:
        SubstitutionTable.read(path)
    assert error.value.line == 1
