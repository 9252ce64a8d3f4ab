"""Constraints on tags: lists, dictionary and taggers; the fast tagger against NLTK's."""

import os
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from attack_fakes import HashVictim, example
from nltk.tag.perceptron import PerceptronTagger

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.tagging.perceptron import PerceptronTags
from robustparse.attacks.constraints.tagging.pipeline_tag import PipelineTag
from robustparse.attacks.constraints.tagging.same_tag import DictionaryTag, TaggerTag
from robustparse.attacks.constraints.tagging.tags import (
    NEVER_ATTACKED,
    ZHENG_2020_TAGS,
    AttackableTags,
    ForbiddenTags,
)
from robustparse.attacks.constraints.words import ForbiddenRelations
from robustparse.errors import InputError
from robustparse.types import Example, Sentence

SENTENCE = example("the old man the boats", "DT JJ VBP DT NNS")
SUFFIXES = ["", "s", "ed", "ing", "ly", "er", "-like", "1999", "2nd"]
TEXT = (
    "From the AP comes this story : President Bush on Tuesday nominated two individuals to replace "
    "retiring jurists on federal courts in the Washington area . The 20-year-old saw 42 ducks , "
    "-LRB- in 1999 -RRB- ; they were n't ready to fly away quickly enough !"
)


def test_the_white_list() -> None:
    tags = "JJ JJR JJS NN NNS NNP NNPS VB VBD VBG VBN VBP VBZ RB RBR RBS"
    universal = "ADJ NOUN PROPN VERB ADV"
    assert frozenset([*tags.split(), *universal.split()]) == ZHENG_2020_TAGS
    mask = AttackableTags().attackable(SENTENCE)
    assert mask.tolist() == [False, True, True, False, True]
    words = example("x y z", "IN HYPH NN")
    assert AttackableTags(["IN"]).attackable(words).tolist() == [True, False, False]
    assert frozenset({"HYPH", "NFP", "ADD", "GW", "AFX", "XX", "X"}) == NEVER_ATTACKED


def test_warnings_of_listed_tags_that_the_data_does_not_have() -> None:
    def warnings(constraint: Constraint, *examples: Example) -> str:
        return "|".join(constraint.warnings(examples))

    other = example("der alte Mann", "ART ADJA N")
    # Of a default list some may be absent.
    assert warnings(AttackableTags(), SENTENCE) == warnings(AttackableTags(), SENTENCE, other) == ""
    found = warnings(AttackableTags(), other)
    assert "attackable tags: no word of the data has ADJ, ADV, JJ, JJR," in found
    assert found.endswith("its words have ADJA, ART, N")
    assert warnings(AttackableTags(["NN", "JJ"])) == warnings(AttackableTags("any"), other) == ""
    assert "no word of the data has NN;" in warnings(AttackableTags(["NN", "JJ"]), SENTENCE)
    assert "no word of the data has Y;" in warnings(ForbiddenTags(["Y", "DT"]), SENTENCE)
    assert warnings(ForbiddenTags([]), SENTENCE) == warnings(ForbiddenTags(), SENTENCE) == ""
    relations = ForbiddenRelations(["dep", "SBJ"])
    assert "forbidden relations: no word of the data has SBJ;" in warnings(relations, SENTENCE)
    assert warnings(ForbiddenRelations(), SENTENCE).endswith("aux, cop; its words have dep")


def test_relations_of_the_gold_tree() -> None:
    tree = replace(SENTENCE.gold, labels=("det", "punct", "cop", "aux:pass", "aux"))
    parsed = replace(SENTENCE, gold=tree)
    assert ForbiddenRelations().attackable(parsed).tolist() == [True, True, False, False, False]
    punctuation = ForbiddenRelations(["punct"]).attackable(parsed)
    assert punctuation.tolist() == [True, False, True, True, True]
    assert not list(ForbiddenRelations().warnings([parsed]))
    with pytest.raises(InputError, match="sentence 8 is not a dependency tree") as error:
        ForbiddenRelations().check([SENTENCE, replace(SENTENCE, id=7, gold="positive")])
    assert error.value.key == "forbidden relations"


def test_a_constraint_allows_what_it_does_not_forbid() -> None:
    class Nothing(Constraint):
        pass

    assert Nothing().attackable(SENTENCE).all()
    assert (
        Nothing().accept([Slot(0, SENTENCE.sentence, 1)], [["new", "big"]], HashVictim())[0].all()
    )
    assert not Nothing().is_model
    assert not list(Nothing().warnings([SENTENCE]))


def test_the_dictionary_compares_training_tags() -> None:
    victim = HashVictim()
    victim.training_tags = {"xpos": {"boat": "NN", "ships": "NNS", "new": "JJ", "big": "JJ"}}
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


def test_the_tagger_compares_with_the_corpus() -> None:
    tagger = nltk_tagger()
    slot, words = Slot(0, SENTENCE.sentence, 4), ["ships", "ship", "quickly", "Boats"]
    (mask,) = TaggerTag().accept([slot], [words], HashVictim())
    before = ["the", "old", "man", "the"]
    assert mask.tolist() == [tagger.tag([*before, word])[4][1] == "NNS" for word in words]
    assert 0 < mask.sum() < len(words)


def test_missing_tagger_data(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    with pytest.raises(InputError) as error:
        TaggerTag().accept([Slot(0, SENTENCE.sentence, 4)], [["ships"]], HashVictim())
    assert "nltk.downloader averaged_perceptron_tagger_eng" in error.value.remedy


PARTS = {"NN": "NOUN", "NNPS": "NOUN", "VBD": "VERB", "MD": "VERB", "JJR": "ADJ", "WRB": "ADV"} | {
    **{"PRP$": "PRON", "EX": "DET", "IN": "ADP", "TO": "PRT", "CD": "NUM", "CC": "CONJ"},
    **{"``": ".", "$": ".", "UH": "X", "FW": "X", "HYPH": "X"},
}


@pytest.mark.parametrize(
    ("settings", "alike"),
    [
        ({}, lambda one, other: one == other),
        ({"tagset": "upos"}, lambda one, other: PARTS[one] == PARTS[other]),
        (
            {"tagset": "upos", "noun_verb": True},
            lambda one, other: (
                PARTS[one] == PARTS[other] or {PARTS[one], PARTS[other]} == {"NOUN", "VERB"}
            ),
        ),
    ],
)
def test_the_tagger_by_parts_of_speech(
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
    universal = Sentence(tuple(tags), upos=("NOUN",) * len(tags))
    masks_without = TaggerTag(**settings).accept(
        [Slot(0, universal, at) for at in range(len(tags))], [tags] * len(tags), HashVictim()
    )
    for tag, mask in zip(tags, masks_without, strict=True):
        # Without Penn tags the tagger's own decide, unless parts of speech are compared.
        own = tag if "tagset" not in settings else "NN"
        assert mask.tolist() == [alike(own, other) for other in tags]
    # By the tagger, a word named as a tag has that tag: the corpus' is not asked for.
    named = [Slot(0, Sentence(tuple(tags)), at) for at in range(len(tags))]
    by_tagger = TaggerTag(reference="tagger", **settings)
    assert not by_tagger.reads_tags
    found = by_tagger.accept(named, [tags] * len(tags), HashVictim())
    assert [mask.tolist() for mask in found] == [mask.tolist() for mask in masks]


def tag(words: list[str]) -> list[str]:
    """A tagger that looks at all words: the tag is the word's rank by length."""
    return [f"T{sorted(map(len, words)).index(len(word))}" for word in words]


def fake_library(monkeypatch: pytest.MonkeyPatch, name: str) -> list[list[str]]:
    """A spaCy or Stanza that tags as above; returns what it was asked, as it comes."""
    asked: list[list[str]] = []

    def tagged(words: list[str]) -> list[SimpleNamespace]:
        asked.append(list(words))
        return [
            SimpleNamespace(tag_=one, xpos=one, pos_="", upos="", morph=word, feats=word)
            for one, word in zip(tag(list(words)), words, strict=True)
        ]

    library = ModuleType(name)
    if name == "spacy":
        tokens = ModuleType("spacy.tokens")
        tokens.Doc = lambda vocab, words: words
        monkeypatch.setitem(sys.modules, "spacy.tokens", tokens)
        pipeline = SimpleNamespace(vocab=None, pipe=lambda docs: map(tagged, docs))
        library.load = lambda model, exclude: pipeline
    else:
        library.Pipeline = lambda *_, **__: (
            lambda texts: SimpleNamespace(
                sentences=[SimpleNamespace(words=tagged(words)) for words in texts]
            )
        )
    monkeypatch.setitem(sys.modules, name, library)
    return asked


@pytest.mark.parametrize("library", ["spacy", "stanza"])
@pytest.mark.parametrize("window", [None, 0, 1])
@pytest.mark.parametrize("reference", ["corpus", "tagger"])
def test_taggers_see_the_changed_sentence(monkeypatch, library, window, reference) -> None:
    asked = fake_library(monkeypatch, library)
    one = example("a bbb cc ddddd", "T0 T1 T9 T3")
    slots = [Slot(0, one.sentence, position) for position in range(4)]
    candidates = [["x", "xx", "xxxxxxx"], ["yy", "yyy"], ["z", "zz"], []]
    constraint = PipelineTag(library, window=window, reference=reference)
    found = constraint.accept(slots, candidates, HashVictim())
    for position, (words, mask) in enumerate(zip(candidates, found, strict=True)):
        reach = 9 if window is None else window
        begin, end = max(0, position - reach), position + reach + 1

        def tag_of(word: str, at=position, begin=begin, end=end) -> str:
            words = list(one.sentence.words)
            words[at] = word
            return tag(words[begin:end])[at - begin]

        original = one.sentence.words[position]
        expected = tag_of(original) if reference == "tagger" else one.sentence.xpos[position]
        assert mask.tolist() == [tag_of(word) == expected for word in words]
    assert len(asked) == len(set(map(tuple, asked)))
    assert constraint.accept([], [], HashVictim()) == []


@pytest.mark.parametrize("library", ["spacy", "stanza"])
@pytest.mark.parametrize(
    ("features", "feats", "kept"),
    [(None, ("_", "yy"), [1, 1]), (True, ("_", "yy"), [1, 0]), (True, (), [1, 1])],
)
def test_taggers_may_compare_features(monkeypatch, library, features, feats, kept) -> None:
    fake_library(monkeypatch, library)  # whose features are the words themselves
    sentence = Sentence(("a", "bb"), xpos=("T0", "T1"), feats=feats)
    constraint = PipelineTag(library, features=features)
    (mask,) = constraint.accept([Slot(0, sentence, 1)], [["yy", "zz"]], HashVictim())
    assert mask.tolist() == [bool(one) for one in kept]


@pytest.mark.parametrize("library", ["spacy", "stanza"])
def test_missing_taggers(monkeypatch, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    slot = Slot(0, example("man", "NN").sentence, 0)
    with pytest.raises(InputError, match=f"run `pip install {library}`"):
        PipelineTag(library).accept([slot], [["x"]], HashVictim())
    module = fake_library(monkeypatch, library) or sys.modules[library]
    for name in ("load", "Pipeline"):
        monkeypatch.setattr(module, name, None, raising=False)
    with pytest.raises(InputError, match=f"{library} cannot load") as error:
        PipelineTag(library).accept([slot], [["x"]], HashVictim())
    assert error.value.key == "tagger: model"
