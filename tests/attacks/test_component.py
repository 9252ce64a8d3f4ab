"""Without tags, sentences and victims are refused by every part that reads them."""

from pathlib import Path

import pytest
from attack_fakes import HashVictim, example

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.cache import CachedCandidates
from robustparse.attacks.candidates.generator import CandidateGenerator
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.one_of import OneOf
from robustparse.attacks.candidates.sememes import Sememes
from robustparse.attacks.candidates.training_words import TrainingWords
from robustparse.attacks.candidates.union import Union
from robustparse.attacks.candidates.wordnet import WordNetSynonyms
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.tagging.pipeline_tag import PipelineTag
from robustparse.attacks.constraints.tagging.same_tag import DictionaryTag, TaggerTag
from robustparse.attacks.constraints.tagging.tags import AttackableTags, ForbiddenTags
from robustparse.attacks.constraints.words import StopWords
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.search.beam import Greedy
from robustparse.errors import InputError, UntaggedError
from robustparse.types import Example, Sentence

TAGGED, BARE = example("a dog", "DT NN"), example("a dog", "", number=3)
LEXICON = Lexicon({"dog": ["cat"]})
REFUSAL = r"sentence 4: no tag for every word, .* column 5 \(XPOS\)"

NEEDY: dict[str, tuple[CandidateGenerator, list[Constraint]]] = {
    "dictionary": (LEXICON, [DictionaryTag()]),
    "tagger": (LEXICON, [TaggerTag()]),
    "universal tagger": (LEXICON, [TaggerTag(tagset="upos")]),
    "pipeline": (LEXICON, [PipelineTag("spacy")]),
    "attackable tags": (LEXICON, [AttackableTags()]),
    "forbidden tags": (LEXICON, [ForbiddenTags()]),
    "training words": (TrainingWords(), []),
    "cached": (CachedCandidates(TrainingWords(), "made.sqlite"), []),
    "one of several": (OneOf([LEXICON, TrainingWords()]), []),
    "all of a union": (Union([TrainingWords(), TrainingWords(sample=2)]), []),
}
FRUGAL: dict[str, tuple[CandidateGenerator, list[Constraint]]] = {
    "table": (LEXICON, [StopWords(), AttackableTags("any")]),
    "pipeline by itself": (LEXICON, [PipelineTag("spacy", reference="tagger")]),
    "synonyms": (WordNetSynonyms(), []),
    "sememes": (Sememes("unread.json"), []),
    "one of a union": (Union([TrainingWords(), LEXICON, WordNetSynonyms()]), []),
}


@pytest.mark.parametrize("name", NEEDY)
def test_they_are_refused_before_anything_is_asked(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where the cache is made
    generator, constraints = NEEDY[name]
    victim = HashVictim()
    victim.training_tags = {"xpos": {"dog": "NN"}}
    attack = Attack(generator, Greedy(), constraints, goal=AttachmentDrop())
    with pytest.raises(UntaggedError, match=REFUSAL):
        list(attack.run([TAGGED, BARE], victim))
    assert not victim.batches


@pytest.mark.parametrize("name", NEEDY)
def test_tagged_sentences_are_not(name: str) -> None:
    generator, constraints = NEEDY[name]
    for part in (generator, *constraints):
        part.check([TAGGED])


@pytest.mark.parametrize("name", FRUGAL)
def test_what_needs_no_tags_takes_any_sentence(name: str) -> None:
    generator, constraints = FRUGAL[name]
    for part in (generator, *constraints):
        part.check([TAGGED, BARE])


@pytest.mark.parametrize("part", ["dictionary", "training words"])
def test_a_victim_without_tags_is_no_dictionary(part: str) -> None:
    """There would be no candidate, and the attack do nothing without a word."""
    generator, constraints = (NEEDY | FRUGAL)[part]
    attack = Attack(generator, Greedy(), constraints, goal=AttachmentDrop())
    with pytest.raises(InputError, match=r"the victim was trained without (XPOS )?tags") as error:
        list(attack.run([TAGGED], HashVictim()))
    assert error.value.key in ("DictionaryTag", "TrainingWords")


def test_a_dictionary_of_sememes_needs_no_victim_with_tags() -> None:
    generator = Sememes("unread.json", words="dictionary")
    assert generator.for_victim(HashVictim()) is generator


def test_a_union_takes_each_sentence_that_one_member_takes() -> None:
    """Whatever sentences are checked with it."""
    words = ("the", "dog")
    both = Union([TrainingWords(tagset="upos"), TrainingWords(tagset="xpos")])
    examples = [
        Example(0, Sentence(words, upos=("DET", "NOUN")), None),
        Example(1, Sentence(words, xpos=("DT", "NN")), None),
    ]
    both.check(examples)
    with pytest.raises(UntaggedError):
        both.check([*examples, Example(2, Sentence(words), None)])
