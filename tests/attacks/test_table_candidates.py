"""Tables of synonyms, sememes and WordNet, of a few senses made by hand; the real WordNet."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import nltk.corpus
import pytest
from attack_fakes import HashVictim, example
from lexical_fakes import slots
from nltk.corpus.reader.wordnet import WordNetError

from robustparse.attacks.candidates import sememes, wordnet
from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.sememes import Sememes
from robustparse.attacks.candidates.wordnet import WordNetSynonyms, part_of
from robustparse.errors import InputError
from robustparse.files.json_text import read_json
from robustparse.types import Sentence


def sense(word: str, grammar: str, definition: str) -> dict[str, str]:
    return {"No": "1", "en_word": word, "en_grammar": grammar, "Def": definition}


ANIMAL, CHASE = "{livestock|牲畜}", "{follow|跟随:agent={human|人},patient={animal|兽}}"
SENSES = [
    sense("dog", "noun", ANIMAL),
    sense("hound", "noun", "{livestock|牲畜}RMK=用途:{other|别的}"),
    sense("guard dog", "noun", ANIMAL),
    sense("hog", "verb", ANIMAL),
    sense("dog", "verb", CHASE),
    sense("Chase", "verb", "{follow|跟随:patient={animal|兽},agent={human|人}}"),
    sense("pursue", "verb", "{follow|跟随}"),
    sense("cow", "noun", ANIMAL),
    sense("of", "prep", "{livestock|牲畜}"),
    sense("goat", "noun", "{livestock|牲畜}"),
    sense("quoted", "adj", '{attribute|属性:host={"red dye|红"}}'),
    sense("red", "adj", '{attribute|属性:host={"red dye|红"},part={red dye|红}}'),
    sense("empty", "adj", ""),
    sense("void", "adj", ""),
]


def dictionary(tmp_path: Path, content: object = SENSES) -> str:
    path = tmp_path / "hownet.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


@pytest.mark.usefixtures("fake_wordnet")
def test_words_of_the_training_data_keep_tag_and_sememes(tmp_path) -> None:
    victim = HashVictim()
    tags = {
        "hounds": "NNS",
        "chase": "VB",
        "cow": "NN",
        "chased": "VBD",
        "hound": "NNP",
        "dogs": "NNS",
        "hogs": "VBZ",
        "pursued": "VBD",
        "cows": "NNS",
    }
    victim.training_tags = {"xpos": tags}
    generator = Sememes(dictionary(tmp_path)).for_victim(victim)
    text = "Dogs/NNS dog/NN dog/VBP dogged/VBD dogged/VBN dogs/VBZ dog/IN hen/NN"
    assert generator.propose(slots(text), 0) == [
        ["hounds", "cows"],
        ["cow", "hound"],
        ["chase"],
        ["chased"],
        [],
        [],
        [],
        [],
    ]


@pytest.mark.usefixtures("fake_wordnet")
@pytest.mark.parametrize("shape", [list, lambda senses: dict(enumerate(senses))])
def test_words_of_the_dictionary_replace_uninflected_ones(tmp_path, shape) -> None:
    generator = Sememes(dictionary(tmp_path, shape(SENSES)), words="dictionary")
    assert generator.for_victim(HashVictim()) is generator
    text = "dog/NN Dogs/NNS chase/VB quoted/JJ red/JJ pursue/VB empty/JJ"
    assert generator.propose(slots(text), 0) == [
        ["hound", "cow", "goat"],
        [],
        ["dog"],
        ["red"],
        ["quoted"],
        [],
        [],
    ]


@pytest.mark.usefixtures("fake_wordnet")
def test_the_fingerprint_follows_dictionary_training_words_and_option(tmp_path) -> None:
    victim = HashVictim()
    victim.training_tags = {"xpos": {"dog": "NN"}}
    generator = Sememes(dictionary(tmp_path))
    prints = [generator.fingerprint(), generator.for_victim(victim).fingerprint()]
    prints.append(Sememes(dictionary(tmp_path), words="dictionary").fingerprint())
    prints.append(Sememes(dictionary(tmp_path, SENSES[:3])).fingerprint())
    assert len(set(prints)) == 4
    assert Sememes(dictionary(tmp_path)).fingerprint() == prints[0]


@pytest.mark.usefixtures("fake_wordnet")
def test_a_dictionary_is_read_once_for_all_victims(tmp_path, monkeypatch) -> None:
    read: list[Path] = []

    def counting(path: Path, kind: type) -> object:
        read.append(path)
        return read_json(path, kind)

    monkeypatch.setattr(sememes, "read_json", counting)
    generator, first, second = Sememes(dictionary(tmp_path)), HashVictim(), HashVictim()
    first.training_tags = {"xpos": {"hound": "NN"}}
    second.training_tags = {"xpos": {"cow": "NN"}}
    for _ in range(3):  # as with every batch of online training, and in turn
        for victim, word in ((first, "hound"), (first, "hound"), (second, "cow")):
            assert generator.for_victim(victim).propose(slots("dog/NN"), 0) == [[word]]
    assert len(read) == 1


@pytest.mark.usefixtures("fake_wordnet")
def test_fingerprints_are_taken_once(tmp_path, monkeypatch) -> None:
    taken: list[object] = []
    dumps = json.dumps

    def counting(content: object, **options: bool) -> str:
        taken.append(content)
        return dumps(content, **options)

    victim = HashVictim()
    victim.training_tags = {"xpos": {"dog": "NN"}}
    path = dictionary(tmp_path)
    monkeypatch.setattr(json, "dumps", counting)
    table, senses = Lexicon({"dog": ["cow"]}), Sememes(path)
    for _ in range(3):
        table.fingerprint()
        senses.for_victim(victim).fingerprint()
    assert len(taken) == 2


SENTENCE = example("The Run runs 1/2 and/or", "DT NN VBZ CD CC").sentence


def look_up(table: dict[str, list[str]]) -> list[list[str]]:
    return Lexicon(table).propose([Slot(0, SENTENCE, position) for position in range(5)], seed=0)


def test_the_tagged_key_comes_first() -> None:
    table = {
        "RUN/NN": ["race"],
        "run": ["go"],
        "runs": ["goes"],
        "runs/NN": ["races"],
        "the/DT": [],
    }
    assert look_up(table | {"the": ["a"]}) == [[], ["race"], ["goes"], [], []]


def test_slashes_in_words() -> None:
    assert look_up({"1/2": ["half"], "and/or/CC": ["or"]}) == [[], [], [], ["half"], ["or"]]
    words = example("N/A n/a AND/OR big/jj", "NN JJ CC NN").sentence
    some = [Slot(0, words, position) for position in range(4)]
    table = {"n/a": ["none"], "N/A/JJ": ["nil"], "and/OR/CC": ["or"], "big/JJ": ["large"]}
    assert Lexicon(table).propose(some, seed=0) == [["none"], ["nil"], ["or"], []]


def test_a_path_below_the_home_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "table.json").write_text('{"big": ["large"]}')
    assert Lexicon("~/table.json").fingerprint() == Lexicon({"big": ["large"]}).fingerprint()


def test_the_fingerprint_follows_the_content(tmp_path) -> None:
    path = tmp_path / "table.json"
    path.write_text('{"run": ["go"]}')
    assert Lexicon(str(path)).fingerprint() == Lexicon({"Run": ["go"]}).fingerprint()
    assert Lexicon({"run": ["goes"]}).fingerprint() != Lexicon({"run": ["go"]}).fingerprint()


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
def test_without_tags_all_parts_of_speech_count(tmp_path) -> None:
    text = Sentence(("dog", "dogs", "xyz"))
    bare = [Slot(0, text, position) for position in range(3)]
    tagged = slots("dog/NN dogs/NNS xyz/NN")
    assert WordNetSynonyms().propose(bare, 0) == WordNetSynonyms(parts="all").propose(tagged, 0)
    # Nouns before verbs; "dogs" is no base form.
    by_dictionary = Sememes(dictionary(tmp_path), words="dictionary")
    assert by_dictionary.propose(bare, 0) == [["dog", "hound", "cow", "goat", "chase"], [], []]
    victim = HashVictim()
    victim.training_words = {"cow": None, "chase": None, "dogs": None}.keys()
    by_training = Sememes(dictionary(tmp_path)).for_victim(victim)
    assert by_training.propose(bare, 0) == [["cow", "chase"], [], []]
    # Tags of the sentence choose parts of speech, also where the training data had none.
    assert by_training.propose(slots("dog/NN dog/VBP dog/VBD dogs/NNS"), 0) == [
        ["cow"],
        ["chase"],
        [],
        [],
    ]


@pytest.mark.usefixtures("fake_wordnet")
def test_none_of_a_words_base_forms_is_its_synonym() -> None:
    assert WordNetSynonyms().propose(slots("saws/NNS"), 0) == [["proverb", "adage"]]


@pytest.mark.usefixtures("fake_wordnet")
def test_base_forms_are_candidates_where_they_are_asked_for() -> None:
    found = WordNetSynonyms(parts="all", base_forms=True).propose(slots(TEXT), 0)
    others = ["frank", "chase", "track", "be"]
    assert found[:2] == [["dog", "hound", "Dog", *others], ["hound", *others]]


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
    with pytest.raises(InputError) as error:
        WordNetSynonyms().propose(slots("dog/NN"), 0)
    assert "nltk.downloader wordnet" in error.value.remedy
    assert WordNetSynonyms().propose([], 0) == []


def test_words_of_another_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only English words have base forms; the lemmas are those of the language."""

    class French:
        def synsets(self, word: str, part: str, lang: str) -> list[object]:
            assert (word, lang) == ("chiens", "fra")
            return [SimpleNamespace(lemma_names=lambda lang: ["chiens", "toutous", "chien_loup"])]

    monkeypatch.setattr(wordnet, "load_wordnet", lambda language: French())
    sentence = Sentence(("Chiens",), ("NOUN",))
    generator = WordNetSynonyms(language="fra")
    assert generator.propose([Slot(0, sentence, 0)], seed=0) == [["toutous"]]


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (LookupError("no omw"), "nltk.downloader omw-2.0"),
        (WordNetError("no fra"), "one of eng, fin"),
    ],
)
def test_a_language_that_wordnet_does_not_have(monkeypatch, raised, said) -> None:
    def synsets(word: str, lang: str) -> None:
        raise raised

    fake = SimpleNamespace(ensure_loaded=print, synsets=synsets, langs=lambda: ["fin", "eng"])
    monkeypatch.setattr(nltk.corpus, "wordnet", fake)
    wordnet.load_wordnet.cache_clear()
    with pytest.raises(InputError) as error:
        wordnet.load_wordnet("fra")
    assert error.value.key == "WordNet: language"
    assert said in (error.value.remedy or error.value.expected)
    wordnet.load_wordnet.cache_clear()
