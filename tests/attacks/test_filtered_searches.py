"""Filters on sentences under every search."""

from collections.abc import Callable, Generator
from dataclasses import replace

import numpy as np
import pytest
from attack_fakes import HashVictim, corpus
from sentence_judges import (
    Asked,
    Judge,
    by_id,
    has_admissible_chain,
    rises_slowly,
    stays_close,
    uncounted,
)

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.engine.admissible_states import AdmissibleStates
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.goals.goal import Goal
from robustparse.attacks.goals.phrases import PhraseDrop
from robustparse.attacks.problem import Problem, State
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.beam import Beam
from robustparse.attacks.search.importance import PWWS, GreedyByImportance
from robustparse.attacks.search.population.genetic import Genetic
from robustparse.attacks.search.population.particle_swarm import ParticleSwarm
from robustparse.attacks.search.random_substitution import RandomSubstitution
from robustparse.attacks.search.rankings import DeletedWord, UnknownWord
from robustparse.attacks.search.requests import Search
from robustparse.attacks.search.wang2021 import Wang2021
from robustparse.attacks.search.white_box.zheng2020_whitebox import Zheng2020WhiteBox
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.attacks.search.zheng2020_phrase import PhraseBlackBox, PhraseWhiteBox
from robustparse.types import Example

EXAMPLES, LEXICON = corpus(30, seed=4)
# White boxes end at a word without candidates.
_WORDS = [f"w{number}" for number in range(60)]
FULL = {word: [_WORDS[(at + 7 * by) % 60] for by in range(1, 13)] for at, word in enumerate(_WORDS)}

SEARCHES: dict[str, Search] = {
    "beam": Beam(width=3),
    "beam, concatenated": Beam(width=2, members="concatenate"),
    "unknown": GreedyByImportance(UnknownWord()),
    "deletion": GreedyByImportance(DeletedWord()),
    "pwws": PWWS(),
    "genetic": Genetic(population=6, generations=4),
    "genetic, redrawn": Genetic(population=6, generations=4, repeats="redraw"),
    "swarm": ParticleSwarm(population=6, iterations=4),
    "swarm, textattack": ParticleSwarm(population=6, iterations=4, direction="textattack"),
    "wang": Wang2021(gamma=0.4),
    "zheng": Zheng2020(gamma=0.4, psi=4),
    "white box": Zheng2020WhiteBox(gamma=0.25, trials=12),
    "white box, two at once": Zheng2020WhiteBox(gamma=0.25, trials=12, positions=2),
    "phrase, black box": PhraseBlackBox(trials=20, at_once=4),
    "phrase, white box": PhraseWhiteBox(trials=12),
    "random": RandomSubstitution(gamma=0.4, trials=12),
}
# Puts outcomes together from states that were asked about apart; random substitution asks nothing
# where there is only one state to choose from.
COMPOSING = "zheng"
JUDGED = [name for name in SEARCHES if name not in (COMPOSING, "random")]
JUDGES = [(rises_slowly,), (stays_close,), (rises_slowly, stays_close)]


def goal_of(name: str) -> Goal:
    if name.startswith("phrase"):
        return PhraseDrop(shortest=2, longest=6)
    return AttachmentDrop(metric="mean" if name == "wang" else "uas", least=3)


def with_phrases(example: Example) -> Example:
    """Two chains side by side under the last word: a victim that looks at neighbours errs at the
    end of the first one if the second one's first word is changed.
    """
    last = len(example.sentence) - 1
    heads = list(range(last + 1))
    heads[0] = heads[last // 2] = last + 1
    heads[last] = 0
    return replace(example, gold=replace(example.gold, heads=tuple(heads)))


def examples_of(name: str) -> list[Example]:
    return PHRASES if name.startswith("phrase") else EXAMPLES


PHRASES = [with_phrases(one) for one in corpus(90, seed=5)[0]]


def lexicon_of(name: str) -> dict[str, list[str]]:
    return FULL if name.startswith(("white", "phrase", "random")) else LEXICON


def engine(name: str, *judges: Judge, **settings) -> Attack:
    return Attack(
        Lexicon(lexicon_of(name)),
        SEARCHES[name],
        [*map(Asked, judges), AttackableTags(["NN", "VB", "DT", "JJ"])],
        goal=goal_of(name),
        **settings,
    )


@pytest.fixture(params=SEARCHES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("judges", JUDGES, ids=lambda judges: "+".join(j.__name__ for j in judges))
def test_every_result_is_reached_by_admissible_changes(name: str, judges) -> None:
    results = by_id(engine(name, *judges), examples_of(name)).values()
    assert len(results) == len(examples_of(name))
    # A white box may change a word again.
    between = FULL if "white" in name else None
    assert all(has_admissible_chain(result, judges, between) for result in results)
    # No empty check: there are changes, and without the filters some results break them.
    assert sum(bool(result.edited) for result in results) > 5
    assert max(len(result.edited) for result in results) > 1
    free = by_id(engine(name), examples_of(name)).values()
    assert not all(has_admissible_chain(result, judges) for result in free)


@pytest.mark.parametrize("packing", [{"batch_queries": 1}, {"live": 3, "batch_words": 50}], ids=str)
@pytest.mark.parametrize("budget", [None, 10])
def test_packing_changes_nothing(name: str, packing: dict, budget: int | None) -> None:
    reference = by_id(engine(name, rises_slowly, stays_close, budget=budget), examples_of(name))
    packed = engine(name, rises_slowly, stays_close, budget=budget, **packing)
    assert by_id(packed, examples_of(name)) == reference
    assert budget is None or max(result.charged for result in reference.values()) == budget


def test_filters_that_admit_all_or_nothing(name: str) -> None:
    examples = examples_of(name)
    assert uncounted(engine(name, lambda edit: True), examples) == uncounted(engine(name), examples)
    for result in by_id(engine(name, lambda edit: False), examples).values():
        assert (result.words, result.success) == (result.example.sentence.words, False)


Repair = Callable[[AdmissibleStates, Problem, State], Generator[list[Edit], None, State]]


@pytest.fixture
def repairs(monkeypatch: pytest.MonkeyPatch) -> dict[int, tuple[State, State]]:
    """By id, the outcomes that were made again, before and after."""
    made: dict[int, tuple[State, State]] = {}
    original: Repair = AdmissibleStates.rebuilt

    def rebuilt(
        self: AdmissibleStates, problem: Problem, outcome: State
    ) -> Generator[list[Edit], None, State]:
        state = yield from original(self, problem, outcome)
        made[problem.id] = (outcome, state)
        return state

    monkeypatch.setattr(AdmissibleStates, "rebuilt", rebuilt)
    return made


@pytest.mark.parametrize("name", JUDGED)
def test_searches_ask_about_admissible_states_alone(name: str, repairs) -> None:
    results = by_id(engine(name, rises_slowly), examples_of(name)).values()
    assert any(result.edited for result in results)
    assert not repairs


def test_states_that_a_search_put_together_are_repaired(repairs) -> None:
    results = by_id(engine(COMPOSING, rises_slowly, stays_close), EXAMPLES)
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


def test_a_lost_change_may_cost_the_success(repairs) -> None:
    """Success is that of the text without the change, not of what the search had asked about."""
    for result in by_id(engine(COMPOSING, rises_slowly), EXAMPLES).values():
        clean = sum(_right(result, result.example.sentence.words))
        assert result.success == (clean - sum(_right(result, result.words)) >= 3)
    assert repairs


def _right(result: AttackResult, words: tuple[str, ...]) -> list[bool]:
    heads, _ = HashVictim().answer(words)
    return [one == other for one, other in zip(heads, result.example.gold.heads, strict=True)]
