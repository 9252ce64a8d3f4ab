"""What differs between kinds of answers: reading, writing, scoring, storing and drawing them.

Commands, evaluation, defenses, tracking and the report ask a task and know none by name.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustparse.data.columns import Known
from robustparse.data.reading import Reading
from robustparse.errors import InputError
from robustparse.files import plain_name
from robustparse.metrics import PunctuationPolicy
from robustparse.types import Example, Sentence

Record = Mapping[str, Any]
"""A JSON object: an answer, or a line of ``examples.jsonl``."""


Written = tuple[Example, Sequence[str] | None, Any]
"""An example to write, with other words and another answer, or None for its own."""

PAIR_COLUMNS = ("perturbed", "original", "answer")
"""Names of the columns of a file of perturbed texts; of pairs of texts, ``context`` comes first."""

MOST_LISTED = 20
"""Lines of a file that a warning lists, unless all are asked for."""

ANSWERS = ("gold", "clean", "attacked")
"""Of a line of ``examples.jsonl``: the gold answer, those before and after the attack."""


class Task(ABC):
    """One kind of answers.

    Attributes:
        name: of the task, as in ``summary.json``.
        headline: the score that a reader looks at first.
        scores: the scores of a sentence, of an attack and of a curve, in the order of a table.
        further_scores: scores of a whole file only, which `evaluate` adds.
        sums: of `correct`, those that a line of ``examples.jsonl`` holds. The scores are ratios of
            them to ``counted``.
        endings: of files of these answers, as far as their names tell.
        multiline: whether an example takes several lines of a file, and an empty one ends it.
        legend: HTML that explains the pictures of `draw`.
        gold_type: the type of gold answers.
        language: of logical forms in files, see `language_named`; None where there are none, or
            where their tokens tell it.
    """

    name: str
    headline: str
    scores: tuple[str, ...]
    further_scores: tuple[str, ...]
    sums: tuple[str, ...]
    endings: tuple[str, ...]
    multiline: bool
    legend: str
    gold_type: type = str
    language: str | None = None

    @abstractmethod
    def read(
        self,
        path: str | Path,
        max_length: int | None = None,
        gold: bool = True,
        limit: str = "max_length",
        columns: Sequence[str] | None = None,
        known: Known = Known(),  # noqa: B008 - it is frozen
    ) -> list[Example]:
        """Read the examples of a file.

        Args:
            path: the file.
            max_length: longest allowed sentence in words; None allows any.
            gold: every example has a gold answer; otherwise it may be missing, and the example's
                then says nothing.
            limit: what a user raises ``max_length`` by, for the message.
            columns: names of the columns to read, where a format leaves them to the user.
            known: what is known of the file before it is read.

        Raises:
            InputError: names file and line of what cannot be used.
        """

    @abstractmethod
    def sample(self, seed: int, split: str) -> list[Example]:
        """Make the examples of a split (``train``, ``dev``, ``test``) of the embedded data."""

    @abstractmethod
    def ending(self, path: str | Path) -> str:
        """Return what a file made from this one ends in, its dot included."""

    @abstractmethod
    def write(
        self, example: Example, words: Sequence[str] | None = None, answer: Any = None
    ) -> str:
        """Return an example in the format of a file, which is its examples in order.

        Args:
            example: what its file says of it and the task does not is kept.
            words: other words, as many as `surface` has; the gold answer stays, unless another is
                given.
            answer: instead of the gold one.
        """

    def as_copy(self, example: Example) -> Example:
        """Return an example that is trained on next to its original; by default as it is."""
        return example

    def not_written(self, examples: Sequence[Example], path: str | Path) -> Iterator[str]:
        """Yield what `write` leaves out of what a file says of examples; by default nothing.

        Args:
            examples: of the file.
            path: that file.
        """
        yield from ()

    def file(self, examples: Iterable[Written]) -> Iterator[str]:
        """Yield the parts of a file of examples, each as `write` changes it."""
        return (self.write(*written) for written in examples)

    def surface(self, example: Example) -> Sentence:
        """Return the text that operations and attacks reword: by default the example's own."""
        return example.sentence

    def reading(self, example: Example) -> Reading:
        """Return how a model of the task reads the text that attacks reword, which is `surface`.

        By default it reads it word for word.
        """
        return Reading.word_for_word(self.surface(example))

    def tagging(self, example: Example) -> tuple[tuple[str, ...], Sequence[int]]:
        """Return the text that a tagger reads for the tags of a sentence: by default its words.

        Returns:
            The words of the text, and for each word of the sentence the position of the one whose
            tag it gets.
        """
        return example.sentence.words, range(len(example.sentence))

    def pairs_file(self, pairs: Iterable[tuple[Example, Sequence[str]]]) -> Iterator[str]:
        """Yield the parts of a file of perturbed texts, each with its original's words.

        Raises:
            InputError: gold answers are not written in columns.
        """
        found = f"answers of the task {self.name} are not written in a column"
        raise InputError(found, key="--keep", expected="a task with one answer a text, or changed")

    def project(
        self, example: Example, words: Sequence[str], origins: Sequence[int]
    ) -> Example | None:
        """Return an example reworded, with the gold answer of the original; None if it has none.

        By default the gold answer stays: it is one of the whole text.

        Args:
            example: the original.
            words: the new words.
            origins: for each the position, in the `surface`, of the original word that it stands
                for, or -1.
        """
        return replace(example, sentence=reworded(example.sentence, words, origins))

    def needed(self, example: Example) -> frozenset[str]:
        """Return the words of a text without which its gold answer can only be guessed.

        By default there are none.
        """
        return frozenset()

    def concatenated(self, first: Example, second: Example, separator: str) -> Example:
        """Join two examples, with a separator between their sentences, into one to train on.

        Its id is the first one's, and its gold answer holds both answers, in order.

        Raises:
            InputError: answers of this kind cannot be joined.
        """
        found = f"answers of the task {self.name} cannot be joined"
        raise InputError(found, key="task", expected="semantic parsing")

    @abstractmethod
    def check(
        self,
        examples: Sequence[Example],
        path: str | Path,
        check: Callable[[Sequence[Example]], None],
        punctuation: PunctuationPolicy = "none",
    ) -> None:
        """Refuse an example that a model or an attack cannot use, or that cannot be counted.

        Args:
            examples: of a file, numbered as there.
            path: that file, read again only to name the line.
            check: the model's or the attack's, which raises ``InputError``.
            punctuation: which words are to count.

        Raises:
            InputError: names file and line.
        """

    @abstractmethod
    def warnings(
        self,
        examples: Sequence[Example],
        path: str | Path,
        known: Collection[str],
        punctuation: PunctuationPolicy = "none",
        training: bool = False,
        most: int | None = MOST_LISTED,
    ) -> Iterator[str]:
        """Yield what lowers the scores of these examples, or the use of training on them.

        Args:
            examples: of a file.
            path: that file.
            known: the names that a model's answers are made of, as it learnt them.
            punctuation: which words are to count.
            training: the examples are trained on, not scored.
            most: lines that a warning lists at most; None lists all.
        """

    @abstractmethod
    def counted(self, sentence: Sentence, punctuation: PunctuationPolicy) -> NDArray[np.bool_]:
        """Find which parts of an answer enter the scores, ``(words,)``, or ``(1,)`` of one answer.

        Raises:
            InputError: the policy needs what the sentence lacks.
        """

    @abstractmethod
    def correct(self, answer: Any, example: Example, counted: NDArray[np.bool_]) -> dict[str, int]:
        """Count what is right in an answer; adding up the counts of examples, in any order, and
        `score` gives the scores of them all.

        Returns:
            ``counted``, `sums`, and what other scores need.
        """

    @abstractmethod
    def score(self, sums: Mapping[str, int]) -> dict[str, float | None]:
        """Compute the scores whose sums are there, in percent; None where nothing was counted."""

    def gold(self, text: str) -> Any:
        """Return the gold answer that a column of a file holds.

        Raises:
            InputError: it is none, or gold answers are not written in columns.
        """
        found = f"answers of the task {self.name} are not written in a column"
        raise InputError(found, expected="a task with one answer a text")

    @abstractmethod
    def to_record(self, answer: Any) -> dict[str, Any]:
        """Return an answer as JSON, as a line of ``examples.jsonl`` holds it."""

    @abstractmethod
    def from_record(self, record: Record) -> Any:
        """Return the answer of a record, which may hold other keys too.

        Raises:
            InputError: it is no record of an answer.
        """

    @abstractmethod
    def draw(self, record: Record) -> str:
        """Draw the answers before and after an attack.

        Args:
            record: a line of ``examples.jsonl``.

        Returns:
            An element for an HTML page that needs nothing outside it.

        Raises:
            InputError: see `from_record`.
        """

    @abstractmethod
    def difference(self, one: Any, other: Any, apart: Collection[int] = ()) -> int:
        """Count the parts in which two answers differ, those of the words ``apart`` left out.

        Words count from 0, and the answers are to as many.
        """

    def answers(self, record: Record) -> list[Any]:
        """Return the `ANSWERS` of a line.

        Raises:
            InputError: see `from_record`; the key names the answer too.
        """
        found = []
        for which in ANSWERS:
            try:
                found.append(self.from_record(record[which]))
            except InputError as error:
                error.key = f"{which}: {error.key}"
                raise
        return found

    def strict_success(self, record: Record) -> dict[str, bool]:
        """Tell by which scores of a line the attack succeeded apart from the changed words.

        What these words are part of is left out of the answers, before and after. Nothing where an
        answer has no parts that belong to words.

        Raises:
            InputError: see `from_record`.
        """
        return {}

    def relations(self, record: Record) -> list[str]:
        """Name the relation of each changed word of a line to the rest of the gold answer.

        Nothing where an answer has no parts that belong to words.

        Raises:
            InputError: see `from_record`.
        """
        return []

    def kind(self, record: Record) -> str | None:
        """Return the class of a line's gold answer, by which successes are listed; None if it has
        none.

        Raises:
            InputError: see `from_record`.
        """
        return None

    def changes(self, record: Record) -> tuple[int, int, int]:
        """Count the parts of the answers of a line: changed, wrong before, and wrong after.

        Those of substituted words are not counted among the changed.

        Raises:
            InputError: see `from_record`.
        """
        gold, before, after = self.answers(record)
        changed = self.difference(before, after, record["edited"])
        return changed, self.difference(gold, before), self.difference(gold, after)


def reworded(sentence: Sentence, words: Sequence[str], origins: Sequence[int]) -> Sentence:
    """Return a sentence of other words with tags and features of those that they stand for."""

    def of_words(tags: tuple[str, ...]) -> tuple[str, ...]:
        return tuple("_" if origin < 0 else tags[origin] for origin in origins) if tags else ()

    tags = {name: of_words(getattr(sentence, name)) for name in ("upos", "xpos", "feats")}
    return replace(sentence, words=tuple(words), **tags)


def all_tasks() -> list[Task]:
    """Return every task there is."""
    from robustparse.tasks.classification import ClassificationTask
    from robustparse.tasks.dependency import DependencyTask
    from robustparse.tasks.semantic import SemanticTask

    return [DependencyTask(), ClassificationTask(), SemanticTask()]


def named(name: str, language: str | None = None) -> Task:
    """Find a task by its name, and by the language of its forms, as a summary has them.

    Raises:
        InputError: there is none of this name.
    """
    for task in all_tasks():
        if task.name == name:
            task.language = language
            return task
    expected = ", ".join(task.name for task in all_tasks())
    raise InputError(repr(name), key="task", expected=expected)


def task_of_answer(record: Record) -> Task:
    """Find the task that reads this record of an answer.

    Raises:
        InputError: there is none.
    """
    for task in all_tasks():
        try:
            task.from_record(record)
        except InputError:
            continue
        return task
    names = ", ".join(task.name for task in all_tasks())
    raise InputError(f"got {record!r:.60}", expected=f"an answer of a task: {names}")


def task_of(path: str | Path) -> Task:
    """Find the task whose files end as this one does.

    Raises:
        InputError: there is none.
    """
    for task in all_tasks():
        if _suffix(path) in task.endings:
            return task
    names = ", ".join(task.name for task in all_tasks())
    raise InputError("does not say its task", path=path, remedy=f"give --task, one of {names}")


def check_ending(path: str | Path, task: Task) -> None:
    """Refuse a file that ends as those of another task do, and never as those of this one.

    Raises:
        InputError: names both tasks.
    """
    ending = _suffix(path)
    if ending in task.endings:
        return
    for other in all_tasks():
        if ending in other.endings:
            raise InputError(
                f"the model's task is {task.name}, and a file ending in {ending} is of the task "
                f"{other.name}",
                path=path,
                remedy="give a checkpoint of that task, or other data",
            )


def ending_for(task: Task, examples: Sequence[Example]) -> str:
    """Return what a file of such examples ends in; the usual ending where they were not read."""
    return (examples[0].ending if examples else "") or task.ending("")


def _suffix(path: str | Path) -> str:
    return Path(plain_name(path)).suffix.lower()
