"""One sentence under attack, from its clean prediction through its search to the closing one.

`SearchRun.life` reads like the life of a sentence. Wherever only a model, a candidate generator or
a constraint on sentences can answer, it yields a need and is sent the answer; the scheduler answers
the needs of hundreds of sentences together.
"""

from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np

from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.engine.admissible_states import AdmissibleStates, Admit
from robustparse.attacks.engine.funnel import CandidateCounts
from robustparse.attacks.engine.problem_builder import ProblemBuilder
from robustparse.attacks.engine.queries import NOTHING, QueryCounter
from robustparse.attacks.goals.goal import Verdict
from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.requests import (
    Answer,
    Check,
    Compare,
    Expand,
    Gradient,
    Propose,
    Request,
    Score,
    Search,
)
from robustparse.randomness import stream
from robustparse.types import Indices, Predictions, States


class Predict(NamedTuple):
    """Needs the victim's predictions for states `(n, words)`."""

    states: States


class Candidates(NamedTuple):
    """Needs the problem with candidates at more positions, `(positions,)`, rising."""

    positions: Indices


class Measure(NamedTuple):
    """Needs the similarities of edits, `float64 (edits,)`, or None where nothing measures one."""

    edits: list[Edit]


Need = Predict | Candidates | Admit | Measure | Gradient
Waiting = Generator[Need, Any, Any]

_NOWHERE = np.zeros(0, dtype=np.int64)


class SearchRun:
    """A sentence whose search is under way.

    Args:
        problem: the sentence's search space.
        builder: of the problem; knows the goal and the constraints.
        search: the strategy.
        budget: queries it may charge, the clean prediction included; None is unlimited.
        reported: whether the clean and the closing prediction are wanted, whatever the search asks.

    Attributes:
        need: what it waits for; None once it is done.
        closing: whether its outcome is settled.
        clean, attacked: the predictions for the original sentence and for the outcome.
        verdict: on the outcome.
        skipped: whether the sentence reaches the goal as it is.
        queries: charged so far.
        targeted: whether the goal finds anything to attack in the sentence (`Goal.applies`).
        counts: of the sentence's candidates, once it is done.
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
        self._admission = AdmissibleStates(problem.start())
        self._proposed = ~problem.eligible
        self._no_states = np.zeros((0, len(problem)), dtype=np.int16)
        self._life = self.life()
        self.answer(None)

    @property
    def words(self) -> tuple[str, ...]:
        """The text as the search leaves it, once it is done."""
        return self.problem.text(self.outcome)

    @property
    def read(self) -> tuple[str, ...]:
        """What the victim reads of it."""
        return self.problem.reading.of(self.words)

    @property
    def success(self) -> bool:
        """Whether a change reaches the goal, once it is done; no adversary is an unchanged one,
        whatever rounding does to its second prediction.
        """
        return not self.skipped and bool(self.outcome.any()) and bool(self.verdict.success[0])

    def answer(self, answer: Any) -> None:
        """Send the answer to what it waits for; None starts it."""
        try:
            self.need = self._life.send(answer)
        except StopIteration:
            self.need = None

    def life(self) -> Waiting:
        """Live from the clean prediction to the closing one; yields needs, is sent answers."""
        start, verdict = self.problem.start(), NOTHING
        if self._reported or self._search.asks:
            self.queries.charge(start[None])
            self.clean = yield Predict(start[None])
            verdict = self._judged(start[None], self.clean)
            self.queries.add(verdict)
            self.skipped = bool(verdict.success[0])
        outcome = start
        spent = self.queries.left == 0 and self._search.asks
        if self.targeted and not self.skipped and not spent:
            known = start[None] if len(verdict.scores) else self._no_states
            clean = self._answer(known, verdict, np.zeros(1, dtype=np.int64))
            outcome = yield from self._searched(clean)
        if self._builder.constrained and not self._admission.admissible(outcome):
            outcome = yield from self._admission.rebuilt(self.problem, outcome)
        self.outcome, self.closing = outcome, True
        if self._reported:
            self.attacked = yield Predict(outcome[None])
            self.verdict = self._judged(outcome[None], self.attacked)

    def _searched(self, clean: Answer) -> Waiting:
        """Answer what the search asks; return the state that it settles on."""
        asking = self._search.run(self.problem, clean, stream(self._builder.seed, self.problem.id))
        try:
            request = next(asking)
            while True:
                request = asking.send((yield from self._answered(request)))
        except StopIteration as stop:
            return stop.value

    def _answered(self, request: Request) -> Waiting:
        """Answer one request."""
        if isinstance(request, Expand | Score):
            if self._builder.constrained:
                asked = yield from self._admission.asked(self.problem, request)
            else:
                asked = request.asked(self.problem)
            return (yield from self._scored(*asked))
        answer = self._answer(self._no_states, NOTHING, _NOWHERE)
        if isinstance(request, Check):
            answer.places = np.arange(len(request.states))
            if self._builder.constrained:
                checked = self._admission.checked(self.problem, request.state, request.states)
                answer.places = yield from checked
        elif isinstance(request, Propose):
            yield from self._propose(request)
            answer.problem = self.problem
        elif isinstance(request, Compare):
            if edits := request.edits(self.problem):
                answer.similarities = yield Measure(edits)
        else:
            answer.gradients = yield request
        return answer

    def _propose(self, request: Propose) -> Waiting:
        """Have candidates made where there are none yet."""
        positions = request.positions
        if self._proposed[positions].all():
            return
        if self._builder.free and request.soon is not None:
            positions = np.concatenate([positions, request.soon])
        wanted = np.unique(positions[~self._proposed[positions]])
        self._proposed[positions] = True
        self.problem = yield Candidates(wanted)

    def _scored(self, states: States, places: Indices) -> Waiting:
        """Charge states, cut to the budget; have those predicted that are new."""
        left = self.queries.left
        if left == 0:
            raise RuntimeError(
                f"{type(self._search).__name__} asked for more after its budget was spent"
            )
        states, places = states[:left], places[:left]
        new, numbers = self.queries.charge(states)
        verdict = NOTHING
        if len(new):
            verdict = self._judged(new, (yield Predict(new)))
            self.queries.add(verdict)
        if numbers is not None:
            verdict = self.queries.verdict(numbers)
        return self._answer(states, verdict, places)

    def _judged(self, states: States, predictions: Predictions) -> Verdict:
        if not self.targeted:
            return Verdict(np.zeros(len(states)), np.zeros(len(states), dtype=np.bool_))
        return self._builder.goal.judge(self.problem, self.clean, states, predictions)

    def _answer(self, states: States, verdict: Verdict, places: Indices) -> Answer:
        parts = (states, verdict.scores, verdict.success)
        return Answer(*parts, self.problem, self.queries.left, places, rises=verdict.rises)
