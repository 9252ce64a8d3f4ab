"""A dataset in a local folder makes no request, whatever its card says."""

import socket
from pathlib import Path
from typing import Any

import pytest

from robustparse.data.dataset_card import check_card
from robustparse.data.text_files import read_texts
from robustparse.errors import InputError

CARD = """---
license_link: https://example.org/license
configs:
- config_name: default
  data_files:
  - split: train
    path: {path}
---
# A dataset, see https://example.org
"""


@pytest.mark.parametrize("name", ["README.md", ".huggingface.yaml"])
@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("train.csv", True),
        ("data/*.csv", True),
        ("http://example.org/train.csv", False),
        ("[train.csv, 'https://example.org/train.csv']", False),
        ("zip://train.csv::http://example.org/a.zip", False),
        ("hf://datasets/a/b/train.csv", False),
        ("/etc/train.csv", False),
        ("data/../../train.csv", False),
        ("~/train.csv", False),
    ],
)
def test_a_card_names_files_of_its_folder(
    name: str, path: str, inside: bool, tmp_path: Path
) -> None:
    text = CARD.format(path=path)
    (tmp_path / name).write_text(text if name == "README.md" else text.split("---")[1])
    if inside:
        check_card(tmp_path)
    else:
        with pytest.raises(InputError) as error:
            check_card(tmp_path)
        assert (error.value.path, error.value.key) == (str(tmp_path / name), "configs")


def test_nothing_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets")
    asked: list[Any] = []

    def refused(*address: Any, **_: Any) -> None:
        asked.append(address)
        raise OSError("no network")

    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    folder = Path("films")
    folder.mkdir()
    (folder / "train.csv").write_text("text,label\ngood film,pos\nbad film,neg\n")
    texts = read_texts(Path("datasets:./films:train"))
    assert [example.gold for example in texts] == ["pos", "neg"]
    (folder / "README.md").write_text(CARD.format(path="http://example.org/train.csv"))
    with pytest.raises(InputError):
        read_texts(Path("datasets:./films:train"))
    assert asked == []
