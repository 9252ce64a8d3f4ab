"""Substitutes that must show the morphological features of the words that they replace."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from attack_fakes import HashVictim

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.cache import CachedCandidates
from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.training_words import TrainingWords
from robustparse.attacks.candidates.union import Union
from robustparse.attacks.candidates.vocabulary import VocabularyWords
from robustparse.attacks.constraints.tagging.same_tag import DictionaryTag
from robustparse.attacks.search.beam import Greedy
from robustparse.data.conllu import block_of, write_treebank
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.types import DependencyTree, Example, Sentence

PAST, PRESENT, BASE = "Tense=Past", "Tense=Pres", "VerbForm=Inf"
# Each word with its tag and features, as often as it occurs in training.
WORDS = [
    *[("put", "VERB", PAST), ("put", "VERB", PRESENT), ("put", "VERB", PRESENT)],
    *[("ran", "VERB", PAST)] * 2,
    *[("runs", "VERB", PRESENT)] * 2,
    *[("gone", "ADJ", PAST), ("gone", "VERB", PAST), ("gone", "ADJ", PAST)],
    *[("plain", "VERB", "_")] * 2,
]


def training() -> list[Example]:
    words, tags, feats = zip(*WORDS, strict=True)
    tree = DependencyTree((0, *[1] * (len(WORDS) - 1)), ("root", *["dep"] * (len(WORDS) - 1)))
    return [Example(0, Sentence(words, tags, feats=feats), tree)]


class Knowing(HashVictim):
    """A victim with the vocabulary of a treebank."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.training_tags: Mapping[str, Mapping[str, str]] = vocabulary.training_tags
        self.training_words = vocabulary.training_words
        self.training_features = vocabulary.training_features


VOCABULARY = Vocabulary.from_examples(training())
VICTIM = Knowing(VOCABULARY)


def slot(feats: str | None) -> Slot:
    columns = ("_", "_") if feats is None else ("_", feats)
    sentence = Sentence(("they", "took"), ("PRON", "VERB"), feats=columns if feats else ())
    return Slot(0, sentence, 1)


def test_a_vocabulary_keeps_every_analysis_of_a_word(tmp_path: Path) -> None:
    assert VOCABULARY.training_features["put"] == {("VERB", PAST), ("VERB", PRESENT)}
    assert VOCABULARY.training_features["gone"] == {("ADJ", PAST), ("VERB", PAST)}
    assert VOCABULARY.training_features["plain"] == {("VERB", "_")}
    lists = VOCABULARY.to_lists()
    assert Vocabulary.from_lists(lists).training_features == VOCABULARY.training_features


CASES = {
    "past": (PAST, True, {"put", "ran"}),  # "gone" is mostly an adjective
    "present": (PRESENT, True, {"put", "runs"}),
    "never seen": (BASE, True, set()),
    "none of the word": ("_", True, {"plain"}),
    "none of the sentence": (None, True, {"put", "ran", "runs", "plain"}),
    "not asked for": (PAST, None, {"put", "ran", "runs", "plain"}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("source", ["victim", "treebank"])
def test_substitutes_have_the_features_of_the_word(name: str, source: str, tmp_path: Path) -> None:
    feats, features, expected = CASES[name]
    setting: bool | str | None = features
    victim = VICTIM
    if features and source == "treebank":
        path = tmp_path / "train.conllu"
        write_treebank(path, [block_of(one.sentence, one.gold) for one in training()])
        setting, victim = str(path), HashVictim()
        victim.training_tags = VICTIM.training_tags
    words = list(VOCABULARY.tagged)
    one = slot(feats)
    (mask,) = DictionaryTag(features=setting).accept([one], [[*words, "Put"]], victim)
    kept = {word for word, good in zip([*words, "Put"], mask.tolist(), strict=True) if good}
    assert kept - {"Put"} == expected
    assert ("Put" in kept) == ("put" in kept)
    generator = TrainingWords(features=setting).for_victim(victim)
    (proposed,) = generator.propose([one], 0)
    assert {*proposed} == expected


def test_a_cache_tells_features_apart(tmp_path: Path) -> None:
    generator = TrainingWords(features=True, sample=9)
    cached = CachedCandidates(Union([generator]), str(tmp_path / "c.sqlite")).for_victim(VICTIM)
    proposed = [set(cached.propose([slot(feats)], 0)[0]) for feats in (PAST, PRESENT, PAST)]
    assert proposed == [{"put", "ran"}, {"put", "runs"}, {"put", "ran"}]
    without = Knowing(Vocabulary.from_examples([]))
    without.training_tags = VICTIM.training_tags
    prints = [generator.for_victim(one).fingerprint() for one in (VICTIM, without)]
    assert prints[0] != prints[1]


def test_what_cannot_be_compared_is_said_in_one_line() -> None:
    union = Union([VocabularyWords(), TrainingWords(features=True, tagset="upos")])
    attack = Attack(union, Greedy(), [DictionaryTag(features=True, tagset="upos")])
    whole = [Example(0, slot(PAST).sentence, None)]
    bare = [Example(1, slot(None).sentence, None)]
    assert not list(attack.warnings(whole, VICTIM))
    assert len(list(attack.warnings(bare, VICTIM))) == 1
    assert len(list(attack.warnings([*whole, *bare], HashVictim()))) == 1
    assert len(list(attack.warnings(whole, HashVictim()))) == 1
    named = Attack(VocabularyWords(), Greedy(), [DictionaryTag(features="a file", tagset="upos")])
    assert not list(named.warnings(whole, HashVictim()))
    assert not list(Attack(VocabularyWords(), Greedy()).warnings(bare, VICTIM))


def test_a_treebank_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError) as error:
        DictionaryTag(features="none.conllu").accept([slot(PAST)], [["put"]], VICTIM)
    assert error.value.path == "none.conllu"
