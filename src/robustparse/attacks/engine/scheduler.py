"""Run many searches at once, and answer their requests with few, full forward passes.

Other attack libraries are slow because they attack one sentence at a time, with a handful of texts
per forward pass. Here several sentences wait for the victim at once, and a pass takes states of as
many sentences of similar length as fit.

A sentence starts or continues only while less than two passes' worth of states wait. Therefore the
first sentences finish after a few passes even with many candidates, memory holds the states of few
sentences, and a killed run loses no more sentences than two passes hold.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
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

_FORWARD_SHARE = 16  # another forward pass costs as much as padding 1/16 of a full batch
_PASSES_AHEAD = 2  # waiting states, in forward passes
_TOGETHER = 16  # sentences whose candidates are generated together, to fill models' batches
_FIRST_GUESS = 1 / 16  # first estimate of the states in a request, in forward passes
_NO_ROOM = 1e-9  # room up to this is a rounding error


class _Flight:
    """A sentence whose search is running.

    Args:
        run: the search of the sentence.
        share: the fraction of a forward pass that one text of this length takes.

    Attributes:
        left: number of requested states that wait for the victim.
        finished: whether the search has ended and all reported predictions are made.
    """

    def __init__(self, run: SearchRun, share: float) -> None:
        self.run, self.share, self.length = run, share, max(1, run.length)
        self.ask()

    def ask(self) -> None:
        """Take the states that the search asks about, once its other requests are answered."""
        need = self.run.need
        self.finished = need is None
        self._states = need.states if isinstance(need, Predict) else _NO_STATES
        self.left = len(self._states)
        self._predictions: list[Predictions] = []

    def next_states(self, count: int) -> States:
        """Return the first waiting states, `(count, words)`."""
        begin = len(self._states) - self.left
        return self._states[begin : begin + count]

    def predicted(self, part: Predictions, count: int) -> None:
        """Take the predictions of these states."""
        self._predictions.append(part)
        self.left -= count

    def go_on(self) -> None:
        """Pass the answer to the search, which then makes its next request or ends."""
        self.run.answer(joined(self._predictions))


_Piece = tuple[_Flight, States]
"""Some of the states that one sentence asks about, `(n, words)`."""


class Scheduler:
    """Runs searches against one victim.

    Only the scheduler counts queries. Every requested state is charged, repeated ones too, and the
    clean prediction is query 1. Unique queries are distinct states, even if their texts are equal.
    The victim predicts each unique state once, and the final text once more. Gradients are free.

    Args:
        builder: makes candidates and judges changes, for one victim and goal.
        search: the strategy; it makes one generator per sentence.
        budget, live, batch_words, batch_queries: see `Attack`.
        reported: whether to make clean and closing predictions too, which reports need.
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
        self._gradients = GradientPasses(
            builder.victim, self._capacity, builder.goal.wants_gold, self._statistics
        )
        # Number of requests so far, and their states in forward passes.
        self._questions, self._passes_asked = 1, _FIRST_GUESS

    def run(self, problems: Iterable[Problem]) -> Iterator[SearchRun]:
        """Attack all problems; yield each run when it finishes."""
        rest = iter(problems)
        flights: list[_Flight] = []  # in the order in which they began
        while True:
            asked = sum(flight.left * flight.share for flight in flights)
            room = _PASSES_AHEAD - asked
            if not (
                self._resume(flights, room, _TOGETHER)
                or self._begin(flights, rest, room)
                or (asked < 1 and self._resume(flights, room, 1))
                or self._predict(flights)
            ):
                return
            finished = [flight.run for flight in flights if flight.finished]
            if finished:
                flights = [flight for flight in flights if not flight.finished]
            for run in finished:
                run.counts = self._builder.funnel.finished(run.problem.id)
                yield run

    def _resume(self, flights: Sequence[_Flight], room: float, least: int) -> bool:
        """Continue answered sentences if there are at least ``least``; return whether any did.

        As many continue as will probably fill the room.
        """
        answered = [flight for flight in flights if not flight.left] if room > _NO_ROOM else []
        if len(answered) < least:
            return False
        likely = math.ceil(room * self._questions / self._passes_asked)
        answered = answered[: max(_TOGETHER, likely)]
        for flight in answered:
            flight.go_on()
        self._serve([flight.run for flight in answered])
        for flight in answered:
            flight.ask()
            self._passes_asked += flight.left * flight.share
        self._questions += len(answered)
        return True

    def _begin(self, flights: list[_Flight], rest: Iterator[Problem], room: float) -> bool:
        """Start further sentences while there is room; return whether any started.

        A sentence that is answered and waits to continue takes the room of one text.
        """
        room -= sum(flight.share for flight in flights if not flight.left)
        if room <= _NO_ROOM:
            return False
        # Closing predictions leave room for the clean ones of the sentences that follow.
        most = self._live - sum(not flight.run.closing for flight in flights)
        new: list[tuple[SearchRun, float]] = []
        while room > _NO_ROOM and len(new) < most:
            if (problem := next(rest, None)) is None:
                break
            share = 1 / self._capacity(len(problem))
            args = (problem, self._builder, self._search, self._budget, self._reported)
            new.append((SearchRun(*args), share))
            room -= share
        self._serve([run for run, _ in new])
        flights += [_Flight(run, share) for run, share in new]
        return bool(new)

    def _serve(self, runs: Sequence[SearchRun]) -> None:
        """Answer all requests except for predictions, one kind at a time, until none is left."""
        while any(self._serve_kind(runs, kind) for kind in _BEFORE_PREDICTIONS):
            pass

    def _serve_kind(self, runs: Sequence[SearchRun], kind: type) -> bool:
        """Answer all requests of one kind together; return whether there were any."""
        waiting = [run for run in runs if type(run.need) is kind]
        if waiting:
            for run, answer in zip(waiting, self._answers(kind, waiting), strict=True):
                run.answer(answer)
        return bool(waiting)

    def _answers(self, kind: type, waiting: Sequence[SearchRun]) -> Sequence[Any]:
        """Answer the requests of sentences, which are all of one kind."""
        problems: list[Problem] = [run.problem for run in waiting]
        needs: list[Any] = [run.need for run in waiting]
        if kind is Candidates:
            return self._builder.extend(problems, [need.positions for need in needs])
        if kind is Admit:
            return self._builder.admits(problems, [need.edits for need in needs])
        if kind is Measure:
            return self._builder.similarities([need.edits for need in needs])
        return self._gradients.answers(problems, needs)

    def _capacity(self, longest: int) -> int:
        """Return how many texts of this length fit into a forward pass."""
        return min(self._batch_queries, max(1, self._batch_words // max(1, longest)))

    def _next_pass(self, waiting: Sequence[_Flight]) -> list[_Piece]:
        """Fill a forward pass with states of the oldest sentence and of others of similar length.

        It stops where padding would cost more than another pass.
        """
        oldest = waiting[0].length
        batch: list[_Piece] = []
        longest = texts = words = 0
        for flight in sorted(waiting, key=lambda flight: abs(flight.length - oldest)):
            width = max(longest, flight.length)
            count = min(flight.left, self._capacity(width) - texts)
            padding = width * (texts + count) - words - flight.length * count
            if count <= 0 or padding > self._batch_words // _FORWARD_SHARE:
                break
            batch.append((flight, flight.next_states(count)))
            longest, texts, words = width, texts + count, words + flight.length * count
        return batch

    def _predict(self, flights: Sequence[_Flight]) -> bool:
        """Make one forward pass, and finish the sentences whose closing predictions it makes.

        Returns:
            Whether any states were waiting.
        """
        waiting = [flight for flight in flights if flight.left]
        if not waiting:
            return False
        batch, victim = self._next_pass(waiting), self._builder.victim
        texts = texts_of([(one.run.problem, states) for one, states in batch], victim.unknown)
        with self._statistics.in_victim():
            predictions = victim.predict(texts.words, texts.marks, texts.lengths)
        self._statistics.forwards += 1
        self._statistics.texts += len(texts.lengths)
        at = 0
        for flight, states in batch:
            rows = slice(at, at + len(states))
            part = tuple([array[rows] for array in predictions])
            if self._builder.goal.per_word:
                part = tuple(_with_columns(array, flight.run.length) for array in part)
            flight.predicted(part, len(states))
            at = rows.stop
            if flight.run.closing and not flight.left:
                flight.go_on()
                flight.ask()
        return True


_NO_STATES = np.zeros((0, 0), dtype=np.int16)
_BEFORE_PREDICTIONS = (Candidates, Admit, Measure, Gradient)


def _with_columns(array: NDArray[Any], width: int) -> NDArray[Any]:
    """Cut the array to `width` columns, or pad it with zeros, `(n, width)`."""
    missing = max(0, width - array.shape[1])
    return np.pad(array[:, :width], ((0, 0), (0, missing))) if missing else array[:, :width]
