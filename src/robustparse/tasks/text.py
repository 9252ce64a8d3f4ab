"""What tasks with one answer a text share: a line a text in files, scores that count texts."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from jinja2 import Environment, Template
from numpy.typing import NDArray

from robustparse.data.text_files import ending_of, line_of
from robustparse.errors import InputError, UntaggedError
from robustparse.metrics import PunctuationPolicy
from robustparse.tasks.task import Task
from robustparse.types import Example, Sentence


class TextTask(Task):
    """Answers are strings, one a text; punctuation has no say in scores."""

    sums = ("correct",)
    multiline = False

    def ending(self, path: str | Path) -> str:
        """Return ``.tsv`` or ``.jsonl``."""
        return ending_of(path)

    def write(
        self, example: Example, words: Sequence[str] | None = None, answer: str | None = None
    ) -> str:
        """Return the line of a text."""
        return f"{line_of(example, words, answer)}\n"

    def pair(self, copy: Example, original: Sequence[str]) -> str:
        """See `Task.pair`."""
        texts = (copy.sentence.context, copy.sentence.words, original)
        return "\t".join([" ".join(words) for words in texts if words] + [copy.gold]) + "\n"

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
                line, found, remedy = example.id + 1 if example.block else None, str(error), None
                if isinstance(error, UntaggedError):
                    found = error.found
                    tagged = "give attack or augment --tagger"
                    remedy = f"texts have no tags: {tagged}, or {error.without}"
                raise InputError(found, path=path, line=line, remedy=remedy) from None

    def counted(self, sentence: Sentence, punctuation: PunctuationPolicy) -> NDArray[np.bool_]:
        """Return ``(1,)``: the answer counts."""
        return np.ones(1, dtype=np.bool_)


@cache
def template(name: str) -> Template:
    """Return the jinja2 template of a file next to this one."""
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(Path(__file__).with_name(name).read_text("utf-8"))
