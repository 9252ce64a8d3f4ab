"""The winner of Jin et al. 2020: of a word's candidates that succeed, the most similar sentence."""

from typing import Any

import pytest
from attack_table import Measured
from search_fakes import TableClassifier, Trace, trace
from sentence_judges import Asked

from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.search.importance import GreedyByImportance
from robustparse.attacks.search.rankings import DeletedWord, UnknownWord
from robustparse.errors import InputError

LEXICON = {"p": ["a", "b", "d"], "q": ["c"]}
# Of p's candidates a and b succeed, a less clearly; r, p, q is the order by deletion.
TABLE = {"a q r": 0.6, "b q r": 0.9, "d q r": 0.4, "q r": 0.3, "p r": 0.2, "p q": 0.4}
BY_DELETION = ["Score D00 0D0 00D", "Propose 2", "Expand", "Propose 0", "Expand 100 200 300"]


def measured(**by_word: float) -> Measured:
    return Measured(lambda edit: by_word[edit.word])


def attacked(*constraints: Constraint, winner: Any = "similar", **settings: Any) -> Trace:
    search, victim = GreedyByImportance(DeletedWord(), winner), TableClassifier(TABLE)
    return trace(search, "p q r", LEXICON, victim, constraints=constraints, **settings)


def test_the_most_similar_success_wins_over_a_higher_score() -> None:
    # d is the most similar of all and does not succeed.
    one = measured(a=0.8, b=0.3, d=0.9)
    result = attacked(one)
    assert result.requests == [*BY_DELETION, "Compare 100 200"]
    assert (result.words, result.status, result.charged) == ("a q r", "succeeded", 7)
    assert [[edit.word for edit in edits] for edits in one.compared] == [["a", "b"]]
    by_score = attacked(measured(), winner="score")
    assert by_score.requests == BY_DELETION
    assert (by_score.words, by_score.charged) == ("b q r", 7)


def test_the_first_one_wins_on_ties() -> None:
    assert attacked(measured(a=0.5, b=0.5)).words == "a q r"


def test_the_score_decides_where_no_filter_measures() -> None:
    for filters in ((), (Asked(lambda _: True),)):
        result = attacked(*filters)
        assert (result.words, result.status) == ("b q r", "succeeded")


def test_the_first_filter_that_measures_decides() -> None:
    several = Asked(lambda _: True), measured(a=0.1, b=0.2), measured(a=0.2, b=0.1)
    assert attacked(*several).words == "b q r"
    assert not several[2].compared


def test_what_a_filter_rejects_does_not_win() -> None:
    one = Measured(lambda edit: {"a": 0.9, "b": 0.3}[edit.word], lambda edit: edit.word != "a")
    result = attacked(one)
    # Nothing is compared: one success is left.
    assert result.requests == [*BY_DELETION[:-1], "Expand 100 200 300"]
    assert (result.words, result.charged, one.compared) == ("b q r", 6, [])


def test_a_spent_budget_leaves_the_comparison() -> None:
    assert attacked(measured(a=0.8, b=0.3), budget=6).words == "a q r"


def test_it_compares_with_the_sentence_as_it_stands() -> None:
    table = {"p <unk> r": 0.4, "p c r": 0.3, "a c r": 0.6, "b c r": 0.9}
    one, search = measured(a=0.8, b=0.3), GreedyByImportance(UnknownWord(), "similar")
    result = trace(search, "p q r", LEXICON, TableClassifier(table), constraints=[one])
    assert (result.words, result.requests[-1]) == ("a c r", "Compare 110 210")
    assert [(edit.current, edit.position) for edit in one.compared[0]] == [(("p", "c", "r"), 0)] * 2


def test_an_unknown_winner_is_refused() -> None:
    with pytest.raises(InputError, match="search: winner"):
        GreedyByImportance(DeletedWord(), "fast")  # type: ignore[arg-type]
