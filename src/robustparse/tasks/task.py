"""What differs between kinds of answers, in four objects: files, answers, scores and pictures.

Commands, evaluation, defenses, tracking and the report ask these objects and know no task by name.
`registry` finds a task.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from robustparse.data.read_options import FileUse, ReadOptions
from robustparse.data.reading import Reading
from robustparse.data.sample.generator import Sample
from robustparse.data.sentence_lines import as_copy, has_graph, in_treebank
from robustparse.errors import InputError, located
from robustparse.files.paths import Sources
from robustparse.metrics import PunctuationPolicy, counted_words
from robustparse.types import Example, Sentence

Record = Mapping[str, Any]
"""A JSON object: an answer, or a line of ``examples.jsonl``."""

Written = tuple[Example, Sequence[str] | None, Any]
"""An example to write, with other words and another answer; None keeps those of the example."""

ANSWERS = ("gold", "clean", "attacked")
"""Keys of a line of ``examples.jsonl``: the gold answer, and those before and after the attack."""


class Files(ABC):
    """Reads and writes the examples of a task.

    Attributes:
        endings: file name endings that only this task uses.
        multiline: whether an example takes several lines of a file and ends at an empty one.
        corpus: makes the built-in data of a seed.
    """

    endings: tuple[str, ...]
    multiline: bool
    corpus: ClassVar[Callable[[int], Sample]]

    @abstractmethod
    def read(self, path: Sources, options: ReadOptions = ReadOptions()) -> list[Example]:
        """Read the examples of a file, or of several as of one file that joins them.

        Args:
            path: the file, or several with equal columns and format.
            options: how they are read.

        Raises:
            InputError: names file and line of content that cannot be used.
        """

    def sample(self, seed: int, split: str) -> list[Example]:
        """Make a split (``train``, ``dev``, ``test``) of the built-in data."""
        return type(self).corpus(seed).split(split)

    @abstractmethod
    def ending(self, path: str | Path) -> str:
        """Return the file name ending, with its dot, of a file made from this one."""

    def ending_for(self, examples: Sequence[Example]) -> str:
        """Return the file name ending of such examples; the usual one if they were not read."""
        return (examples[0].ending if examples else "") or self.ending("")

    @abstractmethod
    def write(
        self, example: Example, words: Sequence[str] | None = None, answer: Any = None
    ) -> str:
        """Return an example in the format of its file.

        Columns and comments that the task does not read are kept.

        Args:
            example: the example.
            words: other words, as many as `surface` has.
            answer: another answer than the gold one.
        """

    def write_all(self, examples: Iterable[Written]) -> Iterator[str]:
        """Yield the pieces of a file of examples, each changed as by `write`.

        The first piece is the head of the file, which does not depend on the examples; it is empty
        unless the file is a table.
        """
        yield ""
        yield from (self.write(*written) for written in examples)

    def as_copy(self, example: Example) -> Example:
        """Return an example that can stand in a file next to its original.

        A sentence of a treebank gets another sentence id.
        """
        return replace(example, block=as_copy(example.block)) if in_treebank(example) else example

    def not_written(self, examples: Sequence[Example], path: str | Path) -> Iterator[str]:
        """Warn of content of the file ``path`` that `write` omits, as it fits only the original."""
        if any(in_treebank(each) and has_graph(each.block) for each in examples):
            graphs = "enhanced dependencies (column 9) and empty nodes"
            yield f"{path}: {graphs} are left out of what is written"

    def check(
        self,
        examples: Sequence[Example],
        path: str | Path,
        check: Callable[[Sequence[Example]], None],
        punctuation: PunctuationPolicy = "none",
    ) -> None:
        """Reject examples that a model or an attack cannot use, or that cannot be scored.

        Args:
            examples: the examples of a file, with its numbers.
            path: the file, for examples without a path; a file is read again only to find the line
                of an error.
            check: the check of the model or the attack, which raises ``InputError``.
            punctuation: the words that are scored.

        Raises:
            InputError: names the file and the first line of the sentence.
        """
        for example in examples:
            is_read = example.start or example.row is not None
            with located(example.path or path, example.line if is_read else None):
                check([example])
                counted_words(example.sentence, punctuation)

    @abstractmethod
    def warnings(
        self, examples: Sequence[Example], known: Collection[str], use: FileUse
    ) -> Iterator[str]:
        """Yield warnings about whatever lowers scores on these examples, or harms training.

        Args:
            examples: the examples of a file, or of several as of one.
            known: the labels that the model has learnt.
            use: what they are used for.
        """

    def surface(self, example: Example) -> Sentence:
        """Return the text that operations and attacks reword; by default the example's sentence."""
        return example.sentence

    def reading(self, example: Example) -> Reading:
        """Return how a model reads the `surface` text; by default word for word."""
        return Reading.word_for_word(self.surface(example))

    def tagging(self, example: Example) -> tuple[tuple[str, ...], Sequence[int]]:
        """Return the text that a tagger reads; by default the words of the sentence.

        Returns:
            The words of the text, and for each word of the sentence the position of the word that
            gives it its tag.
        """
        return example.sentence.words, range(len(example.sentence))

    def project(
        self, example: Example, words: Sequence[str], origins: Sequence[int]
    ) -> Example | None:
        """Return a reworded example with the projected gold answer; None if projection fails.

        By default the gold answer is kept, as that of the whole text.

        Args:
            example: the original.
            words: the new words.
            origins: for each new word the position of the original word in `surface`, or -1.
        """
        return replace(example, sentence=reworded(example.sentence, words, origins))

    def needed(self, example: Example) -> frozenset[str]:
        """Return the words without which the gold answer can only be guessed; by default none."""
        return frozenset()


@runtime_checkable
class WritesPairs(Protocol):
    """Files with one answer for each text, in which a text can stand next to its original."""

    def pairs(self, pairs: Iterable[tuple[Example, Sequence[str]]]) -> Iterator[str]:
        """Yield the pieces of a file of perturbed texts, each with its original's words."""

    def answer(self, text: str) -> Any:
        """Return the gold answer in a column of such a file.

        Raises:
            InputError: the text is not an answer.
        """


@runtime_checkable
class Concatenates(Protocol):
    """Files whose examples can be joined: two texts with two answers."""

    def concatenated(self, first: Example, second: Example, separator: str) -> Example:
        """Join two examples, with a separator between their sentences, to train on.

        The result has the id of the first example, and both gold answers in order.
        """


class Answers(ABC):
    """Stores answers as JSON and compares them.

    Attributes:
        gold_type: the type of gold answers.
        language: the language of logical forms; None without logical forms, or if their tokens
            tell it.
        part_name: the name of a part of an answer, such as ``arc``; each word has one.
    """

    gold_type: type = str
    language: str | None = None
    part_name: str = "answer"

    @abstractmethod
    def to_record(self, answer: Any) -> dict[str, Any]:
        """Return an answer as JSON, as in a line of ``examples.jsonl``."""

    @abstractmethod
    def from_record(self, record: Record) -> Any:
        """Return the answer of a record, which may have other keys too.

        Raises:
            InputError: the record holds no answer of this kind.
        """

    def lines(self, answer: Any, words: Sequence[str]) -> list[str]:
        """Return an answer to a text of these words as lines; by default the answer itself.

        Answers to equally long texts have equally many lines.
        """
        return [str(answer)]

    def parts(self, answer: Any) -> Sequence[Any] | None:
        """Return the part of each word; by default None: the answer is one part."""
        return None

    def difference(self, first: Any, second: Any, apart: Collection[int] = ()) -> int:
        """Count the parts in which two answers to equally long texts differ.

        Args:
            first: an answer.
            second: an answer.
            apart: positions of words, from 0, whose parts are not compared.
        """
        parts, others = self.parts(first), self.parts(second)
        if parts is None or others is None:
            return int(first != second)
        pairs = enumerate(zip(parts, others, strict=True))
        return sum(part != other and word not in apart for word, (part, other) in pairs)

    def check_words(self, answer: Any, words: int) -> None:
        """Check that an answer with `parts` has one for each word.

        Raises:
            InputError: it has more or fewer.
        """
        parts = self.parts(answer)
        if parts is not None and len(parts) != words:
            problem, expected = f"got {len(parts)} {self.part_name}s", f"{words}, one for each word"
            raise InputError(problem, key=f"{self.part_name}s", expected=expected)

    def of(self, record: Record) -> list[Any]:
        """Return the three `ANSWERS` of a line.

        Raises:
            InputError: see `from_record` and `check_words`; the key names the answer too.
        """
        answers = []
        for which in ANSWERS:
            try:
                answers.append(self.from_record(record[which]))
                self.check_words(answers[-1], len(record["tokens"]))
            except InputError as error:
                error.key = f"{which}: {error.key}"
                raise
        return answers

    def changes(self, record: Record) -> tuple[int, int, int]:
        """Count the parts of a line's answers that changed, were wrong before, and wrong after.

        Parts of substituted words do not count as changed.

        Raises:
            InputError: see `from_record`.
        """
        gold, before, after = self.of(record)
        changed = self.difference(before, after, record["edited"])
        return changed, self.difference(gold, before), self.difference(gold, after)

    def strict_success(self, record: Record) -> dict[str, bool]:
        """Tell for each score of a line whether the attack succeeded beyond the changed words.

        Parts of the answers that touch a changed word are not compared. Empty if the parts of an
        answer do not belong to words.

        Raises:
            InputError: see `from_record`.
        """
        return {}

    def relations(self, record: Record) -> list[str]:
        """Name the gold relation of each changed word; empty if answers have no relations.

        Raises:
            InputError: see `from_record`.
        """
        return []

    def kind(self, record: Record) -> str | None:
        """Return the class of a line's gold answer, by which successes are grouped, or None.

        Raises:
            InputError: see `from_record`.
        """
        return None


class Scores(ABC):
    """Counts what is right in answers.

    Attributes:
        headline: the most important score.
        names: the scores of a sentence, of an attack and of a curve, in the order of a table.
        further: scores of a whole file only, which `evaluate` adds.
        sums: the counts of `correct` that a line of ``examples.jsonl`` holds, first those of right
            parts in the order of `names`.
    """

    headline: str
    names: tuple[str, ...]
    further: tuple[str, ...]
    sums: tuple[str, ...]

    def counted(self, sentence: Sentence, punctuation: PunctuationPolicy) -> NDArray[np.bool_]:
        """Return which parts of an answer are scored, ``(words,)``, or ``(1,)`` for a whole text.

        Raises:
            InputError: the sentence lacks what the policy needs.
        """
        return counted_words(sentence, punctuation)

    @abstractmethod
    def correct(self, answer: Any, example: Example, counted: NDArray[np.bool_]) -> dict[str, int]:
        """Count what is right in an answer; `score` of summed counts scores several examples.

        Returns:
            ``counted``, `sums`, and the counts that `further` scores need.
        """

    @abstractmethod
    def score(self, sums: Mapping[str, int]) -> dict[str, float | None]:
        """Compute the scores of these sums in percent; None if nothing was counted."""

    def correct_by_class(
        self, answer: Any, example: Example, counted: NDArray[np.bool_]
    ) -> dict[str, dict[str, int]]:
        """Count what is right in an answer for each class of its parts; by default none."""
        return {}

    def by_class(self, sums: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, float | None]]:
        """Compute the scores of each class in percent from the sums of `correct_by_class`."""
        return {}

    def fraction(self, name: str, sums: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the dividend and the divisor of one of `names`, as linear functions of the sums.

        By default these are the right parts and ``counted``.

        Args:
            name: the score.
            sums: numbers, or arrays of one number for each text, by the names in `sums`, and
                ``counted``.
        """
        return sums[self.sums[self.names.index(name)]], sums["counted"]

    def complete(self, sums: Mapping[str, int]) -> bool:
        """Tell whether all counted parts of an answer are right by every score."""
        return all(sums[name] == sums["counted"] for name in self.sums)

    def right(self, record: Record, when: str) -> dict[str, NDArray[np.bool_]]:
        """Tell which counted parts of an answer in a line of ``examples.jsonl`` are right.

        By default an answer has one part.

        Args:
            record: the line.
            when: the key of the answer, ``clean`` or ``attacked``.

        Returns:
            For each of `sums`, ``(counted,)``.

        Raises:
            InputError: see `Answers.from_record`.
        """
        return {name: np.array([record[when][name] > 0]) for name in self.sums}


@dataclass(frozen=True)
class Pictures:
    """Draws answers for HTML pages.

    Attributes:
        draw: takes a line of ``examples.jsonl`` and returns a self-contained HTML element that
            shows the answers before and after the attack; raises ``InputError`` as
            `Answers.from_record` does.
        legend: HTML that explains the pictures.
        certificate: takes a line of ``certificates.jsonl`` and returns a self-contained HTML
            element that shows what is certified, and the witnesses; raises ``InputError`` or
            ``LookupError`` if values of the line do not fit together.
        certificate_legend: HTML that explains the pictures of certificates.
    """

    draw: Callable[[Record], str]
    legend: str
    certificate: Callable[[Record], str]
    certificate_legend: str


@dataclass(frozen=True)
class Task:
    """One kind of answers.

    Attributes:
        name: the name of the task, as in ``summary.json``.
        files: reads and writes examples.
        answers: stores and compares answers.
        scores: scores answers.
        pictures: draws answers.
    """

    name: str
    files: Files
    answers: Answers
    scores: Scores
    pictures: Pictures


def reworded(sentence: Sentence, words: Sequence[str], origins: Sequence[int]) -> Sentence:
    """Return a sentence of other words, with the tags and features of the original words."""

    def of_words(tags: tuple[str, ...]) -> tuple[str, ...]:
        return tuple("_" if origin < 0 else tags[origin] for origin in origins) if tags else ()

    tags = {name: of_words(getattr(sentence, name)) for name in ("upos", "xpos", "feats")}
    return replace(sentence, words=tuple(words), **tags)


def scored_parts(record: Record, number: int) -> NDArray[np.bool_]:
    """Return which of this number of parts of a line's answer are scored, ``(number,)``."""
    scored = np.ones(number, dtype=np.bool_)
    scored[record.get("uncounted", [])] = False
    return scored
