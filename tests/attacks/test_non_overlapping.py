"""Forms that keep no token of the gold form, by the definition token by token."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robustparse.attacks.goals.non_overlapping import FormToAvoid, NonOverlappingOutput, content
from robustparse.errors import InputError
from robustparse.types import Example, LogicalForm, Sentence

GOLD = LogicalForm("( lambda $0 e ( and ( river:t $0 ) ( loc:t $0 s0 ) ) )", "lambda")
PREDICTED = [
    (str(GOLD), 0, False),
    ("( lambda $0 e ( or ( river:t $0 ) ( next_to:t $0 s0 ) ) )", 2, False),
    ("( lambda $0 e ( or ( town:t $0 ) ( next_to:t $0 s0 ) ) )", 3, True),
    ("( and ( loc:t s0 ) ( river:t $0 ) )", 2, False),  # "and" stays first
    ("( river:t s0 )", 3, True),  # in another place
    ("", 3, True),
]


class Problem(SimpleNamespace):
    """A sentence of two words."""

    def __len__(self) -> int:
        return 2


def problem(form: LogicalForm) -> Any:
    def answers(rows: Any, lengths: Any) -> list[str]:
        assert set(lengths) == {2}
        return [PREDICTED[at][0] for at in rows[0]]

    victim: Any = SimpleNamespace(answers=answers)
    (gold,) = NonOverlappingOutput().gold([Example(0, Sentence(("a", "b")), form)], victim)
    return Problem(gold=gold)


def test_scores_are_the_shares_of_tokens_that_are_gone() -> None:
    one = problem(GOLD)
    assert content(GOLD) == ("and", "river:t", "loc:t")
    rows = (np.arange(len(PREDICTED)),)
    verdict = NonOverlappingOutput().judge(one, rows, np.zeros((6, 2)), rows)
    assert verdict.scores == pytest.approx([gone / 3 for _, gone, _ in PREDICTED])
    assert verdict.success.tolist() == [success for _, _, success in PREDICTED]


def test_forms_without_such_tokens_and_other_answers_are_not_attacked() -> None:
    goal = NonOverlappingOutput()
    assert goal.applies(problem(GOLD))
    assert not goal.applies(problem(LogicalForm("( a $0 )", "lambda")))
    with pytest.raises(InputError):
        goal.gold([Example(0, Sentence(("a",)), "label")], SimpleNamespace(answers=None))
    assert isinstance(problem(GOLD).gold, FormToAvoid)
