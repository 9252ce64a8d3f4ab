"""A data module for sentences with one tag per word, and for the built-in sample."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from robustparse.data.datamodule import DataModule
from robustparse.data.sample.treebank import sample_tags
from robustparse.data.tags.tag_rows import row_columns
from robustparse.data.tags.tagged_sentences import ENDINGS, read_tags
from robustparse.types import Example


class TagDataModule(DataModule):
    """Tagged sentences in files with names such as ``*train.conllu`` or ``train.jsonl``.

    See `treebank_tags`, `tag_lines` and `tag_rows` for the kinds of files. The folder may also be a
    dataset that ``datasets`` has saved, or ``datasets:NAME`` on the hub.

    Args:
        columns: the names of the columns of words and tags, and of the label of the text; of a
            treebank the last one counts: ``upos`` (the default), ``xpos``, ``feats:KEY`` or
            ``misc:KEY``. Models store them in their checkpoints.
        repair: whether to repair broken sequences of span tags, as conlleval reads them, instead
            of rejecting them.
        settings: see `DataModule`.
    """

    endings = ENDINGS
    corpus = staticmethod(sample_tags)

    def __init__(
        self, columns: list[str] | None = None, repair: bool = False, **settings: Any
    ) -> None:
        super().__init__(**settings)
        self.columns, self.repair = columns, repair

    def read(self, path: str | Path) -> list[Example]:
        """See `read_tags`."""
        options = replace(self.read_options, columns=self.columns)
        return read_tags(path, options, self.repair)

    @property
    def data_columns(self) -> list[str] | None:
        """See `DataModule`; with the column of the label, if there is one."""
        row = self.train_examples[0].row
        if row is not None and row.values:
            return [*row_columns(self.columns, row.values)]
        return super().data_columns
