"""Constraints on changed sentences from functions, and whether a result keeps to them."""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from attack_fakes import HashVictim
from numpy.typing import NDArray

from robustparse.attacks.attack import Attack
from robustparse.attacks.constraints.sentence_constraint import Edit, SentenceConstraint
from robustparse.attacks.results import AttackResult
from robustparse.types import Example

Judge = Callable[[Edit], bool]


def code(words: Sequence[str]) -> int:
    return zlib.crc32(" ".join(words).encode())


def rises_slowly(edit: Edit) -> bool:
    """Compares with the current sentence."""
    return code(edit.changed) % 100 - code(edit.current) % 100 <= 10


def stays_close(edit: Edit) -> bool:
    """Compares with the original sentence."""
    return code([*edit.sentence.words, *edit.changed]) % 100 < 60


class Asked(SentenceConstraint):
    """A constraint from a function; keeps what it was asked, a list for every call."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.calls: list[list[Edit]] = []

    def admits(self, edits: Sequence[Edit]) -> NDArray[np.bool_]:
        self.calls.append(list(edits))
        return np.array([self.judge(edit) for edit in edits], dtype=np.bool_)


def by_id(attack: Attack, examples: Sequence[Example]) -> dict[int, AttackResult]:
    """What becomes of sentences that `HashVictim` parses."""
    return {result.id: result for result in attack.run(examples, HashVictim())}


def refusals(results: Iterable[AttackResult]) -> int:
    """How many changes the last constraint refused, of those that it judged."""
    sums = [list(one.candidates["sums"]["all"].values()) for one in results]
    return sum(judged - passed for *_, judged, passed in sums)


def without_counts(result: AttackResult) -> AttackResult:
    """The result without the counts of candidates, which name every constraint."""
    return replace(result, candidates={})


def uncounted(attack: Attack, examples: Sequence[Example]) -> dict[int, AttackResult]:
    return {id_: without_counts(result) for id_, result in by_id(attack, examples).items()}


def has_admissible_chain(
    result: AttackResult,
    judges: Iterable[Judge],
    between: Mapping[str, Sequence[str]] | None = None,
) -> bool:
    """Whether changes of one word at a time lead to the result and all pass the constraints.

    Args:
        result: of an attack.
        judges: the constraints.
        between: other candidates of a word that may stand in its place on the way, and the word
            itself again; by default each word is changed once.
    """
    original, judges = result.example.sentence, list(judges)
    choices = [
        [new] if between is None else [new, old, *between.get(old, [])]
        for old, new in zip(original.words, result.words, strict=True)
    ]
    reached, fresh = {original.words}, [original.words]
    while fresh and result.words not in reached:
        current = fresh.pop()
        for position in result.edited:
            for word in choices[position]:
                edit = Edit(original, current, position, word)
                if edit.changed not in reached and all(judge(edit) for judge in judges):
                    reached.add(edit.changed)
                    fresh.append(edit.changed)
    return result.words in reached
