"""A data module for labelled texts in tables and datasets, and for the built-in reviews."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from robustparse.data.datamodule import LIMIT, DataModule, warn
from robustparse.data.read_options import Known, ReadOptions
from robustparse.data.sample.reviews import sample_reviews
from robustparse.data.tables import ENDINGS, read_table
from robustparse.data.text_files import count_labels, read_texts
from robustparse.errors import InputError, check_choice
from robustparse.files.paths import each_path
from robustparse.types import Example

_LONGEST_WORDS = 8  # letters; words have fewer on average


class TextDataModule(DataModule):
    """Texts and labels in tables with names such as ``*train.tsv`` or ``*train.csv``.

    See `read_table` for the kinds of tables. The folder may also be a dataset that ``datasets`` has
    saved, or ``datasets:NAME`` on the hub.

    Args:
        columns: the names of the columns: text and label, or both texts of a pair and label. Models
            store them in their checkpoints.
        long_texts: ``refuse`` texts, and pairs with a text, over ``max_length``; or ``omit`` their
            lines with a warning.
        settings: see `DataModule`.
    """

    endings = ENDINGS
    corpus = staticmethod(sample_reviews)

    def __init__(
        self,
        columns: list[str] | None = None,
        long_texts: Literal["refuse", "omit"] = "refuse",
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        check_choice("data.init_args.long_texts", long_texts, ("refuse", "omit"))
        self.columns, self.long_texts = columns, long_texts
        self._shortened: set[str] = set()
        self._shown: dict[Path, tuple[list[Any] | None, Counter[str]]] = {}  # see `_others`

    def read(self, path: str | Path) -> list[Example]:
        """See `read_texts`."""
        options = ReadOptions(self.columns, known=self._known(path))
        if self.long_texts == "refuse":
            limit = f"{LIMIT}, set data.init_args.long_texts to omit"
            return read_texts(path, replace(options, max_length=self.max_length, limit=limit))
        read = read_texts(path, options)
        kept = [example for example in read if _longest(example) <= self.max_length]
        if not kept:
            expected = f"one of {self.max_length} words at most, or a higher {LIMIT}"
            raise InputError("every text is too long", path=path, expected=expected)
        if len(kept) < len(read) and str(path) not in self._shortened:
            self._shortened.add(str(path))
            first = next(example for example in read if _longest(example) > self.max_length)
            warn(
                f"{path}: {len(read) - len(kept)} of {len(read)} lines are left out, as they have "
                f"over {self.max_length} words ({LIMIT}); the first is line {first.line}"
            )
        return kept

    def _known(self, path: str | Path) -> Known:
        """Return what the other splits of the corpus show about a file."""
        return Known(
            other_labels=lambda: self._labels_but_of(path),
            other_first_rows=lambda: [
                first for first, _ in self._others(path) if first is not None
            ],
        )

    def _others(self, path: str | Path) -> Iterator[tuple[list[Any] | None, Counter[str]]]:
        """Yield the first row of each file of the other splits, and the counts of its labels.

        The row is None if the columns have names. What cannot be read is reported with its split.
        """
        for split in self.files:
            try:
                other = self.path(split)
                files = [] if other is None or str(other) == str(path) else each_path(other)
            except InputError:
                continue
            for file in files:
                with suppress(InputError):
                    if file not in self._shown:
                        table = read_table(file)
                        first = None if table.named else [*table.first[1].values()]
                        self._shown[file] = first, count_labels(table, self.columns)
                if file in self._shown:
                    yield self._shown[file]

    def _labels_but_of(self, path: str | Path) -> Counter[str]:
        """Count the labels of the other splits.

        A file whose column of labels holds mostly different strings has no labels.
        """
        labels = Counter[str]()
        for _, counts in self._others(path):
            if 2 * len(counts) <= counts.total():
                labels.update(counts)
        return labels

    def doubts(self) -> Iterator[str]:
        """Warn about training texts without blanks, and test texts that are training texts too."""
        train = self.train_examples
        whole = [example for example in train if len(example.sentence) == 1]
        letters = sum(len(example.sentence.words[0]) for example in whole)
        if 2 * len(whole) > len(train) and letters > _LONGEST_WORDS * len(whole):
            yield (
                f"{whole[0].path}: {len(whole)} of the {len(train)} texts hold no blank, the first "
                f"in line {whole[0].line}, and are read as one word each: separate words by "
                "blanks, in languages such as Chinese with a segmenter"
            )
        try:
            path, test = self.path("test"), self.examples("test")
        except InputError:  # reported when the test file is read
            return
        seen = {example.sentence for example in train}
        both = [example for example in test if example.sentence in seen]
        if both and path is not None:
            yield (
                f"{path}: {len(both)} of the {len(test)} texts are in the training file too, the "
                f"first in line {both[0].line}: scores on this file are too high"
            )


def _longest(example: Example) -> int:
    return max(len(example.sentence.context), len(example.sentence))
