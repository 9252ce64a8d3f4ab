"""A treebank with universal tags only, whose words may hold blanks, and which tags parts go by."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from attack_fakes import HashVictim
from recipe_models import FOLDER, recipe, stand_in
from recipe_sentences import parser_of

from robustparse.annotation.questionnaire import export, read_rows
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.characters import CharacterEdits
from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.training_words import TrainingWords
from robustparse.attacks.candidates.union import Union
from robustparse.attacks.candidates.vocabulary import VocabularyWords
from robustparse.attacks.candidates.wordnet import WordNetSynonyms
from robustparse.attacks.constraints.tagging.same_tag import DictionaryTag, TaggerTag
from robustparse.attacks.constraints.tagging.tags import AttackableTags, ForbiddenTags
from robustparse.attacks.constraints.words import SeenInTraining
from robustparse.attacks.search.beam import Greedy
from robustparse.data.conllu import read_treebank
from robustparse.errors import InputError
from robustparse.evaluation.attack_folder import attack_into
from robustparse.evaluation.example_records import read_records
from robustparse.evaluation.records import EXAMPLES
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.victim import ModelVictim
from robustparse.options.recipe_facts import RecipeFacts
from robustparse.reports.page import build_report
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.types import Example, Sentence
from sample_runs import sentences, write_sample

BLANKS = "hot  dog\u00a0stand"
REFUSED = {"wang2021": "use 'upos', 'unicode' or 'none'"}  # it leaves out Penn punctuation
TASK = DEPENDENCY
RUN = {"attack": "recipe", "victims": ["parser"], "seed": 0}


def universal(example: Example) -> Example:
    """Without Penn tags; the first noun of every third sentence holds blanks."""
    sentence = example.sentence
    words = list(sentence.words)
    if example.id % 3 == 0 and "NOUN" in sentence.upos:
        words[sentence.upos.index("NOUN")] = BLANKS
    return replace(example, sentence=Sentence(tuple(words), sentence.upos))


@pytest.fixture(scope="module")
def treebank(models: Path) -> Path:
    long = [one for one in sentences(120, "test") if len(one.sentence) > 8][:6]
    return write_sample(models / "universal.conllu", [universal(one) for one in long])


def parser_for(name: str) -> BiaffineParser:
    """One whose training data had universal tags only, and words with blanks."""
    parser = parser_of(name)
    old = parser.vocabulary
    parser.vocabulary = replace(old, tags=("",) * len(old.tagged))
    return parser


@pytest.mark.parametrize(
    "name",
    sorted(
        path.stem for path in FOLDER.glob("*.yaml") if "dependency" in RecipeFacts.read(path).tasks
    ),
)
def test_every_recipe_runs_or_says_what_it_needs(name, models, treebank, monkeypatch) -> None:
    stand_in(monkeypatch)
    attack, examples = recipe(name, models), TASK.files.read(treebank)
    if name in REFUSED:
        with pytest.raises(InputError) as error:
            TASK.files.check(examples, treebank, attack.check, attack.punctuation)
        assert (error.value.path, error.value.line) == (str(treebank), 1)
        assert error.value.remedy == REFUSED[name]
        return
    TASK.files.check(examples, treebank, attack.check, attack.punctuation)
    results = list(attack.run(examples, ModelVictim([parser_for(name)])))
    assert any(result.edited for result in results)
    for result in results:
        assert result.example.sentence.tagset == "upos"


def test_words_with_blanks_come_back_from_every_file(models, treebank, tmp_path) -> None:
    examples = read_treebank(treebank)
    assert sum(BLANKS in example.sentence.words for example in examples) == 2
    victim, attack = ModelVictim([parser_for("")]), recipe("zheng2020_universal", models)
    attack_into(tmp_path / "out", TASK, attack, examples, victim, dict(RUN))
    text = (tmp_path / "out" / "examples.jsonl").read_text("utf-8")
    lines = [json.loads(line) for line in text.split("\n") if line]
    written = read_treebank(tmp_path / "out" / "adversarial.conllu")
    assert [list(one.sentence.words) for one in written] == [
        line["adversarial_tokens"] for line in lines
    ]
    for line, example in zip(lines, examples, strict=True):
        assert line["tokens"] == list(example.sentence.words)
        assert line["edited_tags"] == [example.sentence.upos[at] for at in line["edited"]]
        if BLANKS in line["adversarial_tokens"]:
            assert BLANKS in TASK.pictures.draw(line)
    pairs = [*read_records(tmp_path / "out" / EXAMPLES)]
    export(pairs, tmp_path / "pairs.csv", tmp_path / "key.json", annotators=1, seed=0, limit=None)
    sides = [row["A"] + row["B"] for _, row in read_rows(tmp_path / "pairs.csv")]
    assert sum(BLANKS in side for side in sides) == 2
    build_report([tmp_path / "out"], tmp_path / "report.html")
    assert BLANKS in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("upos", "xpos", "expected"),
    [
        ("DET NOUN", "DT NN", "xpos"),
        ("DET NOUN", "", "upos"),
        ("DET NOUN", "ART NN", "upos"),  # of a German treebank
        ("DET NOUN", "DT _", "upos"),
        ("", "ART NN", "xpos"),
        ("", "", "upos"),
    ],
)
def test_which_tags_a_sentence_goes_by(upos: str, xpos: str, expected: str) -> None:
    sentence = Sentence(("la", "mer"), tuple(upos.split()), tuple(xpos.split()))
    assert sentence.tagset == expected
    assert sentence.tagged() == getattr(sentence, expected)
    assert (sentence.tagged("upos"), sentence.tagged("xpos")) == (sentence.upos, sentence.xpos)
    found = Slot(0, sentence, 1).tagged(None)
    assert found == (expected, sentence.tagged()[1] if sentence.tagged() else "")


BOTH = replace(sentences(1)[0], sentence=Sentence(("la", "mer"), ("DET", "VERB"), ("DT", "NN")))
KNOWN = {"xpos": {"sea": "NN", "see": "VB"}, "upos": {"sea": "NOUN", "see": "VERB"}}


@pytest.mark.parametrize(("tagset", "word"), [(None, "sea"), ("xpos", "sea"), ("upos", "see")])
def test_parts_go_by_the_tags_that_they_are_told(tagset, word, fake_wordnet) -> None:
    victim = HashVictim()
    victim.training_tags = KNOWN
    slot = Slot(0, BOTH.sentence, 1)
    assert TrainingWords(tagset=tagset).for_victim(victim).propose([slot], 0) == [[word]]
    table = Lexicon({"mer/NN": ["sea"], "mer/VERB": ["see"]}, tagset=tagset)
    assert table.propose([slot], 0) == [[word]]
    (kept,) = DictionaryTag(tagset=tagset).accept([slot], [["sea", "see"]], victim)
    assert kept.tolist() == [word == "sea", word == "see"]
    listed = AttackableTags(["NN", "DET"], tagset=tagset).attackable(BOTH)
    assert listed.tolist() == [word == "see", word == "sea"]
    forbidden = ForbiddenTags(["NN", "DET"], tagset=tagset).attackable(BOTH)
    assert forbidden.tolist() == [word == "sea", word == "see"]


def test_tags_that_are_not_there_are_refused_with_a_remedy(treebank, tmp_path) -> None:
    examples = TASK.files.read(treebank)
    penn = [replace(BOTH, sentence=replace(BOTH.sentence, upos=()))]
    for part, others in (
        (AttackableTags(tagset="xpos"), examples),
        (TrainingWords(tagset="upos"), penn),
    ):
        with pytest.raises(InputError) as error:
            TASK.files.check(others, treebank, part.check)
        assert str(error.value.remedy).endswith("leave out its `tagset`")
        assert error.value.path == str(treebank)
    victim = HashVictim()
    victim.training_tags = {"xpos": KNOWN["xpos"], "upos": {}}  # of the first release
    for generator, constraints in (
        (TrainingWords(), []),
        (Lexicon({"a": ["b"]}), [DictionaryTag(tagset="upos")]),
    ):
        attack = Attack(generator, Greedy(), [AttackableTags(), *constraints])
        with pytest.raises(InputError, match="trained without universal tags"):
            list(attack.run(examples, victim))


def test_it_is_said_once_which_tags_an_attack_goes_by(treebank) -> None:
    generator = Union([TrainingWords(), WordNetSynonyms(), VocabularyWords()])
    attack = Attack(generator, Greedy(), [AttackableTags(), DictionaryTag(), TaggerTag()])
    examples = read_treebank(treebank)
    of_data, of_tagger = attack.warnings(examples)
    for told in (of_data, of_tagger):
        assert told.startswith(f"{len(examples)} of {len(examples)} sentences have no Penn tags")
    assert not list(attack.warnings(sentences(6)))
    attack = Attack(TrainingWords(tagset="upos"), Greedy(), [AttackableTags(tagset="upos")])
    assert not list(attack.warnings(examples))


def test_characters_of_a_language_are_those_of_its_training_words() -> None:
    victim = HashVictim()
    victim.training_words = {"été", "hot dog"}
    edits = CharacterEdits(edits=["insert"], sample=None, alphabet=None).for_victim(victim)
    slot = Slot(0, Sentence(("é",)), 0)
    untrained = HashVictim()
    untrained.training_words = set()
    for part in (CharacterEdits(alphabet=None), VocabularyWords()):
        with pytest.raises(InputError) as error:
            part.for_victim(untrained)
        assert error.value.key == type(part).__name__
    without_new = CharacterEdits(edits=["delete"], sample=None, alphabet=None)
    assert without_new.for_victim(untrained).propose([Slot(0, Sentence(("ab",)), 0)], 0) == [
        ["b", "a"]
    ]
    with pytest.raises(InputError):
        SeenInTraining().accept([slot], [["e"]], untrained)
    (found,) = edits.propose([slot], 0)
    assert set(found) == {word for new in "éthodg" for word in (f"é{new}", f"{new}é")}
