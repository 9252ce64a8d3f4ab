"""WordNet synonyms: of a few senses made by hand, and of the real one where it is installed."""

import os
from pathlib import Path
from types import SimpleNamespace

import nltk.corpus
import pytest
from lexical_fakes import slots

from robustparse.attacks.candidates import wordnet
from robustparse.attacks.candidates.wordnet import WordNetSynonyms, part_of
from robustparse.errors import InputError


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch):
    import nltk

    if not os.environ.get("NLTK_DATA") and (shared := os.environ.get("ROBUSTPARSE_SHARED")):
        monkeypatch.setattr(nltk.data, "path", [*nltk.data.path, str(Path(shared) / "nltk_data")])
    try:
        return wordnet.load_wordnet()
    except InputError:
        pytest.skip("WordNet is not installed (set NLTK_DATA or ROBUSTPARSE_SHARED)")


TEXT = "Dogs/NNS dog/NN dogged/VBD big/JJ dog/RB dog/. dog/RP"


@pytest.mark.usefixtures("fake_wordnet")
def test_synonyms_are_of_the_part_of_speech_of_the_slot() -> None:
    found = WordNetSynonyms().propose(slots(TEXT), 0)
    nouns, verbs = ["hound", "frank"], ["chase", "track"]
    assert found == [nouns, nouns, verbs, ["large", "great"], [], [], []]
    of_all = WordNetSynonyms(parts="all").propose(slots("dog/NN dog/RB big/NN xyz/NN"), 0)
    assert of_all == [nouns + verbs, nouns + verbs, ["large", "great"], []]


@pytest.mark.usefixtures("fake_wordnet")
def test_none_of_a_words_base_forms_is_its_synonym() -> None:
    assert WordNetSynonyms().propose(slots("saws/NNS"), 0) == [["proverb", "adage"]]


def test_parts_of_speech_by_penn_tag() -> None:
    tags = "NN NNPS VBG MD JJR RBS RP WRB PRP ''"
    assert "".join(part_of(tag) or "-" for tag in tags.split()) == "nnv-ar----"


@pytest.mark.slow
def test_the_real_wordnet(real) -> None:
    found = WordNetSynonyms(parts="all").propose(slots("dogs/NNS"), 0)[0]
    expected = {
        name
        for sense in real.synsets("dog")
        for name in sense.lemma_names()
        if "_" not in name and name.lower() != "dog"
    }
    assert set(found) == expected
    assert len(found) > 9
    nouns = WordNetSynonyms().propose(slots("dogs/NNS dogs/VBZ"), 0)
    assert "track" in nouns[1]
    assert "track" not in nouns[0]
    bases = {"men/NNS": "man", "saw/VBD": "see", "felt/VBD": "feel", "left/VBD": "leave"}
    proposed = WordNetSynonyms().propose(slots(" ".join(bases)), 0)
    assert not [base for base, words in zip(bases.values(), proposed, strict=True) if base in words]


def test_missing_wordnet(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise LookupError("no wordnet")

    # The reader itself is replaced: where there is no data it does not even let itself be patched.
    monkeypatch.setattr(nltk.corpus, "wordnet", SimpleNamespace(ensure_loaded=missing))
    wordnet.load_wordnet.cache_clear()
    with pytest.raises(InputError, match=r"nltk\.downloader wordnet"):
        WordNetSynonyms().propose(slots("dog/NN"), 0)
    with pytest.raises(InputError, match="parts must be one of slot, all, got 'verbs'"):
        WordNetSynonyms(parts="verbs")
    assert WordNetSynonyms().propose([], 0) == []
