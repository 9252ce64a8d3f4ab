"""Runs many searches at once and answers their requests with few, full forward passes.

Attack libraries that attack one sentence at a time are slow, because each forward pass has only a
handful of texts. Here many sentences wait for the victim together, and each pass is filled with
states of sentences of similar length.

A sentence starts or continues only while fewer than two passes' worth of states wait. Therefore the
first sentences finish after a few passes even with many candidates, memory holds the states of few
sentences, and a killed run loses no more sentences than fit into two passes.
"""

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.engine.gradients import GradientPasses
from robustparse.attacks.engine.need import Service
from robustparse.attacks.engine.problem_builder import ProblemBuilder
from robustparse.attacks.engine.search_run import SearchRun
from robustparse.attacks.engine.victim_input import texts_of
from robustparse.attacks.problem import Problem
from robustparse.attacks.search.requests import Search
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
        run: the attack on the sentence.
        share: the fraction of a forward pass that one text of this length takes.

    Attributes:
        left: number of requested states that wait for the victim.
        finished: whether the search has ended and all reported predictions are made.
    """

    def __init__(self, run: SearchRun, share: float) -> None:
        self.run, self.share, self.length = run, share, max(1, run.length)
        self.ask()

    def ask(self) -> None:
        """Take the states to predict, after the other services have answered the run."""
        need = self.run.need
        self.finished = need is None
        self._states = _NO_STATES if need is None else need.argument
        self.left = len(self._states)
        self._predictions: list[Predictions] = []

    def next_states(self, count: int) -> States:
        """Return the first waiting states, `(count, words)`."""
        begin = len(self._states) - self.left
        return self._states[begin : begin + count]

    def predicted(self, predictions: Predictions, count: int) -> None:
        """Take the predictions for the first waiting states."""
        self._predictions.append(predictions)
        self.left -= count

    def go_on(self) -> None:
        """Pass all predictions to the run, which then makes its next request or ends."""
        self.run.answer(joined(self._predictions))


_Share = tuple[_Flight, States]
"""The states of one sentence in a forward pass, `(n, words)`."""


class Scheduler:
    """Runs searches against one victim.

    Only the scheduler's runs count queries. Every requested state is charged, repeated ones too,
    and the clean prediction is query 1. Unique queries are distinct states, even if their texts are
    equal. The victim predicts each unique state once, and the final text once more. Gradients are
    not charged.

    Args:
        builder: builds problems, makes candidates and judges changes, for one victim and goal.
        search: the strategy; it makes one generator per sentence.
        budget, live, batch_words, batch_queries: see `Attack`.
        reported: whether to make the clean and closing predictions that reports need.
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
        gradients = GradientPasses(
            builder.victim, self._capacity, builder.goal.wants_gold, self._statistics
        )
        # All services but `predict`; each answers the needs of many sentences.
        self._services: dict[Service, Callable[..., Sequence[Any]]] = {
            "propose": builder.extend,
            "follow": builder.follow,
            "check": builder.admits,
            "compare": builder.similarities,
            "gradient": gradients.answers,
        }
        # Number of requests so far, and their states, in forward passes.
        self._requests, self._passes_asked = 1, _FIRST_GUESS

    def run(self, problems: Iterable[Problem]) -> Generator[SearchRun, None, None]:
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
                run.counts = self._builder.candidate_counts.finished(run.problem.id)
                yield run

    def _resume(self, flights: Sequence[_Flight], room: float, least: int) -> bool:
        """Continue answered sentences if there are at least `least`; return whether any did.

        As many continue as will probably fill the room.
        """
        answered = [flight for flight in flights if not flight.left] if room > _NO_ROOM else []
        if len(answered) < least:
            return False
        likely = math.ceil(room * self._requests / self._passes_asked)
        answered = answered[: max(_TOGETHER, likely)]
        for flight in answered:
            flight.go_on()
        self._serve([flight.run for flight in answered])
        for flight in answered:
            flight.ask()
            self._passes_asked += flight.left * flight.share
        self._requests += len(answered)
        return True

    def _begin(self, flights: list[_Flight], rest: Iterator[Problem], room: float) -> bool:
        """Start further sentences while there is room; return whether any started.

        An answered sentence that waits to continue takes the room of one text.
        """
        room -= sum(flight.share for flight in flights if not flight.left)
        if room <= _NO_ROOM:
            return False
        # Closing predictions share passes with the clean predictions of new sentences.
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
        """Answer all needs but predictions, one service at a time, until none is left."""
        while any(self._answer(runs, service) for service in self._services):
            pass

    def _answer(self, runs: Sequence[SearchRun], service: Service) -> bool:
        """Let one service answer all runs that wait for it; return whether there were any."""
        waiting = [(run, run.need) for run in runs if run.need and run.need.service == service]
        if waiting:
            answers = self._services[service](
                [run.problem for run, _ in waiting], [need.argument for _, need in waiting]
            )
            for (run, _), answer in zip(waiting, answers, strict=True):
                run.answer(answer)
        return bool(waiting)

    def _capacity(self, longest: int) -> int:
        """Return how many texts of this length fit into a forward pass."""
        return min(self._batch_queries, max(1, self._batch_words // max(1, longest)))

    def _next_pass(self, waiting: Sequence[_Flight]) -> list[_Share]:
        """Fill a forward pass with states of the oldest sentence and of others of similar length.

        It stops when padding would cost more than another pass.
        """
        oldest = waiting[0].length
        batch: list[_Share] = []
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
        """Make one forward pass and finish the sentences whose closing predictions it contains.

        Returns:
            Whether any states were waiting.
        """
        waiting = [flight for flight in flights if flight.left]
        if not waiting:
            return False
        batch, victim = self._next_pass(waiting), self._builder.victim
        texts = texts_of([(flight.run.problem, states) for flight, states in batch], victim.unknown)
        with self._statistics.in_victim():
            predictions = victim.predict(texts)
        self._statistics.forwards += 1
        self._statistics.texts += len(texts.lengths)
        begin = 0
        for flight, states in batch:
            rows = slice(begin, begin + len(states))
            share = tuple([array[rows] for array in predictions])
            if self._builder.goal.per_word:
                share = tuple(_with_columns(array, flight.run.length) for array in share)
            flight.predicted(share, len(states))
            begin = rows.stop
            if flight.run.closing and not flight.left:
                flight.go_on()
                flight.ask()
        return True


_NO_STATES = np.zeros((0, 0), dtype=np.int16)


def _with_columns(array: NDArray[Any], width: int) -> NDArray[Any]:
    """Cut the array to `width` columns, or pad it with zeros, `(n, width)`."""
    missing = max(0, width - array.shape[1])
    return np.pad(array[:, :width], ((0, 0), (0, missing))) if missing else array[:, :width]
