"""One sentence under attack: its search, what is known of its states, and its query count.

Its life: the clean parse (query 1), the search's requests, the closing parse of the outcome (not
charged). Between them `pending` holds the states that only the victim can answer, `wanted` the
positions for which candidates are to be made, and `unjudged` the changes that filters must judge.
"""

from collections.abc import Generator
from dataclasses import replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.admission import Admission, limited
from robustparse.attacks.constraints.sentence_filter import Edit
from robustparse.attacks.goals import Goal, Verdict
from robustparse.attacks.problem import Parse, Problem, State
from robustparse.attacks.search.requests import (
    Answer,
    Expand,
    Outcome,
    Propose,
    Request,
    Search,
)

_CHOICES = 1 << 16  # choices are int16


class Phase(Enum):
    """What the pending states are for."""

    CLEAN = "clean"
    SEARCH = "search"
    FINAL = "final"
    DONE = "done"


class LiveSentence:
    """A sentence whose search is under way.

    Args:
        problem: the sentence's search space.
        goal: judges the victim's answers.
        search: the strategy.
        rng: the sentence's own random stream.
        budget: queries it may charge, the clean parse included; None is unlimited.
        filtered: whether filters judge changed sentences.
    """

    clean: Parse
    attacked: Parse
    verdict: Verdict
    outcome: State

    def __init__(
        self,
        problem: Problem,
        goal: Goal,
        search: Search,
        rng: np.random.Generator,
        budget: int | None,
        filtered: bool = False,
    ) -> None:
        self.problem = problem
        self.phase = Phase.CLEAN
        self.charged = 1
        self.asked_rows: list[NDArray[np.int32]] = []
        self._goal = goal
        self._search = search
        self._rng = rng
        self._budget = budget
        self.wanted: NDArray[np.int64] | None = None
        self.unjudged: list[Edit] = []
        self._filtered = filtered
        self._admission = Admission()
        self._expand: Expand
        self._rebuilding: Generator[list[Edit], None, State] | None = None
        self._proposed = ~problem.eligible
        self._origin, self._table = problem.table()
        # Key of a state to its number in `_scores`; the clean state, whose key is 0, is number 0.
        self._known: dict[int, int] = {0: 0}
        self._scores = np.zeros(1)
        self._success = np.zeros(1, dtype=np.bool_)
        self._request: NDArray[np.int16]
        self._numbers: NDArray[np.int64]
        self._run: Generator[Request, Answer, Outcome]
        self._wait_for(problem.start()[None])
        self.asked_rows.append(self.rows)

    @property
    def unique(self) -> int:
        """Distinct states charged so far."""
        return len(self._known)

    def _wait_for(self, states: NDArray[np.int16]) -> None:
        """Let `states (n, words)` be parsed next."""
        self.pending = states
        self.rows = self._table[self._origin + states]
        self.heads = np.zeros(states.shape, dtype=np.int16)
        self.labels = np.zeros(states.shape, dtype=np.int16)

    def advance(self) -> None:
        """Take in the parses of all pending states, and go on to the next ones."""
        if self.phase is Phase.FINAL:
            self.attacked = Parse(self.heads[0], self.labels[0])
            self.verdict = self._judge()
            self.phase = Phase.DONE
            return
        if self.phase is Phase.CLEAN:
            self.clean = Parse(self.heads[0], self.labels[0])
        verdict = self._judge()
        if self.phase is Phase.CLEAN:
            self._scores, self._success = verdict.scores, verdict.success
            self._begin()
        else:
            self._scores = np.concatenate([self._scores, verdict.scores])
            self._success = np.concatenate([self._success, verdict.success])
            self._follow(first=False)

    def _begin(self) -> None:
        """Start the search, unless the clean parse has spent the budget."""
        self._request, self._numbers = self.pending, np.zeros(1, dtype=np.int64)
        if self._left() == 0:
            self._settle(self.problem.start())
            return
        self._run = self._search.run(self.problem, self._answer(), self._rng)
        self.phase = Phase.SEARCH
        self._follow(first=True)

    def _settle(self, outcome: State) -> None:
        """Let the outcome be parsed once more, as far as the filters admit it."""
        if self._filtered and not self._admission.admissible(outcome):
            self._rebuilding = self._admission.rebuilt(self.problem, outcome)
            self._rebuild(self._rebuilding)
            return
        self.outcome = outcome
        self.phase = Phase.FINAL
        self._wait_for(outcome[None])

    def supply(self, problem: Problem) -> None:
        """Take in the problem with the candidates that were wanted, and go on."""
        self.problem, self.wanted = problem, None
        self._origin, self._table = problem.table()
        self._follow(first=False)

    def take_judgement(self, admitted: NDArray[np.bool_]) -> None:
        """Take in which of the unjudged changes are admissible, and go on."""
        self._admission.take(admitted)
        self.unjudged = []
        if self._rebuilding is not None:
            self._rebuild(self._rebuilding)
        elif not self._charge(limited(self._expand, self._admission.survivors())):
            self._follow(first=False)

    def _rebuild(self, rebuilding: Generator[list[Edit], None, State]) -> None:
        """Go on with taking the outcome apart."""
        try:
            self.unjudged = next(rebuilding)
        except StopIteration as stop:
            self._rebuilding = None
            self._settle(stop.value)

    def _judge(self) -> Verdict:
        return self._goal.judge(self.problem, self.clean, self.pending, self.heads, self.labels)

    def _answer(self) -> Answer:
        return Answer(
            self.problem,
            self._request,
            self._scores[self._numbers],
            self._success[self._numbers],
            self._left(),
        )

    def _left(self) -> int | None:
        return None if self._budget is None else self._budget - self.charged

    def _follow(self, first: bool) -> None:
        """Run the search until it needs the victim or returns."""
        try:
            request = next(self._run) if first else self._run.send(self._answer())
            while not self._must_wait(request):
                request = self._run.send(self._answer())
        except StopIteration as stop:
            self._settle(stop.value.state)

    def _must_wait(self, request: Request) -> bool:
        """Take up a request; whether it takes the victim or a candidate generator to answer it."""
        if self._filtered and isinstance(request, Expand):
            return self._ask_filters(request)
        if not isinstance(request, Propose):
            return self._charge(request.rows(self.problem))
        self._request, self._numbers = self._request[:0], self._numbers[:0]
        wanted = np.unique(request.positions[~self._proposed[request.positions]])
        self._proposed[wanted] = True
        self.wanted = wanted if len(wanted) else None
        return self.wanted is not None

    def _ask_filters(self, request: Expand) -> bool:
        """Let the changes be judged; whether it takes the filters or the victim to answer."""
        self._expand = request
        states = replace(request, limits=None).rows(self.problem)
        self.unjudged = self._admission.ask(self.problem, request.state, states)
        if self.unjudged:
            return True
        return self._charge(limited(request, self._admission.survivors()))

    def _charge(self, states: NDArray[np.int16]) -> bool:
        """Count states asked about, cut to the budget; whether any of them is new."""
        left = self._left()
        if left == 0:
            raise RuntimeError(f"{type(self._search).__name__} asks on after its budget was spent")
        states = states[:left]
        self.charged += len(states)
        before, known = len(self._known), self._known
        numbers = [known.setdefault(key, len(known)) for key in _zobrist_keys(states).tolist()]
        self._request, self._numbers = states, np.array(numbers, dtype=np.int64)
        if len(known) == before:
            return False
        # Numbers rise in order of first appearance: a state is new where they reach a new height.
        heights = np.maximum.accumulate(np.concatenate([[before - 1], self._numbers]))
        self._wait_for(states[heights[1:] > heights[:-1]])
        self.asked_rows.append(self.rows)
        return True


def _zobrist_keys(states: NDArray[np.int16]) -> NDArray[np.uint64]:
    """A 64-bit key of each state `(n, words)`.

    It is the exclusive or over the changed positions (Zobrist hashing) of SplitMix64 of (position,
    choice), so that the clean state has key 0.
    """
    row, position = np.nonzero(states)
    place = position * _CHOICES + states[row, position] + 2  # + 2: none is 0
    code = place.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    keys = np.zeros(len(states), dtype=np.uint64)
    np.bitwise_xor.at(keys, row, code ^ (code >> np.uint64(31)))
    return keys
