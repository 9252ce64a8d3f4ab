"""The phrase-level white box of Zheng et al. 2020 against traces by hand."""

from typing import Any

import pytest
from attack_fakes import GradientVictim
from phrase_attacks import HEADS, attacked

from robustparse.attacks.search.gradient_substitution import NearestWord
from robustparse.attacks.search.zheng2020_phrase import PhraseWhiteBox

EMBEDDINGS = {"a1": (4, 0), "a2": (0, 4), "b1": (1, 1), "e1": (4, 0), "e2": (0, 4), "f1": (1, 1)}


def broken(*words: int) -> tuple[int, ...]:
    """Gold heads, save for these words'."""
    return tuple(1 if index in words and index else head for index, head in enumerate(HEADS))


def white_box(**settings: Any) -> PhraseWhiteBox:
    return PhraseWhiteBox(**({"substitution": NearestWord(alpha=4.0)} | settings))


# Gradients of the loss at the targets' words but their roots: a is word 0, c word 3, e word 5.
GRADIENTS = {
    # Target "a b": c, d have 1 + 0, e, f have 2 + 0.5.
    "a b v c d e f (0,)": ((9, 0), (9, 0), (9, 0), (1, 0), (0, 0), (2, 0), (0, 0.5)),
    # Target "c d": a, b have 0.5 + 0.25, e, f have 0.
    "a b v c d e f (3,)": ((0, 0.5), (0.25, 0), (9, 0), (9, 0), (9, 0), (0, 0), (0, 0)),
    # Target "e f": a, b have 3 + 0, c, d have 0.
    "a b v c d e f (5,)": ((3, 0), (0, 0), (9, 0), (0, 0), (0, 0), (9, 0), (9, 0)),
    # On the way: a to a1, then to a2; both without harm.
    "a1 b v c d e f (5,)": ((0, 1), (0, 0), (9, 0), (0, 0), (0, 0), (9, 0), (9, 0)),
    "a2 b v c d e f (5,)": ((0, 1), (0, 0), (9, 0), (0, 0), (0, 0), (9, 0), (9, 0)),
}
TABLE = {
    "a2 b v c d e f": broken(1, 2, 4, 6),  # in the source, in "v", and at the roots only
    "a b v c d e1 f1": (3, *HEADS[1:]),  # "a" has lost its head
}


def test_white_box_by_hand() -> None:
    victim = GradientVictim(HEADS, TABLE, EMBEDDINGS, GRADIENTS)
    result = attacked(white_box(), victim)
    # First the gradient for each target; then the pairs in the order 3, 2.5, 1, 0.75, 0, 0.
    assert victim.passes[:3] == [("a b v c d e f", "margin", (word,)) for word in (3, 5, 0)]
    assert [(text, inside) for text, _, inside in victim.passes[3:]] == [
        ("a b v c d e f", (5,)),  # "a b" for "e f": b's gradient is 0, so only a is replaced
        ("a1 b v c d e f", (5,)),
        ("a2 b v c d e f", (5,)),  # a1 was replaced, and so was a
        ("a b v c d e f", (0,)),  # afresh: "e f" for "a b"
    ]
    assert victim.texts == [
        "a b v c d e f",
        "a1 b v c d e f",
        "a2 b v c d e f",
        "a b v c d e1 f1",
        "a b v c d e1 f1",
    ]
    assert " ".join(result.words) == "a b v c d e1 f1"
    assert (result.edited, result.charged, result.success) == ((5, 6), 4, True)


def test_white_box_without_success_leaves_the_sentence_alone() -> None:
    victim = GradientVictim(HEADS, {}, EMBEDDINGS, GRADIENTS)
    result = attacked(white_box(), victim)
    assert (result.edited, result.success, result.targeted) == ((), False, True)
    asked = list(dict.fromkeys(victim.texts))
    # Then "c d" for "a b" and "a b" for "c d"; those without any gradient ask for nothing.
    assert asked[3:] == ["a b v c d e1 f1", "a b v c1 d e f", "a2 b1 v c d e f"]


@pytest.mark.parametrize(
    ("settings", "texts"),
    [
        ({"trials": 1}, ["a1 b v c d e f", "a b v c d e1 f1"]),
        ({"pairs": 1}, ["a1 b v c d e f", "a2 b v c d e f"]),
        ({"kappa": 1, "trials": 1}, ["a1 b v c d e f", "a b v c d e1 f"]),
    ],
)
def test_white_box_settings(settings: dict, texts: list[str]) -> None:
    victim = GradientVictim(HEADS, TABLE, EMBEDDINGS, GRADIENTS)
    attacked(white_box(**settings), victim)
    assert victim.texts[1 : 1 + len(texts)] == texts


def test_white_box_budget() -> None:
    for budget in (1, 2, 3):
        victim = GradientVictim(HEADS, TABLE, EMBEDDINGS, GRADIENTS)
        result = attacked(white_box(), victim, budget=budget)
        assert (result.charged, result.edited) == (budget, ())


def test_the_other_loss() -> None:
    victim = GradientVictim(HEADS, TABLE, EMBEDDINGS, GRADIENTS)
    attacked(white_box(loss="cross_entropy"), victim)
    assert {loss for _, loss, _ in victim.passes} == {"cross_entropy"}
