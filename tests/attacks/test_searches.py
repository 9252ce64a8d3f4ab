"""Beam, greedy, greedy by importance and PWWS against traces worked out by hand.

The problem of all traces: "p q r", where p has the candidates a and b, q has c, and r has none. The
score of a text is 1 - F_y, success is a score above 0.5. A state is written as one code a word: 0
the word itself, 1 and 2 its candidates, U unknown, D deleted.
"""

import numpy as np
import pytest
from search_fakes import TableClassifier, Trace, trace

from robustparse.attacks.constraints.words import ProtectedPositions
from robustparse.attacks.search.beam import Beam, Greedy
from robustparse.attacks.search.importance import PWWS, GreedyByImportance
from robustparse.attacks.search.rankings import (
    DeletedWord,
    GradientNorm,
    RandomOrder,
    UnknownWord,
    WeightedSaliency,
)
from robustparse.attacks.search.requests import Propose, Search
from robustparse.errors import InputError
from robustparse.randomness import stream

LEXICON = {"p": ["a", "b"], "q": ["c"]}
TABLE = {
    "p q r": 0.1,
    "a q r": 0.2,
    "b q r": 0.3,
    "p c r": 0.25,
    "b c r": 0.2,
    "a c r": 0.6,
    "<unk> q r": 0.2,
    "p <unk> r": 0.4,
    "p q <unk>": 0.3,
    "q r": 0.3,
    "p r": 0.2,
    "p q": 0.4,
}
GRADIENTS = [[2.0, -2.0], [3.0, 0.0], [0.5, 0.0]]


def attacked(search: Search, **settings) -> Trace:
    return trace(search, "p q r", LEXICON, TableClassifier(TABLE, GRADIENTS), **settings)


def summary(result: Trace) -> tuple[str, str, int, int]:
    return result.words, result.status, result.charged, result.unique


@pytest.mark.parametrize(("outcome", "words"), [("best", "b q r"), ("last", "b c r")])
def test_greedy_takes_the_best_of_all_changes_though_the_score_falls(outcome, words) -> None:
    result = attacked(Greedy(outcome=outcome))
    # b scores 0.3, the best of three; from there only c is left, and it scores 0.2.
    assert result.requests == ["Propose 0 1 2", "Expand 100 200 010", "Expand 210"]
    assert summary(result) == (words, "failed", 5, 5)
    assert result.asked == ["p q r", "a q r", "b q r", "p c r", "b c r", words]


@pytest.mark.parametrize("search", [Greedy(), Beam(width=2), PWWS()])
def test_a_search_that_does_no_good_returns_the_sentence_as_it_is(search: Search) -> None:
    table = {text: score if text == "p q r" else 0.05 for text, score in TABLE.items()}
    result = trace(search, "p q r", LEXICON, TableClassifier(table))
    assert (result.words, result.status) == ("p q r", "failed")


@pytest.mark.parametrize(
    ("members", "second", "charged"),
    [("unite", "Expand 210 110", 6), ("concatenate", "Expand 210 110 210", 7)],
)
def test_beam(members: str, second: str, charged: int) -> None:
    result = attacked(Beam(width=2, members=members))
    # The beam is b (0.3), then c (0.25); "b c r" is reached from both, "a c r" succeeds.
    assert result.requests == ["Propose 0 1 2", "Expand 100 200 010", second]
    assert summary(result) == ("a c r", "succeeded", charged, 6)


def test_a_budget_cuts_a_request_and_the_best_so_far_is_returned() -> None:
    assert summary(attacked(Greedy(), budget=3)) == ("b q r", "failed", 3, 3)
    assert summary(attacked(Greedy(), budget=2)) == ("a q r", "failed", 2, 2)
    assert summary(attacked(Greedy(), budget=1)) == ("p q r", "failed", 1, 1)
    # Cut before the success is seen: of the last round only "b c r" is known.
    assert summary(attacked(Beam(width=2), budget=5)) == ("b q r", "failed", 5, 5)
    last = Beam(width=2, outcome="last")
    assert summary(attacked(last, budget=5)) == ("b c r", "failed", 5, 5)


def test_a_text_that_the_victim_gets_wrong_is_skipped() -> None:
    victim = TableClassifier(TABLE | {"p q r": 0.7})
    result = trace(Greedy(), "p q r", LEXICON, victim)
    assert (result.requests, result.status, result.charged) == ([], "skipped", 1)


def test_importance_by_the_unknown_word() -> None:
    result = attacked(GreedyByImportance(UnknownWord()))
    # Scores with the unknown word 0.2, 0.4, 0.3: q, r, p. c rises to 0.25; r has no candidate;
    # on "p c r", a succeeds.
    assert result.requests == [
        "Score U00 0U0 00U",
        *("Propose 1", "Expand 010"),
        *("Propose 2", "Expand"),
        *("Propose 0", "Expand 110 210"),
    ]
    assert summary(result) == ("a c r", "succeeded", 7, 7)


def test_importance_by_deletion() -> None:
    result = attacked(GreedyByImportance(DeletedWord()))
    # "q r" 0.3, "p r" 0.2, "p q" 0.4: r, p, q. b rises to 0.3; c would fall to 0.2: left out.
    assert result.requests == [
        "Score D00 0D0 00D",
        *("Propose 2", "Expand"),
        *("Propose 0", "Expand 100 200"),
        *("Propose 1", "Expand 210"),
    ]
    assert summary(result) == ("b q r", "failed", 7, 7)
    assert result.asked[1:4] == ["q r", "p r", "p q"]


def test_a_score_that_falls_but_beats_the_original_one_is_accepted() -> None:
    result = attacked(GreedyByImportance(DeletedWord(), accept="original"))
    # As above, but c is taken: 0.2 is below b's 0.3 and above the 0.1 of the sentence as it is.
    assert summary(result) == ("b c r", "failed", 7, 7)


@pytest.mark.parametrize("ranking", [UnknownWord, DeletedWord])
@pytest.mark.parametrize(("words", "charged"), [("eligible", 6), ("all", 7)])
def test_words_that_may_not_be_changed_are_ranked_if_wanted(ranking, words, charged) -> None:
    search = GreedyByImportance(ranking(words=words))
    result = attacked(search, constraints=[ProtectedPositions([2])])
    letter = "U" if ranking is UnknownWord else "D"
    asked = [f"{letter}00", f"0{letter}0", f"00{letter}"][: 3 if words == "all" else 2]
    assert result.requests[0] == f"Score {' '.join(asked)}"
    assert "Propose 2" not in result.requests
    assert result.charged == charged


def test_the_only_word_deleted_leaves_the_unknown_word() -> None:
    victim = TableClassifier({})
    result = trace(GreedyByImportance(DeletedWord()), "p", LEXICON, victim)
    assert result.asked == ["p", "<unk>", "a", "b", "p"]


def test_weighted_saliency_as_in_textattack() -> None:
    result = attacked(GreedyByImportance(WeightedSaliency(gain="score")))
    # exp(0.2), exp(0.4), exp(0.3) times 0.3, 0.25, 0: 0.366, 0.373, 0: q, p, r.
    assert result.requests == [
        *("Score U00 0U0 00U", "Propose 0 1 2", "Expand 100 200 010"),
        *("Propose 1", "Expand 010"),
        *("Propose 0", "Expand 110 210"),
    ]
    # "p c r" is charged twice.
    assert summary(result) == ("a c r", "succeeded", 10, 9)


def test_weighted_saliency_of_the_paper_measures_the_increase() -> None:
    result = attacked(GreedyByImportance(WeightedSaliency()))
    # exp(0.2), exp(0.4) times 0.3 - 0.1, 0.25 - 0.1: 0.244, 0.224: p, q, r.
    assert result.requests[3:] == [
        *("Propose 0", "Expand 100 200"),
        *("Propose 1", "Expand 210"),
        *("Propose 2", "Expand"),
    ]
    assert summary(result) == ("b q r", "failed", 10, 8)


@pytest.mark.parametrize(("outcome", "words"), [("best", "b q r"), ("last", "b c r")])
def test_pwws_puts_the_chosen_candidates_in_without_a_look_back(outcome, words) -> None:
    result = attacked(PWWS(outcome=outcome))
    # p, then q; b and c were the best, each alone.
    assert result.requests[3:] == ["Score 200", "Score 210"]
    assert summary(result) == (words, "failed", 9, 8)


def test_pwws_keeps_a_single_change_that_is_better_than_all_together() -> None:
    # q is far more salient, so that c comes first; a alone was the best, and is never asked again.
    table = TABLE | {"p <unk> r": 5.0, "p c r": 0.3, "a q r": 0.45, "b q r": 0.2, "a c r": 0.1}
    result = trace(PWWS(), "p q r", LEXICON, TableClassifier(table))
    assert result.requests[3:] == ["Score 010", "Score 110"]
    assert (result.words, result.status) == ("a q r", "failed")


@pytest.mark.parametrize(
    ("norm", "visits", "words"),
    [
        # L1 norms 4, 3, 0.5.
        ("l1", ["Expand 100 200", "Expand 210", "Expand"], "b q r"),
        # L2 norms 2.8, 3, 0.5.
        ("l2", ["Expand 010", "Expand 110 210"], "a c r"),
    ],
)
def test_importance_by_gradient_is_not_charged(norm: str, visits: list[str], words: str) -> None:
    result = attacked(GreedyByImportance(GradientNorm(norm=norm)))
    assert result.requests[0] == "Gradient"
    assert result.requests[2::2] == visits
    assert (result.words, result.charged) == (words, 4)


def test_random_order_follows_from_seed_and_sentence() -> None:
    seen = set()
    for seed in range(20):
        result = attacked(GreedyByImportance(RandomOrder()), seed=seed)
        order = stream(seed, 0).permutation(3).tolist()
        # p before q: b, and c falls. q before p: c, then a.
        if order.index(0) < order.index(1):
            assert summary(result) == ("b q r", "failed", 4, 4)
        else:
            assert summary(result) == ("a c r", "succeeded", 4, 4)
        visits = [int(one.split()[1]) for one in result.requests if one.startswith("Propose")]
        assert visits == order[: len(visits)]
        seen.add(tuple(order))
    assert len(seen) > 3


@pytest.mark.parametrize(
    ("fraction", "visited"), [(1.0, 10), (0.3, 3), (0.29, 2), (0.1, 1), (0.09, 0), (0.9, 8)]
)
def test_random_order_visits_a_share_of_all_words(fraction: float, visited: int) -> None:
    """Of ten words, two of which may not be changed; 0.3 of 10 are 3, whatever rounding says."""
    text = "p q r s t u v w x y"
    keep = [ProtectedPositions([0, 5])]
    flat, seen = TableClassifier({}), set()
    for seed in range(5):
        found = [
            trace(GreedyByImportance(ranking), text, {}, flat, seed=seed, constraints=keep).requests
            for ranking in (RandomOrder(), RandomOrder(fraction=fraction))
        ]
        whole, some = ([one.split()[1] for one in all_[::2]] for all_ in found)
        assert some == whole[:visited]
        assert len(some) == min(visited, 8)
        assert not {"0", "5"} & set(some)
        seen.add(tuple(some))
    assert len(seen) == (5 if visited > 1 else len(seen))


def test_ties_break_by_position_and_candidate() -> None:
    flat = TableClassifier({"p q r": 0.0})
    assert trace(Greedy(), "p q r", LEXICON, flat).requests[2] == "Expand 110"
    importance = trace(GreedyByImportance(UnknownWord()), "p q r", LEXICON, flat)
    assert importance.requests[1:3] == ["Propose 0", "Expand 100 200"]
    assert importance.words == "a q r"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Beam(width=0), "width must be >= 1, got 0"),
        (lambda: Beam(members="join"), "members must be one of unite, concatenate, got 'join'"),
        (lambda: DeletedWord(words="some"), "words must be one of eligible, all, got 'some'"),
        (
            lambda: GreedyByImportance(DeletedWord(), accept="every"),
            "accept must be one of current, original, any, got 'every'",
        ),
        (lambda: WeightedSaliency(gain="most"), "gain must be one of increase, score"),
        (lambda: RandomOrder(fraction=0.0), r"fraction must be in \(0, 1\], got 0.0"),
        (lambda: RandomOrder(fraction=1.5), r"fraction must be in \(0, 1\], got 1.5"),
        (lambda: GradientNorm(norm="l3"), "norm must be one of l1, l2, got 'l3'"),
    ],
)
def test_bad_settings(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


class Returning(Search):
    """A search that asks for nothing but candidates."""

    def __init__(self, outcome: object) -> None:
        self.outcome = outcome

    def run(self, problem, clean, rng):
        yield Propose(np.arange(3))
        return self.outcome


@pytest.mark.parametrize(
    "outcome", [None, "b q r", [0, 0], [-1, 0, 0], [3, 0, 0], [0, 0, 1], [0.0, 0.0, 0.0]]
)
def test_what_a_search_returns_must_be_a_state(outcome: object) -> None:
    assert attacked(Returning([2, 1, 0])).words == "b c r"
    with pytest.raises(InputError) as error:
        attacked(Returning(outcome))
    assert error.value.key == "Traced.run"
