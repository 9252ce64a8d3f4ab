"""Adversaries for training are those of the attack, at no more forward passes than it asks for."""

import pytest
from attack_fakes import HashVictim, corpus

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.edits import EditBudget
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.search.random_substitution import RandomSubstitution
from robustparse.attacks.search.requests import Search
from robustparse.attacks.search.zheng2020 import Zheng2020

EXAMPLES, LEXICON = corpus(60)
SEARCHES = {
    "zheng": Zheng2020(gamma=0.3, psi=4),
    "two_trials": RandomSubstitution(gamma=0.5, trials=2),
    "one_trial": RandomSubstitution(gamma=0.5, trials=1),
}


def attack(search: Search, budget: int | None = None) -> Attack:
    constraints = [AttackableTags(), EditBudget(0.6)]
    return Attack(
        Lexicon(LEXICON), search, constraints, goal=AttachmentDrop(), budget=budget, seed=3, live=7
    )


@pytest.mark.parametrize("budget", [None, 9, 1])
@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_they_are_what_the_attack_returns(search: Search, budget: int | None) -> None:
    reporting, training = HashVictim(), HashVictim()
    results = {one.id: one for one in attack(search, budget).run(EXAMPLES, reporting)}
    made = list(attack(search, budget).search_runs(EXAMPLES, training, reported=False))
    assert {one.problem.id: one.words for one in made} == {
        id_: one.words for id_, one in results.items()
    }
    # The clean parse is the one query of a search that asks.
    if budget != 1 or not search.asks:
        assert sum(one.words != one.problem.sentence.words for one in made) > 3
    if search.asks:
        assert all(one.queries.charged == results[one.problem.id].charged for one in made)
        assert len(training.texts) == sum(one.unique for one in results.values())
        assert len(reporting.texts) == len(training.texts) + len(EXAMPLES)
    else:
        assert {one.queries.charged for one in made} == {0}
        assert training.texts == []


def test_the_victim_is_left_as_it_was_found() -> None:
    victim = HashVictim()
    list(attack(SEARCHES["one_trial"]).search_runs(EXAMPLES, victim, reported=False))
    assert set(victim.modes[::2]) == {"on"}
    assert set(victim.modes[1::2]) == {"off"}
    assert len(victim.modes) % 2 == 0
