"""A classifier from a table, scripted draws, and searches that tell what they ask or repeat it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from attack_fakes import FakeVictim
from numpy.typing import NDArray

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.goals.label_flip import LabelFlip
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
    Searching,
)
from robustparse.types import Sentence, TextRows


class TableClassifier(FakeVictim):
    """Two classes; a table says 1 - F_y by text, 0.1 where it says nothing."""

    def __init__(
        self, table: Mapping[str, float], gradients: Sequence[Sequence[float]] = ()
    ) -> None:
        super().__init__()
        self.table = table
        self.gradients = gradients

    def name_ids(self, names: Sequence[str]) -> NDArray[np.int32]:
        return np.array([("y", "n").index(name) for name in names], dtype=np.int32)

    def predict(self, texts: TextRows) -> tuple[NDArray[Any], ...]:
        words, marks, lengths = texts
        assert words.shape == marks.shape == (len(lengths), lengths.max())
        texts = [
            " ".join(self.names[number] for number in row[:length])
            for row, length in zip(words.tolist(), lengths.tolist(), strict=True)
        ]
        self.batches.append([tuple(text.split()) for text in texts])
        scores = np.array([self.table.get(text, 0.1) for text in texts])
        return (np.stack([1 - scores, scores], axis=1),)

    def gradient(
        self, texts: TextRows, gold: Sequence[Any], loss: str, among: Sequence[NDArray[np.bool_]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        assert gold == [0]
        assert loss == "cross_entropy"
        gradient = np.array([self.gradients])
        return gradient, np.zeros_like(gradient), np.linalg.norm(gradient, axis=-1)

    def vectors(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        return np.zeros((len(rows), len(self.gradients[0])))


@dataclass(frozen=True)
class Labelled:
    """A sentence with its class."""

    id: int
    sentence: Sentence
    gold: str = "y"
    path: str = ""


class Scripted:
    """Random numbers in the order in which they are to be drawn."""

    def __init__(self, *draws: Sequence[float]) -> None:
        self.draws = list(draws)

    def random(self, size: int | tuple[int, ...]) -> NDArray[np.float64]:
        draw = np.array(self.draws.pop(0), dtype=np.float64)
        assert draw.size == np.prod(size), f"{size} drawn, {draw} scripted"
        return draw.reshape(size)

    def uniform(self, low: float, high: float, size: tuple[int, ...]) -> NDArray[np.float64]:
        return low + (high - low) * self.random(size)

    def integers(
        self,
        low: int,
        high: int | NDArray[np.int64],
        size: int | tuple[int, ...],
        *,
        endpoint: bool = False,
    ) -> NDArray[np.int64]:
        draw = self.random(size).astype(np.int64)
        assert ((low <= draw) & (draw < high + endpoint)).all(), f"{draw} outside {low} to {high}"
        return draw


class Traced(Search):
    """Writes down what a search asks: states as one code a word, U unknown and D deleted."""

    def __init__(self, search: Search, rng: Any = None) -> None:
        self.search, self.rng = search, rng
        self.requests: list[str] = []

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching:
        run = self.search.run(problem, clean, rng if self.rng is None else self.rng)
        try:
            request = next(run)
            while True:
                self._note(request, problem)
                answer = yield request
                problem = answer.problem
                request = run.send(answer)
        except StopIteration as stop:
            outcome: State = stop.value
            return outcome

    def _note(self, request: Request, problem: Problem) -> None:
        name = type(request).__name__
        if isinstance(request, Score | Expand | Check | Compare):
            codes = {-1: "U", -2: "D"}
            given = isinstance(request, Check | Compare)
            states = (request.states if given else request.asked(problem)[0]).tolist()
            texts = ["".join(codes.get(code, str(code)) for code in state) for state in states]
            self.requests.append(" ".join([name, *texts]))
        elif isinstance(request, Gradient):
            self.requests.append(name)
        else:
            self.requests.append(" ".join([name, *map(str, request.positions.tolist())]))


@dataclass
class Trace:
    """What a search asked and what came of it."""

    requests: list[str]
    words: str
    status: str
    charged: int
    unique: int
    asked: list[str] = field(default_factory=list)


def trace(
    search: Search,
    text: str,
    lexicon: dict[str, list[str]],
    victim: FakeVictim,
    *,
    constraints: Sequence[Constraint] = (),
    rng: Scripted | None = None,
    budget: int | None = None,
    seed: int = 0,
) -> Trace:
    """Attack one sentence of class y."""
    traced = Traced(search, rng)
    attack = Attack(
        Lexicon(lexicon), traced, list(constraints), goal=LabelFlip(), budget=budget, seed=seed
    )
    example: Any = Labelled(0, Sentence(tuple(text.split())))
    (run,) = attack.search_runs([example], victim, Statistics())
    assert rng is None or not rng.draws, f"not drawn: {rng.draws}"
    return Trace(
        traced.requests,
        " ".join(run.problem.text(run.outcome)),
        "skipped" if run.skipped else "succeeded" if run.success else "failed",
        run.queries.charged,
        run.queries.unique,
        victim.texts,
    )


class Climb(Search):
    """A search of many rounds with repeats and random choices, to exercise the scheduler."""

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching:
        state, best = problem.start(), float(clean.scores[0])
        for _ in range(4):
            positions = rng.permutation(len(problem))[:3]
            problem = (yield Propose(positions)).problem
            answer = yield Expand(state, positions)
            if answer.over:
                break
            again = yield Score(
                np.concatenate([answer.states[::-1], answer.states[:2], state[None]])
            )
            if again.over:
                break
            count = len(answer.scores)
            assert (again.scores[:count][::-1] == answer.scores).all()
            if count and answer.scores.max() >= best:
                best = float(answer.scores.max())
                state = answer.states[answer.scores.argmax()]
        return state
