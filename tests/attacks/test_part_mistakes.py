"""Settings and files that no part takes: one table, and the fields of its errors."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from attack_fakes import HashVictim
from lexical_fakes import slots

from robustparse import attacks
from robustparse.data.fractions import check_fraction
from robustparse.errors import InputError

NAN = float("nan")
ENCODER = {"model": "x"}

SETTINGS = [
    ("CharacterVariant", {"alphabet": "a"}, "characters: alphabet"),
    ("CharacterVariant", {"alphabet": "aba"}, "characters: alphabet"),
    ("CharacterVariant", {"alphabet": "a b"}, "characters: alphabet"),
    ("CharacterEdits", {"alphabet": "a"}, "characters: alphabet"),
    ("CharacterEdits", {"edits": ["swop"]}, "character edits: edits"),
    ("CharacterEdits", {"edits": []}, "character edits: edits"),
    ("CharacterEdits", {"sample": 0}, "character edits: sample"),
    ("VocabularyWords", {"sample": 0}, "vocabulary: sample"),
    ("TrainingWords", {"sample": 0}, "training words: sample"),
    ("Union", {"generators": []}, "union: generators"),
    ("OneOf", {"generators": []}, "one of: generators"),
    ("WordNetSynonyms", {"parts": "verbs"}, "WordNet: parts"),
    ("Sememes", {"dictionary": "x", "words": "all"}, "sememes: words"),
    ("EmbeddingNeighbours", {"vectors": "x", "k": 0}, "embedding neighbours: k"),
    ("MaskedLM", {"model": "x", "top_k": 0}, "masked language model: top_k"),
    ("MaskedLM", {"model": "x", "top_k": 50}, "masked language model: sample"),
    ("AttackableTags", {"tags": ["NN", "HYPH", "GW"]}, "attackable tags: tags"),
    ("AttackableTags", {"tags": []}, "attackable tags: tags"),
    ("AttackableTags", {"tags": ()}, "attackable tags: tags"),
    ("AttackableTags", {"tags": "NN"}, "attackable tags: tags"),
    ("MinimumLength", {"characters": 0}, "minimum length: characters"),
    *(
        ("ProtectedSpans", {"spans": {4: [[0, 1], span]}}, "protected spans")
        for span in ([3], [2, 1], [-1, 2], [1, 2, 3])
    ),
    ("TaggerTag", {"tagset": "brown"}, "tagger: tagset"),
    ("TaggerTag", {"noun_verb": True}, "tagger: noun_verb"),
    ("PipelineTag", {"library": "flair"}, "tagger: library"),
    ("PipelineTag", {"library": "spacy", "reference": "gold"}, "tagger: reference"),
    ("PipelineTag", {"library": "spacy", "window": -1}, "tagger: window"),
    ("WordVectorCosine", {"vectors": "x", "minimum": 70}, "vector cosine: minimum"),
    ("WordVectorCosine", {"vectors": "x", "unknown": "pass"}, "vector cosine: unknown"),
    *(("EditBudget", {"gamma": gamma}, "edit budget: gamma") for gamma in (0.0, 1.01, 15, NAN)),
    ("SentenceSimilarity", ENCODER | {"measure": "euclid"}, "similarity: measure"),
    ("SentenceSimilarity", ENCODER | {"reference": "gold"}, "similarity: reference"),
    ("SentenceSimilarity", ENCODER | {"short": "skip"}, "similarity: short"),
    ("SentenceSimilarity", ENCODER | {"short": 1.5}, "similarity: short"),
    ("SentenceSimilarity", ENCODER | {"short": NAN}, "similarity: short"),
    ("SentenceSimilarity", ENCODER | {"short": "pass"}, "similarity: short"),
    ("SentenceSimilarity", ENCODER | {"window": 4}, "similarity: window"),
    ("SentenceSimilarity", ENCODER | {"minimum": 7.0}, "similarity: minimum"),
    ("SentenceSimilarity", ENCODER | {"minimum": NAN}, "similarity: minimum"),
    ("SentenceSimilarity", ENCODER | {"batch_texts": 0}, "similarity: batch_texts"),
    ("LanguageModel", ENCODER | {"kind": "gpt"}, "language model: kind"),
    ("LanguageModel", ENCODER | {"longest": 1}, "language model: longest"),
    ("LanguageModel", ENCODER | {"batch_tokens": 0}, "language model: batch_tokens"),
    ("PerplexityRise", {"language_model": None, "most": NAN}, "perplexity: most"),
    ("GrammarErrors", {"checker": None, "more": -1}, "grammar: more"),
    ("LanguageTool", {"seconds": 0}, "LanguageTool: seconds"),
    ("LinkGrammar", {"seconds": 0}, "link grammar: seconds"),
    ("LinkGrammar", {"longest": 0}, "link grammar: longest"),
]


@pytest.mark.parametrize(("name", "settings", "key"), SETTINGS)
def test_a_setting_that_a_part_does_not_take(name: str, settings: dict, key: str) -> None:
    with pytest.raises(InputError) as error:
        getattr(attacks, name)(**settings)
    assert error.value.key == key
    given = list(settings.values())[-1]
    if isinstance(given, str | int | float) and given is not True:
        assert str(given) in str(error.value)


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        (lambda: attacks.CharacterEdits(edits=["swop"]), "substitute"),
        (lambda: attacks.CharacterEdits(edits=["delete", "swop"]), "got swop"),
        (lambda: attacks.AttackableTags(["NN", "HYPH", "GW"]), "GW, HYPH cannot be attacked"),
        (lambda: attacks.ProtectedSpans({4: [[2, 1]]}), "got [2, 1] for sentence 4"),
        (lambda: attacks.TaggerTag(noun_verb=True), "got tagset: None"),
        (lambda: attacks.MaskedLM("x", top_k=50), "must not exceed top_k, got 99 of 50"),
    ],
)
def test_what_an_error_shows(make: Callable[[], object], shown: str) -> None:
    with pytest.raises(InputError) as error:
        make()
    assert shown in str(error.value)


@pytest.mark.parametrize("gamma", [0.0, -0.1, 1.01, 15, NAN])
def test_a_gamma_that_is_no_fraction(gamma: float) -> None:
    with pytest.raises(InputError, match=f"got {gamma}") as error:
        check_fraction("search: gamma", gamma)
    assert error.value.key == "search: gamma"


def sememes(path: str) -> None:
    attacks.Sememes(path, words="dictionary").propose(slots("dog/NN"), 0)


DOG = {"en_word": "dog", "en_grammar": "noun", "Def": "{livestock|牲畜}"}
# Maker, content, and the line or the key of the error.
FILES = [
    (attacks.Lexicon, '["run"]', None, None),
    (attacks.Lexicon, '{"run": ["go"]', 1, None),
    (attacks.Lexicon, '{\n"run": go}', 2, None),
    (attacks.Lexicon, '{"run": "go"}', None, "lexicon: 'run'"),
    (attacks.Lexicon, '{"run": ["go", 3]}', None, "lexicon: 'run'"),
    (attacks.Lexicon, '{"run": ["go on"]}', None, "lexicon: 'run'"),
    (attacks.Lexicon, '{"run": [""]}', None, "lexicon: 'run'"),
    (attacks.Lexicon, '{" ": ["go"]}', None, "lexicon: ' '"),
    (attacks.Lexicon, '{"run": [], "run": ["go"]}', None, "'run'"),
    (attacks.Lexicon, '{"run/NN": [], "Run/NN": ["go"]}', None, "lexicon: 'Run/NN'"),
    (attacks.Lexicon, None, None, None),
    (attacks.Lexicon, "", None, None),
    (sememes, '[\n{"en_word": }]', 2, None),
    (sememes, '"dog"', None, None),
    (sememes, '["dog"]', None, "sense 0: en_word"),
    (sememes, json.dumps([DOG, {"en_word": "x"}]), None, "sense 1: en_grammar"),
    (sememes, json.dumps({"1": DOG | {"en_word": 3}}), None, "sense 0: en_word"),
    (sememes, '[{"en_word": "x", "en_grammar": "noun"}]', None, "sense 0: Def"),
    (sememes, "", None, None),
    (attacks.VocabularyWords, "a\nb c\n", 2, None),
    (attacks.VocabularyWords, None, None, None),
    (attacks.StopWords, None, None, None),
    (attacks.SeenInTraining, "a b", 1, None),
]


@pytest.mark.usefixtures("fake_wordnet")
@pytest.mark.parametrize(("make", "content", "line", "key"), FILES)
def test_a_file_that_a_part_does_not_take(
    make: Callable[[str], object],
    content: str | None,
    line: int | None,
    key: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    if content is not None:
        (tmp_path / "file").write_text(content)
    with pytest.raises(InputError) as error:
        make("~/file")
    assert error.value.path == str(tmp_path / "file")
    assert (error.value.line, error.value.key) == (line, key)


def test_vectors_that_are_not_there() -> None:
    constraint = attacks.WordVectorCosine("no/such.txt")
    with pytest.raises(InputError, match=r"no/such\.txt: no such file"):
        constraint.accept(slots("dog/NN"), [["cat"]], HashVictim())
