"""Sentences dealt to several processes, and what each of them gives: lines, then its speed."""

from collections.abc import Callable, Generator, Sequence
from typing import Any

from robustparse.attacks.attack import Attack
from robustparse.attacks.victim import Victim
from robustparse.evaluation.speed import Speed
from robustparse.evaluation.tally import result_line
from robustparse.types import Example

Lines = Generator[dict[str, Any], None, Speed]
"""The lines of finished sentences, in any order; at the end, what they took."""

Source = Callable[[Sequence[Example]], Lines]
"""Attacks sentences."""


def shard(examples: Sequence[Example], rank: int, count: int) -> list[Example]:
    """Return what one of several processes attacks: every sentence goes to exactly one.

    They are dealt by falling length, so that each gets as many long ones. As all that becomes of a
    sentence follows from (seed, id), outcomes do not depend on the deal.

    Args:
        examples: the sentences.
        rank: of the process, from 0.
        count: of the processes.
    """
    by_length = sorted(examples, key=lambda example: (-len(example.sentence), example.id))
    return by_length[rank::count]


def attacked_lines(attack: Attack, victim: Victim, examples: Sequence[Example]) -> Lines:
    """Attack sentences in this process."""
    results = attack.run(examples, victim)
    try:
        for result in results:
            yield result_line(result)
    finally:
        results.close()
    return Speed.measured(results.statistics, victim)


def drain(lines: Lines, take: Callable[[dict[str, Any]], None]) -> Speed:
    """Hand every line on as it comes; what they took in the end."""
    try:
        while True:
            take(next(lines))
    except StopIteration as stop:
        speed: Speed = stop.value
        return speed
    finally:
        lines.close()
