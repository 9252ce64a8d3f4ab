"""Labels in texts, and their probabilities from the tokens."""

import math

import pytest

from robustparse.victims.label_answers import Token, label_in, probabilities_of

FEELINGS = {"neg": "negative", "pos": "positive"}
IN_CHINESE = {"neg": "负面", "pos": "正面"}
PAIRS = {name: name for name in ("entailment", "not entailment", "neutral")}


@pytest.mark.parametrize(
    ("answer", "words", "label"),
    [
        ("positive", FEELINGS, "pos"),
        (" Positive.\n", FEELINGS, "pos"),
        ('"NEGATIVE"', FEELINGS, "neg"),
        ("**negative**", FEELINGS, "neg"),
        ("Label: negative", FEELINGS, "neg"),
        ("The text is positive, clearly positive.", FEELINGS, "pos"),
        ("positive or negative", FEELINGS, None),
        ("nonpositive", FEELINGS, None),
        ("It is not positive.", FEELINGS, None),
        ("It isn't positive but negative", FEELINGS, "neg"),
        ("Non-negative", FEELINGS, None),
        ("pos", FEELINGS, None),
        ("", FEELINGS, None),
        ("I cannot say", FEELINGS, None),
        ("not entailment", PAIRS, "not entailment"),
        ("It is not entailment.", PAIRS, "not entailment"),
        ("entailment", PAIRS, "entailment"),
        ("entailment, not entailment", PAIRS, None),
        ("not_entailment", PAIRS, None),
        ("4", {"4": "4", "14": "14"}, "4"),
        ("14 stars", {"4": "4", "14": "14"}, "14"),
        ("这是正面评价。", IN_CHINESE, "pos"),
        ("这不是评价", IN_CHINESE, None),
        ("非正面", IN_CHINESE, None),
        ("正面还是负面", IN_CHINESE, None),
        ("긍정입니다", {"pos": "긍정", "neg": "부정"}, "pos"),
        ("C++", {"C": "C", "C++": "C++"}, "C++"),
    ],
)
def test_a_label_is_found(answer: str, words: dict[str, str], label: str | None) -> None:
    assert label_in(answer, words) == label


def token(text: str, **top: float) -> Token:
    """A token with the probabilities of the tokens at its position; `_` is a blank."""
    shares = {name.replace("_", " "): share for name, share in top.items()}
    logprobs = [(name, math.log(share)) for name, share in shares.items()]
    return Token(text, math.log(shares[text]), logprobs)


@pytest.mark.parametrize(
    ("label", "tokens", "words", "expected"),
    [
        ("pos", [token("positive", positive=0.6, negative=0.2)], FEELINGS, [0.25, 0.75]),
        ("pos", [token(" Pos", _Pos=0.6, _Neg=0.3, other=0.1), token("itive", itive=1)],
         FEELINGS, [1 / 3, 2 / 3]),
        # Several spellings: the most probable one.
        ("neg", [token("negative", negative=0.5, Negative=0.3, positive=0.1, Positive=0.05)],
         FEELINGS, [0.5 / 0.6, 0.1 / 0.6]),
        # A token before the label.
        ("pos", [token(" ", **{" ": 0.5, "x": 0.5}), token("positive", positive=0.8, negative=0.2)],
         FEELINGS, [0.2, 0.8]),
        # Labels that begin alike are told apart by the next token.
        ("new", [token("ne", ne=0.5, old=0.5), token("w", w=0.6, ar=0.4)],
         {"new": "new", "near": "near", "old": "old"}, [0.3 / 1.0, 0.2 / 1.0, 0.5 / 1.0]),
        ("pos", [token("positive", positive=1.0)], FEELINGS, [0, 1]),
        ("pos", [token("The", The=1.0), token(" positive", _positive=1.0)], FEELINGS, None),
        ("pos", [], FEELINGS, None),
    ],
)  # fmt: skip
def test_probabilities_are_those_of_the_deciding_token(
    label: str, tokens: list[Token], words: dict[str, str], expected: list[float] | None
) -> None:
    found = probabilities_of(label, tokens, words)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert sum(found) == pytest.approx(1)
        largest = max(expected)
        index = [*words].index(label)
        if expected[index] == largest:
            assert found == pytest.approx(expected)
        else:  # the answer is the label, whatever follows from its parts
            assert found[index] == max(found)
