"""Limits per minute are never exceeded, and no wait is longer than it must be."""

import random
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from robustparse.victims.request_limits import Budget, PerMinute
from robustparse.victims.retries import retry_after


@pytest.mark.parametrize("seed", range(20))
def test_no_minute_has_more_and_no_wait_is_too_long(seed: int) -> None:
    drawn, limit, now = random.Random(seed), 50, [0.0]
    window = PerMinute(limit, lambda: now[0])
    taken: list[list[float]] = []  # time and amount

    def in_minute_before(time: float) -> float:
        return sum(amount for begun, amount in taken if time - 60 < begun <= time)

    for _ in range(200):
        now[0] += drawn.choice([0.0, 0.5, 7.0])
        amount = drawn.randint(1, 30)
        begun = now[0]
        delay = window.delay(amount)
        if delay:
            just_before = begun + delay - 1e-6
            assert in_minute_before(just_before) + amount > limit
        now[0] = begun + delay
        entry = window.take(amount)
        taken.append([now[0], amount])
        assert in_minute_before(now[0]) <= limit
        if drawn.random() < 0.5:
            fewer = drawn.randint(0, amount)
            window.correct(entry, fewer)
            taken[-1][1] = fewer


def test_an_amount_above_the_limit_waits_until_it_is_alone() -> None:
    now = [0.0]
    window = PerMinute(10, lambda: now[0])
    assert window.delay(99) == 0
    window.take(99)
    now[0] = 59.0
    assert window.delay(1) == 1
    assert PerMinute(None).delay(10**9) == 0


def test_a_budget_counts_what_is_reserved_until_it_is_settled() -> None:
    budget = Budget(3, 100)
    budget.take(60)
    assert not budget.allows(60)
    budget.settle(60, 10)
    assert budget.allows(60)
    budget.take(60)
    budget.take(30)
    assert (budget.requests, budget.tokens, budget.requests_spent) == (3, 100, True)
    assert budget.spent().key == "victim: max_requests"
    assert not budget.allows(0)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": format_datetime(datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC))}, 30.0),
        ({"retry-after": format_datetime(datetime(2025, 1, 1, tzinfo=UTC))}, 0.0),
    ],
)
def test_the_pause_that_a_reply_names(headers: dict[str, str], seconds: float | None) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    assert retry_after(headers, now) == seconds
