"""Labelled texts in files and datasets, and the embedded sample of reviews, as training data."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from robustparse.data.datamodule import DataModule
from robustparse.data.text_files import find_split, read_texts
from robustparse.errors import InputError
from robustparse.types import Example

_LIMIT = "data.init_args.max_length"


class TextDataModule(DataModule):
    """Texts with a label each, whose files are named ``*train.tsv`` or ``*train.jsonl`` and so on.

    The folder may also be a dataset that ``datasets`` has saved, or ``datasets:NAME`` on the hub.

    Args:
        columns: the names of the columns of text and label, or of both texts of a pair and of
            their label, where columns have names.
        settings: see `DataModule`.
    """

    def __init__(self, columns: list[str] | None = None, **settings: Any) -> None:
        super().__init__(**settings)
        self.columns = columns

    def read(self, path: str | Path) -> list[Example]:
        """See `read_texts`."""
        return read_texts(path, self.columns, self.max_length, limit=_LIMIT)

    def sample(self, split: str) -> list[Example]:
        """Return a split of the sample that the seed gives."""
        from robustparse.data.sample.reviews import sample_reviews

        return getattr(sample_reviews(self.seed), split)  # type: ignore[no-any-return]

    def find(self, folder: str, split: str) -> Path:
        """See `find_split`."""
        return find_split(folder, split)

    def check_copies(self, copies: Sequence[Example], path: str) -> None:
        """Refuse a label that no training text has.

        Raises:
            InputError: names file, line and label.
        """
        known = sorted({example.gold for example in self.train_examples})
        for copy in copies:
            if copy.gold not in known:
                raise InputError(
                    f"label {copy.gold!r}, which no training text has",
                    path=path,
                    line=copy.id + 1,
                    expected=f"one of {', '.join(known)}",
                )

    def doubts(self) -> Iterator[str]:
        """Warn of test texts that are training texts too, as far as there is a test file."""
        try:
            path, test = self.path("test"), self.examples("test")
        except InputError:  # said when it is tested on
            return
        seen = {example.sentence for example in self.train_examples}
        both = [example for example in test if example.sentence in seen]
        if both and path is not None:
            yield (
                f"{path}: {len(both)} of the {len(test)} texts are in the training file too, the "
                f"first in line {both[0].id + 1}: scores on this file are too high"
            )
