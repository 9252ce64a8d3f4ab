"""Names, places, numbers and contractions: what is found, and what takes its place.

The recipe `checklist` is compared with its algorithm written out.
"""

from pathlib import Path
from typing import Any

import pytest
from search_fakes import Labelled
from test_drawn_candidates import slots
from test_label_flips import LABELS, Probabilities
from test_recipe_traces import Found, replaced
from test_recipes import recipe
from test_textfooler import Steady

from robustparse.attacks.candidates import named_entities
from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.named_entities import ContractedForms, NamedEntities
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.errors import InputError
from robustparse.randomness import stream
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


TEXTS = [
    "John saw 100 birds near Paris",
    "they are in France and I do not mind",
    "Mary and Paul did n't pay 12 coins",
    "Smith was born in Oslo",
    "a film without any name",
    "7 men",
    "Anna said we 're late again",
    "he is not Garcia",
    "they will fly to Chile with 2 friends",
    "David has 30 old maps of Rome and 5 of Spain",
    "Laura is here",
    "I have 50",
]
CONTRACTED = {
    ("they", "are"): "'re",
    ("we", "'re"): "are",
    ("do", "not"): "n't",
    ("did", "n't"): "not",
    ("is", "not"): "n't",
    ("they", "will"): "'ll",
    ("i", "have"): "'ve",
}


def perturbed(text: list[str], number: int, at: int) -> list[str]:
    """Ten other names of the word's list, or ten other numbers within a fifth; or a contraction."""
    word, others = text[at], list[str]()
    lists = Path(named_entities.__file__).with_suffix(".txt").read_text(encoding="utf-8")
    for line in lists.splitlines():
        members = line.partition(":")[2].split() if not line.startswith("#") else []
        if word in members:
            others = [each for each in members if each != word]
    if word.isdecimal() and word not in ("2", "4"):
        near = int(int(word) * 0.2) + 1
        others = [str(int(word) + by) for by in range(-near, near + 1) if by and int(word) + by > 0]
    drawn = stream(0, number, 1 + at).permutation(len(others))[:10].tolist()
    before = text[at - 1].lower() if at else ""
    contracted = [CONTRACTED[before, word]] if (before, word) in CONTRACTED else []
    return [others[row] for row in drawn] + contracted


def checklist(text: list[str], victim: Probabilities, number: int) -> Found:
    """All perturbations of one word, then of another word of the worst text, until one fails."""
    y, charged = int(victim.of(text).argmax()), 1

    def rated(words: list[str]) -> tuple[bool, float]:
        row = victim.of(words)
        return int(row.argmax()) != y, 1.0 - float(row[y])

    current = best = text
    while not rated(best)[0]:
        tried = [
            replaced(current, at, word)
            for at in range(len(text))
            if current[at] == text[at]
            for word in perturbed(text, number, at)
        ]
        if not tried:
            break
        charged += len(tried)
        current = max(tried, key=rated)
        best = max(best, current, key=rated)
    return " ".join(best), rated(best)[0], charged


@pytest.mark.parametrize("kind", [Probabilities, Steady])
def test_checklist_finds_what_its_algorithm_finds(kind: Any) -> None:
    victim, examples, attack = kind(), [], recipe("checklist")
    attack.goal = LabelFlip()
    for number, text in enumerate(TEXTS):
        gold = LABELS[int(victim.of(text.split()).argmax())]
        one: Any = Labelled(number, Sentence(tuple(text.split())), gold)
        examples.append(one)
    results = {
        run.problem.id: (" ".join(run.words), run.success, run.queries.charged)
        for run in attack.search_runs(examples, victim)
    }
    expected = {at: checklist(text.split(), kind(), at) for at, text in enumerate(TEXTS)}
    assert results == expected
    assert len({success for _, success, _ in results.values()}) == 2
