"""The attack on one sentence, from its clean prediction through its search to the closing one.

`SearchRun.life` is a generator. Whenever it needs the victim, candidates, a sentence constraint or
a gradient, it yields a `Need` and receives the answer; the scheduler answers the needs of hundreds
of sentences together.
"""

from collections.abc import Generator
from typing import Any

import numpy as np

from robustparse.attacks.engine.admissible_states import AdmissibleStates
from robustparse.attacks.engine.candidate_counts import CandidateCounts
from robustparse.attacks.engine.need import Need
from robustparse.attacks.engine.problem_builder import ProblemBuilder
from robustparse.attacks.engine.query_counter import NOTHING, QueryCounter
from robustparse.attacks.goals.goal import Verdict
from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.requests import (
    Answer,
    Check,
    Compare,
    Expand,
    Gradient,
    Predict,
    Propose,
    Request,
    Score,
    Search,
)
from robustparse.errors import InputError
from robustparse.randomness import stream
from robustparse.types import Indices, Predictions, States

Waiting = Generator[Need, Any, Any]

_NO_ORIGINS = np.zeros(0, dtype=np.int64)
_DIGITS = 12  # those of scores in double precision that no rounding error reaches


class SearchRun:
    """The running attack on one sentence.

    Args:
        problem: the sentence's search space.
        builder: the builder of the problem, with the goal and the constraints.
        search: the strategy.
        budget: maximum number of queries, the clean prediction included; None is unlimited.
        reported: whether to make the clean and the closing prediction even if the search needs no
            predictions.

    Attributes:
        need: what the run waits for; None when it is finished.
        closing: whether the search has returned its outcome.
        clean, attacked: the predictions for the original sentence and for the outcome.
        outcome: the state that the search returned.
        verdict: the verdict on the outcome.
        skipped: whether the unchanged sentence already reaches the goal.
        queries: the queries so far.
        targeted: whether the goal applies to the sentence (`Goal.applies`).
        counts: counts of the sentence's candidates, set when the run is finished.
    """

    need: Need | None
    clean: Predictions
    attacked: Predictions
    verdict: Verdict
    outcome: State
    counts: CandidateCounts

    def __init__(
        self,
        problem: Problem,
        builder: ProblemBuilder,
        search: Search,
        budget: int | None,
        reported: bool,
    ) -> None:
        self.problem, self.length = problem, len(problem)
        self.queries = QueryCounter(budget)
        self.targeted = builder.goal.applies(problem)
        self.closing = self.skipped = False
        self._builder, self._search, self._reported = builder, search, reported
        self._admission = AdmissibleStates(problem.start(), builder.tells_combined)
        self._proposed = ~problem.eligible
        self._no_states = np.zeros((0, len(problem)), dtype=np.int16)
        self._life = self.life()
        self.answer(None)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the outcome; available when the search is finished."""
        return self.problem.text(self.outcome)

    @property
    def read_words(self) -> tuple[str, ...]:
        """The words that the victim reads for the outcome."""
        return self.problem.reading.of(self.words)

    @property
    def success(self) -> bool:
        """Whether the outcome reaches the goal; an unchanged sentence never counts as a success."""
        return not self.skipped and bool(self.outcome.any()) and bool(self.verdict.success[0])

    def answer(self, answer: Any) -> None:
        """Pass on the answer to the current need; None starts the run."""
        try:
            self.need = self._life.send(answer)
        except StopIteration:
            self.need = None

    def life(self) -> Waiting:
        """Attack the sentence from the clean prediction to the closing one; yield needs."""
        start, verdict = self.problem.start(), NOTHING
        if self._reported or self._search.asks:
            self.queries.charge(start[None])
            self.clean = yield Need("predict", start[None])
            verdict = self._judged(start[None], self.clean)
            self.queries.add(verdict)
            self.skipped = bool(verdict.success[0])
        outcome = start
        spent = self.queries.left == 0 and self._search.asks
        if self.targeted and not self.skipped and not spent:
            known = start[None] if len(verdict.scores) else self._no_states
            clean = self._answer(known, verdict, np.zeros(1, dtype=np.int64))
            outcome = yield from self._searched(clean)
            if self._reported:  # other searches return a certificate
                outcome = self._checked(outcome)
        if self._builder.constrained and not self._admission.admissible(outcome):
            outcome = yield from self._admission.rebuilt(self.problem, outcome)
        self.outcome, self.closing = outcome, True
        if self._reported:
            self.attacked = yield Need("predict", outcome[None])
            self.verdict = self._judged(outcome[None], self.attacked)

    def _searched(self, clean: Answer) -> Waiting:
        """Run the search, answer its requests, and return its outcome."""
        searching = self._search.run(
            self.problem, clean, stream(self._builder.seed, self.problem.id)
        )
        if not isinstance(searching, Generator):
            raise self._broken(searching, "a generator, which yields requests and returns a state")
        try:
            request = next(searching)
            while True:
                request = searching.send((yield from self._answered(request)))
        except StopIteration as stop:
            return stop.value

    def _checked(self, outcome: Any) -> State:
        """Check that the outcome of a search is a state of the sentence."""
        state, candidates = np.asarray(outcome), np.diff(self.problem.ptr)
        whole = state.shape == candidates.shape and state.dtype.kind in "iu"
        if not whole or ((state < 0) | (state > candidates)).any():
            raise self._broken(outcome, "a state, as problem.start() or a state of an answer")
        return state.astype(np.int16, copy=False)

    def _broken(self, value: Any, expected: str) -> InputError:
        """Return the error for something that a search yields or returns."""
        key = f"{type(self._search).__name__}.run"
        return InputError(f"returns {repr(value)[:60]}", key=key, expected=expected)

    def _answered(self, request: Request) -> Waiting:
        """Answer one request of the search."""
        if isinstance(request, Expand | Score):
            if self._builder.constrained:
                asked = yield from self._admission.asked(self.problem, request)
            else:
                asked = request.asked(self.problem)
            return (yield from self._scored(*self._spelt(*asked)))
        if isinstance(request, Predict):
            return (yield from self._predicted(request.states))
        answer = self._answer(self._no_states, NOTHING, _NO_ORIGINS)
        if isinstance(request, Check):
            states, rows = self._spelt(request.states, np.arange(len(request.states)))
            if self._builder.constrained:
                checked = self._admission.checked(self.problem, request.state, states)
                rows = rows[(yield from checked)]
            answer.origins = rows
        elif isinstance(request, Propose):
            yield from self._propose(request)
            answer.problem = self.problem
        elif isinstance(request, Compare):
            if edits := request.edits(self.problem):
                answer.similarities = yield Need("compare", edits)
        elif isinstance(request, Gradient):
            answer.gradients = yield Need("gradient", request)
        else:
            raise self._broken(request, "a request, as Propose, Score or Expand")
        return answer

    def _spelt(self, states: States, origins: Indices) -> tuple[States, Indices]:
        """Leave out states that are no text."""
        if not self.problem.phrases:
            return states, origins
        spelt = self.problem.spelt(states)
        return states[spelt], origins[spelt]

    def _propose(self, request: Propose) -> Waiting:
        """Get candidates for the requested positions that have none yet, or those that follow."""
        positions = request.positions
        if request.state is not None:
            for position in positions.tolist():
                self.problem = yield Need("follow", (position, request.state))
            return
        if self._proposed[positions].all():
            return
        if self._builder.free and request.soon is not None:
            positions = np.concatenate([positions, request.soon])
        wanted = np.unique(positions[~self._proposed[positions]])
        self._proposed[positions] = True
        self.problem = yield Need("propose", wanted)

    def _scored(self, states: States, origins: Indices) -> Waiting:
        """Cut states to the budget, charge them, and get predictions for the new ones."""
        left = self._left()
        states, origins = states[:left], origins[:left]
        new, numbers = self.queries.charge(states)
        verdict = NOTHING
        if len(new):
            verdict = self._judged(new, (yield Need("predict", new)))
            self.queries.add(verdict)
        if numbers is not None:
            verdict = self.queries.verdict(numbers)
        return self._answer(states, verdict, origins)

    def _predicted(self, states: States) -> Waiting:
        """Cut states to the budget, charge them, and get the victim's predictions for them."""
        states = states[: self._left()]
        self.queries.charged += len(states)
        predictions: Predictions = yield Need("predict", states)
        answer = self._answer(states, NOTHING, np.arange(len(states)))
        answer.predictions = predictions
        return answer

    def _left(self) -> int | None:
        """Return how many queries are left for another request."""
        left = self.queries.left
        if left == 0:
            raise RuntimeError(
                f"{type(self._search).__name__} asked for more after its budget was spent"
            )
        return left

    def _judged(self, states: States, predictions: Predictions) -> Verdict:
        if not self.targeted:
            return Verdict(np.zeros(len(states)), np.zeros(len(states), dtype=np.bool_))
        verdict = self._builder.goal.judge(self.problem, self.clean, states, predictions)
        # Texts that are equal to the victim, such as two with unknown words, must have equal
        # scores: their order must not depend on rounding errors, which differ between batches.
        verdict.scores = verdict.scores.round(_DIGITS)
        return verdict

    def _answer(self, states: States, verdict: Verdict, origins: Indices) -> Answer:
        return Answer(
            states,
            verdict.scores,
            verdict.success,
            self.problem,
            self.queries.left,
            origins,
            rises=verdict.rises,
        )
