"""Attacks that follow gradients of a real parser, in float64: packing changes nothing."""

import string
from typing import Any

import pytest

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.characters import CharacterEdits
from robustparse.attacks.candidates.training_words import TrainingWords
from robustparse.attacks.candidates.vocabulary import VocabularyWords
from robustparse.attacks.constraints.tagging.tags import AttackableTags, ForbiddenRelations
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.goals.phrases import PhraseDrop
from robustparse.attacks.search.white_box.substitutions import NearestCharacter, NearestWord
from robustparse.attacks.search.white_box.zheng2020_whitebox import Zheng2020WhiteBox
from robustparse.attacks.search.zheng2020_phrase import PhraseWhiteBox
from robustparse.models.victim import ModelVictim
from sample_runs import sentences, trained_parser


def attack(name: str, **settings: Any) -> Attack:
    nearest = NearestWord(alpha=3.0)
    if name == "phrases":
        return Attack(
            VocabularyWords(sample=None),
            PhraseWhiteBox(trials=6, substitution=nearest),
            [ForbiddenRelations()],
            goal=PhraseDrop(),
            **settings,
        )
    if name == "words":
        return Attack(
            TrainingWords(),
            Zheng2020WhiteBox(trials=6, positions=2, substitution=nearest),
            [AttackableTags()],
            goal=AttachmentDrop(),
            **settings,
        )
    return Attack(
        CharacterEdits(edits=["substitute"], sample=None, alphabet=string.ascii_lowercase),
        Zheng2020WhiteBox(trials=4, substitution=NearestCharacter()),
        [ForbiddenRelations()],
        goal=AttachmentDrop(),
        **settings,
    )


@pytest.mark.parametrize("name", ["words", "phrases", "characters"])
def test_packing_changes_nothing(name: str) -> None:
    some = sentences(60, "test")[:: 1 if name == "phrases" else 6]
    victim = ModelVictim(trained_parser(characters=name == "characters"))
    reference = {one.id: one for one in attack(name).run(some, victim)}
    assert 0 < sum(one.success for one in reference.values()) < len(some)
    for packing in ({"live": 1}, {"live": 7, "batch_words": 60}):
        found = {one.id: one for one in attack(name, **packing).run(some, victim)}
        assert found == reference
