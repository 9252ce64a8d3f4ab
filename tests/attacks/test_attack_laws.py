"""What holds for every attack: packing and order change nothing, budgets are kept, seeds decide."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from attack_fakes import HashVictim
from attack_table import CASES, LEXICON, SEARCHES, Results, of_parsers
from sentence_judges import without_counts

from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.search.importance import GreedyByImportance
from robustparse.attacks.search.rankings import UnknownWord

FREE = [name for name in CASES if not name.endswith((", constrained", ", no repeats"))]


@cache
def watched(name: str) -> tuple[Results, HashVictim, Statistics]:
    """The results of a case, its victim afterwards, and the totals."""
    case, statistics = CASES[name], Statistics()
    victim = case.victim()
    results = {one.id: one for one in case.attack().run(case.examples, victim, statistics)}
    return results, victim, statistics


def reference(name: str) -> Results:
    return watched(name)[0]


@pytest.fixture(params=CASES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize(
    "packing",
    [{"live": 1, "batch_queries": 1}, {"live": 5, "batch_words": 50}],
    ids=str,
)
def test_packing_and_order_change_nothing(name: str, packing: dict) -> None:
    some = CASES[name].examples[:: 3 if "batch_queries" in packing else -2]
    assert CASES[name].run(some, **packing) == {one.id: reference(name)[one.id] for one in some}


@pytest.mark.parametrize("name", of_parsers())
def test_packing_changes_nothing_to_attacks_on_parsers(name: str) -> None:
    case = of_parsers()[name]
    whole = case.run()
    assert 0 < sum(one.success for one in whole.values()) < len(case.examples)
    assert case.run(live=1) == case.run(live=7, batch_words=60) == whole


def test_a_victim_is_asked_what_is_reported(name: str) -> None:
    """The distinct states of each sentence, and its outcome once more."""
    results, victim, statistics = watched(name)
    reported = sum(result.unique + 1 for result in results.values())
    assert len(victim.texts) == statistics.texts == reported
    assert len(victim.batches) == statistics.forwards


@pytest.mark.parametrize("budget", [1, 5, 16])
def test_a_budget_is_spent_and_not_exceeded(name: str, budget: int) -> None:
    packing = {"live": 3, "batch_words": 50} if budget % 2 else {}
    some = CASES[name].examples[::2]
    found = CASES[name].run(some, budget=budget, **packing)
    for id_, result in found.items():
        assert result.charged == min(budget, reference(name)[id_].charged)
        assert result.unique <= reference(name)[id_].unique
    if budget == 5:
        assert CASES[name].run(some, budget=budget) == found


def test_the_reference_is_no_empty_check(name: str) -> None:
    results = reference(name)
    assert sorted(results) == [one.id for one in CASES[name].examples]
    assert any(result.edited for result in results.values())
    assert max(result.charged for result in results.values()) > 3
    if name in SEARCHES:
        assert any(result.success for result in results.values())
        assert not all(result.success for result in results.values())
        assert max(result.charged for result in results.values()) > 8
    assert all(result.unique <= result.charged for result in results.values())


@pytest.mark.parametrize("name", SEARCHES)
def test_changed_words_are_eligible_candidates(name: str) -> None:
    allowed = AttackableTags().tags
    for result in reference(name).values():
        for position in result.edited:
            word = result.example.sentence.words[position]
            assert result.example.sentence.xpos[position] in allowed
            assert result.words[position] in LEXICON[word]


@pytest.mark.parametrize("name", FREE)
def test_the_seed_matters_only_to_what_is_drawn(name: str) -> None:
    assert (CASES[name].run(seed=1) != reference(name)) == CASES[name].draws


def test_the_winner_changes_neither_success_nor_queries() -> None:
    case = CASES["most similar"]
    scored = replace(case, search=GreedyByImportance(UnknownWord(), "score")).run()
    changed = 0
    for id_, one in reference("most similar").items():
        other = scored[id_]
        assert (one.success, one.charged, one.edited) == (
            other.success,
            other.charged,
            other.edited,
        )
        assert one.success or without_counts(one) == without_counts(other)
        changed += one.words != other.words
    assert changed > 2


@pytest.mark.parametrize("name", ["phrases, black", "phrases, black, exactly", "phrases, white"])
def test_phrases_that_succeed_are_what_they_say(name: str) -> None:
    """One phrase is changed, in three words at most, none of them punctuation; another one errs."""
    for result in reference(name).values():
        assert bool(result.edited) == result.success
        if not result.success:
            continue
        heads = np.array(result.example.gold.heads)
        phrase = np.where(heads > 1, heads, np.arange(1, len(heads) + 1))  # by its root
        (source,) = {int(phrase[at]) for at in result.edited}
        assert len(result.edited) <= 3
        assert all(result.example.gold.labels[at] != "punct" for at in result.edited)
        right = [np.array(one.heads) == heads for one in (result.clean, result.attacked)]
        gained = [
            int((right[0] & inside).sum() - (right[1] & inside).sum())
            for root in np.unique(phrase[1:]).tolist()
            if root != source
            for inside in [(phrase == root) & (heads > 1)]
        ]
        assert max(gained) > 0


@pytest.mark.parametrize("name", [name for name in CASES if name.endswith(", union")])
def test_candidates_are_counted_by_generator_and_stage(name: str) -> None:
    found = [one.candidates["sums"] for one in reference(name).values()]
    assert any(sums["all"]["judged"] > sums["all"]["Asked"] > 0 for sums in found)
    for sums in found:
        for rows in sums.values():
            assert rows["proposed"] >= rows["Shorter"]
            assert rows["judged"] >= rows["Asked"]
        for stage, count in sums["all"].items():
            own = [sums[name][stage] for name in ("Lexicon", "Lexicon 2")]
            assert max(own) <= count <= sum(own)
