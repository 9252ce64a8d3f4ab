"""Use any function from texts to answers as a victim.

Searches and goals that need no probabilities work unchanged: goals against trees count heads, and a
label or form without a probability counts as certain.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, ClassVar, get_args

import numpy as np

from robustparse.attacks.victim import Scores
from robustparse.data.read_options import FileUse
from robustparse.data.reading import Reading
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, Stopped, check_choice, check_least, reason
from robustparse.tasks.registry import named
from robustparse.tasks.semantic import semantic_task
from robustparse.tasks.task import Task
from robustparse.types import Example, Ids, Predictions, TextRows
from robustparse.victims.answers import answer_code, has_probabilities

log = logging.getLogger(__name__)

Texts = list[list[str]]
"""Texts that a victim answers: lists of words."""

Pairs = list[tuple[list[str], list[str]]]
"""Premise and hypothesis of each pair that a victim answers."""

_LABELS_ONLY = 8
"""If so many answers lack probabilities, the victim is assumed to give none."""

_PAIRS = "make it with pairs=True (on the command line, --victim.pairs true)"
_REMEDY = "correct the victim and run again; an attack with a folder resumes there"


class BlackBox(ABC):
    """A victim (`attacks.Victim`) that is defined by one method, `answer`.

    An answer is a `DependencyTree` over the words of a text. The answer of a tagger is a list of
    tags, one per word, of spans as BIO or BILOU (BIOES). The answer of a classifier is a label, or
    a pair of a label and the probabilities of all labels, which sum to 1. The label must be a most
    probable one. The answer of a semantic parser is a form (`str` or `LogicalForm`), or a pair of a
    form and its probability; a form that cannot be read counts as wrong. Answers must depend on the
    text only, because a resumed run asks again.

    Args:
        task: the task of the answers, or its name.
        labels: all labels that a classifier may answer.
        training: the known training sentences of the victim, which some components of an attack
            need (`DictionaryTag`, `TrainingWords`).
        batch_texts: largest number of texts in one call.
        pairs: whether it is a classifier of `Pairs`; the hypotheses are attacked.
        language: the language of a semantic parser's forms; None finds it by their tokens.
        scores: ``none`` declares that a classifier or semantic parser answers without
            probabilities. Searches that need them are then refused (`Search.needs`).

    Attributes:
        made_from: the class path and the arguments that made the victim, with which other processes
            make it again; None if it was made in Python.
        device: the device that a command's ``--device`` names, for victims on this machine.
        answers_unreadable: whether a classifier may answer `answers.UNREADABLE`.
        one_process: whether only one process may ask it, because its limits hold for each process.
        PACKING: arguments that affect speed or cost but not answers; they may change when a run is
            resumed.
    """

    made_from: dict[str, Any] | None = None
    device = "auto"
    answers_unreadable: ClassVar[bool] = False
    one_process: ClassVar[bool] = False
    PACKING: ClassVar[tuple[str, ...]] = ("batch_texts",)
    unknown = 1  # row 0 is padding
    batch_words = 100_000  # words of a forward pass, which is divided into calls

    def __init__(
        self,
        task: Task | str = "dependency",
        *,
        labels: Sequence[str] | None = None,
        training: Sequence[Example] = (),
        batch_texts: int = 256,
        pairs: bool = False,
        language: str | None = None,
        scores: Scores = "probabilities",
    ) -> None:
        check_least("victim", batch_texts=batch_texts)
        check_choice("scores", scores, get_args(Scores))
        if task == "semantic":
            task = semantic_task(language, stems=False)  # a text is read as it is
        self.task = named(task) if isinstance(task, str) else task
        self.labels, self.training, self.batch_texts = labels, training, batch_texts
        self.pairs, self._scores = pairs, scores
        self._code = answer_code(self.task, labels, self.answers_unreadable)
        if pairs and labels is None:
            raise InputError("applies to classifiers only", key="pairs", remedy="leave it out")
        if language is not None and self.task.name != "semantic":
            expected = "the task semantic"
            raise InputError(f"got {language!r}", key="language", expected=expected)
        if scores == "none" and self.task.name in ("dependency", "tags"):
            problem = f"answers of the task {self.task.name} are scored without probabilities"
            raise InputError(problem, key="scores", remedy="leave it out")
        self._contexts: dict[str, int] = {}
        self._words = ["", ""]  # of padding, and the unknown word
        self._rows: dict[str, int] = {}
        # Answers so far without probabilities; None after the check.
        scored = scores == "probabilities" and self.task.name not in ("dependency", "tags")
        self._bare: int | None = 0 if scored else None

    @abstractmethod
    def answer(self, texts: list[Any]) -> Sequence[Any]:
        """Return the answer to each of some `Texts`, or `Pairs`, in their order."""

    @property
    def name(self) -> str:
        """The name of the victim in messages and folders."""
        return type(self).__name__

    @property
    def unknown_word(self) -> str:
        """The word that replaces others in some rankings."""
        return "[UNK]"

    @property
    def answerable(self) -> Sequence[str] | None:
        """All labels or tags that the victim may answer; None if they are unknown."""
        return self.labels

    @property
    def scores(self) -> Scores:
        """See ``ScoringVictim``."""
        return self._scores

    def counts(self) -> dict[str, int]:
        """Return what the victim counted since it was made, for summaries; by default nothing."""
        return {}

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary.from_examples(self.training)

    @property
    def training_tags(self) -> Mapping[str, Mapping[str, str]]:
        """See ``Victim``; empty without `training`."""
        return self._vocabulary.training_tags

    @property
    def training_words(self) -> Set[str]:
        """See ``Victim``; empty without `training`."""
        return self._vocabulary.training_words

    @property
    def training_features(self) -> Mapping[str, Set[tuple[str, str]]]:
        """See ``MorphologicalVictim``; empty without `training`."""
        return self._vocabulary.training_features

    def reading(self, example: Example) -> Reading:
        """See ``Files.reading``."""
        return self.task.files.reading(example)

    def intern(self, words: Sequence[str]) -> Ids:
        """See ``Victim``."""
        for word in words:
            if self._rows.setdefault(word, len(self._words)) == len(self._words):
                self._words.append(word)
        return np.array([self._rows[word] for word in words], np.int32)

    def intern_marks(self, marks: Sequence[str]) -> Ids:
        """Return the number of each premise, or zeros for single texts: tags are not read."""
        if not self.pairs:
            return np.zeros(len(marks), np.int32)
        known = self._contexts
        return np.array([known.setdefault(mark, len(known)) for mark in marks], np.int32)

    def name_ids(self, names: Sequence[str]) -> Ids:
        """See ``Victim``."""
        return self._code.name_ids(names)

    def answers(self, predictions: Predictions, lengths: Sequence[int]) -> list[Any]:
        """See ``Victim``."""
        return self._code.answers(predictions, lengths)

    def predict(self, texts: TextRows) -> Predictions:
        """See ``Victim``; one call for at most ``batch_texts`` texts.

        Raises:
            InputError: the victim fails, or its answers are malformed or not one per text.
        """
        asked = self.as_words(texts)
        rows: list[Any] = []
        for begin in range(0, len(asked), self.batch_texts):
            rows += self._encoded_answers(asked[begin : begin + self.batch_texts])
        return self._code.arrays(rows, texts.words.shape[1])

    def as_words(self, texts: TextRows) -> list[Any]:
        """Return `Texts`, or `Pairs`."""
        self._words[self.unknown] = self.unknown_word
        sized = zip(texts.words.tolist(), texts.lengths.tolist(), strict=True)
        spelt = [self.words_of(of_text[:length]) for of_text, length in sized]
        if not self.pairs:
            return spelt
        contexts = [context.split() for context in self._contexts]
        numbers = texts.marks[:, 0].tolist()
        return [(contexts[at], text) for at, text in zip(numbers, spelt, strict=True)]

    def words_of(self, rows: Sequence[int]) -> list[str]:
        """Return the words of rows, the opposite of `intern`."""
        return [self._words[row] for row in rows]

    def evaluating(self) -> AbstractContextManager[None]:
        """See ``Victim``; a black box has no modes."""
        return nullcontext()

    def check(self, examples: Sequence[Example]) -> None:
        """Check that the texts are pairs if the victim reads pairs, and single texts otherwise.

        Raises:
            InputError: names the first text of the wrong kind, counted from 1.
        """
        for example in examples:
            key = f"sentence {example.id + 1}"
            if example.sentence.context and not self.pairs:
                problem = f"a pair, but {self.name} reads single texts"
                raise InputError(problem, key=key, remedy=_PAIRS)
            if self.pairs and not example.sentence.context:
                raise InputError(f"a single text, but {self.name} reads pairs", key=key)

    def warnings(self, examples: Sequence[Example], use: FileUse) -> Iterator[str]:
        """See `Files.warnings`; no warnings appear if the possible answers are unknown."""
        if use.gold and self.answerable is not None:
            yield from self.task.files.warnings(examples, self.answerable, use)

    def _encoded_answers(self, asked: list[Any]) -> list[Any]:
        """Call the victim once and encode its answers."""
        texts = [
            tuple(text[-1] if self.pairs else text) for text in asked
        ]  # `answer` may change its lists
        try:
            answers = self.answer(list(asked))
            listed = isinstance(answers, Sequence | np.ndarray) and not isinstance(answers, str)
            rows = list(answers) if listed else []
        except (InputError, KeyboardInterrupt, Stopped):
            raise
        except BaseException as error:  # including SystemExit
            problem = f"{self.name} failed: {type(error).__name__}: {reason(error)}"
            raise InputError(problem, key="victim", remedy=_REMEDY) from error
        if not listed:
            problem = f"{self.name} returned {repr(answers)[:60]} for {len(asked)} texts"
            raise InputError(problem, key="victim", expected="a list of answers", remedy=_REMEDY)
        if len(rows) != len(asked):
            problem = f"{self.name} returned {len(rows)} answers for {len(asked)} texts"
            raise InputError(problem, key="victim", expected="one answer per text", remedy=_REMEDY)
        encoded = [self._encoded(answer, text) for answer, text in zip(rows, texts, strict=True)]
        self._look_for_probabilities(rows)
        return encoded

    def _look_for_probabilities(self, answers: Sequence[Any]) -> None:
        """Warn once if the first answers come without probabilities and `scores` does not say so.

        Probabilities of exactly 0 and 1 count as missing.
        """
        if self._bare is None:
            return
        if any(map(has_probabilities, answers)):
            self._bare = None
            return
        self._bare += len(answers)
        if self._bare >= _LABELS_ONLY:
            self._bare = None
            log.warning(
                "robustparse: the answers of %s have no probabilities between 0 and 1, so that "
                "attacks see a difference only where the label or form changes; if it has none to "
                "give, declare it with scores='none' (on the command line, --victim.scores none)",
                self.name,
            )

    def _encoded(self, answer: Any, text: Sequence[str]) -> Any:
        try:
            return self._code.row(answer, text)
        except InputError as error:
            error.found = f"{self.name} on {' '.join(text)[:60]!r}: {error.found}"
            error.key = "victim"
            raise
        except Exception as error:  # values of any type raise errors of any type
            got = f"got {repr(answer)[:60]} ({reason(error)})"
            problem = f"{self.name} on {' '.join(text)[:60]!r}: {got}"
            raise InputError(problem, key="victim", expected="an answer of its task") from error


class FunctionVictim(BlackBox):
    """A Python function as a victim.

    >>> victim = FunctionVictim(lambda texts: ["long" if len(words) > 9 else "short"
    ...     for words in texts], "classification", labels=["short", "long"])  # doctest: +SKIP

    Args:
        function: takes a list of texts and returns one answer per text. A text is a list of words
            or, with ``pairs``, a tuple of two such lists, premise and hypothesis.
        task: see `BlackBox`.
        **settings: see `BlackBox`.
    """

    def __init__(
        self,
        function: Callable[[list[Any]], Sequence[Any]],
        task: Task | str = "dependency",
        **settings: Any,
    ) -> None:
        super().__init__(task, **settings)
        self.function = function

    @property
    def name(self) -> str:
        """The function's name."""
        return str(getattr(self.function, "__qualname__", type(self.function).__name__))

    def answer(self, texts: list[Any]) -> Sequence[Any]:
        """Call the function."""
        return self.function(texts)
