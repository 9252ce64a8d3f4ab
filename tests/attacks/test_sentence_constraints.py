"""Constraints on changed sentences: they hold for all that is answered, however it is packed."""

import itertools

import numpy as np
import pytest
from attack_fakes import HashVictim, corpus, example
from search_fakes import Climb
from sentence_judges import (
    Asked,
    Judge,
    by_id,
    code,
    has_admissible_chain,
    rises_slowly,
    stays_close,
    uncounted,
    without_counts,
)

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.sentence_constraint import Edit, Recent
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.problem import Problem
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.random_substitution import RandomSubstitution
from robustparse.attacks.search.requests import Answer, Expand, Propose, Score, Search, Searching
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.errors import InputError

EXAMPLES, LEXICON = corpus(60, seed=4)


def engine(search: Search, *judges: Judge, **settings) -> Attack:
    constraints = [Asked(judge) for judge in judges]
    return Attack(
        goal=AttachmentDrop(),
        candidates=Lexicon(LEXICON),
        search=search,
        constraints=[*constraints, AttackableTags(["NN", "VB", "DT", "JJ", "."])],
        **settings,
    )


SEARCHES = [Climb(), Zheng2020(gamma=0.4, psi=4), RandomSubstitution(gamma=0.4, trials=3)]


@pytest.fixture(params=SEARCHES, ids=lambda search: type(search).__name__)
def search(request: pytest.FixtureRequest) -> Search:
    return request.param


# Other searches: test_filtered_searches.
@pytest.mark.parametrize("judges", [(rises_slowly,), (stays_close,), (rises_slowly, stays_close)])
def test_constraints_hold_for_every_returned_sentence(judges) -> None:
    results = by_id(engine(Climb(), *judges), EXAMPLES)
    assert sorted(results) == [one.id for one in EXAMPLES]
    for result in results.values():
        assert has_admissible_chain(result, judges, LEXICON)
        if result.edited and stays_close in judges:
            assert code([*result.example.sentence.words, *result.words]) % 100 < 60
    # No empty check: without the constraints some results break them, with them some are edited.
    free = by_id(engine(Climb()), EXAMPLES).values()
    assert not all(has_admissible_chain(result, judges, LEXICON) for result in free)
    assert sum(bool(result.edited) for result in results.values()) > 10
    assert max(len(result.edited) for result in results.values()) > 1


@pytest.mark.parametrize("budget", [None, 9])
def test_packing_changes_nothing(budget: int | None) -> None:
    def results(**packing: int) -> dict[int, AttackResult]:
        attack = engine(Climb(), rises_slowly, stays_close, budget=budget, **packing)
        return by_id(attack, EXAMPLES)

    reference = results()
    for packing in ({"batch_queries": 1}, {"live": 1}, {"live": 7, "batch_words": 50}):
        assert results(**packing) == reference


def test_constraints_that_admit_all_or_nothing() -> None:
    free = uncounted(engine(Climb()), EXAMPLES)
    assert uncounted(engine(Climb(), lambda edit: True), EXAMPLES) == free
    for result in by_id(engine(Climb(), lambda edit: False), EXAMPLES).values():
        assert (result.words, result.success) == (result.example.sentence.words, False)


def test_each_constraint_judges_the_survivors_of_the_former_once(
    search: Search,
) -> None:
    attack = engine(search, rises_slowly, stays_close)
    by_id(attack, EXAMPLES)
    first, second = attack.constraints[:2]
    asked = [edit for call in first.calls for edit in call]
    # Sentences differ in their words, so that equal edits would be one sentence's.
    assert len(set(asked)) == len(asked) > 50
    survivors = [edit for edit in asked if rises_slowly(edit)]
    assert [edit for call in second.calls for edit in call] == survivors
    # Sentences share a call: there are far fewer than sentences.
    assert len(first.calls) < 40


def test_seconds_of_models_are_counted_apart(search: Search) -> None:
    statistics = Statistics()
    list(engine(search, stays_close).run(EXAMPLES, HashVictim(), statistics))
    assert list(statistics.model_seconds) == ["Asked"]


class Watching(Search):
    """Expands the original and one state reached from it, and keeps the answers."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.answers: list[list[tuple[str, ...]]] = []

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching:
        positions = np.array([2, 0])
        problem = (yield Propose(positions)).problem
        answer = yield Expand(problem.start(), positions, np.array([self.limit, self.limit + 1]))
        self.answers.append([problem.text(state) for state in answer.states])
        base = answer.states[0]
        answer = yield Expand(base, np.array([0]))
        self.answers.append([problem.text(state) for state in answer.states])
        return base


@pytest.mark.parametrize("limit", [1, 2, 9])
def test_answers_are_the_first_admissible_candidates(limit: int) -> None:
    words = [f"w{number}" for number in range(30)]
    one = example("a b c", "NN NN NN")

    def judge(edit: Edit) -> bool:
        return code(edit.changed) % 2 == 0

    search = Watching(limit)
    attack = Attack(
        Lexicon({"a": words, "c": words}), search, [Asked(judge)], goal=AttachmentDrop(), budget=500
    )
    victim = HashVictim()
    (result,) = attack.run([one], victim)
    last = [text for text in ((("a"), "b", word) for word in words) if code(text) % 2 == 0]
    first = [text for text in ((word, "b", "c") for word in words) if code(text) % 2 == 0]
    expected = [*last[:limit], *first[: limit + 1]]
    later = [(word, "b", last[0][2]) for word in words]
    assert search.answers == [expected, [text for text in later if code(text) % 2 == 0]]
    assert result.charged == 1 + sum(map(len, search.answers))
    assert set(map(tuple, itertools.chain(*victim.batches))) == {
        one.sentence.words,
        *itertools.chain(*search.answers),
    }


class Crossing(Search):
    """Changes the last word, then the first one too, and asks about what others make of these."""

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching:
        problem = (yield Propose(np.array([0, 1, 2]))).problem
        last = (yield Expand(problem.start(), np.array([2]))).states[0]
        both = (yield Expand(last, np.array([0]))).states[0]
        made = np.array([[1, 0, 1], [1, 0, 0], [1, 1, 0]], np.int16)  # x b z, x b c, x y c
        self.answer = yield Score(made, base=problem.start())
        return both


def test_states_put_together_are_asked_about_as_far_as_constraints_admit() -> None:
    """Known ones as they are, whatever becomes of their words from left to right."""

    def judge(edit: Edit) -> bool:
        return edit.position != 0 or edit.current[2] == "z"  # x only where z is

    search = Crossing()
    table = Lexicon({"a": ["x"], "b": ["y"], "c": ["z"]})
    attack = Attack(table, search, [Asked(judge)], goal=AttachmentDrop())
    (result,) = attack.run([example("a b c", "NN NN NN")], HashVictim())
    # "x b c" keeps nothing and is not asked about; "x y c" is asked about without its x.
    assert search.answer.states.tolist() == [[1, 0, 1], [0, 1, 0]]
    assert search.answer.origins.tolist() == [0, 2]
    assert result.words == ("x", "b", "z")


def test_a_constraint_that_fails_ends_the_run_and_keeps_what_is_finished() -> None:
    reference = uncounted(engine(Zheng2020(gamma=0.4), live=4), EXAMPLES)
    culprit = next(number for number in range(30, 60) if reference[number].edited)

    def dies(edit: Edit) -> bool:
        if edit.sentence == EXAMPLES[culprit].sentence:
            raise InputError("the checker died")
        return True

    done: dict[int, AttackResult] = {}
    run = engine(Zheng2020(gamma=0.4), dies, live=4).run(EXAMPLES, HashVictim())
    with pytest.raises(InputError, match="the checker died"):
        done.update((result.id, without_counts(result)) for result in run)
    assert len(done) > 10
    assert all(reference[number] == result for number, result in done.items())


def test_recent_values_are_computed_once_and_forgotten_in_the_end() -> None:
    asked: list[list[int]] = []

    def square(keys: list[int]) -> list[int]:
        asked.append(keys)
        return [key * key for key in keys]

    recent: Recent[int, int] = Recent(3)
    assert recent.of([2, 1, 2], square) == [4, 1, 4]
    assert recent.of([1, 3, 4], square) == [1, 9, 16]
    assert recent.of([4, 3, 1], square) == [16, 9, 1]
    assert recent.of([2, 4], square) == [4, 16]
    assert recent.of([], square) == []
    assert recent.of([5, 6, 7, 8, 9], square) == [25, 36, 49, 64, 81]
    assert asked == [[2, 1], [3, 4], [2], [5, 6, 7, 8, 9]]
