"""States are told apart exactly, however they are laid out, against a dictionary of tuples."""

import numpy as np
import pytest
from numpy.typing import NDArray

from robustparse.attacks.engine.known import Known
from robustparse.attacks.goals.attachment import Verdict

WORDS = 3


def verdict_on(states: list[tuple[int, ...]]) -> Verdict:
    """A score that tells every state from every other."""
    scores = [float(np.dot(state, (1, 300, 90_000))) for state in states]
    return Verdict(np.array(scores), np.array([sum(state) % 2 == 1 for state in states]))


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
    known = Known(np.zeros(WORDS, dtype=np.int16))
    numbers = {(0,) * WORDS: 0}
    known.add(verdict_on(list(numbers)))
    for size in generator.integers(1, 9, size=60).tolist():
        states = generator.integers(most, size=(size, WORDS)).astype(np.int16)
        rows = [tuple(row) for row in states.tolist()]
        first = [row not in numbers and row not in rows[:at] for at, row in enumerate(rows)]
        expected = [numbers.setdefault(row, len(numbers)) for row in rows]
        found = known.look_up(laid_out(states, layout))
        if found is None:
            assert all(first)
        else:
            assert found[0].tolist() == expected
            assert found[1].tolist() == first
        if any(first):
            known.add(verdict_on([row for row, new in zip(rows, first, strict=True) if new]))
        answer, right = known.verdict(np.array(expected)), verdict_on(rows)
        assert answer.scores.tolist() == right.scores.tolist()
        assert answer.success.tolist() == right.success.tolist()
    assert len(known) == len(numbers)


def test_states_that_share_a_byte_are_not_the_same() -> None:
    """256 ends in the zero byte that 0 ends in."""
    known = Known(np.zeros(2, dtype=np.int16))
    assert known.look_up(np.array([[256, 0], [0, 256], [1, 0], [0, 1]], dtype=np.int16)) is None
    again = known.look_up(np.array([[0, 256], [0, 0], [257, 0]], dtype=np.int16))
    assert again is not None
    assert again[0].tolist() == [2, 0, 5]
    assert again[1].tolist() == [False, False, True]
