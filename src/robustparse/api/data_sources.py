"""Sources of sentences: files, or examples in memory.

The settings and digests of a source identify the data in ``run.json``.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from robustparse.api.inputs import check_same_kind, data_files, digest, file_names
from robustparse.api.taggers import check_tagger, tagger_named, with_tags
from robustparse.api.victim_sources import VictimSource, known_to
from robustparse.data.datamodule import MAX_LENGTH, SAMPLE
from robustparse.data.fractions import FractionOf, check_fraction, draw_fraction
from robustparse.data.read_options import FileUse, Known, ReadOptions
from robustparse.data.shard import Shard
from robustparse.errors import InputError, check_least, check_seed, say, whole_number
from robustparse.evaluation.clean import AnsweringVictim
from robustparse.files.paths import in_short
from robustparse.files.writing import unwritable
from robustparse.metrics import PunctuationPolicy
from robustparse.tasks.registry import check_ending
from robustparse.tasks.task import Task
from robustparse.types import Example, Sentence
from robustparse.victims.answers import answer_code


@dataclass(frozen=True)
class DataFile:
    """A file, or several that are read as one, or a split of the sample.

    ``names`` may hold patterns, which are replaced by the files that they match (`data_files`). The
    other fields are options of ``attack``.
    """

    names: Sequence[str]
    seed: int = 0
    limit: int | None = None
    fraction: float = 1.0
    unit: FractionOf = "sentences"
    max_length: int = MAX_LENGTH
    columns: list[str] | None = None
    split: str = "test"
    tagger: str | None = None
    shard: Shard | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", data_files(self.names))

    @property
    def name(self) -> str:
        """The name of the data in messages."""
        return in_short(self.names)

    @property
    def recorded(self) -> str | list[str]:
        """The file, or the list of several, as in ``run.json``."""
        return self.names[0] if len(self.names) == 1 else [*self.names]

    @property
    def settings(self) -> dict[str, Any]:
        """Limit, fraction, tagger and shard."""
        tagger = {} if self.tagger is None else {"tagger": self.tagger}
        shard = {} if self.shard is None else {"shard": str(self.shard)}
        drawn = {"limit": self.limit, "fraction": self.fraction, "fraction_of": self.unit}
        return {**drawn, **tagger, **shard}

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of each file."""
        return {name: digest(name) for name in self.names}

    def digest(self) -> str:
        """Return the SHA-256 of the file.

        For several, the SHA-256 of their digests, one per line. It is empty if a file has no
        digest.
        """
        digests = [*self.digests().values()]
        if len(digests) == 1:
            return digests[0]
        if not all(digests):
            return ""
        return hashlib.sha256("".join(f"{each}\n" for each in digests).encode()).hexdigest()

    def read(self, task: Task, known: Known = Known()) -> list[Example]:
        """Read the sentences.

        A shard keeps only its own sentences in memory, except in CSV, quoted TSV, JSON lists,
        Parquet, datasets and packed files, which are kept whole.

        Args:
            task: the task of their gold answers.
            known: what the victim knows about tables.

        Raises:
            InputError: the file cannot be used, or a number is out of range.
        """
        check_seed("--seed", self.seed)
        check_least("--", limit=self.limit, max_length=self.max_length)
        if self.tagger is not None:
            check_tagger(self.tagger)
        check_fraction("--tokens" if self.unit == "tokens" else "--fraction", self.fraction)
        options = ReadOptions(
            self.columns,
            self.max_length,
            limit="--max_length",
            known=known,
            choose=None if self.shard is None else self._chosen,
        )
        if self.names == (SAMPLE,):
            if self.columns is not None:
                problem = f"the data {SAMPLE!r} have no columns"
                raise InputError(problem, key="--columns", remedy="leave it out")
            whole = task.files.sample(self.seed, self.split)
            for example in whole:
                options.check_length(example.sentence)
        else:
            check_same_kind(self.names)
            check_ending(self.names[0], task)
            whole = task.files.read(self.names, options)
            if self.shard is not None:
                return whole
        return [whole[at] for at in self._chosen([len(each.sentence) for each in whole])]

    def _chosen(self, lengths: Sequence[int]) -> Sequence[int]:
        """Return the positions of the sentences of the fraction, the limit and the shard.

        Args:
            lengths: the words of each sentence; only a fraction of the words depends on them.
        """
        limited = draw_fraction(lengths, self.fraction, self.unit, self.seed)[: self.limit]
        return limited if self.shard is None else self.shard.select(limited)

    def examples(self, victim: AnsweringVictim, punctuation: PunctuationPolicy) -> list[Example]:
        """Read the sentences for a victim, and tag them if a tagger is set.

        Args:
            victim: the victim, whose task reads the file.
            punctuation: which punctuation is left out of the scores.

        Raises:
            InputError: see `read` and `tagger_named`; or the victim cannot read a sentence, or a
                sentence lacks the tags that the punctuation policy needs.
        """
        examples = self.read(victim.task, known_to(victim))
        if self.tagger is not None:
            examples = with_tags(examples, victim.task, tagger_named(self.tagger))
        victim.task.files.check(examples, self.name, victim.check, punctuation)
        return examples


@dataclass(frozen=True)
class GivenExamples:
    """Sentences in memory, of which the first ``limit`` are attacked."""

    sentences: Sequence[Example]
    limit: int | None = None
    name: ClassVar[str] = "examples"
    names: ClassVar[tuple[str, ...]] = (name,)
    recorded: ClassVar[str] = name

    @property
    def settings(self) -> dict[str, Any]:
        """The limit."""
        return {"limit": self.limit}

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of the sentences, by the name of the data."""
        return {self.name: self.digest()}

    def digest(self) -> str:
        """Return the SHA-256 of the sentences."""
        return hashlib.sha256(repr(list(self.sentences)).encode()).hexdigest()

    def examples(self, victim: AnsweringVictim, punctuation: PunctuationPolicy) -> list[Example]:
        """Return the sentences.

        Raises:
            InputError: an id is not a number or is repeated, a sentence is not a sequence of words,
                a gold answer has another type than the victim's answers or does not fit the words,
                or the victim cannot read a sentence.
        """
        check_least("examples", limit=self.limit)
        examples = list(self.sentences)[: self.limit]
        expected, first = victim.task.answers.gold_type, dict[int, int]()
        for number, example in enumerate(examples, start=1):
            key = f"{self.name}: sentence {number}"
            if type(example.id) is not int or example.id < 0:
                raise InputError(
                    f"has the id {example.id!r:.40}", key=key, expected="a number >= 0"
                )
            if (earlier := first.setdefault(example.id, number)) != number:
                raise InputError(
                    f"has the id {example.id}, as sentence {earlier}",
                    key=key,
                    expected="a different id",
                    remedy="number them: [replace(e, id=i) for i, e in enumerate(examples)]",
                )
            if not isinstance(example.gold, expected):
                problem = f"its gold answer is {example.gold!r:.40}"
                is_number = expected is str and isinstance(example.gold, int)
                remedy = f"write it as a string: {str(example.gold)!r}" if is_number else None
                raise InputError(problem, key=key, expected=f"a {expected.__name__}", remedy=remedy)
            _check_words(example, victim.task, key)
        victim.check(examples)
        return examples


DataSource = DataFile | GivenExamples
"""Its properties describe the data in ``run.json``; ``examples`` returns the sentences."""


def examples_for(
    victim: AnsweringVictim, data: DataSource, punctuation: PunctuationPolicy
) -> list[Example]:
    """Return the sentences of a source, after the victim's warnings about them.

    Raises:
        InputError: see `DataFile.examples` and `GivenExamples.examples`.
    """
    examples = data.examples(victim, punctuation)
    say(*victim.warnings(examples, FileUse(data.name, punctuation)))
    return examples


def data_source(
    data: object,
    key: str = "examples",
    *,
    seed: int = 0,
    limit: int | None = None,
    split: str = "test",
) -> DataSource:
    """Return the source of sentences.

    Args:
        data: a file, several that are read as one, or examples.
        key: the name of the argument.
        seed, limit, split: see `DataFile`.

    Raises:
        InputError: the data are neither files nor examples, or an empty list.
    """
    limit = None if limit is None else whole_number("limit", limit)
    if names := file_names(data):
        return DataFile(names, seed, limit, split=split)
    if not isinstance(data, Sequence) or not all(isinstance(each, Example) for each in data):
        expected = "examples with gold answers, as of robustparse.read, or files"
        raise InputError(f"got {data!r:.60}", key=key, expected=expected)
    if not data:
        raise InputError("names no example", key=key, expected="at least one")
    return GivenExamples(data, limit)


def _check_words(example: Example, task: Task, key: str) -> None:
    """Check that words can be written to a file, and that a tree or tags fit them."""
    sentence = example.sentence
    words = sentence.words if isinstance(sentence, Sentence) else ()
    if not isinstance(words, tuple | list) or not words or not all(map(_is_word, words)):
        expected = "Sentence(words), with a tuple of words without control characters"
        raise InputError(f"is {sentence!r:.60}", key=key, expected=expected)
    if task.name in ("dependency", "tags"):
        try:
            answer_code(task, None).row(example.gold, words)
        except InputError as error:
            error.found, error.key = f"its gold answer does not fit: {error.found}", key
            raise


def _is_word(word: object) -> bool:
    return isinstance(word, str) and bool(word.strip()) and unwritable(word) is None


def settings_of(
    victim: VictimSource, data: DataSource, seed: int, columns: list[str] | None
) -> dict[str, Any]:
    """Return the settings of the victim and the data, as in ``run.json``.

    Args:
        victim: the source of the victim.
        data: the source of the sentences.
        seed: the seed of the run.
        columns: the names of the columns that the sentences were read from, if any.
    """
    first = {"seed": seed, "limit": data.limit}  # the order of earlier versions
    settings = {**first, **victim.settings, "data": data.recorded, **data.settings}
    return settings if columns is None else {**settings, "columns": columns}
