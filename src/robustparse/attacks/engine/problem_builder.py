"""From examples to problems, in bulk: candidates and filters run over all sentences at once."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, compress

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.candidates.union import cased, unite
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.constraints.tagging.tags import never_attacked
from robustparse.attacks.engine.extending import (
    Candidates,
    check_sizes,
    sums_up_to,
    with_candidates,
)
from robustparse.attacks.engine.funnel import CandidateFunnel, Stages
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.goals.attachment import Goal
from robustparse.attacks.problem import Problem
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError
from robustparse.metrics import counted_words
from robustparse.types import Example

_Masks = list[NDArray[np.bool_]]

_MANY = 4  # edits of one word, from which on a table of its candidates pays


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
        bound = candidates.for_victim(victim)
        self._constraints = constraints
        self._stages = Stages(bound, constraints)
        self._goal = goal
        self._seed = seed
        self._statistics = statistics

    def build(self, examples: Sequence[Example]) -> list[Problem]:
        """Return the problems of the examples, in their order, without candidates as yet."""
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
                    sources=np.zeros((0, len(self._stages.members)), dtype=np.bool_),
                    counts=self._stages.none(),
                    once=any(one.once for one in self._stages.filters),
                    most_edits=self._most_edits(length),
                )
            )
        return problems

    def extend(
        self, problems: Sequence[Problem], positions: Sequence[NDArray[np.int64]]
    ) -> list[Problem]:
        """Return the problems with candidates at more positions.

        Args:
            problems: the problems so far.
            positions: of each problem, where it has none and shall get some, rising.
        """
        slots = [
            Slot(problem.id, problem.sentence, position)
            for problem, some in zip(problems, positions, strict=True)
            for position in some.tolist()
        ]
        accepted, sifting = self._accepted(slots)
        rows = _rows(self._victim, list(chain.from_iterable(accepted)))
        added = np.fromiter(map(len, accepted), dtype=np.int64, count=len(slots))
        check_sizes(slots, added)
        # Where the slots and the candidates of each problem end.
        ends = np.array([len(some) for some in positions], dtype=np.int64).cumsum()
        row_ends = sums_up_to(added, ends).tolist()
        sums = np.diff(sums_up_to(sifting.sums, ends), axis=0, prepend=0)
        extended, slot, row = [], 0, 0
        for number, (problem, some) in enumerate(zip(problems, positions, strict=True)):
            mine, own = slice(slot, slot + len(some)), slice(row, row_ends[number])
            more = Candidates(accepted[mine], added[mine], rows[own], sifting.sources[own])
            counts = problem.counts.plus(len(some), sums[number])
            extended.append(with_candidates(problem, some, more, counts))
            slot, row = mine.stop, own.stop
        return extended

    @property
    def free(self) -> bool:
        """Whether no model makes candidates or judges them one by one."""
        parts: list[CandidateGenerator | Constraint] = [*self._stages.members, *self._stages.tables]
        return not any(part.is_model for part in parts)

    @property
    def filtered(self) -> bool:
        """Whether any constraint judges changed sentences."""
        return bool(self._stages.filters)

    def admits(self, edits: Sequence[Edit]) -> NDArray[np.bool_]:
        """Which edits pass the filters on sentences, up to each one, `(filters, edits)`.

        Each judges the survivors of the one before; the last row says what passes them all.
        """
        passed = np.zeros((len(self._stages.filters), len(edits)), dtype=np.bool_)
        left = np.arange(len(edits))
        for row, one in enumerate(self._stages.filters):
            with self._timed(one):
                left = left[one.admits([edits[index] for index in left.tolist()])]
            passed[row, left] = True
        return passed

    def similarities(self, edits: Sequence[Edit]) -> NDArray[np.float64] | None:
        """Return what the first filter that measures one says, `(edits,)`; None if none does."""
        for one in self._stages.filters:
            with self._timed(one):
                found = one.similarities(edits)
            if found is not None:
                return found
        return None

    def count_judged(
        self, problem: Problem, edits: Sequence[Edit], passed: NDArray[np.bool_]
    ) -> Problem:
        """Return the problem with the counts of edits that were judged, `(filters, edits)`."""
        more = self._stages.judged(problem.sources[_places(problem, edits)], passed)
        return replace(problem, counts=problem.counts.plus(0, more))

    def _eligible(self, examples: Sequence[Example]) -> _Masks:
        masks: _Masks = [~never_attacked(example) for example in examples]
        for constraint in self._constraints:
            masks = [
                mask & constraint.attackable(example)
                for mask, example in zip(masks, examples, strict=True)
            ]
        return masks

    def _most_edits(self, words: int) -> int | None:
        """How many words of a sentence all filters let differ from the original's."""
        told = (one.most_edits(words) for one in self._stages.filters)
        return min((most for most in told if most is not None), default=None)

    def _accepted(self, slots: Sequence[Slot]) -> tuple[list[list[str]], CandidateFunnel]:
        """Return each slot's candidates that pass all constraints, in the generator's order."""
        proposals = []
        for generator in self._stages.members:
            with self._timed(generator):
                proposed = generator.propose(slots, self._seed)
            proposals.append(cased(generator, slots, proposed))
        words = unite(proposals) if self._stages.united else proposals[0]
        sifting = CandidateFunnel(self._stages, words, proposals)
        # The others accept whatever is proposed, and need not be asked.
        for constraint in self._stages.tables:
            with self._timed(constraint):
                masks = constraint.accept(slots, words, self._victim)
            words = [
                some if mask.all() else list(compress(some, mask.tolist()))
                for some, mask in zip(words, masks, strict=True)
            ]
            sifting.keep(masks)
        return words, sifting

    @contextmanager
    def _timed(self, part: CandidateGenerator | Constraint) -> Iterator[None]:
        """Give adds the seconds of a part to the statistics, if it is a model; says whose a fault
        is.
        """
        begin = time.perf_counter()
        try:
            yield
        except InputError:
            raise
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
            raise RuntimeError(f"{type(part).__name__} failed ({found})") from error
        if part.is_model:
            self._statistics.add_model_seconds(part, time.perf_counter() - begin)


def _places(problem: Problem, edits: Sequence[Edit]) -> list[int]:
    """Which of the problem's candidates each edit puts in."""
    edits_at = Counter(edit.position for edit in edits)
    tables: dict[int, dict[str, int]] = {}
    places = []
    for edit in edits:
        begin, end = problem.ptr[edit.position : edit.position + 2].tolist()
        if edits_at[edit.position] < _MANY:  # a table of all candidates would cost more
            places.append(problem.words.index(edit.word, begin, end))
            continue
        if edit.position not in tables:
            words = enumerate(problem.words[begin:end], begin)
            tables[edit.position] = {word: place for place, word in words}
        places.append(tables[edit.position][edit.word])
    return places


def _rows(victim: Victim, words: Sequence[str]) -> NDArray[np.int32]:
    """Rows of the words, `(len(words),)`; each distinct word is interned once."""
    distinct = list(dict.fromkeys(words))
    row = dict(zip(distinct, victim.intern(distinct).tolist(), strict=True))
    return np.fromiter(map(row.__getitem__, words), dtype=np.int32, count=len(words))


def _tags(example: Example) -> tuple[str, ...]:
    """Return the tags a victim may read; one that reads them has checked for them."""
    return example.sentence.tags or ("_",) * len(example.sentence)
