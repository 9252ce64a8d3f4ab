"""What several files of tests attack with."""

from pathlib import Path

import pytest
import torch
from lexical_fakes import FakeWordNet
from recipe_models import write_models

from robustparse.attacks.candidates import sememes, wordnet
from tiny_language_models import VOCABULARY, save_bert


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A masked language model with a table of 24 positions; nobody may change its folder."""
    path = tmp_path_factory.mktemp("bert")
    torch.manual_seed(0)
    save_bert(path, VOCABULARY, positions=24)
    return path


@pytest.fixture
def fake_wordnet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No installed WordNet decides what base forms and synonyms there are."""
    for module in (wordnet, sememes):
        monkeypatch.setattr(module, "load_wordnet", FakeWordNet)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models and files that recipes name, made small."""
    folder = tmp_path_factory.mktemp("models")
    write_models(folder)
    return folder
