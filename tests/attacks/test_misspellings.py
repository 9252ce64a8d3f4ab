"""Misspelt candidates by another way to make them, and the limits on changed words and letters."""

import unicodedata
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from search_fakes import Labelled, TableClassifier
from test_drawn_candidates import slots

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.characters import CharacterEdits
from robustparse.attacks.candidates.similar_characters import Homoglyphs, KeyboardNeighbours
from robustparse.attacks.candidates.union import Union
from robustparse.attacks.candidates.word_splits import WordSplits
from robustparse.attacks.constraints.edits import EditBudget, LevenshteinDistance
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.attacks.search.beam import Greedy
from robustparse.errors import InputError
from robustparse.types import DependencyTree, Example, Sentence
from robustparse.victims import FunctionVictim

# Neighbours on a keyboard whose rows stand half a key apart, by the distance of the keys' centres.
ROWS = {"qwertyuiop": 0.0, "asdfghjkl": 0.5, "zxcvbnm": 1.0}
PLACES = {
    key: (column + shift, row)
    for row, (keys, shift) in enumerate(ROWS.items())
    for column, key in enumerate(keys)
}


def distance(word: str, other: str) -> int:
    """Levenshtein's, by its recursive definition."""
    if not word or not other:
        return len(word) + len(other)
    same = distance(word[1:], other[1:]) + (word[0] != other[0])
    return min(same, distance(word[1:], other) + 1, distance(word, other[1:]) + 1)


def proposed(generator, word: str) -> list[str]:
    (words,) = generator.propose(slots(word), seed=0)
    return words


@pytest.mark.parametrize("word", ["a", "ab", "abc", "abba", "cabbac"])
@pytest.mark.parametrize("kinds", [["swap"], ["insert"], ["delete"], ["substitute"], None])
def test_inner_edits_are_those_edits_that_keep_the_first_and_the_last_letter(word, kinds) -> None:
    options = {"edits": kinds, "sample": None, "alphabet": "abc"}
    found = proposed(CharacterEdits(inner=True, **options), word)
    assert len(found) == len(set(found))
    if len(word) < 3:
        assert found == []
        return
    # An edit that keeps both ends may also be one at an end, as in "aab" to "ab".
    middle = word[1:-1]
    made = set(proposed(CharacterEdits(**options), middle)) if middle else set()
    if kinds in (["delete"], None) and len(middle) == 1:
        made.add("")
    assert set(found) == {f"{word[0]}{each}{word[-1]}" for each in made} - {word}


def test_a_sample_for_each_edit_holds_one_of_each_kind() -> None:
    every = {
        kind: proposed(CharacterEdits(edits=[kind], sample=None), "word")
        for kind in ("swap", "delete", "insert")
    }
    generator = CharacterEdits(edits=[*every], sample=1, per="edit")
    seen = set()
    for number in range(200):
        (words,) = generator.propose(slots("word", number=number), seed=0)
        assert len(words) == 3
        assert all(word in every[kind] for word, kind in zip(words, every, strict=True))
        seen.update(words)
    assert seen >= {*every["swap"], *every["delete"]}


def test_neighbouring_keys_are_those_at_hand() -> None:
    near = {
        key: {
            other
            for other, there in PLACES.items()
            if 0 < np.hypot(place[0] - there[0], 0.87 * (place[1] - there[1])) < 1.1
        }
        for key, place in PLACES.items()
    }
    for key, others in near.items():
        assert set(proposed(KeyboardNeighbours(), key)) == others
        upper = {other.upper() for other in others}
        assert set(proposed(KeyboardNeighbours(), key.upper())) == upper
    assert proposed(KeyboardNeighbours(), "7-é") == []
    inner = proposed(KeyboardNeighbours(inner=True), "pat")
    assert set(inner) == {f"p{other}t" for other in near["a"]}
    assert set(proposed(KeyboardNeighbours(layout="azerty"), "q")) == set("azsw")


def test_homoglyphs_are_other_characters_of_the_same_name() -> None:
    for letter in "ABCEHIJKMNOPSTXYZacdehijopsxy":
        (twin,) = proposed(Homoglyphs(), letter)
        assert unicodedata.normalize("NFKC", twin) != letter
        name = unicodedata.name(twin)
        assert name.startswith(("GREEK", "CYRILLIC"))
        assert ("CAPITAL" in name) == letter.isupper()
    assert proposed(Homoglyphs(), "bqz") == []
    assert proposed(Homoglyphs(glyphs="digits"), "loud") == ["1oud", "l0ud"]
    assert proposed(Homoglyphs(glyphs="digits", inner=True), "loud") == ["l0ud"]


@pytest.mark.parametrize("generator", [KeyboardNeighbours, Homoglyphs])
def test_samples_of_similar_characters_are_drawn_from_all(generator) -> None:
    whole = set(proposed(generator(), "shape"))
    drawn = [
        word
        for number in range(100)
        for (words,) in [generator(sample=2).propose(slots("shape", number=number), 0)]
        for word in words
    ]
    assert set(drawn) == whole
    assert len(drawn) == 200
    assert generator(sample=2).fingerprint() != generator().fingerprint()


def test_a_word_is_split_between_any_two_characters() -> None:
    assert proposed(WordSplits(sample=None), "word") == ["w ord", "wo rd", "wor d"]
    assert proposed(WordSplits(), "a") == []
    assert proposed(WordSplits(sample=None, longest=4), "word") == ["w ord", "wo rd", "wor d"]
    assert proposed(WordSplits(sample=None, longest=4), "words") == []
    drawn = {proposed_for("word", number) for number in range(60)}
    assert drawn == {"w ord", "wo rd", "wor d"}
    assert WordSplits().fingerprint() != WordSplits(sample=None).fingerprint()


def proposed_for(word: str, number: int) -> str:
    ((split,),) = WordSplits().propose(slots(word, number=number), 0)
    return split


def test_two_words_in_the_place_of_one_are_read_by_the_victim() -> None:
    victim = TableClassifier({"a go od one": 0.9})
    one: Any = Labelled(0, Sentence(("a", "good", "one")))
    attack = Attack(WordSplits(sample=None), Greedy(), goal=LabelFlip())
    (run,) = attack.search_runs([one], victim)
    assert run.success
    assert " ".join(run.words) == "a go od one"


def test_words_with_answers_of_their_own_are_not_split() -> None:
    tree = DependencyTree((0, 1), ("root", "obj"))
    one = Example(0, Sentence(("good", "10 000")), tree)
    asked: list[Any] = []

    def answer(texts: list[Any]) -> list[DependencyTree]:
        asked.extend(texts)
        return [tree for _ in texts]

    others = CharacterEdits(edits=["substitute"], sample=None, alphabet="xy")
    splits = Union([WordSplits(sample=None), others])
    attack = Attack(splits, Greedy())
    (result,) = attack.run([one], FunctionVictim(answer))
    assert {len(text) for text in asked} == {2}
    assert "10 x00" in {word for text in asked for word in text}
    assert not result.success
    assert len([*attack.warnings([one])]) == 1
    assert not [*attack.warnings([replace(one, gold="label")])]
    with pytest.raises(InputError):  # nothing would be left to try
        list(Attack(WordSplits(), Greedy()).run([one], FunctionVictim(answer)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: CharacterEdits(per="text"),
        lambda: KeyboardNeighbours(layout="dvorak"),
        lambda: Homoglyphs(glyphs="ascii"),
        lambda: Homoglyphs(sample=0),
        lambda: WordSplits(sample=0),
        lambda: WordSplits(longest=0),
        lambda: LevenshteinDistance(0),
        lambda: EditBudget(most=0),
        lambda: EditBudget(least=4, most=3),
    ],
)
def test_settings_out_of_range_are_refused(make) -> None:
    with pytest.raises(InputError):
        make()


def test_the_levenshtein_distance_is_added_up_over_the_words() -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ab"), rng.integers(1, 5))) for _ in range(40)]
    for most in (3, 4, 5):
        edits, expected = [], []
        for first, second, third, fourth in np.reshape(words, (-1, 4)).tolist():
            edits.append(Edit(Sentence((first, second)), (third, second), 1, fourth))
            expected.append(distance(first, third) + distance(second, fourth) <= most)
        assert LevenshteinDistance(most).admits(edits).tolist() == expected
        assert len(set(expected)) == 2


@pytest.mark.parametrize(
    ("settings", "counts"),
    # Sentences of 1, 4, 11 and 40 words.
    [
        ({"gamma": 0.1}, [1, 1, 1, 4]),
        ({"gamma": 0.1, "up": True}, [1, 1, 2, 4]),
        ({"gamma": 0.1, "least": 4}, [4, 4, 4, 4]),
        ({"gamma": 0.2, "least": 2, "most": 5}, [2, 2, 2, 5]),
        ({"gamma": 1.0, "most": 2}, [1, 2, 2, 2]),
    ],
)
def test_budgets_have_a_floor_and_a_ceiling(settings, counts) -> None:
    budget = EditBudget(**settings)
    assert [budget.most_edits(words) for words in (1, 4, 11, 40)] == counts
    sentence = Sentence(("a",) * 40)
    edits = [
        Edit(sentence, ("b",) * changed + ("a",) * (40 - changed), changed, "b")
        for changed in range(10)
    ]
    assert budget.admits(edits).tolist() == [changed < counts[-1] for changed in range(10)]
