"""TextAttack's outcomes on a small problem, as recorded, against our recipes."""

import json
from pathlib import Path

import pytest
import torch
from pair_victims import write_victim

import parity
import recipe_parity
from robustparse.attacks.constraints.words import StopWords
from robustparse.models import ModelVictim
from textattack_victim import read_victim

RECORDED = Path(__file__).parent / "parity_recipes"
# `textattack_recipes.py` made the outcomes, with these texts and this victim.
RECIPES = sorted(path.stem for path in RECORDED.glob("*.jsonl"))


@pytest.mark.parametrize("recipe", RECIPES)
def test_outcomes_are_those_recorded(
    recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The words of the texts that are in NLTK's list, which need not be here.
    stop = frozenset((RECORDED / "stopwords.txt").read_text().split())
    monkeypatch.setattr(StopWords, "_words", stop)
    texts = parity.read_texts(RECORDED / "texts.tsv", None)
    write_victim(tmp_path / "victim.pt", "lstm", texts)
    victim = ModelVictim([read_victim(tmp_path / "victim.pt", torch.float64)])
    theirs = list(map(json.loads, (RECORDED / f"{recipe}.jsonl").read_text().splitlines()))
    found = parity.compared(recipe_parity.ours(recipe, texts, victim, RECORDED), theirs)
    assert found["agreement"] == 1.0, found
    assert found["success"] > 0


def test_every_deterministic_recipe_is_recorded() -> None:
    deterministic = set(recipe_parity.VARIANTS) - set(recipe_parity.RANDOM)
    # HotFlip needs word vectors and a tagger; TextAttack's input reduction differs unless repaired.
    assert set(RECIPES) == deterministic - {"hotflip", "input_reduction"}
    for recipe in ("deepwordbug", "pruthi"):
        assert (RECORDED / f"{recipe}.json").exists()
