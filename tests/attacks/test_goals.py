"""Verdicts against a case worked out by hand, and against the definition word by word."""

import numpy as np
import pytest
from attack_fakes import HashVictim, corpus, example
from search_fakes import Labelled

from robustparse.attacks.attack import Attack, usual_goal
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.engine.problem_builder import ProblemBuilder
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.goals.attachment import AttachmentDrop, Parse
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.attacks.problem import DELETED, Problem
from robustparse.attacks.search.beam import Greedy
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.errors import InputError
from robustparse.evaluation.example_records import example_record
from robustparse.tasks.dependency import DEPENDENCY


def problem_of(one, punctuation="none") -> Problem:
    builder = ProblemBuilder(
        HashVictim(), Lexicon({}), [], AttachmentDrop(punctuation=punctuation), 0, Statistics()
    )
    return builder.build([one])[0]


def array(*rows: list[int]) -> np.ndarray:
    return np.array(rows, dtype=np.int16)


def judge(problem, clean, state, heads, labels=None, **settings) -> tuple[float, bool]:
    """Return the score in errors, not as a fraction of the counted words, and success."""
    none = [0] * len(problem)
    verdict = AttachmentDrop(**settings).judge(
        problem,
        (array(clean), array(none)),
        array(state),
        (array(heads), array(labels or none)),
    )
    return round(float(verdict.scores[0]) * counted(problem), 9), bool(verdict.success[0])


def counted(problem) -> int:
    return max(1, int(problem.counted.sum()))


def test_reported_against_strict() -> None:
    # Gold chain: 0 1 2 3 4. The clean parse is right but for the last word.
    problem = problem_of(example("a b c d e", "NN NN NN NN NN", (0, 1, 2, 3, 4)))
    clean = [0, 1, 2, 3, 1]
    state = [0, 1, 0, 0, 0]  # the second word was changed
    # The third word loses its head, the changed word itself: reported only.
    assert judge(problem, clean, state, [0, 1, 1, 3, 1]) == (2.0, True)
    assert judge(problem, clean, state, [0, 1, 1, 3, 1], success="strict") == (1.0, False)
    # The fourth word is attached to the changed one instead of the third: left out too.
    assert judge(problem, clean, state, [0, 1, 2, 2, 1]) == (2.0, True)
    assert judge(problem, clean, state, [0, 1, 2, 2, 1], success="strict") == (1.0, False)
    # The fourth word is attached to the first: untouched, and it counts under both.
    assert judge(problem, clean, state, [0, 1, 2, 1, 1]) == (2.0, True)
    assert judge(problem, clean, state, [0, 1, 2, 1, 1], success="strict") == (2.0, True)
    # An error mended elsewhere outweighs it.
    assert judge(problem, clean, state, [0, 1, 2, 1, 4], success="strict") == (1.0, False)
    # In the clean parse the last word hangs from the first: with that changed, it is left out.
    state = [1, 0, 0, 0, 0]
    assert judge(problem, clean, state, [0, 1, 2, 3, 4]) == (0.0, False)
    assert judge(problem, clean, state, [0, 1, 2, 3, 4], success="strict") == (1.0, False)


def test_success_is_a_drop_below_the_clean_parse_not_below_gold() -> None:
    problem = problem_of(example("a b", "NN NN", (0, 1)))
    assert judge(problem, [2, 1], [1, 0], [2, 1]) == (1.0, False)
    assert judge(problem, [0, 1], [1, 0], [2, 1]) == (1.0, True)


def test_labels_count_for_las_only() -> None:
    problem = problem_of(example("a b", "NN NN", (0, 1)))
    assert judge(problem, [0, 1], [1, 0], [0, 1], [0, 1], metric="uas") == (0.0, False)
    assert judge(problem, [0, 1], [1, 0], [0, 1], [0, 1], metric="las") == (1.0, True)


def test_punctuation_is_decided_on_the_original() -> None:
    sentence = example("a .", "NN .", (0, 1))
    for policy, score in (("none", 1.0), ("penn", 0.0), ("unicode", 0.0)):
        problem = problem_of(sentence, policy)
        assert judge(problem, [0, 1], [1, 0], [0, 0])[0] == score


@pytest.mark.parametrize("metric", ["uas", "las"])
def test_strict_agrees_with_its_definition(metric: str) -> None:
    rng = np.random.default_rng(0)
    for one in corpus(40)[0]:
        problem = problem_of(one, "penn")
        length, number = len(problem), 20
        clean = Parse(
            rng.integers(0, length + 1, length).astype(np.int16),
            rng.integers(0, 2, length).astype(np.int16),
        )
        heads = rng.integers(0, length + 1, (number, length)).astype(np.int16)
        labels = rng.integers(0, 2, (number, length)).astype(np.int16)
        states = rng.integers(0, 3, (number, length)).astype(np.int16) // 2
        verdict = AttachmentDrop(metric=metric, success="strict").judge(
            problem, (clean.heads[None], clean.labels[None]), states, (heads, labels)
        )
        for row in range(number):
            changed = {0: False} | {word + 1: bool(states[row, word]) for word in range(length)}
            before = after = all_wrong = 0
            for word in range(length):
                if not problem.counted[word]:
                    continue
                gold = int(problem.gold.heads[word])
                ends = (word + 1, gold, int(clean.heads[word]), int(heads[row, word]))
                right_before = clean.heads[word] == gold and (
                    metric == "uas" or clean.labels[word] == problem.gold.labels[word]
                )
                right_after = heads[row, word] == gold and (
                    metric == "uas" or labels[row, word] == problem.gold.labels[word]
                )
                all_wrong += not right_before
                if not any(changed[end] for end in ends):
                    before, after = before + right_before, after + right_after
            assert verdict.success[row] == (after < before)
            errors = all_wrong + before - after
            assert verdict.scores[row] == pytest.approx(errors / counted(problem))
            assert 0.0 <= verdict.scores[row] <= 1.0


def test_bad_settings() -> None:
    with pytest.raises(InputError, match="metric must be one of uas, las, mean"):
        AttachmentDrop(metric="f1")
    with pytest.raises(InputError, match="success must be one of"):
        AttachmentDrop(success="always")
    with pytest.raises(InputError, match="punctuation must be one of"):
        AttachmentDrop(punctuation="ud")


def test_the_mean_of_both_scores_succeeds_with_las() -> None:
    problem = problem_of(example("a b c", "NN NN NN", (0, 1, 2)))
    # One wrong head, and a wrong label elsewhere: 1 and 2 errors.
    settings = {"metric": "mean"}
    assert judge(problem, [0, 1, 2], [1, 0, 0], [0, 1, 1], [1, 0, 0], **settings) == (1.5, True)
    assert judge(problem, [0, 1, 2], [1, 0, 0], [0, 1, 2], [1, 0, 0], **settings) == (0.5, True)
    # The head is mended, the label breaks: as many labelled arcs are wrong as before.
    assert judge(problem, [0, 1, 1], [1, 0, 0], [0, 1, 2], [0, 0, 1], **settings) == (0.5, False)


def test_more_than_one_further_error_may_be_wanted() -> None:
    problem = problem_of(example("a b c", "NN NN NN", (0, 1, 2)))
    assert judge(problem, [0, 1, 2], [1, 0, 0], [0, 1, 1], least=2) == (1.0, False)
    assert judge(problem, [0, 1, 2], [1, 0, 0], [2, 1, 1], least=2) == (2.0, True)
    assert judge(problem, [0, 1, 1], [1, 0, 0], [2, 1, 1], least=2) == (2.0, False)
    with pytest.raises(InputError, match="least must be >= 1, got 0"):
        AttachmentDrop(least=0)


def test_a_deleted_word_keeps_its_arc_and_the_others_their_places() -> None:
    problem = problem_of(example("a b c d", "NN NN NN NN", (0, 1, 2, 3)))
    clean = [0, 1, 2, 3]
    # Without b, "a c d" is parsed as a <- ROOT, c <- a, d <- c: only c has lost its head.
    deleted = [0, DELETED, 0, 0]
    assert judge(problem, clean, deleted, [0, 1, 2, 99]) == (1.0, True)
    # d <- a is wrong as well.
    assert judge(problem, clean, deleted, [0, 1, 1, 99]) == (2.0, True)
    # b's arc was wrong in the clean parse and stays so.
    assert judge(problem, [0, 3, 2, 3], deleted, [0, 1, 2, 99]) == (2.0, True)


def test_trees_are_asked_of_a_goal_for_trees() -> None:
    with pytest.raises(InputError) as error:
        problem_of(Labelled(3, example("a", "NN").sentence))
    assert (error.value.key, error.value.expected) == ("goal: AttachmentDrop", "a DependencyTree")
    assert error.value.found == "sentence 4: its gold answer is a str"


def test_an_attack_without_a_goal_takes_the_usual_one() -> None:
    assert isinstance(usual_goal(example("a", "NN").gold), AttachmentDrop)
    assert isinstance(usual_goal("y"), LabelFlip)
    with pytest.raises(InputError) as error:
        usual_goal(3)
    assert (error.value.key, error.value.remedy) == ("attack: goal", "name a goal")
    some, table = corpus(12)
    found, given = (
        list(Attack(Lexicon(table), Greedy(), goal=goal).run(some, HashVictim()))
        for goal in (None, AttachmentDrop())
    )
    assert found == given
    assert Attack(Lexicon(table), Greedy()).punctuation == "none"


@pytest.mark.parametrize("metric", ["uas", "las"])
def test_strict_success_of_a_line_is_what_the_strict_goal_counts(metric: str) -> None:
    examples, lexicon = corpus(60, seed=4)
    goal = AttachmentDrop(metric=metric, success="strict")
    attack = Attack(Lexicon(lexicon), Zheng2020(gamma=0.4, psi=4), goal=goal)
    results = list(attack.run(examples, HashVictim()))
    task = DEPENDENCY
    strict = [
        task.answers.strict_success(example_record(task, result))[metric] for result in results
    ]
    assert strict == [result.success for result in results]
    assert 0 < sum(strict) < len(results)
