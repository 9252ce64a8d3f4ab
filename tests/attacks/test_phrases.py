"""Phrases and their pairs by brute force on small trees; verdicts against cases by hand."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from attack_fakes import HashVictim, example

from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.engine.problem_builder import ProblemBuilder
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.goals.goal import Goal
from robustparse.attacks.goals.phrases import PhraseDrop, phrase_pairs, phrases
from robustparse.attacks.problem import Problem
from robustparse.errors import InputError


def random_tree(rng: np.random.Generator, words: int) -> list[int]:
    """Heads of any tree; most of its subtrees have gaps if it is long."""
    order = rng.permutation(words)
    heads = [0] * words
    for place, word in enumerate(order.tolist()):
        if place:
            # Near heads are likelier, so that some subtrees are whole.
            before = sorted(order[:place].tolist(), key=lambda other: abs(other - word))
            heads[word] = before[min(int(rng.geometric(0.7)) - 1, place - 1)] + 1
    return heads


def descendants(heads: Sequence[int], word: int) -> set[int]:
    found = {word}
    for other, head in enumerate(heads):
        if head == word + 1:
            found |= descendants(heads, other)
    return found


def test_phrases_and_pairs_by_brute_force() -> None:
    rng = np.random.default_rng(0)
    kinds = {"nested": 0, "gap": 0, "pairs": 0}
    for _ in range(300):
        heads = random_tree(rng, int(rng.integers(1, 16)))
        shortest, longest, gap = int(rng.integers(2, 4)), int(rng.integers(4, 7)), rng.integers(3)
        yields = [descendants(heads, word) for word in range(len(heads))]
        whole = [some for some in yields if max(some) - min(some) + 1 == len(some)]
        kinds["gap"] += len(yields) - len(whole)
        fitting = [some for some in whole if shortest <= len(some) <= longest]
        outermost = [one for one in fitting if not any(one < other for other in fitting)]
        kinds["nested"] += len(fitting) - len(outermost)
        found = phrases(heads, shortest, longest)
        assert [set(range(s.first, s.last + 1)) for s in found] == sorted(outermost, key=min)
        for span in found:
            assert yields[span.root] == set(range(span.first, span.last + 1))
        expected = [
            (source, target)
            for source, one in enumerate(found)
            for target, other in enumerate(found)
            if one.last + gap < other.first or other.last + gap < one.first
        ]
        assert list(phrase_pairs(found, int(gap))) == expected
        kinds["pairs"] += len(expected)
    assert min(kinds.values()) > 50, kinds


# "the big dog | saw | a cat of mine | ." with roots dog and cat; mine hangs from cat.
HEADS = (3, 3, 4, 0, 6, 4, 8, 6, 4)
SENTENCE = example("the big dog saw a cat of mine .", "DT JJ NN VBD DT NN IN PRP .", HEADS)


def problem_of(goal: Goal, one: Any = SENTENCE) -> Problem:
    builder = ProblemBuilder(HashVictim(), Lexicon({}), [], goal, 0, Statistics())
    return builder.build([one])[0]


def test_the_phrases_of_a_sentence() -> None:
    problem = problem_of(PhraseDrop(shortest=3, longest=5))
    assert problem.gold.spans == ((0, 2, 2), (4, 7, 5))
    assert problem.gold.pairs == ((0, 1), (1, 0))
    assert problem.gold.heads.tolist() == list(HEADS)
    goal = PhraseDrop(shortest=3, longest=5)
    assert goal.applies(problem)
    for gap, pairs in ((1, ((0, 1), (1, 0))), (2, ())):
        assert problem_of(PhraseDrop(shortest=3, longest=5, gap=gap)).gold.pairs == pairs
    assert not goal.applies(problem_of(PhraseDrop()))  # one phrase of four words
    # The whole sentence is a phrase too, if it is short enough, and then the only one.
    assert problem_of(PhraseDrop(shortest=3)).gold.spans == ((0, 8, 3),)


def judged(goal: Goal, changed: Sequence[int], moved: dict[int, int], clean=HEADS) -> tuple:
    problem = problem_of(goal)
    state = np.zeros((1, len(problem)), dtype=np.int16)
    state[0, list(changed)] = 1
    heads = np.array([clean], dtype=np.int16)
    for word, head in moved.items():
        heads[0, word] = head
    before = np.array([clean], dtype=np.int16)
    labels = np.zeros_like(heads)
    verdict = goal.judge(problem, (before, labels), state, (heads, labels))
    errors = float(verdict.scores[0]) * len(problem)
    return round(errors, 9), bool(verdict.success[0])


def test_errors_in_the_other_phrase_but_at_its_root() -> None:
    goal = PhraseDrop(shortest=3, longest=5)
    assert judged(goal, [0], {4: 4}) == (1, True)  # "a" has lost its head
    assert judged(goal, [0, 1, 2], {4: 4, 6: 1}) == (2, True)
    assert judged(goal, [0], {5: 9}) == (0, False)  # the root, "cat"
    assert judged(goal, [0], {1: 4}) == (0, False)  # in the source itself
    assert judged(goal, [0], {3: 9}) == (0, False)  # in neither
    assert judged(goal, [4, 7], {1: 4}) == (1, True)  # from right to left
    assert judged(goal, [], {4: 4}) == (0, False)
    assert judged(goal, [3], {4: 4}) == (0, False)  # a change outside
    assert judged(goal, [0, 3], {4: 4}) == (0, False)
    assert judged(goal, [0, 4], {6: 1, 1: 4}) == (0, False)  # changes in both
    wrong = (*HEADS[:4], 4, *HEADS[5:])  # "a" was wrong before
    assert judged(goal, [0], {6: 1}, wrong) == (1, True)
    assert judged(goal, [0], {4: 9}, wrong) == (0, False)  # still wrong
    assert judged(goal, [0], {4: 6}, wrong) == (-1, False)  # mended


def test_only_counted_words() -> None:
    # "b , c" and "e f" hang from "v": the comma is in a phrase, and counts under one policy only.
    one = example("b , c v e f", "NN , NN VB NN NN", (4, 1, 1, 0, 4, 5))
    for policy, score in (("none", 1.0), ("unicode", 0.0), ("penn", 0.0)):
        goal = PhraseDrop(shortest=2, longest=3, punctuation=policy)
        problem = problem_of(goal, one)
        assert problem.gold.spans == ((0, 2, 0), (4, 5, 4))
        before = np.array([one.gold.heads], dtype=np.int16)
        after = before.copy()
        after[0, 1] = 4
        state = np.array([[0, 0, 0, 0, 1, 0]], dtype=np.int16)
        verdict = goal.judge(problem, (before, before), state, (after, after))
        assert verdict.scores.tolist() == [score / problem.counted.sum()]


def test_each_target_or_all_of_them_together() -> None:
    # Three phrases of two words: "a b", "c d", "e f", all hanging from "v".
    one = example("a b v c d e f", "NN NN VB NN NN NN NN", (2, 3, 0, 5, 3, 7, 3))
    clean = np.array([(2, 3, 0, 1, 3, 7, 3)], dtype=np.int16)  # "c" is wrong
    after = np.array([(2, 3, 0, 5, 3, 1, 3)], dtype=np.int16)  # "c" is right, "e" wrong
    state = np.array([[1, 0, 0, 0, 0, 0, 0]], dtype=np.int16)
    for targets, score in (("each", 1.0), ("union", 0.0)):
        goal = PhraseDrop(shortest=2, longest=2, targets=targets)
        problem = problem_of(goal, one)
        assert len(problem.gold.pairs) == 6
        verdict = goal.judge(problem, (clean, clean), state, (after, after))
        assert verdict.scores.tolist() == [score / 7]
        assert verdict.success.tolist() == [score > 0]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"shortest": 1}, "goal: shortest, longest: got 1 and 12"),
        ({"longest": 3}, "goal: shortest, longest: got 4 and 3"),
        ({"gap": -1}, "gap must be >= 0, got -1"),
        ({"targets": "all"}, "targets must be one of each, union"),
        ({"punctuation": "ud"}, "punctuation must be one of none, penn, unicode, upos"),
    ],
)
def test_bad_settings(setting: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        PhraseDrop(**setting)
