"""Certificates by exhaustion: all allowed inputs are tried.

An answer is certified at d edits if it is right on the original and on every allowed input with at
most d edits (`allowed_inputs`). Answers are the single heads and labels of a tree, a text's label
or a logical form. The gold answer is that of the original. The victim answers every input, so the
certificate is exact for any model, ensemble or third-party parser. If more inputs are allowed than
the cap, the answers that are right on all inputs tried are undecided; nothing is sampled.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, cast

import numpy as np

from robustparse.attacks.attack import Attack, usual_goal
from robustparse.attacks.candidates.table import TableCandidates
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.goals.attachment import Parse
from robustparse.attacks.goals.tag_errors import GoldTags, TagErrors
from robustparse.attacks.goals.wrong_form import GoldForm
from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.requests import Answer, Predict, Propose, Search, Searching
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.attacks.victim import Victim, labels_of
from robustparse.certificates.allowed_inputs import AllowedInputs, Edits, checked_edits
from robustparse.errors import InputError, check_least, whole_number
from robustparse.metrics import PunctuationPolicy
from robustparse.types import Example, Indices, Mask, Predictions, States, TagSequence

CAP = 10_000
"""The most inputs of a sentence that are tried, by default."""

_AT_ONCE = 256  # inputs between two checks whether all answers are refuted


@dataclass(frozen=True, eq=False)
class Witness:
    """An allowed input on which the victim gives a wrong answer.

    Args:
        state: the input, `int16 (words,)`.
        predictions: the victim's predictions for it, arrays of one row.
        edits: the number of words that the victim reads differently.
    """

    state: State
    predictions: Predictions
    edits: int


@dataclass(eq=False)
class Certificate:
    """Which parts of the answer to one sentence are refuted, and by which inputs.

    The parts are the counted words of a tree or tags, or the whole answer. Every score of the task,
    such as `uas` and `las`, judges each of them.

    Args:
        problem: the sentence with its substitutes.
        allowed: the allowed inputs.
        parts: `(parts,)` positions of the counted words of a tree; 0 for a whole answer.

    Attributes:
        clean: the victim's predictions for the original, arrays of one row.
        refuted: `(parts, scores)` the index in `witnesses` of the first input that refutes each
            part by each score, or -1. That input has the fewest edits.
        witnesses: the inputs that refute a part, in rising order of edits.
        tried: `tried[k]` is the number of inputs tried with exactly k edits.
        complete: all inputs with at most this number of edits were tried.
    """

    problem: Problem
    allowed: AllowedInputs
    parts: Indices
    clean: Predictions = ()
    refuted: Indices = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    witnesses: list[Witness] = field(default_factory=list)
    tried: list[int] = field(default_factory=list)
    complete: int = 0

    def learn(self, states: States, predictions: Predictions, edits: int) -> None:
        """Add predictions for inputs with this number of edits; calls come in rising order."""
        right = right_parts(self.problem, predictions)[:, self.parts]
        if not self.tried:
            self.clean = predictions
            self.refuted = np.full(right.shape[1:], -1, dtype=np.int64)
        self.tried += [0] * (edits + 1 - len(self.tried))
        self.tried[edits] += len(states)
        fallen = (self.refuted < 0) & ~right.all(axis=0)
        first = right.argmin(axis=0)  # the first input on which each part is wrong
        for row in np.unique(first[fallen]).tolist():
            self.refuted[fallen & (first == row)] = len(self.witnesses)
            kept = tuple(array[row : row + 1].copy() for array in predictions)
            self.witnesses.append(Witness(states[row].copy(), kept, edits))

    @property
    def open(self) -> bool:
        """Whether a part is not refuted yet."""
        return bool((self.refuted < 0).any())

    def survived(self, edits: Edits) -> Mask:
        """Tell which parts no input tried with at most these edits refuted, `(parts, scores)`."""
        survived = self.refuted < 0
        most = self.allowed.edits(edits)
        for number, witness in enumerate(self.witnesses):
            if witness.edits > most:
                survived = survived | (self.refuted == number)
        return survived

    def certified(self, edits: Edits) -> Mask:
        """Tell which parts are right on every allowed input, `(parts, scores)`."""
        survived = self.survived(edits)
        return survived if self.complete >= self.allowed.edits(edits) else np.zeros_like(survived)

    def undecided(self, edits: Edits) -> bool:
        """Tell whether a part survived although not all allowed inputs were tried."""
        return bool((self.survived(edits) & ~self.certified(edits)).any())


class Exhaustion(Search):
    """Tries every allowed input of a sentence, those with fewer edits first.

    It stops when all parts are refuted. If more inputs are allowed than the cap, it tries all
    inputs up to the largest number of edits that fits into the cap; if even one edit does not fit,
    it tries the original and the first inputs with one edit. It returns a `Certificate` instead of
    a state.

    Args:
        edits: the numbers of edits to certify.
        cap: the most inputs of a sentence that are tried.
        per_word: whether an answer has a part for each word.
    """

    asks = False  # the original is the first of the allowed inputs

    def __init__(self, edits: Sequence[Edits], cap: int, *, per_word: bool) -> None:
        self.edits, self.cap, self.per_word = list(edits), cap, per_word

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        problem = (yield Propose(np.arange(len(problem)))).problem
        allowed = AllowedInputs(problem)
        parts = np.flatnonzero(problem.counted) if self.per_word else np.zeros(1, dtype=np.int64)
        certificate = Certificate(problem, allowed, parts)
        for edits, most in self._layers(allowed):
            for states in allowed.states(edits, _AT_ONCE, most):
                answer = yield Predict(states)
                certificate.learn(states, answer.predictions, edits)
                if not certificate.open:
                    return certificate
            if most == allowed.counts[edits]:
                certificate.complete = edits
        return certificate

    def _layers(self, allowed: AllowedInputs) -> Iterator[tuple[int, int]]:
        """Yield each number of edits to try, and how many inputs with it to try at most."""
        left = self.cap
        for edits in range(max(map(allowed.edits, self.edits)) + 1):
            count = allowed.counts[edits]
            if count <= left or edits == 1:
                yield edits, min(count, left)
            left -= count
            if left <= 0:
                return


@dataclass(frozen=True)
class Exhaustive:
    """Makes certificates of sentences by `Exhaustion`.

    Args:
        substitutes: the words that may take the place of a word. Words that no attack may change
            (tags of tokens that are not words, slots of utterances) have none.
        edits: the numbers of edits, each a number from 1 or `all`.
        cap: the most inputs of a sentence that are tried.
        punctuation: which punctuation of a tree is not counted.
        batch_words: padded words per forward pass of the victim; None uses the victim's value.

    Raises:
        InputError: a number is out of range.
    """

    substitutes: SubstitutionTable
    edits: Sequence[Edits] = (1, 2, "all")
    cap: int = CAP
    punctuation: PunctuationPolicy = "none"
    batch_words: int | None = None

    def __post_init__(self) -> None:
        whole_number("certify: cap", self.cap)
        check_least("certify", cap=self.cap, batch_words=self.batch_words)
        edits = [checked_edits(each) for each in self.edits]
        if not edits or len(set(edits)) < len(edits):
            expected = "different numbers from 1, or all"
            raise InputError(f"got {edits!r}", key="edits", expected=expected)

    def certificates(
        self, examples: Iterable[Example], victim: Victim, statistics: Statistics
    ) -> Generator[Certificate, None, None]:
        """Yield the certificate of each sentence when it is finished.

        Args:
            examples: see `Attack.run`.
            victim: see `Attack.run`.
            statistics: collects forward passes, texts and the victim's time.

        Raises:
            InputError: the victim's answers and the gold answers are of different types.
        """
        examples = iter(examples)
        if (first := next(examples, None)) is None:
            return
        goal = _EveryTag() if isinstance(first.gold, TagSequence) else usual_goal(first.gold)
        goal.punctuation = self.punctuation
        search = Exhaustion(self.edits, self.cap, per_word=goal.per_word)
        attack = Attack(
            TableCandidates.of(self.substitutes), search, goal=goal, batch_words=self.batch_words
        )
        runs = attack.search_runs(chain([first], examples), victim, statistics, reported=False)
        with closing(runs):
            for run in runs:
                yield cast(Certificate, run.outcome)


class _EveryTag(TagErrors):
    """Sentences without spans, which attacks leave alone, have certificates of their tags, too."""

    def applies(self, problem: Problem) -> bool:
        """See `Goal.applies`."""
        return True


def right_parts(problem: Problem, predictions: Predictions) -> Mask:
    """Compare n predictions with the gold answer of a sentence.

    Returns:
        Which parts of an answer are right by each score, `(n, parts, scores)`: for all words their
        heads, and heads with labels, or their tags, and the gold spans that they begin,
        `(n, words, 2)`; a label or a form, `(n, 1, 1)`.
    """
    gold = problem.gold
    if isinstance(gold, Parse):
        heads, labels, *_ = predictions
        right_heads = heads == gold.heads
        return np.stack([right_heads, right_heads & (labels == gold.labels)], axis=-1)
    if isinstance(gold, GoldTags):
        return np.stack([predictions[0] == gold.tags, gold.found(predictions[0])], axis=-1)
    if isinstance(gold, GoldForm):
        _, meanings, *_ = predictions
        right: Mask = meanings == gold.meaning
    else:
        right = labels_of(predictions) == gold
    return right[:, None, None]
