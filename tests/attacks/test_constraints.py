"""Attackable words, and the two tag filters; the fast tagger against NLTK's, whole sentences."""

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attack_fakes import HashVictim, example
from nltk.tag.perceptron import PerceptronTagger

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.tagging.perceptron import PerceptronTags
from robustparse.attacks.constraints.tagging.same_tag import DictionaryTag, TaggerTag
from robustparse.attacks.constraints.tagging.tags import (
    NEVER_ATTACKED,
    ZHENG_2020_TAGS,
    AttackableTags,
)
from robustparse.errors import InputError
from robustparse.types import Sentence

SENTENCE = example("the old man the boats", "DT JJ VBP DT NNS")
SUFFIXES = ["", "s", "ed", "ing", "ly", "er", "-like", "1999", "2nd"]
TEXT = (
    "From the AP comes this story : President Bush on Tuesday nominated two individuals to replace "
    "retiring jurists on federal courts in the Washington area . The 20-year-old saw 42 ducks , "
    "-LRB- in 1999 -RRB- ; they were n't ready to fly away quickly enough !"
)


def test_the_white_list() -> None:
    tags = "JJ JJR JJS NN NNS NNP NNPS VB VBD VBG VBN VBP VBZ RB RBR RBS"
    assert frozenset(tags.split()) == ZHENG_2020_TAGS
    (mask,) = AttackableTags().attackable([SENTENCE])
    assert mask.tolist() == [False, True, True, False, True]
    words = example("x y z", "IN HYPH NN")
    assert AttackableTags(["IN"]).attackable([words])[0].tolist() == [True, False, False]
    assert frozenset({"HYPH", "NFP", "ADD", "GW", "AFX", "XX"}) == NEVER_ATTACKED


def test_tags_that_cannot_be_used() -> None:
    with pytest.raises(InputError, match="GW, HYPH cannot be attacked"):
        AttackableTags(["NN", "HYPH", "GW"])
    with pytest.raises(InputError, match="the list is empty"):
        AttackableTags([])
    with pytest.raises(InputError, match=r"sentence 4: no Penn tag for every word.*XPOS"):
        AttackableTags().attackable([example("a b", "", number=3)])


def test_of_a_default_list_some_tags_may_be_absent() -> None:
    assert AttackableTags().unmatched([SENTENCE]) == ""
    other = example("der alte Mann", "ART ADJA N")
    found = AttackableTags().unmatched([other])
    assert "no word of the data has JJ, JJR," in found
    assert found.endswith("its words have ADJA, ART, N")
    assert AttackableTags().unmatched([SENTENCE, other]) == ""
    assert AttackableTags(["NN", "JJ"]).unmatched([]) == ""


def test_a_constraint_allows_what_it_does_not_forbid() -> None:
    class Nothing(Constraint):
        pass

    assert Nothing().attackable([SENTENCE])[0].all()
    assert (
        Nothing().accept([Slot(0, SENTENCE.sentence, 1)], [["new", "big"]], HashVictim())[0].all()
    )
    assert not Nothing().is_model()
    assert Nothing().unmatched([SENTENCE]) == ""


def test_the_dictionary_filter_compares_training_tags() -> None:
    victim = HashVictim()
    victim.training_tags = {"boat": "NN", "ships": "NNS", "new": "JJ", "big": "JJ"}
    slots = [Slot(0, SENTENCE.sentence, 1), Slot(0, SENTENCE.sentence, 4)]
    masks = DictionaryTag().accept(slots, [["New", "boat", "unseen"], ["boat", "SHIPS"]], victim)
    assert [mask.tolist() for mask in masks] == [[True, False, False], [False, True]]


def trained() -> tuple[PerceptronTagger, list[list[str]]]:
    """A tagger trained on random sentences with some regularity, and more such sentences."""
    rng = random.Random(0)
    stems = ["run", "walk", "dog", "cat", "nice", "Red", "3", "the"]

    def sentence() -> list[tuple[str, str]]:
        words = [rng.choice(stems) + rng.choice(SUFFIXES) for _ in range(rng.randint(1, 9))]
        return [
            (word, rng.choice([f"T{len(word) % 4}", f"S{len(words[max(0, i - 1)]) % 3}"]))
            for i, word in enumerate(words)
        ]

    tagger = PerceptronTagger(load=False)
    random.seed(0)  # NLTK shuffles with the global generator
    tagger.train([sentence() for _ in range(150)], nr_iter=3)
    tagger.tagdict["cat"] = "T3"
    return tagger, [[word for word, _ in sentence()] for _ in range(40)]


def check(tagger: PerceptronTagger, sentences: list[list[str]], words: list[str]) -> None:
    """Tag each word of `words` in every place, and compare with NLTK on the whole sentence."""
    tags = PerceptronTags(tagger.model.weights, tagger.tagdict, list(tagger.classes))
    places = [
        (tuple(sentence), position) for sentence in sentences for position in range(len(sentence))
    ]
    rng = random.Random(1)
    candidates = [rng.sample(words, rng.randint(0, 6)) for _ in places]
    found = tags.substituted(places, candidates)
    expected = [
        [tagger.tag([*sentence[:at], word, *sentence[at + 1 :]])[at][1] for word in some]
        for (sentence, at), some in zip(places, candidates, strict=True)
    ]
    assert found == expected
    assert len({tag for some in found for tag in some}) > 3


def test_window_tagging_equals_whole_sentence_tagging() -> None:
    tagger, sentences = trained()
    check(tagger, sentences, sorted({word for sentence in sentences for word in sentence}))


def test_ties_go_to_the_last_tag_of_the_alphabet() -> None:
    tags = PerceptronTags({"bias": {"A": 1.0, "B": 1.0}}, {}, ["B", "C", "A"])
    assert tags.substituted([(("x",), 0)], [["y", "z"]]) == [["B", "B"]]


def nltk_tagger() -> PerceptronTagger:
    if not os.environ.get("NLTK_DATA") and (shared := os.environ.get("ROBUSTPARSE_SHARED")):
        import nltk

        nltk.data.path.append(str(Path(shared) / "nltk_data"))
    try:
        return PerceptronTagger()
    except LookupError:
        pytest.skip("NLTK's tagger data is not installed (set NLTK_DATA or ROBUSTPARSE_SHARED)")


def test_the_real_tagger_agrees_with_nltk() -> None:
    text = TEXT.split()
    sentences = [text[begin : begin + size] for begin, size in ((0, 7), (7, 18), (25, 30), (3, 1))]
    check(nltk_tagger(), sentences, [*sorted(set(text)), "run", "runs", "well-known", "Paris"])


def test_the_tagger_filter_compares_with_the_corpus() -> None:
    tagger = nltk_tagger()
    slot, words = Slot(0, SENTENCE.sentence, 4), ["ships", "ship", "quickly", "Boats"]
    (mask,) = TaggerTag().accept([slot], [words], HashVictim())
    before = ["the", "old", "man", "the"]
    assert mask.tolist() == [tagger.tag([*before, word])[4][1] == "NNS" for word in words]
    assert 0 < mask.sum() < len(words)


def test_missing_tagger_data(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    with pytest.raises(InputError, match=r"nltk\.downloader averaged_perceptron_tagger_eng"):
        TaggerTag().accept([Slot(0, SENTENCE.sentence, 4)], [["ships"]], HashVictim())


PARTS = {"NN": "NOUN", "NNPS": "NOUN", "VBD": "VERB", "MD": "VERB", "JJR": "ADJ", "WRB": "ADV"} | {
    **{"PRP$": "PRON", "EX": "DET", "IN": "ADP", "TO": "PRT", "CD": "NUM", "CC": "CONJ"},
    **{"``": ".", "$": ".", "UH": "X", "FW": "X", "HYPH": "X"},
}


@pytest.mark.parametrize(
    ("settings", "alike"),
    [
        ({}, lambda one, other: one == other),
        ({"tagset": "universal"}, lambda one, other: PARTS[one] == PARTS[other]),
        (
            {"tagset": "universal", "noun_verb": True},
            lambda one, other: (
                PARTS[one] == PARTS[other] or {PARTS[one], PARTS[other]} == {"NOUN", "VERB"}
            ),
        ),
    ],
)
def test_the_tagger_filter_by_parts_of_speech(
    settings: dict[str, Any], alike: Callable[[str, str], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in tags every candidate with its own name, so that all pairs of tags are seen."""

    class Named:
        def substituted(self, _: object, candidates: list[list[str]]) -> list[list[str]]:
            return candidates

    monkeypatch.setattr(PerceptronTags, "load", lambda: Named())
    words, tags = tuple("w" * len(PARTS)), list(PARTS)
    slots = [Slot(0, Sentence(words, xpos=tuple(tags)), at) for at in range(len(tags))]
    masks = TaggerTag(**settings).accept(slots, [tags] * len(tags), HashVictim())
    for tag, mask in zip(tags, masks, strict=True):
        assert mask.tolist() == [alike(tag, other) for other in tags]
    untagged = TaggerTag(**settings).accept([Slot(0, Sentence(words), 0)], [tags], HashVictim())
    assert not untagged[0].any()


def test_settings_of_the_tagger_filter() -> None:
    with pytest.raises(InputError, match="tagset must be one of penn, universal, got 'brown'"):
        TaggerTag(tagset="brown")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="noun_verb compares universal tags, got tagset: penn"):
        TaggerTag(noun_verb=True)
