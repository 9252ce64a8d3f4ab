"""Every recipe in configs/attack makes an attack, whose files and models are looked for later."""

from pathlib import Path

import pytest
from jsonargparse import ArgumentParser

from robustparse.attacks.attack import Attack
from robustparse.attacks.constraints.tag_filter import TaggerTag
from robustparse.attacks.search.beam import Beam
from robustparse.attacks.search.genetic import Genetic
from robustparse.attacks.search.importance import GreedyByImportance, WeightedSaliencySearch
from robustparse.attacks.search.pso import ParticleSwarm
from robustparse.attacks.search.rankings import DeletedWord
from robustparse.attacks.search.substitutions import NearestCharacter, NearestWord
from robustparse.attacks.search.wang2021 import Wang2021
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.attacks.search.zheng2020_phrase import PhraseBlackBox, PhraseWhiteBox
from robustparse.attacks.search.zheng2020_whitebox import Zheng2020WhiteBox

FOLDER = Path(__file__).parents[2] / "configs" / "attack"
SEARCHES = {
    "beam": Beam,
    "genetic": Genetic,
    "pso": ParticleSwarm,
    "pwws": WeightedSaliencySearch,
    "textfooler": GreedyByImportance,
    "wang2021": Wang2021,
    "wang2021_open": Wang2021,
    "zheng2020_blackbox": Zheng2020,
    "zheng2020_blackbox_character": Zheng2020,
    "zheng2020_phrase_blackbox": PhraseBlackBox,
    "zheng2020_phrase_whitebox": PhraseWhiteBox,
    "zheng2020_whitebox": Zheng2020WhiteBox,
    "zheng2020_whitebox_character": Zheng2020WhiteBox,
}


def recipe(name: str) -> Attack:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(Attack, "attack")
    config = parser.parse_args([f"--attack={FOLDER / name}.yaml"])
    attack: Attack = parser.instantiate(config).attack
    return attack


@pytest.mark.parametrize("name", SEARCHES)
def test_recipes_make_attacks(name: str) -> None:
    assert type(recipe(name).search) is SEARCHES[name]


def test_settings_arrive() -> None:
    textfooler = recipe("textfooler")
    assert isinstance(textfooler.search.ranking, DeletedWord)
    assert textfooler.search.winner == "similar"
    (tagger,) = (one for one in textfooler.constraints if isinstance(one, TaggerTag))
    assert (tagger.tagset, tagger.noun_verb) == ("universal", True)
    assert recipe("beam").search.width == 8
    for name, kind, alpha in (
        ("zheng2020_whitebox", NearestWord, 15.0),
        ("zheng2020_whitebox_character", NearestCharacter, 100.0),
        ("zheng2020_phrase_whitebox", NearestWord, 15.0),
    ):
        substitution = recipe(name).search.substitution
        assert (type(substitution), substitution.alpha) == (kind, alpha)
    wang = recipe("wang2021")
    assert (wang.goal.metric, wang.goal.punctuation, wang.search.gamma) == ("mean", "penn", 0.15)
    assert [type(one).__name__ for one in wang.candidates.generators] == [
        *("Sememes", "WordNetSynonyms", "EmbeddingNeighbours", "MaskedLM")
    ]
