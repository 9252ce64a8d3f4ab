"""What tasks with one answer a text share: tables as files, scores that count texts."""

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
from robustparse.tasks.task import PAIR_COLUMNS, Task, Written
from robustparse.types import ColumnName, Example, Row, Sentence


class TextTask(Task):
    """Answers are strings, one a text; punctuation has no say in scores."""

    sums = ("correct",)
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

    def file(self, examples: Iterable[Written]) -> Iterator[str]:
        """Yield the parts of a table."""
        return table_text(self.row(*written) for written in examples)

    def row(self, example: Example, words: Sequence[str] | None, answer: str | None) -> Row:
        """Return the row of a text with other words and another answer, where they are given."""
        return changed_row(example, words, answer)

    def pairs_file(self, pairs: Iterable[tuple[Example, Sequence[str]]]) -> Iterator[str]:
        """See `Task.pairs_file`."""
        return table_text(_pair(copy, original) for copy, original in pairs)

    def check(
        self,
        examples: Sequence[Example],
        path: str | Path,
        check: Callable[[Sequence[Example]], None],
        punctuation: PunctuationPolicy = "none",
    ) -> None:
        """See `Task.check`."""
        for example in examples:
            try:
                check([example])
            except InputError as error:
                line = None if example.row is None else example.line
                found, remedy = str(error), None
                if isinstance(error, UntaggedError):
                    found = error.found
                    tagged = "give attack or augment --tagger"
                    remedy = f"texts have no tags: {tagged}, or {error.without}"
                raise InputError(found, path=path, line=line, remedy=remedy) from None

    def counted(self, sentence: Sentence, punctuation: PunctuationPolicy) -> NDArray[np.bool_]:
        """Return ``(1,)``: the answer counts."""
        return np.ones(1, dtype=np.bool_)


def _pair(copy: Example, original: Sequence[str]) -> Row:
    """Return a row of a perturbed text, its original and the answer, in the kind of its table."""
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
