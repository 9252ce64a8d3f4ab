"""Tables of texts with one answer each, and scores that count texts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from jinja2 import Environment, Template
from numpy.typing import NDArray

from robustparse.data.tables import ENDINGS, ending_of, row_text, table_text
from robustparse.data.text_files import changed_row
from robustparse.errors import InputError, UntaggedError
from robustparse.metrics import PunctuationPolicy
from robustparse.tasks.task import Files, Scores, Written
from robustparse.types import ColumnName, Example, Row, Sentence

PAIR_COLUMNS = ("perturbed", "original", "answer")
"""Columns of a file of perturbed texts; for pairs of texts, ``context`` comes first."""


class TableFiles(Files):
    """Tables with a text and an answer, a string, in each row; they write pairs."""

    multiline = False
    endings = ENDINGS

    def ending(self, path: str | Path) -> str:
        """Return the ending of a table like this one, see `ending_of`."""
        return ending_of(path)

    def write(
        self, example: Example, words: Sequence[str] | None = None, answer: str | None = None
    ) -> str:
        """Return the row of a text."""
        return f"{row_text(self.row(example, words, answer))}\n"

    def write_all(self, examples: Iterable[Written]) -> Iterator[str]:
        """Yield the pieces of a table."""
        return table_text(self.row(*written) for written in examples)

    def row(self, example: Example, words: Sequence[str] | None, answer: str | None) -> Row:
        """Return the row of a text, with other words and another answer unless they are None."""
        return changed_row(example, words, answer)

    def pairs(self, pairs: Iterable[tuple[Example, Sequence[str]]]) -> Iterator[str]:
        """See `WritesPairs`."""
        return table_text(_pair(copy, original) for copy, original in pairs)

    def check(
        self,
        examples: Sequence[Example],
        path: str | Path,
        check: Callable[[Sequence[Example]], None],
        punctuation: PunctuationPolicy = "none",
    ) -> None:
        """See `Files.check`; every text is scored, whatever its punctuation."""
        if punctuation != "none":
            problem = f"got {punctuation}, but every text is scored as a whole"
            raise InputError(problem, key="punctuation", remedy="leave it out")
        try:
            super().check(examples, path, check)
        except UntaggedError as error:
            error.key = error.expected = None
            tagged = "give attack or augment --tagger"
            error.remedy = f"texts have no tags: {tagged}, or {error.without}"
            raise


class TextScores(Scores):
    """Scores that count texts; the punctuation policy does not matter."""

    sums = ("correct",)

    def counted(self, sentence: Sentence, punctuation: PunctuationPolicy) -> NDArray[np.bool_]:
        """Return ``(1,)``: each answer counts."""
        return np.ones(1, dtype=np.bool_)


def _pair(copy: Example, original: Sequence[str]) -> Row:
    """Return a row of a perturbed text, its original and the answer, in its table's format."""
    row = changed_row(copy, copy.sentence.words, None)
    values = [row.values[column] for column in (*row.layout.texts, row.layout.label)]
    values[-1:-1] = [" ".join(original)]
    names: Iterable[ColumnName] = range(len(values))
    if isinstance(row.layout.label, str):
        names = (*("context", *PAIR_COLUMNS)[-len(values) :],)
    return replace(row, values=dict(zip(names, values, strict=True)))


@cache
def template(name: str) -> Template:
    """Return the jinja2 template of a file next to this one."""
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(Path(__file__).with_name(name).read_text("utf-8"))
