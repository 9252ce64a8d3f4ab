"""One sentence under attack: its search, what is known of its states, and its query count.

Its life: the clean prediction (query 1), the search's requests, the closing prediction for the
outcome (not charged). An adversary that is made for training alone has no closing prediction, and
no clean one if its search asks nothing. Between them `pending` holds the states that only the
victim can answer, `wanted` the positions for which candidates are to be made, `unjudged` the
changes that filters must judge, `compared` those whose similarity is asked for, and `sloped` the
request for a gradient.
"""

from collections.abc import Generator
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.engine.admissible_states import AdmissibleStates
from robustparse.attacks.engine.queries import QueryCounter
from robustparse.attacks.goals.attachment import Goal, Verdict
from robustparse.attacks.problem import Problem, State
from robustparse.attacks.randomness import stream
from robustparse.attacks.results import Status
from robustparse.attacks.search.comparing import Compare
from robustparse.attacks.search.requests import (
    Answer,
    Expand,
    Gradient,
    Outcome,
    Propose,
    Request,
    Score,
    Search,
)
from robustparse.attacks.search.white_box.gradients import Slope
from robustparse.attacks.victim import Predictions, joined


class Phase(Enum):
    """What the pending states are for."""

    CLEAN = "clean"
    SEARCH = "search"
    FINAL = "final"
    DONE = "done"


class SearchRun:
    """A sentence whose search is under way.

    Args:
        problem: the sentence's search space.
        goal: judges the victim's answers.
        search: the strategy.
        seed: with the id, of the sentence's own random stream.
        budget: queries it may charge, the clean prediction included; None is unlimited.
        filtered: whether filters judge changed sentences.
        ahead: whether candidates are made where the search says that it will ask soon.
        reported: whether the clean and the closing prediction are wanted, whatever the search asks.
    """

    clean: Predictions
    attacked: Predictions
    verdict: Verdict
    outcome: State

    def __init__(
        self,
        problem: Problem,
        goal: Goal,
        search: Search,
        seed: int,
        budget: int | None,
        filtered: bool = False,
        ahead: bool = False,
        reported: bool = True,
    ) -> None:
        self.problem, self.length = problem, len(problem)
        self.phase = Phase.CLEAN
        start = problem.start()[None]
        self.account = QueryCounter(start if reported or search.asks else start[:0], budget)
        self._goal, self._search, self._seed = goal, search, seed
        self.wanted: NDArray[np.int64] | None = None
        self.unjudged: list[Edit] = []
        self.compared: list[Edit] = []
        self.sloped: Gradient | None = None
        self._filtered, self._ahead, self._reported = filtered, ahead, reported
        self._admission = AdmissibleStates()
        self._judging: Generator[list[Edit], None, bool]
        self._proposed = ~problem.eligible
        self._slope: Slope | None = None
        self._similarities: NDArray[np.float64] | None = None
        self._run: Generator[Request, Answer, Outcome]
        self._wait_for(self.account.asked[0])
        if not len(self.pending):
            self._begin(reached=False)

    @property
    def charged(self) -> int:
        """Queries so far, the clean prediction included."""
        return self.account.charged

    @property
    def unique(self) -> int:
        """See `QueryCounter.unique`."""
        return self.account.unique

    @property
    def status(self) -> Status:
        """What became of the sentence, once it is done."""
        if self._skipped:
            return Status.SKIPPED
        # An unchanged sentence is no adversary, whatever rounding does to its second prediction.
        reached = bool(self.outcome.any()) and bool(self.verdict.success[0])
        return Status.SUCCEEDED if reached else Status.FAILED

    def _wait_for(self, states: NDArray[np.int16]) -> None:
        """Let `states (n, words)` be predicted next."""
        self.pending = states
        self._parts: list[Predictions] = []

    def take(self, part: Predictions) -> None:
        """Take in predictions for the next few pending states, in their order."""
        self._parts.append(part)

    def advance(self) -> None:
        """Go on, now that the predictions for all pending states are there."""
        predictions = joined(self._parts)
        if self.phase is Phase.CLEAN:
            self.clean = predictions
        verdict = self._goal.judge(self.problem, self.clean, self.pending, predictions)
        if self.phase is Phase.FINAL:
            self.attacked, self.verdict = predictions, verdict
            self.phase = Phase.DONE
            return
        self.account.take(verdict)
        if self.phase is Phase.CLEAN:
            self._begin(bool(verdict.success[0]))
        else:
            self._follow(first=False)

    def _begin(self, reached: bool) -> None:
        """Start the search, unless the goal is reached or cannot be, or no query is left for it."""
        self._skipped = reached
        spent = self.account.left == 0 and self._search.asks
        if reached or spent or not self._goal.applies(self.problem):
            self._settle(self.problem.start())
            return
        rng = stream(self._seed, self.problem.id)
        self._run = self._search.run(self.problem, self._answer(), rng)
        self.phase = Phase.SEARCH
        self._follow(first=True)

    def _settle(self, outcome: State) -> None:
        """Let the outcome be predicted once more, as far as the filters admit it."""
        if self._filtered and not self._admission.admissible(outcome):
            self._judging = self._repaired(outcome)
            self._judge()
            return
        self.outcome = outcome
        self.phase = Phase.FINAL if self._reported else Phase.DONE
        self._wait_for(outcome[None] if self._reported else outcome[None][:0])

    def supply(self, problem: Problem) -> None:
        """Take in the problem with the candidates that were wanted, and go on."""
        self.problem, self.wanted = problem, None
        self._follow(first=False)

    def take_judgement(self, admitted: NDArray[np.bool_]) -> None:
        """Take in which of the unjudged changes are admissible, and go on."""
        self._admission.take(admitted)
        self.unjudged = []
        if not self._judge():
            self._follow(first=False)

    def _judge(self) -> bool:
        """Go on to the next changes that filters must judge; whether a model must answer first."""
        try:
            self.unjudged = next(self._judging)
        except StopIteration as stop:
            return bool(stop.value)
        return True

    def _repaired(self, outcome: State) -> Generator[list[Edit], None, bool]:
        """Settle on what filters leave of an outcome."""
        self._settle((yield from self._admission.rebuilt(self.problem, outcome)))
        return True

    def _admitted(self, request: Expand | Score) -> Generator[list[Edit], None, bool]:
        """Charge what filters admit of a request; whether any of it is new."""
        return self._charge(*(yield from self._admission.asked(self.problem, request)))

    def take_similarities(self, similarities: NDArray[np.float64] | None) -> None:
        """Take in the similarities that were asked for, and go on."""
        self._similarities, self.compared = similarities, []
        self._follow(first=False)

    def differentiate(self, slope: Slope) -> None:
        """Take in the gradient that was asked for, and go on."""
        self._slope, self.sloped = slope, None
        self._follow(first=False)

    def _answer(self) -> Answer:
        return self.account.answer(self.problem, self._slope, self._similarities)

    def _follow(self, first: bool) -> None:
        """Run the search until it needs a model or returns."""
        try:
            request = next(self._run) if first else self._run.send(self._answer())
            while not self._must_wait(request):
                request = self._run.send(self._answer())
        except StopIteration as stop:
            self._settle(stop.value.state)

    def _must_wait(self, request: Request) -> bool:
        """Take up a request; whether it takes a model to answer it."""
        self._slope = self._similarities = None
        if self._filtered and isinstance(request, Expand | Score):
            self._judging = self._admitted(request)
            return self._judge()
        if not isinstance(request, (Propose, Compare, Gradient)):
            return self._charge(*request.asked(self.problem))
        self.account.charge_nothing()
        if isinstance(request, Compare):
            self.compared = request.edits(self.problem)
            return bool(self.compared)
        if isinstance(request, Gradient):
            self.sloped = request
            return True
        return self._want(request)

    def _want(self, request: Propose) -> bool:
        """Take up a request for candidates; whether any are to be made."""
        positions = request.positions
        if self._proposed[positions].all():
            return False
        if self._ahead and request.soon is not None:
            positions = np.concatenate([positions, request.soon])
        self.wanted = np.unique(positions[~self._proposed[positions]])
        self._proposed[positions] = True
        return True

    def _charge(self, states: NDArray[np.int16], places: NDArray[np.int64]) -> bool:
        """Count states asked about, cut to the budget; whether any of them is new."""
        if self.account.left == 0:
            raise RuntimeError(f"{type(self._search).__name__} asks on after its budget was spent")
        new = self.account.charge(states, places)
        if new is not None:
            self._wait_for(new)
        return new is not None
