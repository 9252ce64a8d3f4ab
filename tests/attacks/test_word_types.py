"""Word types against what is counted by hand; the order of a corpus does not matter."""

import random

import pytest

from robustparse.attacks.word_types import WordTypes, is_type
from robustparse.types import Sentence

CORPUS = [
    Sentence(
        ("The", "dog", "runs", "."), ("DET", "NOUN", "VERB", "PUNCT"), ("DT", "NN", "VBZ", ".")
    ),
    Sentence(("A", "run", ",", "the", "run"), ("DET", "NOUN", "PUNCT", "DET", "NOUN")),
    Sentence(("RUN",), ("VERB",), ("VB",)),
    Sentence(("cats", "run"), context=("Some", "dog")),
    Sentence(("RUN",), ("VERB",), ("VB",)),
    Sentence(("10 000", "b2")),
]


def test_words_are_counted_with_their_tags() -> None:
    types = WordTypes.of(CORPUS)
    assert list(types.counts.items())[:3] == [("run", 5), ("dog", 2), ("the", 2)]
    assert (types.counts["some"], types.counts["10 000"], sum(types.counts.values())) == (1, 1, 17)
    assert types.tagset == "upos"
    assert types.tags["run"] == "NOUN"  # twice each: the first by name
    assert "cats" not in types.tags
    assert types.words[:3] == ["run", "dog", "the"]
    assert not {".", ",", "10 000"} & set(types.words)
    assert types.by_tag["NOUN"] == ["run", "dog"]
    assert types.alone("dog") == Sentence(("dog",), ("NOUN",))
    assert types.alone("cats") == Sentence(("cats",))
    penn = WordTypes.of(CORPUS, "xpos")
    assert penn.alone("run") == Sentence(("run",), xpos=("VB",))
    assert WordTypes.of([CORPUS[3]]).tags == {}
    assert WordTypes.of([Sentence(("a",), xpos=("DT",))]).tagset == "xpos"


def test_a_word_occurs_once_in_each_distinct_text() -> None:
    types = WordTypes.of(CORPUS)
    every = [
        (text, [w.lower() for w in text].index("run"))
        for text in types.texts
        if "run" in [w.lower() for w in text]
    ]
    assert [text for text, _ in every] == [
        ("A", "run", ",", "the", "run"),
        ("RUN",),
        ("cats", "run"),
    ]
    assert types.occurrences("run", 9) == every
    assert types.occurrences("run", 2) == every[:2]
    assert types.occurrences("some", 1) == [(("Some", "dog"), 0)]
    many = WordTypes.of([Sentence((f"{n:02}", "x")) for n in range(10)])
    assert [text[0] for text, _ in many.occurrences("x", 4)] == ["00", "02", "05", "07"]


def test_the_order_of_the_corpus_does_not_matter() -> None:
    types = WordTypes.of(CORPUS)
    for seed in range(5):
        shuffled = random.Random(seed).sample(CORPUS, len(CORPUS))
        other = WordTypes.of(shuffled)
        assert other == types
        assert list(other.counts) == list(types.counts)


@pytest.mark.parametrize(
    ("word", "expected"),
    [("dog", True), ("3", True), ("c3po", True), ("don't", True), ("...", False), ("a b", False)],
)
def test_punctuation_and_several_words_are_no_types(word: str, expected: bool) -> None:
    assert is_type(word) == expected
