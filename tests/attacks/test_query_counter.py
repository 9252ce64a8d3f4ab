"""States are told apart exactly, however they are laid out, against a dictionary of tuples."""

import numpy as np
import pytest
from numpy.typing import NDArray

from robustparse.attacks.engine.query_counter import QueryCounter
from robustparse.attacks.goals.goal import Verdict

WORDS = 3


def verdict_on(states: list[tuple[int, ...]]) -> Verdict:
    """A score that tells every state from every other."""
    scores = [float(np.dot(state, (1, 300, 90_000))) for state in states]
    success = np.array([sum(state) % 2 == 1 for state in states])
    return Verdict(np.array(scores), success, 1.0 - np.array(scores))


def laid_out(states: NDArray[np.int16], layout: str) -> NDArray[np.int16]:
    """The same states as another view of memory."""
    if layout == "column by column":
        return np.asfortranarray(states)
    if layout == "every other row":
        return np.repeat(states, 2, axis=0)[::2]
    return states


@pytest.mark.parametrize("layout", ["row by row", "column by column", "every other row"])
@pytest.mark.parametrize("most", [2, 300])
def test_states_are_numbered_in_the_order_they_were_first_asked_about(
    layout: str, most: int
) -> None:
    generator = np.random.default_rng(0)
    queries, charged = QueryCounter(1000), 0
    numbers: dict[tuple[int, ...], int] = {}
    for size in generator.integers(0, 9, size=60).tolist():
        states = generator.integers(most, size=(size, WORDS)).astype(np.int16)
        rows = [tuple(row) for row in states.tolist()]
        first = [row not in numbers and row not in rows[:at] for at, row in enumerate(rows)]
        expected = [numbers.setdefault(row, len(numbers)) for row in rows]
        new, found = queries.charge(laid_out(states, layout))
        assert new.tolist() == states[np.array(first, dtype=np.bool_)].tolist()
        assert (found is None) == all(first)
        assert found is None or found.tolist() == expected
        if any(first):
            queries.add(verdict_on([row for row, fresh in zip(rows, first, strict=True) if fresh]))
        if rows:
            answer, right = queries.verdict(np.array(expected)), verdict_on(rows)
            assert answer.scores.tolist() == right.scores.tolist()
            assert answer.success.tolist() == right.success.tolist()
            assert answer.rises is not None
            assert answer.rises.tolist() == [1.0 - score for score in right.scores]
        charged += size
        assert (queries.charged, queries.left) == (charged, 1000 - charged)
        assert queries.unique == len(numbers)


def test_states_that_share_a_byte_are_not_the_same() -> None:
    """256 ends in the zero byte that 0 ends in."""
    queries = QueryCounter(None)
    states = np.array([[0, 0], [256, 0], [0, 256], [1, 0], [0, 1]], dtype=np.int16)
    assert queries.charge(states)[1] is None
    new, found = queries.charge(np.array([[0, 256], [0, 0], [257, 0]], dtype=np.int16))
    assert (new.tolist(), found.tolist()) == ([[257, 0]], [2, 0, 5])
    assert queries.left is None
