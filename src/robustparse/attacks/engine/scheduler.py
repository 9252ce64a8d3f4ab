"""Keeps hundreds of searches alive and answers all they ask with few, full forward passes.

The design follows from what slows attack libraries down: one sentence at a time and a handful of
texts a forward pass. Here every live sentence waits for one thing. Those that wait for the same
kind of thing are served together: their needs are gathered, answered in one go, and the answers
handed back. States are predicted in batches of similar length, up to a word budget.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.engine.admissible_states import Admit
from robustparse.attacks.engine.gradients import GradientPasses
from robustparse.attacks.engine.problem_builder import ProblemBuilder
from robustparse.attacks.engine.search_run import Candidates, Measure, Predict, SearchRun
from robustparse.attacks.engine.texts import texts_of
from robustparse.attacks.problem import Problem
from robustparse.attacks.search.requests import Gradient, Search
from robustparse.attacks.victim import joined
from robustparse.types import Predictions, States

_FORWARD_SHARE = 16  # a forward pass is worth about 1/16 of a full batch in padding


_Piece = tuple[SearchRun, States]
"""Some of the states that one sentence wants predicted, `(n, words)`."""


class Scheduler:
    """Runs searches against one victim.

    Only the scheduler counts queries: every state asked about is charged, seen before or not, and
    the clean prediction is query 1; unique ones are distinct states, whatever they read.
    Gradients are not charged.

    Args:
        builder: makes candidates and judges changes, for one victim and goal.
        search: the strategy, one generator a sentence.
        budget, live, batch_words, batch_queries: see `Attack`.
        reported: whether clean and closing predictions are wanted; else only what searches ask.
    """

    def __init__(
        self,
        builder: ProblemBuilder,
        search: Search,
        *,
        budget: int | None,
        live: int,
        batch_words: int,
        batch_queries: int,
        reported: bool = True,
    ) -> None:
        self._builder, self._search = builder, search
        self._budget, self._reported = budget, reported
        self._live, self._batch_words, self._batch_queries = live, batch_words, batch_queries
        self._statistics = builder.statistics
        self._gradients = GradientPasses(builder.victim, self._capacity, builder.goal.wants_gold)

    def run(self, problems: Iterable[Problem]) -> Iterator[SearchRun]:
        """Attack all problems; runs come as they finish."""
        rest = iter(problems)
        runs: list[SearchRun] = []
        while True:
            # Closing predictions leave room for the clean ones of the sentences that follow.
            searching = sum(not run.closing for run in runs)
            runs += map(self._open, islice(rest, self._live - searching))
            if not runs:
                return
            # Predictions come last, when nobody waits for anything else: their batches are full.
            while sum(self._serve(runs, kind) for kind in _BEFORE_PREDICTIONS):
                pass
            self._serve(runs, Predict)
            for run in runs:
                if run.need is None:
                    self._record(run)
                    yield run
            runs = [run for run in runs if run.need is not None]

    def _open(self, problem: Problem) -> SearchRun:
        return SearchRun(problem, self._builder, self._search, self._budget, self._reported)

    def _serve(self, runs: Sequence[SearchRun], kind: type) -> int:
        """Gather one kind of need, answer all in one go, and hand back the answers; how many."""
        waiting = [run for run in runs if type(run.need) is kind]
        if waiting:
            answers = self._answers(kind, waiting)
            for run, answer in zip(waiting, answers, strict=True):
                run.answer(answer)
        return len(waiting)

    def _answers(self, kind: type, waiting: Sequence[SearchRun]) -> Sequence[Any]:
        """Answer the needs of sentences that all wait for one kind of thing."""
        if kind is Predict:
            return self._predictions(waiting)
        problems: list[Problem] = [run.problem for run in waiting]
        needs: list[Any] = [run.need for run in waiting]
        if kind is Candidates:
            return self._builder.extend(problems, [need.positions for need in needs])
        if kind is Admit:
            return self._builder.admits(problems, [need.edits for need in needs])
        if kind is Measure:
            return self._builder.similarities([need.edits for need in needs])
        return self._gradients.answers(problems, needs)

    def _predictions(self, waiting: Sequence[SearchRun]) -> list[Predictions]:
        """Predict all states that sentences wait for."""
        parts: dict[int, list[Predictions]] = {id(run): [] for run in waiting}
        for batch in self._batches(waiting):
            for (run, _), part in zip(batch, self._predicted(batch), strict=True):
                parts[id(run)].append(part)
        return [joined(some) for some in parts.values()]

    def _capacity(self, longest: int) -> int:
        """How many texts a forward pass takes whose longest has this many words."""
        return min(self._batch_queries, max(1, self._batch_words // max(1, longest)))

    def _batches(self, waiting: Sequence[SearchRun]) -> Iterator[list[_Piece]]:
        """All states to predict, longest sentences first, in batches of similar length."""
        allowed_padding = self._batch_words // _FORWARD_SHARE
        batch: list[_Piece] = []
        longest = room = padding = 0
        for run in sorted(waiting, key=attrgetter("length"), reverse=True):
            length, begin = run.length, 0
            assert isinstance(run.need, Predict)
            states = run.need.states
            rows = len(states)
            while begin < rows:
                padding += (longest - length) * min(rows - begin, room)
                if batch and (room == 0 or padding > allowed_padding):
                    yield batch
                    batch = []
                if not batch:
                    longest, padding = max(1, length), 0
                    room = self._capacity(longest)
                end = min(rows, begin + room)
                batch.append((run, states[begin:end]))
                room -= end - begin
                begin = end
        if batch:
            yield batch

    def _predicted(self, batch: Sequence[_Piece]) -> Iterator[Predictions]:
        """Make one forward pass; yield the predictions of each piece."""
        victim = self._builder.victim
        texts = texts_of([(one.problem, states) for one, states in batch], victim.unknown)
        predictions = victim.predict(texts.words, texts.marks, texts.lengths)
        closing = sum(run.length for run, _ in batch if run.closing)
        self._statistics.count_pass(texts.lengths, closing)
        at = 0
        for run, states in batch:
            rows = slice(at, at + len(states))
            part = tuple([array[rows] for array in predictions])
            if self._builder.goal.per_word:
                part = tuple(_with_columns(array, run.length) for array in part)
            yield part
            at = rows.stop

    def _record(self, run: SearchRun) -> None:
        run.counts = self._builder.funnel.finished(run.problem.id)
        self._statistics.add_sentence(run.problem, run.queries.asked)


_BEFORE_PREDICTIONS = (Candidates, Admit, Measure, Gradient)


def _with_columns(array: NDArray[Any], width: int) -> NDArray[Any]:
    """Cut the array to a number of columns, or fill it up with zeros, `(n, width)`."""
    missing = max(0, width - array.shape[1])
    return np.pad(array[:, :width], ((0, 0), (0, missing))) if missing else array[:, :width]
