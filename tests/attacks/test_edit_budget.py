"""How many words a share of a sentence is: gamma * L, rounded exactly, also in every search."""

import pytest
from attack_fakes import HashVictim, example

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.edit_budget import check_gamma, edit_budget
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.search.random_substitution import RandomSubstitution
from robustparse.attacks.search.requests import Search
from robustparse.attacks.search.wang2021 import Wang2021
from robustparse.attacks.search.white_box.zheng2020_whitebox import Zheng2020WhiteBox
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.errors import InputError


def test_hundredths_are_exact() -> None:
    for length in range(1, 300):
        for hundredths in range(1, 101):
            expected = max(1, hundredths * length // 100)
            assert edit_budget(hundredths / 100, length) == expected
            assert edit_budget(hundredths / 100, length, up=True) == -(-hundredths * length // 100)


@pytest.mark.parametrize("gamma", [0.0, -0.1, 1.01, 15, float("nan")])
def test_a_share_of_the_words_is_above_0_and_at_most_1(gamma: float) -> None:
    with pytest.raises(InputError, match=r"gamma must be in \(0, 1\], got"):
        check_gamma(gamma)


class Counting(HashVictim):
    """Attaches one word more wrongly for every word changed."""

    def answer(self, text: tuple[str, ...]) -> tuple[list[int], list[int]]:
        changed = sum(word.startswith("x") for word in text)
        heads = [place + 2 if place < changed else place for place in range(len(text))]
        return heads, [0] * len(text)


@pytest.mark.parametrize(
    "search",
    [
        Zheng2020(gamma=0.29),
        Zheng2020WhiteBox(gamma=0.29, positions=100),
        RandomSubstitution(gamma=0.29, trials=1),
    ],
    ids=lambda search: type(search).__name__,
)
@pytest.mark.parametrize(("words", "most"), [(100, 29), (99, 28), (3, 1)])
def test_rounding_loses_no_word(search: Search, words: int, most: int) -> None:
    """In floating point 0.29 * 100 falls short of 29."""
    assert int(0.29 * 100) == 28
    assert edits(search, words) == most


@pytest.mark.parametrize(("words", "most"), [(100, 7), (101, 8), (14, 1), (15, 2)])
def test_rounding_adds_no_word(words: int, most: int) -> None:
    """In floating point 0.07 * 100 is more than 7."""
    assert 0.07 * 100 > 7
    assert edits(Wang2021(gamma=0.07), words) == most


def edits(search: Search, words: int) -> int:
    """How many of so many words a search changes where every change does harm."""
    forms = [f"w{number}" for number in range(words)]
    one = example(" ".join(forms), "NN " * words)
    lexicon = Lexicon({form: [f"x{form}"] for form in forms})
    (result,) = Attack(lexicon, search, goal=AttachmentDrop()).run([one], Counting())
    return len(result.edited)
