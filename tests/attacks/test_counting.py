"""Candidates counted by generator and stage: exact by hand, the same in any packing."""

from collections.abc import Sequence

import numpy as np
from attack_fakes import HashVictim, example
from attack_table import Shorter
from numpy.typing import NDArray

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.cache import CachedCandidates
from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.union import Union
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.sentence_constraint import Edit, SentenceConstraint
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.attacks.engine.candidate_counts import CandidateCounts
from robustparse.attacks.engine.problem_builder import ProblemBuilder
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.search.requests import Search
from robustparse.attacks.search.wang2021 import Wang2021
from robustparse.attacks.search.zheng2020 import Zheng2020

ONE = example("Dogs chase cats", "NNS VBP NNS", (2, 0, 2), number=1)
TWO = example("of cats", "IN NNS", (2, 0), number=2)
FIRST = {"dogs": ["wolves", "foxes", "wolves", "dogs"], "cats": ["lions"], "chase": []}
SECOND = {"dogs": ["FOXES", "bees"], "cats": ["lions", "tigers", "ants"]}


class Without(SentenceConstraint):
    """Changed sentences without a letter."""

    def __init__(self, letter: str) -> None:
        self.letter = letter

    def admits(self, edits: Sequence[Edit]) -> NDArray[np.bool_]:
        return np.array([self.letter not in edit.word for edit in edits], np.bool_)


def counts(
    candidates: CandidateGenerator, constraints: list[Constraint]
) -> tuple[CandidateCounts, CandidateCounts]:
    builder = ProblemBuilder(
        HashVictim(), candidates, constraints, AttachmentDrop(), 0, Statistics()
    )
    problems, finished = builder.build([ONE, TWO]), builder.candidate_counts.finished
    builder.extend(problems, [np.array([0, 1, 2]), np.array([1])])
    first, second = (finished(problem.id) for problem in problems)
    assert finished(ONE.id)["slots"] == 0  # forgotten
    # In two steps the counts are the same.
    problems = builder.extend(problems, [np.array([1]), np.array([], dtype=np.int64)])
    problems = builder.extend(problems, [np.array([0, 2]), np.array([1])])
    assert (finished(ONE.id), finished(TWO.id)) == (first, second)
    return first, second


def test_a_union_by_member_and_constraint() -> None:
    union = Union([Lexicon(FIRST), Lexicon(SECOND)])
    constraints = [Shorter(5), AttackableTags(["NNS", "VBP"]), Shorter(4)]
    first, second = counts(union, constraints)
    # Dogs: Wolves Foxes | Foxes Bees; chase: nothing; cats: lions | lions tigers ants.
    assert first == {
        "slots": 3,
        "sums": {
            "all": {"proposed": 6, "Shorter": 4, "Shorter 2": 2},
            "Lexicon": {"proposed": 3, "Shorter": 2, "Shorter 2": 0},
            "Lexicon 2": {"proposed": 5, "Shorter": 4, "Shorter 2": 2},
        },
    }
    assert second == {
        "slots": 1,
        "sums": {
            "all": {"proposed": 3, "Shorter": 2, "Shorter 2": 1},
            "Lexicon": {"proposed": 1, "Shorter": 1, "Shorter 2": 0},
            "Lexicon 2": {"proposed": 3, "Shorter": 2, "Shorter 2": 1},
        },
    }


def test_a_single_generator_under_the_name_of_what_is_cached(tmp_path) -> None:
    cached = CachedCandidates(Lexicon(FIRST), str(tmp_path / "cache.sqlite"))
    first, _ = counts(cached, [])
    assert first == {
        "slots": 3,
        "sums": {"all": {"proposed": 3}, "Lexicon": {"proposed": 3}},
    }


def test_a_sentence_without_slots_has_counted_all_stages() -> None:
    (result,) = engine(Zheng2020(), Lexicon(FIRST), [AttackableTags(["JJ"])]).run(
        [ONE], HashVictim()
    )
    assert result.candidates == {
        "slots": 0,
        "sums": {"all": {"proposed": 0}, "Lexicon": {"proposed": 0}},
    }


def engine(
    search: Search, candidates: CandidateGenerator, constraints: list[Constraint], **settings
) -> Attack:
    return Attack(candidates, search, constraints, goal=AttachmentDrop(), **settings)


def test_filters_on_changed_sentences() -> None:
    union = Union([Lexicon(FIRST), Lexicon(SECOND)])
    constraints = [Without("x"), Shorter(6), Without("t")]
    # Every word may be changed, and each is visited once.
    attack = engine(Wang2021(gamma=1.0), union, constraints)
    (result,) = attack.run([ONE], HashVictim())
    assert result.candidates == {
        "slots": 3,
        "sums": {
            # Without Foxes; then without tigers and ants.
            "all": {"proposed": 6, "Shorter": 6, "judged": 6, "Without": 5, "Without 2": 3},
            "Lexicon": {"proposed": 3, "Shorter": 3, "judged": 3, "Without": 2, "Without 2": 2},
            "Lexicon 2": {"proposed": 5, "Shorter": 5, "judged": 5, "Without": 4, "Without 2": 2},
        },
        "judged_by_tag": {"NNS": {"judged": 6, "Without": 5, "Without 2": 3}},
    }


class Compared(str):
    """A word that counts how often it is compared with another."""

    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


class Whole(Lexicon):
    """Every word of a list, as it is."""

    verbatim = True

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__({})
        self.words = words

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        return [list(self.words) for _ in slots]


def test_a_whole_vocabulary_is_counted_word_by_word() -> None:
    """As many times more words take as many times longer, not the square of it."""
    words = [Compared(f"w{number}") for number in range(2000)]
    union = Union([Whole(words), Whole(words[1::4])])
    attack = engine(Wang2021(gamma=1.0), union, [Without("7")])
    Compared.times = 0
    (result,) = attack.run([TWO], HashVictim())
    assert Compared.times < 100 * len(words)
    left = ["7" not in word for word in words]
    sums = result.candidates["sums"]
    assert sums["all"] == {"proposed": 4000, "judged": 4000, "Without": 2 * sum(left)}
    assert sums["Whole 2"] == {"proposed": 1000, "judged": 1000, "Without": 2 * sum(left[1::4])}
