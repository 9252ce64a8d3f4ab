"""Each source of a substitution table against substitutes worked out by hand."""

import json
from pathlib import Path

import pytest
from test_table_candidates import SENSES

import robustparse.attacks
from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.masked_lm import MaskedLM
from robustparse.attacks.substitution_sources import (
    GENERATORS,
    SOURCES,
    MaskedWords,
    Source,
    SourceSettings,
)
from robustparse.attacks.word_types import WordTypes, is_type
from robustparse.errors import InputError
from robustparse.types import Sentence

TAGGED = [
    Sentence(("The", "dog", "saws", "."), ("DET", "NOUN", "VERB", "PUNCT")),
    Sentence(("big", "cat"), ("ADJ", "NOUN")),
    Sentence(("cat", "cow"), ("NOUN", "NOUN")),
]
TYPES = WordTypes.of(TAGGED)


def proposed(source: Source, types: WordTypes = TYPES) -> dict[str, list[str]]:
    """What a source proposes; words without anything are left out."""
    source.load()
    proposals = list(source.propose(types))
    assert [word for word, _ in proposals] == types.words
    return {word: list(some) for word, some in proposals if some}


@pytest.mark.usefixtures("fake_wordnet")
def test_wordnet_follows_the_most_frequent_tag() -> None:
    source = SourceSettings(top=1).source("wordnet")
    # Wang et al. 2021 leave out "be" and base forms; a noun's synonyms only for "dog".
    nouns = {"dog": ["hound", "frank"], "big": ["large", "great"]}
    assert proposed(source) == nouns
    untagged = WordTypes.of([Sentence(sentence.words) for sentence in TAGGED])
    every = proposed(source, untagged)
    assert every["dog"] == ["hound", "frank", "chase", "track"]
    assert every["saws"] == ["proverb", "adage"]


def test_neighbours_are_read_from_vectors_or_lists(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("dog 1 0\nhound 1 0.1\nwolf 1 0.2\ncat 0 1\n")
    lists = tmp_path / "lists.json"
    lists.write_text(json.dumps({"Dog": ["hound", "wolf"], "cat": ["Lion"]}))
    expected = {"dog": ["hound", "wolf"], "cat": ["wolf", "hound"]}
    settings = SourceSettings(top=2)
    assert proposed(settings.source(f"neighbours:{vectors}")) == expected
    assert proposed(settings.source(f"neighbours:{lists}")) == {
        "dog": ["hound", "wolf"],
        "cat": ["Lion"],
    }
    few = SourceSettings(top=1)
    assert proposed(few.source(f"neighbours:{lists}")) == {"dog": ["hound"], "cat": ["Lion"]}
    assert proposed(few.source(f"neighbours:{vectors}")) == {"dog": ["hound"], "cat": ["wolf"]}


def test_neighbours_may_have_a_least_cosine(tmp_path: Path) -> None:
    """Without a number, a word without near words has the nearest ones."""
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("dog 1 0\nhound 1 0.1\nwolf 0.8 0.6\ncat 0 1\n")
    lists = tmp_path / "lists.json"
    lists.write_text(json.dumps({"cat": ["lion"]}))
    sources = {least: SourceSettings(cosine=least) for least in (0.7, 0.79, 0.9)}
    near = {least: proposed(of.source(f"neighbours:{vectors}")) for least, of in sources.items()}
    assert near[0.9] == {"dog": ["hound"]}
    assert near[0.79] == near[0.7] == {"dog": ["hound", "wolf"]}
    assert proposed(sources[0.9].source(f"neighbours:{lists}")) == {"cat": ["lion"]}
    names = {of.source(f"neighbours:{vectors}").fingerprint() for of in sources.values()}
    assert len(names) == 3
    with pytest.raises(InputError):
        SourceSettings(cosine=1.5).source(f"neighbours:{vectors}")


def test_every_source_has_a_generator_for_attacks() -> None:
    assert GENERATORS.keys() == SOURCES.keys()
    assert all(hasattr(robustparse.attacks, name) for name in GENERATORS.values())


def test_a_lexicon_is_looked_up_by_the_most_frequent_tag(tmp_path: Path) -> None:
    path = tmp_path / "lexicon.json"
    path.write_text(
        json.dumps({"dog/NOUN": ["hound", "wolf"], "dog/VERB": ["chase"], "cat": ["lion"]})
    )
    source = SourceSettings(top=1).source(f"lexicon:{path}")
    assert proposed(source) == {"dog": ["hound", "wolf"], "cat": ["lion"]}


@pytest.mark.usefixtures("fake_wordnet")
def test_sememes_are_those_of_the_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "sememes.json"
    path.write_text(json.dumps(SENSES))
    some = proposed(SourceSettings().source(f"sememes:{path}"))
    assert some == {"dog": ["hound", "cow", "goat"], "cow": ["dog", "hound", "goat"]}


def test_training_words_have_the_same_tag() -> None:
    nouns = {"dog": ["cat", "cow"], "cat": ["cow", "dog"], "cow": ["cat", "dog"]}
    assert proposed(SourceSettings().source("training_words")) == nouns
    best = {"dog": ["cat"], "cat": ["cow"], "cow": ["cat"]}
    assert proposed(SourceSettings(top=1).source("training_words")) == best


def distance(first: str, second: str) -> int:
    """The number of inserted, deleted, replaced and swapped letters, by its recursion."""
    if not first or not second:
        return len(first) + len(second)
    least = min(
        distance(first[1:], second) + 1,
        distance(first, second[1:]) + 1,
        distance(first[1:], second[1:]) + (first[0] != second[0]),
    )
    if len(first) > 1 and first[:2] == second[1::-1]:
        least = min(least, distance(first[2:], second[2:]) + 1)
    return least


def test_typos_are_all_words_at_one_edit() -> None:
    source = SourceSettings(top=1).source("typos")
    types = WordTypes.of([Sentence(("abc", "it", "c3po", "the", "."))])
    typos = proposed(source, types)
    assert set(typos) == {"abc", "the"}
    # 4 places for 26 letters less 3 that repeat, 3 deletions, 2 swaps, 3 letters by 25 others.
    assert len(set(typos["abc"])) == len(typos["abc"]) == 4 * 26 - 3 + 3 + 2 + 3 * 25
    assert {distance("abc", typo) for typo in typos["abc"]} == {1}


@pytest.fixture
def masked(bert: Path) -> MaskedLM:
    return MaskedLM(str(bert), sample=None, top_k=9, precision="float64")


CORPUS = WordTypes.of(
    [
        Sentence(tuple(text.split()))
        for text in ("the dogs bark .", "The dog", "a cat", "the fox run")
    ]
)


def test_masked_words_have_the_highest_mean_probability(masked: MaskedLM) -> None:
    (found,) = [some for word, some in MaskedWords(masked, 3, 9).propose(CORPUS) if word == "the"]
    texts = [(text, 0) for text in CORPUS.texts if text[0].lower() == "the"]
    assert len(texts) == 3
    sums: dict[str, float] = {}
    for text, at in texts:
        ((_, ids, logits),) = masked._top([Slot(0, Sentence(text), at)])
        total = sum(2.718281828459045**logit for logit in logits)
        for piece, logit in zip(ids, logits, strict=True):
            word = masked._pieces.whole_words[piece].lower()
            sums[word] = sums.get(word, 0) + 2.718281828459045**logit / total / 3
    ranked = sorted(
        (word for word in sums if word != "the" and is_type(word)), key=lambda w: -sums[w]
    )
    assert found == ranked[:3]


def test_a_word_is_looked_at_in_few_contexts(masked: MaskedLM) -> None:
    asked: list[Slot] = []
    plain = masked.probabilities
    masked.probabilities = lambda slots: (asked.extend(slots), plain(slots))[1]  # type: ignore[method-assign]
    list(MaskedWords(masked, 3, 2).propose(CORPUS))
    assert sum(slot.word.lower() == "the" for slot in asked) == 2
    assert len(asked) == 9  # all nine words, "the" twice, none of "."


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("wordnets", "wordnet"),
        ("neighbors:x", "neighbours:FILE"),
        ("neighbours", "neighbours:FILE"),
        ("masked_lm:", "masked_lm:FOLDER"),
        ("typos:x", "typos"),
        ("", "wordnet"),
    ],
)
def test_a_wrong_name_is_explained(name: str, shown: str) -> None:
    with pytest.raises(InputError) as error:
        SourceSettings().source(name)
    assert error.value.key == "sources"
    assert shown in str(error.value).rpartition(";")[2]


@pytest.mark.parametrize("settings", [{"top": 0}, {"contexts": 0}])
def test_numbers_are_at_least_one(settings: dict[str, int]) -> None:
    with pytest.raises(InputError):
        SourceSettings(**settings)
