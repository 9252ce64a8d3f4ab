"""A data module for treebanks in CoNLL-U and CoNLL-X, and for the built-in sample."""

from collections.abc import Sequence
from pathlib import Path

from robustparse.data.conllu import ENDINGS, read_treebank, unknown_label
from robustparse.data.datamodule import DataModule
from robustparse.data.sample.treebank import sample_treebank
from robustparse.types import Example


class TreebankDataModule(DataModule):
    """A treebank with the files ``*train.conllu``, ``*dev.conllu`` and ``*test.conllu``.

    The endings ``.conllx`` and ``.conll`` are possible too. For arguments see `DataModule`.
    """

    endings = ENDINGS
    corpus = staticmethod(sample_treebank)

    def read(self, path: str | Path) -> list[Example]:
        """See ``read_treebank``."""
        return read_treebank(path, self.read_options)

    def check_copies(self, copies: Sequence[Example], path: str) -> None:
        """Reject a dependency label that the training file does not have.

        Raises:
            InputError: names file, line and label.
        """
        known = {label for example in self.train_examples for label in example.gold.labels}
        if error := unknown_label(copies, path, known):
            raise error
