"""Goals with a named target, and the goal against classifiers, against cases worked out by hand."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from attack_fakes import HashVictim, TableVictim, example
from search_fakes import Labelled, TableClassifier

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.engine.problem_builder import ProblemBuilder
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.goals.goal import Goal
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.attacks.goals.targets import TargetedArc, TargetedSubtree
from robustparse.attacks.problem import Problem
from robustparse.attacks.search.beam import Greedy
from robustparse.attacks.search.importance import GreedyByImportance
from robustparse.attacks.search.random_substitution import RandomSubstitution
from robustparse.attacks.search.rankings import UnknownWord
from robustparse.attacks.search.requests import Search
from robustparse.errors import InputError

CHAIN = example("a b c d", "NN NN NN NN", (0, 1, 2, 3), number=7)


def problem_of(goal: Goal, one: Any = CHAIN, victim: Any = None) -> Problem:
    builder = ProblemBuilder(victim or HashVictim(), Lexicon({}), [], goal, 0, Statistics())
    return builder.build([one])[0]


def judged(goal: Goal, clean: list[int], *rows: tuple[list[int], list[int]]) -> list[Any]:
    """(score, success) of states and heads; all labels are right."""
    problem = problem_of(goal)
    states, heads = (np.array(part, dtype=np.int16) for part in zip(*rows, strict=True))
    before = np.array([clean], dtype=np.int16)
    verdict = goal.judge(
        problem, (before, np.zeros_like(before)), states, (heads, np.zeros_like(heads))
    )
    return list(zip(verdict.scores.tolist(), verdict.success.tolist(), strict=True))


def test_a_targeted_arc_is_there_or_not() -> None:
    verdicts = judged(
        TargetedArc({7: (3, 1)}),
        [0, 1, 2, 3],
        ([1, 0, 0, 0], [0, 1, 1, 3]),  # c hangs from a
        ([1, 0, 0, 0], [0, 1, 4, 3]),  # from another word
        ([1, 0, 0, 0], [0, 1, 2, 1]),  # another word from a
    )
    assert verdicts == [(1.0, True), (0.0, False), (0.0, False)]


def test_a_targeted_subtree_counts_its_own_arcs_but_its_root() -> None:
    # The phrase "b c d": b, whose head is outside, does not count.
    verdicts = judged(
        TargetedSubtree({7: (2, 4)}),
        [0, 1, 2, 2],  # d's head is wrong before the attack
        ([1, 0, 0, 0], [0, 4, 2, 2]),  # b's head breaks
        ([1, 0, 0, 0], [0, 1, 1, 2]),  # c's too: two errors
        ([1, 0, 0, 0], [0, 1, 1, 3]),  # but d's is mended
        ([1, 0, 1, 0], [0, 1, 1, 2]),  # c itself was changed
    )
    # Of two arcs; a phrase that was touched has the clean parse's one error.
    assert verdicts == [(0.5, False), (1.0, True), (0.5, False), (0.5, False)]


@pytest.mark.parametrize("search", [Greedy(), GreedyByImportance(UnknownWord())])
def test_no_search_is_led_into_the_phrase(search: Search) -> None:
    """Changes of the phrase's own words break more of its arcs, and never succeed."""
    table = {
        "a b x d": (0, 1, 2, 1),
        "a b c z": (0, 1, 4, 1),
        "a b c <unk>": (0, 1, 4, 1),
        "a b <unk> d": (0, 1, 2, 1),
        "y b x d": (0, 1, 4, 1),
        "y b c d": (0, 1, 2, 1),  # from outside: d's arc, which counts
    }
    lexicon = Lexicon({"a": ["y"], "c": ["x"], "d": ["z"]})
    attack = Attack(lexicon, search, goal=TargetedSubtree({7: (3, 4)}))
    (result,) = attack.run([CHAIN], TableVictim((0, 1, 2, 3), table))
    assert (" ".join(result.words), result.success) == ("y b c d", True)


@pytest.mark.parametrize("goal", [TargetedArc({1: (1, 2)}), TargetedSubtree({1: (1, 2)})])
def test_a_goal_does_not_apply_to_sentences_without_a_target(goal: Goal) -> None:
    assert not goal.applies(problem_of(goal))


def test_an_arc_that_is_there_as_it_is_is_skipped() -> None:
    attack = Attack(Lexicon({"a": ["x"]}), Greedy(), goal=TargetedArc({7: (3, 2)}))
    (run,) = attack.search_runs([CHAIN], TableVictim((0, 1, 2, 3), {}), Statistics())
    assert (run.skipped, run.queries.charged) == (True, 1)
    (result,) = attack.run([CHAIN], TableVictim((0, 1, 2, 3), {}))
    assert (result.skipped, result.success) == (True, False)


@pytest.mark.parametrize("goal", [TargetedArc({7: (3, 1)}), TargetedSubtree({7: (3, 4)})])
@pytest.mark.parametrize("search", [Greedy(), RandomSubstitution(gamma=1.0, trials=3)])
def test_a_sentence_without_a_target_is_asked_about_once(goal: Goal, search: Search) -> None:
    attack = Attack(Lexicon({"a": ["x", "y"]}), search, goal=goal)
    other = dataclasses.replace(CHAIN, id=8)
    results = {one.id: one for one in attack.run([CHAIN, other], TableVictim((0, 1, 2, 3), {}))}
    assert results[7].charged > 1
    without = results[8]
    assert (without.charged, without.unique, without.edited) == (1, 1, ())
    assert (without.targeted, without.skipped, without.success) == (False, False, False)
    assert without.attacked == without.clean
    assert without.candidates["slots"] == 0


def test_a_sentence_without_a_target_is_left_alone_in_training() -> None:
    search = RandomSubstitution(gamma=1.0, trials=1)  # asks nothing, not even for the clean parse
    attack = Attack(Lexicon({"a": ["x"]}), search, goal=TargetedArc({7: (3, 1)}))
    both = [CHAIN, dataclasses.replace(CHAIN, id=8)]
    made = attack.search_runs(both, TableVictim((), {}), reported=False)
    found = {one.problem.id: (" ".join(one.words), one.queries.charged) for one in made}
    assert found == {7: ("x b c d", 0), 8: ("a b c d", 0)}


@pytest.mark.parametrize(
    ("target", "scores", "success"),
    [
        (None, [0.1, 0.6, 0.5], [False, True, False]),  # 1 - F of y
        ("n", [0.1, 0.6, 0.5], [False, True, False]),  # F of n; the first label wins a tie
        ("y", [0.9, 0.4, 0.5], [True, False, True]),
    ],
)
def test_label_flip(target: str | None, scores: list[float], success: list[bool]) -> None:
    goal = LabelFlip(target=target)
    one = Labelled(0, CHAIN.sentence)
    problem = problem_of(goal, one, TableClassifier({}))
    probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.5, 0.5]])
    states = np.zeros((3, 4), dtype=np.int16)
    verdict = goal.judge(problem, (probabilities[:1],), states, (probabilities,))
    assert verdict.scores == pytest.approx(scores)
    assert verdict.success.tolist() == success


@pytest.mark.parametrize(
    ("make", "key", "found"),
    [
        (lambda: TargetedArc({3: (0, 1)}), "arcs", "got word 0 with head 1 for sentence 3"),
        (lambda: TargetedArc({3: (2, 2)}), "arcs", "got word 2 with head 2 for sentence 3"),
        (lambda: TargetedSubtree({3: (4, 2)}), "spans", "got 4 to 2 for sentence 3"),
        (
            lambda: TargetedArc({7: (5, 1)}).applies(problem_of(AttachmentDrop())),
            "arcs",
            "(5, 1) of sentence 7 lies outside its 4 words",
        ),
        (
            lambda: TargetedSubtree({7: (2, 6)}).applies(problem_of(AttachmentDrop())),
            "spans",
            "(2, 6) of sentence 7 lies outside its 4 words",
        ),
        (
            lambda: problem_of(LabelFlip()),
            "LabelFlip",
            "sentence 8: its gold answer is a DependencyTree",
        ),
        (
            lambda: problem_of(LabelFlip(target="dep2"), Labelled(2, CHAIN.sentence, "dep1")),
            "LabelFlip",
            "target 'dep2'",
        ),
    ],
)
def test_bad_targets(make, key: str, found: str) -> None:
    with pytest.raises(InputError) as error:
        make()
    assert (error.value.key, error.value.found) == (f"goal: {key}", found)
