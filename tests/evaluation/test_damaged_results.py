"""No damaged output ends in a traceback, or changes a result in silence."""

from pathlib import Path
from typing import Any

import pytest
from damaged_results import written_readers
from hypothesis import given
from hypothesis import strategies as st

from damage import Reader, check, check_good, damaged


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


@pytest.fixture(scope="module")
def readers(folder: Path) -> dict[str, Reader]:
    return written_readers(folder / "made")


NAMES = [
    *("candidate cache", "table of neighbours", "checkpoint", "model.safetensors"),
    *("config.json", "vocabulary.json", "entry.json", "examples.jsonl, resumed"),
    *("run.json, resumed", "summary.json, resumed", "examples.jsonl", "summary.json, report"),
    *("curves.json, report", "quality.json", "transfer.json", "scores.json"),
    *("scores.json, perturbed", "metrics.csv", "annotation key", "annotated pairs"),
]


def test_every_reader_is_tried(readers: dict[str, Reader]) -> None:
    assert list(readers) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_good_output_is_read(name: str, readers: dict[str, Reader], folder: Path) -> None:
    check_good(readers[name], folder)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_a_damaged_output_is_refused_or_read_as_it_is(
    name: str, readers: dict[str, Reader], folder: Path, data: Any
) -> None:
    check(readers[name], data.draw(damaged(readers[name].content)), folder)
