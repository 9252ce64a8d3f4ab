"""Constraints on sentences under every search."""

import copy
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from attack_fakes import HashVictim
from attack_table import CONSTRAINED, FULL, constrained, examples_of
from sentence_judges import (
    Asked,
    Judge,
    by_id,
    has_admissible_chain,
    rises_slowly,
    stays_close,
    uncounted,
    without_counts,
)

from robustparse.attacks.attack import Attack
from robustparse.attacks.engine.admissible_states import AdmissibleStates, Judging
from robustparse.attacks.problem import Problem, State
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.importance import GreedyByImportance

SEARCHES = CONSTRAINED
# Puts outcomes together from states that were asked about apart; random substitution asks nothing
# where there is only one state to choose from.
COMPOSING = "zheng"
JUDGED = [name for name in SEARCHES if name not in (COMPOSING, "random")]
LATE = [name for name, one in SEARCHES.items() if isinstance(one, GreedyByImportance)]
JUDGES = [(rises_slowly,), (rises_slowly, stays_close)]


def engine(name: str, *judges: Judge, **settings) -> Attack:
    return constrained(name, *map(Asked, judges)).attack(**settings)


Repair = Callable[[AdmissibleStates, Problem, State], Judging[State]]
Repairs = dict[int, tuple[State, State]]


def watched(monkeypatch: pytest.MonkeyPatch) -> Repairs:
    """By id, the outcomes that are made again from now on, before and after."""
    made: Repairs = {}
    original: Repair = AdmissibleStates.rebuilt

    def rebuilt(self: AdmissibleStates, problem: Problem, outcome: State) -> Judging[State]:
        state = yield from original(self, problem, outcome)
        made[problem.id] = (outcome, state)
        return state

    monkeypatch.setattr(AdmissibleStates, "rebuilt", rebuilt)
    return made


@cache
def run_of(name: str, *judges: Judge) -> tuple[dict[int, AttackResult], Repairs]:
    with pytest.MonkeyPatch.context() as patch:
        repairs = watched(patch)
        return by_id(engine(name, *judges), examples_of(name)), repairs


def results_of(name: str, *judges: Judge) -> dict[int, AttackResult]:
    return run_of(name, *judges)[0]


@pytest.fixture(params=SEARCHES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("judges", JUDGES, ids=lambda judges: "+".join(j.__name__ for j in judges))
def test_every_result_is_reached_by_admissible_changes(name: str, judges) -> None:
    results = results_of(name, *judges).values()
    assert len(results) == len(examples_of(name))
    # A white box may change a word again.
    between = FULL if "white" in name else None
    assert all(has_admissible_chain(result, judges, between) for result in results)
    # No empty check: there are changes, and without the filters some results break them.
    assert sum(bool(result.edited) for result in results) > 5
    assert max(len(result.edited) for result in results) > 1
    free = results_of(name).values()
    assert not all(has_admissible_chain(result, judges) for result in free)


def test_constraints_that_admit_all_or_nothing(name: str) -> None:
    examples = examples_of(name)
    free = {id_: without_counts(result) for id_, result in results_of(name).items()}
    assert uncounted(engine(name, lambda edit: True), examples) == free
    for result in by_id(engine(name, lambda edit: False), examples).values():
        assert (result.words, result.success) == (result.example.sentence.words, False)


@pytest.mark.parametrize("judges", JUDGES, ids=lambda judges: "+".join(j.__name__ for j in judges))
@pytest.mark.parametrize("name", LATE)
def test_judging_after_asking_gives_the_same_outcomes(name: str, judges) -> None:
    early, late = (engine(name, *judges) for _ in range(2))
    late.search = copy.copy(late.search)
    late.search.judged = "after"
    outcomes, asked = [], []
    for one in (early, late):
        results = by_id(one, examples_of(name))
        outcomes.append({id_: (each.words, each.success) for id_, each in results.items()})
        judging = [each for each in one.constraints if isinstance(each, Asked)]
        asked.append(sum(len(edits) for each in judging for edits in each.calls))
    assert outcomes[0] == outcomes[1]
    assert asked[1] < asked[0]


@pytest.mark.parametrize("name", JUDGED)
def test_searches_ask_only_about_admissible_states(name: str) -> None:
    results, repairs = run_of(name, rises_slowly)
    assert any(result.edited for result in results.values())
    assert not repairs


def test_states_that_a_search_put_together_are_repaired() -> None:
    results, repairs = run_of(COMPOSING, rises_slowly, stays_close)
    lost = [number for number, (before, after) in repairs.items() if (before != after).any()]
    assert lost, "no outcome had to lose a change"
    for number in repairs:
        before, after = repairs[number]
        assert ((after == before) | (after == 0)).all()  # changes are lost, none is made
        result = results[number]
        assert np.flatnonzero(after).tolist() == list(result.edited)
        assert has_admissible_chain(result, (rises_slowly, stays_close))
        # What is reported is the parse of the repaired text.
        heads, _ = HashVictim().answer(result.words)
        assert list(result.attacked.heads) == list(heads)


def test_a_lost_change_may_cost_the_success() -> None:
    """Success is that of the text without the change, not of what the search had asked about."""
    results, repairs = run_of(COMPOSING, rises_slowly)
    for result in results.values():
        clean = sum(_right(result, result.example.sentence.words))
        assert result.success == (clean - sum(_right(result, result.words)) >= 3)
    assert repairs


def _right(result: AttackResult, words: tuple[str, ...]) -> list[bool]:
    heads, _ = HashVictim().answer(words)
    return [one == other for one, other in zip(heads, result.example.gold.heads, strict=True)]
