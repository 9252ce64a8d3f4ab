"""Names, places, numbers and contractions: what is found, and what takes its place."""

import pytest
from test_drawn_candidates import slots

from robustparse.attacks.candidates import named_entities
from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.named_entities import ContractedForms, NamedEntities
from robustparse.errors import InputError
from robustparse.types import Example, LogicalForm, Sentence


def others(text: str, at: int, **settings) -> list[str]:
    slot = Slot(0, Sentence(tuple(text.split())), at)
    return NamedEntities(**{"sample": None, **settings}).propose([slot], 0)[0]


@pytest.mark.parametrize(
    ("text", "kind", "one"),
    [
        ("John", "names", "Paul"),
        ("mary", "names", "Anna"),
        ("Smith", "names", "Garcia"),
        ("France", "places", "Chile"),
        ("paris", "places", "Oslo"),
        ("100", "numbers", "95"),
    ],
)
def test_an_entity_gives_way_to_another_one_of_its_kind(text, kind, one) -> None:
    found = others(text, 0)
    assert one in found
    assert text not in [each.lower() for each in found]
    assert others(text, 0, kinds=[kind]) == found
    rest = [each for each in ("names", "places", "numbers") if each != kind]
    assert others(text, 0, kinds=rest) == []
    for other in found if kind != "numbers" else ():  # and back
        assert text.lower() in [each.lower() for each in others(other, 0)]


def test_lists_hold_words_of_one_kind_each() -> None:
    lists = named_entities._lists()
    assert set(lists) == {"men", "women", "last names", "countries", "cities"}
    everything = [word for members in lists.values() for word in members]
    assert min(map(len, lists.values())) >= 50
    assert len(set(everything)) == len(everything)


@pytest.mark.parametrize(
    ("number", "expected"),
    [("1", "2"), ("3", "2 4"), ("10", "7 8 9 11 12 13"), ("2", ""), ("4", "")],
)
def test_numbers_change_by_a_fifth_and_one(number, expected) -> None:
    assert others(number, 0) == expected.split()


def test_words_that_are_names_only_when_they_look_so() -> None:
    assert others("a frank word", 1) == []
    assert others("a Frank word", 1)
    (tagged,) = slots("Brown")
    assert NamedEntities().propose([tagged], 0) == [[]]  # its tag is NN
    proper = Slot(0, Sentence(("brown",), xpos=("NNP",)), 0)
    assert NamedEntities().propose([proper], 0)[0]


def test_samples_and_settings() -> None:
    assert len(others("John", 0, sample=3)) == 3
    with pytest.raises(InputError):
        NamedEntities(kinds=["dates"])
    with pytest.raises(InputError):
        NamedEntities(kinds=[])
    form = Example(0, Sentence(("a",)), LogicalForm("( a )", "lambda"))
    assert len([*NamedEntities().warnings([form])]) == 1
    assert not [*NamedEntities().warnings([Example(0, Sentence(("a",)), "label")])]
    assert NamedEntities().fingerprint() != NamedEntities(sample=3).fingerprint()


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        ("I do not know", 2, ["n't"]),
        ("I do n't know", 2, ["not"]),
        ("they are here", 1, ["'re"]),
        ("They 're here", 1, ["are"]),
        ("I 'm here", 1, ["am"]),
        ("she will go", 1, ["'ll"]),
        ("books are here", 1, []),
        ("not here", 0, []),
        ("he 's here", 1, []),
    ],
)
def test_contractions_of_two_words(text, at, expected) -> None:
    slot = Slot(0, Sentence(tuple(text.split())), at)
    assert ContractedForms().propose([slot], 0) == [expected]
