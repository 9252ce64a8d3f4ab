"""From examples to problems, in bulk: candidates and constraints see all sentences at once."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.candidates.union import Union, cased, unite
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.sentence_constraint import Edit, SentenceConstraint
from robustparse.attacks.constraints.tagging.tags import never_attacked
from robustparse.attacks.engine.funnel import CandidateFunnel
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.goals.goal import Goal
from robustparse.attacks.problem import Problem
from robustparse.attacks.victim import ReadingVictim, Victim
from robustparse.data.reading import Reading
from robustparse.errors import InputError
from robustparse.metrics import counted_words
from robustparse.types import Example, Floats, Ids, Indices, Mask

_Masks = list[Mask]


class _Asked(NamedTuple):
    """A position for whose word candidates are made, among the words that the victim reads."""

    reading: Reading
    position: int


class ProblemBuilder:
    """Builds the problems of many examples.

    Args:
        victim: whose rows and ids the problems hold.
        candidates: proposes words.
        constraints: which words may be changed and which candidates are accepted, in order.
        goal: says which words count and what predictions are compared with.
        seed: of the candidates drawn.
        statistics: where the seconds of models are added up.

    Attributes:
        funnel: counts candidates.
        free: whether no model makes candidates or judges them one by one.
        constrained: whether any constraint judges changed sentences.
    """

    def __init__(
        self,
        victim: Victim,
        candidates: CandidateGenerator,
        constraints: Sequence[Constraint],
        goal: Goal,
        seed: int,
        statistics: Statistics,
    ) -> None:
        self.victim, self.goal, self._constraints = victim, goal, constraints
        self._reading = _word_for_word
        if isinstance(victim, ReadingVictim):
            self._reading = victim.reading
        for constraint in constraints:
            constraint.prepare(victim)
        self.seed, self.statistics = seed, statistics
        bound = candidates.for_victim(victim)
        self._united = isinstance(bound, Union)
        self._generators = bound.generators if isinstance(bound, Union) else [bound]
        # The others let every candidate pass: they say which words may be changed.
        self._on_words = [one for one in constraints if _looks_at_candidates(one)]
        self._on_sentences = [one for one in constraints if isinstance(one, SentenceConstraint)]
        self.funnel = CandidateFunnel(self._generators, self._on_words, self._on_sentences)
        parts: list[CandidateGenerator | Constraint] = [*self._generators, *self._on_words]
        self.free = not any(part.is_model for part in parts)
        self.constrained = bool(self._on_sentences)

    def build(self, examples: Sequence[Example]) -> list[Problem]:
        """Build the problems of the examples, in their order, without candidates as yet."""
        victim = self.victim
        lengths = [len(example.sentence) for example in examples]
        ends = np.cumsum(lengths).tolist()
        originals = _rows(victim, list(chain.from_iterable(e.sentence.words for e in examples)))
        marks = victim.intern_marks([mark for each in examples for mark in each.sentence.marks])
        golds = self.goal.gold(examples, victim)
        readings = [self._reading(example) for example in examples]
        once = any(one.once for one in self._on_sentences)
        return [
            Problem(
                example=example,
                reading=reading,
                original=originals[end - length : end],
                marks=marks[end - length : end],
                eligible=self._eligible(example, reading),
                ptr=np.zeros(length + 1, dtype=np.int64),
                rows=np.zeros(0, dtype=np.int32),
                words=(),
                gold=gold,
                counted=counted_words(example.sentence, self.goal.punctuation),
                once=once,
                most_edits=min(
                    (one.most_edits(len(reading.sentence)) for one in self._on_sentences),
                    default=length,
                ),
            )
            for example, reading, gold, length, end in zip(
                examples, readings, golds, lengths, ends, strict=True
            )
        ]

    def _eligible(self, example: Example, reading: Reading) -> Mask:
        """Tell which words that the victim reads may be changed, `(words,)`."""
        text = example if reading.plain else replace(example, sentence=reading.sentence)
        allowed = ~never_attacked(text)
        for constraint in self._constraints:
            if not constraint.of_read_words:
                allowed = allowed & constraint.attackable(text)
        allowed = allowed[reading.places] & reading.free
        for constraint in self._constraints:
            if constraint.of_read_words:
                allowed = allowed & constraint.attackable(example)
        return allowed

    def extend(self, problems: Sequence[Problem], positions: Sequence[Indices]) -> list[Problem]:
        """Give each problem candidates at more positions, rising, where it has none yet."""
        slots, asked = [], []
        for problem, some in zip(problems, positions, strict=True):
            places = problem.reading.places[some].tolist()
            slots += [Slot(problem.id, problem.sentence, place) for place in places]
            asked += [_Asked(problem.reading, position) for position in some.tolist()]
        words = self._accepted(slots, asked)
        rows = _rows(self.victim, list(chain.from_iterable(_read(asked, words))))
        added = np.fromiter(map(len, words), dtype=np.int64, count=len(slots))
        _check_sizes(slots, added)
        extended, slot, row = [], 0, 0
        for problem, some in zip(problems, positions, strict=True):
            mine = slice(slot, slot + len(some))
            end = row + int(added[mine].sum())
            extended.append(_extended(problem, some, words[mine], added[mine], rows[row:end]))
            slot, row = mine.stop, end
        return extended

    def _accepted(self, slots: Sequence[Slot], asked: Sequence[_Asked]) -> list[list[str]]:
        """Make each slot's candidates that pass all constraints, in the generator's order.

        Of several that the victim reads alike, the first one that passes.
        """
        proposals = []
        for generator in self._generators:
            with self._timed(generator):
                proposed = generator.propose(slots, self.seed)
            fitted = zip(asked, cased(generator, slots, proposed), strict=True)
            proposals.append([one.reading.candidates(one.position, some) for one, some in fitted])
        words = unite(proposals) if self._united else proposals[0]
        if not self._on_words:
            everything = [np.ones(len(some), dtype=np.bool_) for some in words]
            words = _kept(words, _read_once(asked, words, everything))
        self.funnel.proposed(slots, words, proposals)
        for constraint in self._on_words:
            judged = _read(asked, words) if constraint.of_read_words else words
            with self._timed(constraint):
                masks = constraint.accept(slots, judged, self.victim)
            if constraint is self._on_words[-1]:
                masks = _read_once(asked, words, masks)
            words = _kept(words, masks)
            self.funnel.kept(masks)
        self.funnel.accepted(words)
        return words

    def admits(self, problems: Sequence[Problem], edits: Sequence[Sequence[Edit]]) -> list[Mask]:
        """Judge the edits of each problem: which pass all constraints on sentences, `(edits,)`.

        Each constraint judges the survivors of the one before, if there are any.
        """
        all_edits = list(chain.from_iterable(edits))
        passed = np.zeros((len(self._on_sentences), len(all_edits)), dtype=np.bool_)
        left = np.arange(len(all_edits))
        for row, one in enumerate(self._on_sentences):
            if not left.size:
                break
            with self._timed(one):
                left = left[one.admits([all_edits[index] for index in left.tolist()])]
            passed[row, left] = True
        parts = _split(passed, edits)
        for problem, some, part in zip(problems, edits, parts, strict=True):
            self.funnel.judged(problem.id, some, part)
        return [part[-1] for part in parts]

    def similarities(self, edits: Sequence[Sequence[Edit]]) -> Sequence[Floats | None]:
        """Ask the first constraint that measures similarity, `(edits,)` each; None if none does."""
        all_edits = list(chain.from_iterable(edits))
        for one in self._on_sentences:
            with self._timed(one):
                found = one.similarities(all_edits)
            if found is not None:
                return _split(found, edits)
        return [None] * len(edits)

    @contextmanager
    def _timed(self, part: CandidateGenerator | Constraint) -> Iterator[None]:
        """Add the seconds of a part to the statistics if it is a model; name it where it fails."""
        begin = time.perf_counter()
        try:
            yield
        except InputError:
            raise
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
            raise RuntimeError(f"{type(part).__name__} failed ({found})") from error
        if part.is_model:
            seconds = time.perf_counter() - begin
            self.statistics.model_seconds[type(part).__name__] += seconds


def _word_for_word(example: Example) -> Reading:
    return Reading.word_for_word(example.sentence)


def _read(asked: Sequence[_Asked], words: Sequence[list[str]]) -> list[list[str]]:
    """Return what the victim reads of the candidates of each position."""
    return [
        some if one.reading.plain else [*map(one.reading.read, some)]
        for one, some in zip(asked, words, strict=True)
    ]


def _read_once(asked: Sequence[_Asked], words: Sequence[list[str]], masks: _Masks) -> _Masks:
    """Take all but the first out of the masks of candidates that the victim reads alike."""
    found = []
    for one, some, mask in zip(asked, words, masks, strict=True):
        if not one.reading.plain:
            rows = {one.reading.read(some[row]): row for row in np.flatnonzero(mask)[::-1].tolist()}
            mask = np.isin(np.arange(len(some)), [*rows.values()])
        found.append(mask)
    return found


def _kept(words: Sequence[list[str]], masks: _Masks) -> list[list[str]]:
    return [
        some if mask.all() else list(compress(some, mask.tolist()))
        for some, mask in zip(words, masks, strict=True)
    ]


def _looks_at_candidates(constraint: Constraint) -> bool:
    return type(constraint).accept is not Constraint.accept


def _rows(victim: Victim, words: Sequence[str]) -> Ids:
    """Rows of the words, `(len(words),)`; each distinct word is interned once."""
    distinct = list(dict.fromkeys(words))
    row = dict(zip(distinct, victim.intern(distinct).tolist(), strict=True))
    return np.fromiter(map(row.__getitem__, words), dtype=np.int32, count=len(words))


def _check_sizes(slots: Sequence[Slot], added: Indices) -> None:
    """See that a state can tell the candidates of each slot apart, `(slots,)` many."""
    most = np.iinfo(np.int16).max
    if added.max(initial=0) > most:
        slot = slots[int(added.argmax())]
        raise InputError(
            f"{added.max()} candidates for one word of sentence {slot.id + 1}",
            key="attack",
            expected=f"at most {most}",
            remedy="draw some with the generator's option sample",
        )


def _extended(
    problem: Problem, positions: Indices, words: Sequence[Sequence[str]], added: Indices, rows: Ids
) -> Problem:
    """Put candidates at rising positions of a problem, `added` many at each and in these `rows`."""
    new = np.zeros(len(problem), dtype=np.int64)
    new[positions] = added
    ptr = problem.ptr.copy()
    ptr[1:] += new.cumsum()
    joined: list[str] = []
    done = 0
    for begin, some in zip(problem.ptr[positions].tolist(), words, strict=True):
        joined += [*problem.words[done:begin], *some]
        done = begin
    places = np.repeat(problem.ptr[positions], added)
    rows = np.insert(problem.rows, places, rows)
    return replace(problem, ptr=ptr, rows=rows, words=(*joined, *problem.words[done:]))


def _split(values: NDArray[Any], parts: Sequence[Sequence[Edit]]) -> list[NDArray[Any]]:
    """Divide values `(..., edits)` among the parts that the edits come from."""
    return np.split(values, np.cumsum([len(part) for part in parts])[:-1], axis=-1)
