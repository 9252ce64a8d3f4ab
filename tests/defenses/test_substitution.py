"""Online word substitution: what is appended, what it depends on, what stays as it was."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from substitution_stage import CHEAP, SENTENCES, Stage, sample_data, tensors_of

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.one_of import OneOf
from robustparse.attacks.candidates.table import TableCandidates
from robustparse.attacks.constraints.tagging.tags import ZHENG_2020_TAGS, AttackableTags
from robustparse.attacks.search.random_substitution import RandomSubstitution
from robustparse.attacks.substitution_table import SubstitutionTable
from robustparse.casing import in_casing_of
from robustparse.data.batch import Batch
from robustparse.data.datamodule import Batches
from robustparse.data.sample.treebank import treebank_lexicon
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.defenses.substitution import SubstitutionAdversary
from robustparse.errors import InputError
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.perturbations import Casing, FinalStop, Perturbation, Typos
from sample_runs import lexicon_attack, trained_parser, trained_pointer, trainer


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TreebankDataModule:
    return sample_data(tmp_path_factory.mktemp("sample"))


@pytest.fixture
def stage(data: TreebankDataModule) -> Stage:
    return Stage(data, fraction=0.5, budget=12, seed=5)


NOISE: list[Perturbation] = [Typos(), FinalStop(), Casing()]
both_kinds = pytest.mark.parametrize(
    "settings", [{"budget": 12}, {"operations": NOISE}], ids=["substitution", "noise"]
)


@pytest.mark.parametrize("made", [trained_parser, trained_pointer])
def test_copies_have_the_ids_and_trees_of_their_originals(made, data):
    stage = Stage(data, parser=made(), fraction=0.5, budget=12, seed=5)
    gold = stage.batch().gold.keys()
    before, after = stage.batch(), stage.attacked()
    copies = len(after) - SENTENCES
    assert SENTENCES // 4 < copies < 3 * SENTENCES // 4
    old, new = tensors_of(before), tensors_of(after)
    for name in ("words", "marks", *gold):
        width = old[name].shape[1]
        assert torch.equal(new[name][:SENTENCES, :width], old[name])
        assert not new[name][:, width:].any()
    for name in ("ids", "lengths"):
        assert torch.equal(new[name][:SENTENCES], old[name])
    for row in range(SENTENCES, len(after)):
        original = int(after.ids[row])
        assert after.lengths[row] == before.lengths[original]
        for name in ("marks", *gold):
            assert torch.equal(new[name][row], old[name][original])
        assert not torch.equal(after.words[row], before.words[original])
    assert after.ids[SENTENCES:].tolist() == sorted(set(after.ids[SENTENCES:].tolist()))


def test_only_eligible_words_change_into_words_of_the_lexicon(stage, data):
    lexicon = {}
    for key, words in treebank_lexicon(0).items():
        word, tag = key.split("/")
        lexicon[word.lower(), tag] = words
    changes = 0
    for id_, words in stage.words(stage.attacked()).items():
        sentence = data.train_examples[id_].sentence
        for word, original, tag in zip(words, sentence.words, sentence.xpos, strict=True):
            if word != original:
                changes += 1
                assert tag in ZHENG_2020_TAGS
                candidates = lexicon[original.lower(), tag]
                assert word in in_casing_of(original, candidates)
    assert changes > 10


@both_kinds
def test_outcomes_depend_only_on_the_seed_the_epoch_and_the_id(data, settings):
    stage = Stage(data, fraction=0.5, seed=5, **settings)
    whole = stage.words(stage.attacked(epoch=2))
    first, second = range(0, SENTENCES, 2), range(1, SENTENCES, 2)
    halves = stage.words(stage.attacked(first, 2)) | stage.words(stage.attacked(second, 2))
    assert halves == whole
    singles = {}
    for id_ in reversed(range(SENTENCES)):
        singles |= stage.words(stage.attacked([id_], 2))
    assert singles == whole
    fresh = Stage(data, fraction=0.5, seed=5, **settings)
    assert fresh.words(fresh.attacked(epoch=2)) == whole


@both_kinds
def test_epochs_and_seeds_choose_anew(data, settings):
    stage = Stage(data, fraction=0.5, seed=5, **settings)
    runs = [stage.words(stage.attacked(epoch=epoch)) for epoch in range(3)]
    other = Stage(data, fraction=0.5, seed=6, **settings)
    runs.append(other.words(other.attacked()))
    assert len({frozenset(run) for run in runs}) == 4
    both = set(runs[0]) & set(runs[1])
    assert any(runs[0][id_] != runs[1][id_] for id_ in both)


def test_each_copy_has_substitutes_of_one_table_drawn_in_each_epoch(data, tmp_path):
    examples = data.train_examples[:20]
    words = {word.lower() for example in examples for word in example.sentence.words}
    tables = []
    for end in ("x", "y", "z"):
        table = SubstitutionTable({word: (f"{word}{end}", f"{word}o{end}") for word in words})
        table.write(tmp_path / end)
        tables.append(TableCandidates(str(tmp_path / end)))
    # The worst of two copies by the goal's score.
    attack = Attack(OneOf(tables), RandomSubstitution(gamma=0.3, trials=2))
    stage = Stage(data, fraction=1.0)
    stage.adversary.attack = attack
    chosen = []
    for seed in range(6):
        copies = stage.adversary.copies(stage.trainer, stage.parser, examples, seed)
        ends = {}
        assert len(copies) == len(examples)
        for copy in copies:
            example = stage.adversary.examples[copy.id]
            pairs = zip(copy.sentence.words, example.sentence.words, strict=True)
            (ends[copy.id],) = {new.lower()[-1] for new, old in pairs if new != old}
            assert copy.gold == example.gold
        chosen.append(ends)
    assert all(len({ends[id_] for ends in chosen}) > 1 for id_ in chosen[0])
    assert all(len(set(ends.values())) == 3 for ends in chosen)


@both_kinds
def test_every_process_divides_by_the_same_weight(data, settings):
    stage = Stage(data, fraction=0.3, **settings)
    # The lone sentences are mostly not chosen: their process must not weigh its share up for it.
    batches = [stage.attacked([id_]) for id_ in range(8)]
    assert {len(batch) for batch in batches} == {1, 2}
    assert [float(batch.weight) for batch in batches] == [pytest.approx(130.0)] * 8


@torch.no_grad()
def test_the_loss_is_that_of_all_sentences_over_the_weight(stage):
    batch = stage.attacked()
    parser = stage.parser.eval()
    parser.trainer = SimpleNamespace(world_size=1)
    total = 0.0
    for row in range(len(batch)):
        fields = {n: getattr(batch, n)[row : row + 1] for n in ("ids", "words", "marks", "lengths")}
        gold = {name: column[row : row + 1] for name, column in batch.gold.items()}
        one = Batch(**fields, gold=gold, weight=batch.weight)
        total += float(parser.loss(parser(one), one))
    loss = parser.training_step(batch, 0)
    assert float(loss) == pytest.approx(total / 150.0, rel=1e-6)


def test_what_the_recipe_lists_and_the_data_do_not_have_is_warned_of(stage, caplog):
    stage.adversary.attack.constraints = [AttackableTags(["NOUN"])]
    stage.adversary.on_fit_start(stage.trainer, stage.parser)
    assert "attackable tags: no word of the data has NOUN" in caplog.text


def test_the_attack_given_is_not_changed():
    attack = lexicon_attack(seed=7)
    adversary = SubstitutionAdversary(attack, budget=3)
    assert (attack.budget, attack.seed, adversary.attack.budget) == (None, 7, 3)


def test_the_parser_and_the_generators_are_left_as_they_were(stage):
    parser = stage.parser
    parser.encoder.eval()
    parser.arc_mlp_d.train()
    parser.rel_attn.weight.grad = torch.ones_like(parser.rel_attn.weight)
    modes = {name: module.training for name, module in parser.named_modules()}
    weights = {name: weight.clone() for name, weight in parser.state_dict().items()}
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()
    assert len(stage.attacked()) > SENTENCES
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert np.array_equal(np.random.get_state()[1], numpy_state)
    assert torch.is_grad_enabled()
    assert {name: module.training for name, module in parser.named_modules()} == modes
    for name, weight in parser.named_parameters():
        assert torch.equal(weight, weights[name])
        assert (weight.grad is not None) == (name == "rel_attn.weight")
    assert (parser.rel_attn.weight.grad == 1).all()


class Watch(pl.Callback):
    """After the adversary, in every batch: its size, and what the attack left of the generator."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.logged: list[dict[str, float]] = []

    def on_train_batch_start(self, trainer: Any, parser: Any, batch: Batch, *_: Any) -> None:
        self.sizes.append(len(batch))

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        self.logged.append({name: float(v) for name, v in trainer.logged_metrics.items()})


def run(
    data: TreebankDataModule, precision: str | None = None, **settings: Any
) -> tuple[BiaffineParser, Watch]:
    parser, watch = trained_parser().train(), Watch()
    adversary = SubstitutionAdversary(lexicon_attack(CHEAP), seed=1, **settings)
    data.batches = Batches(words=200)
    trainer(adversary, watch, max_epochs=2, precision=precision).fit(parser, datamodule=data)
    return parser, watch


def test_training_with_it_repeats_to_the_bit(data):
    (first, watch), (second, _) = run(data, fraction=0.5), run(data, fraction=0.5)
    for name, weight in first.state_dict().items():
        assert torch.equal(weight, second.state_dict()[name])
    assert sum(watch.sizes) > 2.5 * SENTENCES
    last = watch.logged[-1]
    assert last["substitution/seconds"] > 0
    assert 1 < last["substitution/queries"] <= 12
    other, _ = run(data, fraction=0.3)
    assert any(not torch.equal(w, first.state_dict()[n]) for n, w in other.state_dict().items())


def test_every_weight_learns_under_mixed_precision(data):
    # An attack without gradients must leave no weights behind in autocast's cache.
    parser, _ = run(data, precision="bf16-mixed", fraction=1.0)
    before = trained_parser().state_dict()
    for name, weight in parser.named_parameters():
        assert not torch.equal(weight, before[name]), name


@pytest.mark.parametrize(
    ("setting", "value", "found"),
    [
        ("fraction", 0.0, "must be in (0, 1], got 0.0"),
        ("fraction", 1.5, "must be in (0, 1], got 1.5"),
        ("budget", 0, "must be >= 1, got 0"),
        ("every", 0, "must be >= 1, got 0"),
        ("seed", -1, "must be >= 0 and below 2**64, got -1"),
        ("mode", "add", "must be one of append, replace, got 'add'"),
    ],
)
def test_settings_out_of_range(setting, value, found):
    with pytest.raises(InputError) as error:
        SubstitutionAdversary(lexicon_attack(), **{setting: value})
    assert error.value.key == f"substitution adversary: {setting}"
    assert error.value.found == found
