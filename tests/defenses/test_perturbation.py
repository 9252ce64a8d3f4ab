"""Online surface noise: what stands in a batch; what it shares is tested with substitution."""

from collections.abc import Iterator

import pytest
import torch
from substitution_stage import SENTENCES, Stage, sample_data, tensors_of

import robustparse as rp
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.defenses import PerturbationAdversary, SubstitutionAdversary
from robustparse.errors import InputError
from robustparse.evaluation.perturbed import perturbed
from robustparse.perturbations import Casing, Contractions, FinalStop, Perturbation, Typos
from robustparse.randomness import mixed_seed
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.types import Example
from sample_runs import lexicon_attack, trained_parser, trainer

OPERATIONS: list[Perturbation] = [Typos(), FinalStop(), Casing(to="lower")]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TreebankDataModule:
    return sample_data(tmp_path_factory.mktemp("sample"))


def copies(data: TreebankDataModule, epoch: int = 0, seed: int = 5) -> Iterator[Example]:
    """Of every sentence, made without an adversary."""
    made = perturbed(DEPENDENCY, OPERATIONS, data.train_examples, mixed_seed(seed, epoch, 0))
    return (copy.example for copy in made)


@pytest.mark.parametrize("mode", ["append", "replace"])
def test_a_batch_holds_the_copies_as_if_they_had_been_read(data, mode):
    """Shorter ones too, with the gold answers that are left of them."""
    stage = Stage(data, OPERATIONS, fraction=1.0, seed=5, mode=mode)
    batch = stage.attacked(epoch=3)
    expected = list(copies(data, epoch=3))
    lengths = [len(copy.sentence) for copy in expected]
    assert len(expected) == SENTENCES
    assert sum(n < len(data.train_examples[i].sentence) for i, n in enumerate(lengths)) > 5
    read = stage.parser.encode(expected).batch(range(SENTENCES), 100.0)
    first = SENTENCES if mode == "append" else 0
    assert len(batch) == first + SENTENCES
    assert float(batch.weight) == (200.0 if mode == "append" else 100.0)
    for name, column in tensors_of(read).items():
        if column.dim():
            found = tensors_of(batch)[name][first:]
            assert torch.equal(
                found[..., : column.shape[1]] if column.dim() == 2 else found, column
            )


def test_what_no_operation_changes_has_no_copy_and_is_told(data, caplog):
    stage = Stage(data, [Contractions()], fraction=1.0)
    assert len(stage.attacked()) == SENTENCES
    for epoch in range(1, 7):  # the fifth is the 200th sentence's
        stage.attacked(epoch=epoch)
    (told,) = [record.message for record in caplog.records]
    assert "only 0 of the first 200 sentences drawn changed" in told
    assert "Contractions" in told


def test_two_that_replace_are_refused_also_of_two_kinds(data):
    noise = PerturbationAdversary(OPERATIONS, mode="replace")
    attack = SubstitutionAdversary(lexicon_attack(), mode="replace")
    with pytest.raises(InputError) as error:
        trainer(noise, attack).fit(trained_parser(), datamodule=data)
    assert error.value.key == "trainer.callbacks"


@pytest.mark.parametrize(
    "operations", [[], ["typos"], "typos", Typos()], ids=["none", "names", "name", "one"]
)
def test_what_is_no_list_of_operations_is_refused(operations, tmp_path):
    with pytest.raises(InputError) as error:
        PerturbationAdversary(operations)
    assert error.value.key == "perturbation adversary: operations"
    with pytest.raises(InputError) as error:
        rp.augment(tmp_path / "copies.conllu", "sample", operations)
    assert error.value.key == "--operations"
