"""Forms that keep no token of the gold form, and Seq2Sick, by definitions written out."""

import zlib
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_misspellings import distance
from test_recipe_traces import CANDIDATES, STOP, Found, installed, replaced, texts

from robustparse.attacks.goals.non_overlapping import FormToAvoid, NonOverlappingOutput, content
from robustparse.errors import InputError
from robustparse.types import Example, LogicalForm, Sentence
from robustparse.victims import FunctionVictim

GOLD = LogicalForm("( lambda $0 e ( and ( river:t $0 ) ( loc:t $0 s0 ) ) )", "lambda")
PREDICTED = [
    (str(GOLD), 0, False),
    ("( lambda $0 e ( or ( river:t $0 ) ( next_to:t $0 s0 ) ) )", 2, False),
    ("( lambda $0 e ( or ( town:t $0 ) ( next_to:t $0 s0 ) ) )", 3, True),
    ("( and ( loc:t s0 ) ( river:t $0 ) )", 2, False),  # "and" stays first
    ("( river:t s0 )", 3, True),  # in another place
    ("", 3, True),
]


class Problem(SimpleNamespace):
    """A sentence of two words."""

    def __len__(self) -> int:
        return 2


def problem(form: LogicalForm) -> Any:
    def answers(rows: Any, lengths: Any) -> list[str]:
        assert set(lengths) == {2}
        return [PREDICTED[at][0] for at in rows[0]]

    victim: Any = SimpleNamespace(answers=answers)
    (gold,) = NonOverlappingOutput().gold([Example(0, Sentence(("a", "b")), form)], victim)
    return Problem(gold=gold)


def test_scores_are_the_shares_of_tokens_that_are_gone() -> None:
    one = problem(GOLD)
    assert content(GOLD) == ("and", "river:t", "loc:t")
    rows = (np.arange(len(PREDICTED)),)
    verdict = NonOverlappingOutput().judge(one, rows, np.zeros((6, 2)), rows)
    assert verdict.scores == pytest.approx([gone / 3 for _, gone, _ in PREDICTED])
    assert verdict.success.tolist() == [success for _, _, success in PREDICTED]


def test_forms_without_such_tokens_and_other_answers_are_not_attacked() -> None:
    goal = NonOverlappingOutput()
    assert goal.applies(problem(GOLD))
    assert not goal.applies(problem(LogicalForm("( a $0 )", "lambda")))
    with pytest.raises(InputError):
        goal.gold([Example(0, Sentence(("a",)), "label")], SimpleNamespace(answers=None))
    assert isinstance(problem(GOLD).gold, FormToAvoid)


TOKENS = [("river:t", "town:t"), ("loc:t", "next_to:t", "high:t"), ("large:t", "small:t")]


def tokens(words: Sequence[str]) -> list[str]:
    """Three tokens of a form, each of which depends on some of the words."""
    codes = [zlib.crc32(" ".join(words[at::3]).encode()) for at in range(3)]
    return [some[code % len(some)] for some, code in zip(TOKENS, codes, strict=True)]


def form(words: Sequence[str]) -> LogicalForm:
    first, second, third = tokens(words)
    return LogicalForm(f"( {first} ( {second} ( {third} $0 ) ) )", "lambda")


def seq2sick(text: list[str]) -> Found:
    """Words by the tokens that are gone without them; the best of each within a distance of 4."""
    right = tokens(text)

    def gone(words: Sequence[str]) -> float:
        return sum(map(str.__ne__, right, tokens(words))) / 3

    visited = [at for at, word in enumerate(text) if word not in STOP]
    order = sorted(visited, key=lambda at: -gone(replaced(text, at, "[UNK]")))
    current, charged = list(text), 1 + len(visited)
    for at in order:
        tried = [replaced(current, at, word) for word in CANDIDATES[text[at]]]
        tried = [one for one in tried if sum(map(distance, text, one)) <= 4]
        charged += len(tried)
        best = max(tried, key=gone, default=current)
        if gone(best) > gone(current):
            current = best
        if gone(current) == 1:
            break
    return " ".join(current), gone(current) == 1, charged


def test_seq2sick_finds_what_its_algorithm_finds() -> None:
    victim = FunctionVictim(lambda asked: [form(words) for words in asked], "semantic")
    some = [text for text in texts(40) if len(text) > 2]
    examples = [Example(at, Sentence(tuple(text)), form(text)) for at, text in enumerate(some)]
    attack = installed("seq2sick", {"LevenshteinDistance": {"most": 4}})
    results = {
        result.id: (" ".join(result.words), result.success, result.charged)
        for result in attack.run(examples, victim)
    }
    assert results == {at: seq2sick(text) for at, text in enumerate(some)}
    assert len({success for _, success, _ in results.values()}) == 2
