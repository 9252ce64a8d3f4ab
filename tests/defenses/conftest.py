"""The tiny treebank as data to train on."""

from pathlib import Path

import pytest

from robustparse.data.treebank import TreebankDataModule


@pytest.fixture
def data(treebank: Path) -> TreebankDataModule:
    """Two batches: one of the longest sentence, one of the two others."""
    return TreebankDataModule(train_file=str(treebank), batch_words=8)
