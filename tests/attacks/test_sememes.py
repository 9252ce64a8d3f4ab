"""Sememes from a dictionary made by hand: of training words or of the dictionary's own."""

import json
from pathlib import Path

import pytest
from attack_fakes import HashVictim
from lexical_fakes import slots

from robustparse.attacks.candidates import sememes
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.sememes import Sememes
from robustparse.errors import InputError


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
    {"en_word": "goat", "en_grammar": "noun", "sememes": ["livestock|牲畜"]},
    sense("quoted", "adj", '{attribute|属性:host={"red dye|红"}}'),
    {"en_word": "red", "en_grammar": "adj", "sememes": ["attribute|属性", "red dye|红"]},
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
    victim.training_tags = tags
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
    assert Sememes(dictionary(tmp_path)).propose(slots("dog/NN"), 0) == [[]]


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
    victim.training_tags = {"dog": "NN"}
    generator = Sememes(dictionary(tmp_path))
    prints = [generator.fingerprint(), generator.for_victim(victim).fingerprint()]
    prints.append(Sememes(dictionary(tmp_path), words="dictionary").fingerprint())
    prints.append(Sememes(dictionary(tmp_path, SENSES[:3])).fingerprint())
    assert len(set(prints)) == 4
    assert Sememes(dictionary(tmp_path)).fingerprint() == prints[0]


@pytest.mark.usefixtures("fake_wordnet")
def test_a_dictionary_is_read_once_for_all_victims(tmp_path, monkeypatch) -> None:
    read: list[Path] = []

    def counting(path: Path) -> str:
        read.append(path)
        return path.read_text()

    monkeypatch.setattr(sememes, "read_text", counting)
    generator, first, second = Sememes(dictionary(tmp_path)), HashVictim(), HashVictim()
    first.training_tags, second.training_tags = {"hound": "NN"}, {"cow": "NN"}
    for _ in range(3):  # as with every batch of online training, and in turn
        for victim, word in ((first, "hound"), (first, "hound"), (second, "cow")):
            bound = generator.for_victim(victim)
            assert bound.propose(slots("dog/NN"), 0) == [[word]]
            bound.fingerprint()
    assert len(read) == 1
    assert generator.propose(slots("dog/NN"), 0) == [[]]


@pytest.mark.usefixtures("fake_wordnet")
def test_fingerprints_are_taken_once(tmp_path, monkeypatch) -> None:
    taken: list[object] = []
    dumps = json.dumps

    def counting(content: object, **options: bool) -> str:
        taken.append(content)
        return dumps(content, **options)

    victim = HashVictim()
    victim.training_tags = {"dog": "NN"}
    path = dictionary(tmp_path)
    monkeypatch.setattr(json, "dumps", counting)
    table, senses = Lexicon({"dog": ["cow"]}), Sememes(path)
    for _ in range(3):
        table.fingerprint()
        senses.for_victim(victim).fingerprint()
    assert len(taken) == 2


@pytest.mark.usefixtures("fake_wordnet")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[\n{"en_word": }]', r"hownet\.json:2: not JSON"),
        ('"dog"', r"hownet\.json: found str, expected a JSON list"),
        ('["dog"]', "sense 0: found str, expected an object"),
        ([SENSES[0], {"en_word": "x"}], "sense 1: key 'en_grammar' is None, expected text"),
        ([{"en_word": 3, "en_grammar": "noun"}], "sense 0: key 'en_word' is 3"),
        ([{"en_word": "x", "en_grammar": "noun"}], "neither `sememes`, a list, nor `Def`"),
        ([{"en_word": "x", "en_grammar": "noun", "sememes": [1]}], r"'sememes' is \[1\]"),
        ("", "the file is empty"),
    ],
)
def test_malformed_dictionaries(tmp_path, content: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Sememes(dictionary(tmp_path, content), words="dictionary").propose(slots("dog/NN"), 0)


def test_bad_options() -> None:
    with pytest.raises(InputError, match="words must be one of training, dictionary"):
        Sememes("x.json", words="all")
