"""A treebank is read without the cache where that cannot be written to."""

from pathlib import Path
from typing import Any

import datasets
import pytest

from robustparse.data import conllu_cache
from robustparse.data.conllu import read_treebank
from robustparse.errors import InputError
from robustparse.types import Example


@pytest.mark.parametrize("below", [False, True])
def test_a_cache_that_is_no_folder_is_warned_of_once(
    treebank: Path,
    examples: list[Example],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    below: bool,
) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "in" if below else tmp_path / "file"
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", folder)
    conllu_cache._warn_of_cache.cache_clear()
    assert read_treebank(treebank) == read_treebank(treebank) == examples
    message = f"{folder}: treebanks cannot be cached there and are parsed every time"
    told = [one.getMessage() for one in caplog.records if one.name == conllu_cache.__name__]
    assert len(told) == 1
    assert told[0].startswith(message)
    assert "HF_DATASETS_CACHE" in told[0]
    (tmp_path / "bad.conllu").write_text("1\tHi\n")
    with pytest.raises(InputError, match=r"bad\.conllu:1: 2 columns"):
        read_treebank(tmp_path / "bad.conllu")


def test_a_full_disk_is_no_mistake_of_the_file(
    treebank: Path, examples: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        error = datasets.exceptions.DatasetGenerationError("generating")
        raise error from OSError(28, "No space left on device")

    monkeypatch.setattr(datasets.Dataset, "from_generator", full)
    assert read_treebank(treebank) == examples
