"""`TableCandidates` against a `Lexicon` with the same words, in searches and in online training."""

import copy
from pathlib import Path
from types import SimpleNamespace

import pytest
import pytorch_lightning as pl
from attack_table import EXAMPLES, LEXICON, SEARCHES, Case
from lexical_fakes import slots

from robustparse.attacks.candidates.cache import CachedCandidates
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.table import TableCandidates
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.data.sample.treebank import treebank_lexicon
from robustparse.defenses.substitution import SubstitutionAdversary
from robustparse.errors import InputError
from robustparse.options.recipe_digests import recipe_digests
from sample_runs import lexicon_attack, sentences, trained_parser


def written(path: Path, substitutes: dict[str, list[str]]) -> str:
    SubstitutionTable(substitutes).write(path)
    return str(path)


@pytest.mark.parametrize("name", [name for name in SEARCHES if name != "white box"])
def test_an_attack_equals_that_of_a_lexicon(name: str, tmp_path: Path) -> None:
    distinct = {
        word: list(dict.fromkeys(other for other in some if other != word))
        for word, some in LEXICON.items()
    }
    table = TableCandidates(written(tmp_path / "table.jsonl", distinct))
    results = [Case(SEARCHES[name], each).run(EXAMPLES[:8]) for each in (table, Lexicon(LEXICON))]
    first, second = (
        {key: (one.words, one.charged, one.unique, one.success) for key, one in some.items()}
        for some in results
    )
    assert first == second
    assert any(one.edited for one in results[0].values())


def test_candidates_have_the_order_and_casing_of_the_table(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    generator = TableCandidates(written(path, {"big": ["large", "great"]}))
    assert generator.propose(slots("Big/JJ BIG/JJ cat/NN"), 0) == [
        ["Large", "Great"],
        ["LARGE", "GREAT"],
        [],
    ]
    assert not generator.draws
    cached = CachedCandidates(generator, str(tmp_path / "cache"))
    assert cached.propose(slots("big/JJ"), 0) == [["large", "great"]]
    other = TableCandidates(written(path, {"big": ["great"]}))
    assert other.fingerprint() != generator.fingerprint()
    assert CachedCandidates(other, str(tmp_path / "cache")).propose(slots("big/JJ"), 0) == [
        ["great"]
    ]


def test_a_recipe_notices_a_changed_table(tmp_path: Path) -> None:
    path = written(tmp_path / "table.jsonl", {"big": ["large"]})
    part = {"class_path": "robustparse.attacks.TableCandidates", "init_args": {"table": path}}
    settings = {"class_path": "robustparse.attacks.Attack", "init_args": {"candidates": part}}
    before = recipe_digests(settings)
    assert set(before) == {path}
    written(tmp_path / "table.jsonl", {"big": ["great"]})
    assert recipe_digests(settings) != before


def test_a_missing_table_is_named_before_the_attack(tmp_path: Path) -> None:
    path = str(tmp_path / "none.jsonl")
    with pytest.raises(InputError) as error:
        Case(SEARCHES["greedy"], TableCandidates(path)).run()
    assert error.value.path == path


def test_online_substitution_stays_within_the_table(tmp_path: Path) -> None:
    lexicon = {key.rpartition("/")[0].lower(): words for key, words in treebank_lexicon(0).items()}
    lowered = {word: [w.lower() for w in some] for word, some in lexicon.items()}
    attack = copy.copy(lexicon_attack({"ranking": "random", "harmless": "first"}))
    attack.candidates = TableCandidates(written(tmp_path / "table.jsonl", lowered))
    adversary = SubstitutionAdversary(attack)
    trainer = SimpleNamespace(precision_plugin=pl.plugins.Precision())
    chosen = sentences(10)
    copies = adversary.copies(trainer, trained_parser(), chosen, seed=0)  # type: ignore[arg-type]
    originals = {example.id: example.sentence.words for example in chosen}
    changes = {
        (old.lower(), new.lower())
        for each in copies
        for old, new in zip(originals[each.id], each.sentence.words, strict=True)
        if old != new
    }
    assert changes
    assert all(new in lowered[old] for old, new in changes)
