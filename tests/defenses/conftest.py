"""The tiny treebank as data to train on, and parsers that are made once and copied."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robustparse.data.datamodule import Batches
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.types import Example

_MADE: dict[tuple[tuple[str, Any], ...], BiaffineParser] = {}


@pytest.fixture
def data(treebank: Path, examples: list[Example]) -> TreebankDataModule:
    """Two batches: one of the longest sentence, one of the two others."""
    made = TreebankDataModule(train_file=str(treebank), batches=Batches(words=8))
    made.train_examples = examples  # read once
    return made


@pytest.fixture
def make_parser(make_parser: Callable[..., BiaffineParser]) -> Callable[..., BiaffineParser]:
    """Copy what the fixture of this name makes."""

    def copied(**settings: Any) -> BiaffineParser:
        key = tuple(sorted(settings.items()))
        if key not in _MADE:
            _MADE[key] = make_parser(**settings)
        return copy.deepcopy(_MADE[key])

    return copied
