"""A treebank is read again from the cache, and without it where that cannot be written to."""

from pathlib import Path
from typing import Any

import datasets
import pytest
from conllu_texts import GOOD

from robustparse.data import conllu_cache, conllu_rows
from robustparse.data.conllu import read_treebank
from robustparse.errors import InputError
from robustparse.types import Example


def test_the_second_read_comes_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(GOOD)
    first = read_treebank(path)

    def refuse(_: Any) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr(conllu_rows, "blocks", refuse)
    assert read_treebank(path) == first
    path.write_text(GOOD.replace("Hi", "Ho"))
    with pytest.raises(Exception, match="generating the dataset"):
        read_treebank(path)


def test_an_edited_file_gives_its_new_content(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    for form in ("Hi", "Ho", "Hi"):
        path.write_text(GOOD.replace("Hi", form))
        assert [example.sentence.words for example in read_treebank(path)] == [(form,)]


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


@pytest.mark.parametrize(
    ("pattern", "left"), [("*.arrow", b""), ("*.arrow", b"noise"), ("dataset_info.json", b"{")]
)
def test_what_a_crash_has_left_half_written_is_warned_of_and_parsed_again(
    treebank: Path,
    examples: list[Example],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    pattern: str,
    left: bytes,
) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    conllu_cache._warn_of_cache.cache_clear()
    assert read_treebank(treebank) == examples
    assert not caplog.messages
    (broken,) = tmp_path.rglob(pattern)
    broken.write_bytes(left)
    assert read_treebank(treebank) == examples
    (told,) = caplog.messages
    assert told.startswith(f"{tmp_path}: treebanks cannot be cached there")
    assert "delete the folder if it is broken" in told


def test_a_full_disk_is_no_mistake_of_the_file(
    treebank: Path, examples: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        error = datasets.exceptions.DatasetGenerationError("generating")
        raise error from OSError(28, "No space left on device")

    monkeypatch.setattr(datasets.Dataset, "from_generator", full)
    assert read_treebank(treebank) == examples
