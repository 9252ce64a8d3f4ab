"""From examples to problems, in bulk: candidates and filters run over all sentences at once."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, compress

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.candidates.casing import as_they_are, in_casing_of
from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.sentence_filter import Edit, SentenceFilter
from robustparse.attacks.goals import Goal
from robustparse.attacks.problem import Problem
from robustparse.attacks.statistics import Statistics
from robustparse.attacks.victim import Victim
from robustparse.metrics import counted_words
from robustparse.types import Example

_Masks = list[NDArray[np.bool_]]


class ProblemBuilder:
    """Builds the problems of many examples.

    Args:
        victim: whose rows and ids the problems hold.
        candidates: proposes words.
        constraints: which words may be changed and which candidates are accepted, in order.
        goal: says which words count and what predictions are compared with.
        seed: of the candidates drawn.
        statistics: where the seconds of models are added up.
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
        self._victim = victim
        self._candidates = candidates.for_victim(victim)
        self._constraints = constraints
        self._filters = [one for one in constraints if isinstance(one, SentenceFilter)]
        # Those that accept whatever is proposed need not be asked.
        self._judges = [one for one in constraints if type(one).accept is not Constraint.accept]
        self._goal = goal
        self._seed = seed
        self._statistics = statistics

    def build(self, examples: Sequence[Example]) -> list[Problem]:
        """The problems of the examples, in their order, without candidates as yet."""
        victim = self._victim
        lengths = [len(example.sentence) for example in examples]
        ends = np.cumsum(lengths).tolist()
        originals = _rows(victim, list(chain.from_iterable(e.sentence.words for e in examples)))
        tags = victim.intern_tags([tag for example in examples for tag in _tags(example)])
        golds = self._goal.gold(examples, victim)
        problems = []
        for example, eligible, gold, length, end in zip(
            examples, self._eligible(examples), golds, lengths, ends, strict=True
        ):
            span = slice(end - length, end)
            problems.append(
                Problem(
                    id=example.id,
                    sentence=example.sentence,
                    original=originals[span],
                    tags=tags[span],
                    unknown=victim.unknown,
                    eligible=eligible,
                    ptr=np.zeros(length + 1, dtype=np.int64),
                    rows=np.zeros(0, dtype=np.int32),
                    words=(),
                    gold=gold,
                    counted=counted_words(example.sentence, self._goal.punctuation),
                )
            )
        return problems

    def extend(
        self, problems: Sequence[Problem], positions: Sequence[NDArray[np.int64]]
    ) -> list[Problem]:
        """The problems with candidates at more positions.

        Args:
            problems: the problems so far.
            positions: of each problem, where it has none and shall get some, rising.
        """
        slots = [
            Slot(problem.id, problem.sentence, position)
            for problem, some in zip(problems, positions, strict=True)
            for position in some.tolist()
        ]
        accepted = self._accepted(slots)
        rows = _rows(self._victim, list(chain.from_iterable(accepted)))
        extended, slot, row = [], 0, 0
        for problem, some in zip(problems, positions, strict=True):
            mine = accepted[slot : slot + len(some)]
            count = sum(map(len, mine))
            extended.append(_with_candidates(problem, some, mine, rows[row : row + count]))
            slot, row = slot + len(some), row + count
        return extended

    @property
    def free(self) -> bool:
        """Whether no model makes candidates or judges them one by one."""
        judged = any(one.is_model() for one in self._judges)
        return not judged and not self._candidates.is_model()

    @property
    def filtered(self) -> bool:
        """Whether any constraint judges changed sentences."""
        return bool(self._filters)

    def admits(self, edits: Sequence[Edit]) -> NDArray[np.bool_]:
        """Which edits pass all filters on sentences, `(edits,)`; each judges the survivors."""
        passed = np.ones(len(edits), dtype=np.bool_)
        for one in self._filters:
            left = np.flatnonzero(passed)
            with self._timed(one):
                passed[left] = one.admits([edits[index] for index in left.tolist()])
        return passed

    def _eligible(self, examples: Sequence[Example]) -> _Masks:
        masks: _Masks = [np.ones(len(example.sentence), dtype=np.bool_) for example in examples]
        for constraint in self._constraints:
            masks = [
                mask & allowed
                for mask, allowed in zip(masks, constraint.attackable(examples), strict=True)
            ]
        return masks

    def _accepted(self, slots: Sequence[Slot]) -> list[list[str]]:
        """The candidates of each slot that pass all constraints, in the generator's order."""
        with self._timed(self._candidates):
            proposals = self._candidates.propose(slots, self._seed)
        cased = as_they_are if self._candidates.verbatim() else in_casing_of
        words = [
            cased(slot.word, proposal) for slot, proposal in zip(slots, proposals, strict=True)
        ]
        for constraint in self._judges:
            with self._timed(constraint):
                masks = constraint.accept(slots, words, self._victim)
            words = [
                some if mask.all() else list(compress(some, mask.tolist()))
                for some, mask in zip(words, masks, strict=True)
            ]
        return words

    @contextmanager
    def _timed(self, part: CandidateGenerator | Constraint) -> Iterator[None]:
        """Adds the seconds of a part to the statistics, if it is a model."""
        begin = time.perf_counter()
        yield
        if part.is_model():
            self._statistics.add_model_seconds(part, time.perf_counter() - begin)


def _with_candidates(
    problem: Problem,
    positions: NDArray[np.int64],
    candidates: Sequence[Sequence[str]],
    rows: NDArray[np.int32],
) -> Problem:
    """The problem with candidates, and their rows in the same order, put at rising positions."""
    counts = np.diff(problem.ptr)
    if not len(problem.rows):
        counts[positions] = list(map(len, candidates))
        ptr = np.concatenate([[0], np.cumsum(counts)])
        return replace(problem, ptr=ptr, rows=rows, words=tuple(chain.from_iterable(candidates)))
    added = np.array([len(some) for some in candidates], dtype=np.int64)
    counts[positions] += added
    words: list[str] = []
    done = 0
    for begin, some in zip(problem.ptr[positions].tolist(), candidates, strict=True):
        words += [*problem.words[done:begin], *some]
        done = begin
    return replace(
        problem,
        ptr=np.concatenate([[0], np.cumsum(counts)]),
        rows=np.insert(problem.rows, np.repeat(problem.ptr[positions], added), rows),
        words=(*words, *problem.words[done:]),
    )


def _rows(victim: Victim, words: Sequence[str]) -> NDArray[np.int32]:
    """Rows of the words, `(len(words),)`; each distinct word is interned once."""
    distinct = list(dict.fromkeys(words))
    row = dict(zip(distinct, victim.intern(distinct).tolist(), strict=True))
    return np.fromiter(map(row.__getitem__, words), dtype=np.int32, count=len(words))


def _tags(example: Example) -> tuple[str, ...]:
    """The tags a victim may read; one that reads them has been asked whether they are there."""
    return example.sentence.tags or ("_",) * len(example.sentence)
