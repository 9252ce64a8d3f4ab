"""Verdicts on tags against the definition by spans, and the words that goals leave alone."""

import numpy as np
import pytest
from attack_fakes import HashVictim

from robustparse.attacks.attack import Attack, usual_goal
from robustparse.attacks.candidates.entity_words import EntityWords
from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.engine.problem_builder import ProblemBuilder
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.goals.tag_errors import TagErrors
from robustparse.attacks.problem import DELETED, Problem
from robustparse.attacks.search.beam import Greedy
from robustparse.certificates.exhaustion import right_parts
from robustparse.data.tags.schemes import spans
from robustparse.errors import InputError
from robustparse.types import Example, Sentence, TagSequence
from robustparse.victims import FunctionVictim

NAMES = ["O", "B-x", "I-x", "B-y", "I-y"]
GOLD = "O B-x I-x O B-y O"


class Victim(HashVictim):
    """Numbers tags as `NAMES` does."""

    def name_ids(self, names):
        return np.array([NAMES.index(n) if n in NAMES else -1 for n in names], np.int32)


def problem_of(goal: TagErrors, tags: str = GOLD) -> Problem:
    words = tuple("abcdefghij"[: len(tags.split())])
    one = Example(0, Sentence(words), TagSequence(tuple(tags.split())))
    return ProblemBuilder(Victim(), Lexicon({}), [], goal, 0, Statistics()).build([one])[0]


def ids(*rows: str) -> tuple[np.ndarray]:
    return (np.array([[NAMES.index(tag) for tag in row.split()] for row in rows], np.int32),)


def judge(goal: TagErrors, clean: str, attacked: str, state: list[int]) -> tuple[float, bool]:
    problem = problem_of(goal)
    verdict = goal.judge(problem, ids(clean), np.array([state], np.int16), ids(attacked))
    return float(verdict.scores[0]), bool(verdict.success[0])


NONE = [0] * 6
CASES = [
    # settings, clean answer, attacked answer, state, score, success
    ({}, GOLD, GOLD, NONE, 0.0, False),
    ({}, GOLD, "O B-x O O B-y O", NONE, 0.5, True),  # moved
    ({}, GOLD, "O B-x I-x I-x B-y O", NONE, 0.5, True),  # moved
    ({}, GOLD, "O B-y I-y O B-y O", NONE, 0.5, True),  # another class
    ({}, GOLD, "O I-x I-x O I-y O", NONE, 0.0, False),  # conlleval's start of a span
    ({}, GOLD, "B-x I-x I-x O B-y O", NONE, 0.5, True),
    ({}, GOLD, "B-y B-x I-x B-y B-y O", NONE, 0.0, False),  # nothing is lost
    ({"metric": "words"}, GOLD, "B-y B-x I-x B-y B-y O", NONE, 2 / 6, True),
    ({}, "O O O O B-y O", GOLD, NONE, 0.0, False),
    ({}, "O O O O B-y O", "O O O O B-y O", NONE, 0.5, False),
    ({"least": 2}, GOLD, "O O O O B-y O", NONE, 0.5, False),
    ({"share": 0.6}, GOLD, "O O O O B-y O", NONE, 0.5, False),
    ({"share": 0.5}, GOLD, "O O O O B-y O", NONE, 0.5, True),
    ({"success": "strict", "edit": "all"}, GOLD, "O O O O B-y O", [0, 1, 0, 0, 0, 0], 0.0, False),
    ({"success": "strict", "edit": "all"}, GOLD, "O O O O B-y O", [1, 0, 0, 0, 0, 0], 0.5, True),
]


@pytest.mark.parametrize(("settings", "clean", "attacked", "state", "score", "success"), CASES)
def test_cases_by_hand(settings, clean, attacked, state, score, success):
    found, succeeded = judge(TagErrors(**settings), clean, attacked, state)
    assert (found, succeeded) == (pytest.approx(score), success)


def test_lost_spans_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    goal = TagErrors()
    problem = problem_of(goal, "B-x I-x B-x O B-y I-y I-y B-x")
    gold = {*spans(problem.example.gold.tags)}
    predicted = rng.integers(0, len(NAMES), (500, len(problem))).astype(np.int32)
    clean = ids("B-x I-x B-x O B-y I-y I-y B-x")
    states = np.zeros(predicted.shape, np.int16)
    verdict = goal.judge(problem, clean, states, (predicted,))
    found = [gold & {*spans([NAMES[tag] for tag in row])} for row in predicted.tolist()]
    assert verdict.scores == pytest.approx([1 - len(each) / len(gold) for each in found])
    parts = right_parts(problem, (predicted,))
    assert parts[..., 1].sum(axis=1).tolist() == [len(each) for each in found]
    starts = [{span.begin for span in each} for each in found]
    assert [set(np.flatnonzero(row)) for row in parts[..., 1]] == starts


def test_a_deleted_word_keeps_its_tag():
    goal, state = TagErrors(), [0, 0, 0, DELETED, 0, 0]
    problem = problem_of(goal)
    shorter = (np.array([[0, 1, 2, 3, 0, 9]], np.int32),)  # the last column is padding
    verdict = goal.judge(problem, ids(GOLD), np.array([state], np.int16), shorter)
    assert (verdict.scores.tolist(), verdict.success.tolist()) == ([0.0], [False])


@pytest.mark.parametrize(
    ("edit", "eligible"),
    [("context", "100101"), ("entities", "011010"), ("all", "111111")],
)
def test_only_some_words_may_be_changed(edit, eligible):
    problem = problem_of(TagErrors(edit=edit))
    assert "".join(map(str, problem.eligible.astype(int))) == eligible
    assert problem_of(TagErrors(), "O O O B-x O O").eligible.sum() == 5


def test_goals_for_trees_stand_for_spans():
    gold = TagSequence(("O",))
    goal = AttachmentDrop(success="strict", least=3, punctuation="unicode").against(gold)
    assert isinstance(goal, TagErrors)
    assert (goal.success, goal.least, goal.punctuation) == ("strict", 3, "unicode")
    assert isinstance(usual_goal(gold), TagErrors)
    assert not TagErrors().applies(problem_of(TagErrors(), "O O O O O O"))
    with pytest.raises(InputError):
        TagErrors(edit="some")
    with pytest.raises(InputError):
        TagErrors(share=2.0)


def answer(texts: list[list[str]]) -> list[list[str]]:
    """Capitals begin entities; the word after "in" is another class."""
    return [
        [
            "O" if word.islower() else "B-y" if at and words[at - 1] == "in" else "B-x"
            for at, word in enumerate(words)
        ]
        for words in texts
    ]


EXAMPLE = Example(0, Sentence(("near", "Rome", "now")), TagSequence(("O", "B-x", "O")))


def test_a_function_that_answers_tags_is_attacked():
    victim = FunctionVictim(answer, "tags")
    attack = Attack(Lexicon({"near": ["in"], "Rome": ["Oslo"]}), Greedy())
    (result,) = attack.run([EXAMPLE], victim)
    assert (result.words, result.success) == (("in", "Rome", "now"), True)
    assert result.attacked == TagSequence(("O", "B-y", "O"))
    for wrong in ([["O"]], ["O O O"], [[1, 2, 3]]):
        broken = FunctionVictim(lambda texts, wrong=wrong: wrong * len(texts), "tags")
        with pytest.raises(InputError) as error:
            list(attack.run([EXAMPLE], broken))
        assert error.value.key == "victim"


def test_words_of_entities_come_from_entities_of_the_class(tmp_path):
    path = tmp_path / "train.conll"
    path.write_text("Oslo B-x\n\nNew B-x\nYork I-x\n\nBonn B-y\n\nSan B-x\nJose I-x\n")
    made = EntityWords(str(path), sample=None)
    example = Example(4, Sentence(("in", "El", "Paso")), TagSequence(("O", "B-x", "I-x")))
    made.check([EXAMPLE, example])
    slots = [Slot(0, EXAMPLE.sentence, 1), *(Slot(4, example.sentence, at) for at in range(3))]
    assert made.propose(slots, 0) == [["Oslo"], [], ["New", "San"], ["York", "Jose"]]
    with pytest.raises(InputError) as error:
        EntityWords(str(tmp_path / "none.conll")).prepare(FunctionVictim(answer, "tags"))
    assert error.value.path
