"""A GPU computes what a CPU does, in float64, in every model, attack and defense."""

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from test_pair_classifiers import EXAMPLES as PAIRS
from test_pair_classifiers import MADE
from tiny_semantic_parsers import EXAMPLES as FORMS
from tiny_semantic_parsers import KINDS, make

from robustparse.attacks import (
    AttachmentDrop,
    Attack,
    AttackableTags,
    Lexicon,
    Zheng2020WhiteBox,
)
from robustparse.data.datamodule import Batches
from robustparse.data.sample.treebank import treebank_lexicon
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.defenses import FGM, PGD, FreeLB, SubstitutionAdversary
from robustparse.models.base import Model
from robustparse.models.dependency.parser import DependencyParser
from robustparse.models.encoders.transformer import TransformerEncoder
from robustparse.models.victim import ModelVictim
from robustparse.types import Example
from sample_runs import lexicon_attack, sentences, trained_parser, trained_pointer, trainer
from sample_texts import review_attack, texts, trained_classifier
from tiny_models import examples, random_parser, save_bert

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a GPU, and ROBUSTPARSE_GPU=1"
)
GPU = "cuda"
SOME = sentences(12, "dev")
CLOSE = {"rtol": 1e-9, "atol": 1e-10}  # other orders of addition, in float64

Read = tuple[Model, Sequence[Example]]
MODELS: dict[str, Callable[[Path], Read]] = {
    "biaffine": lambda _: (trained_parser(), SOME),
    "biaffine, characters": lambda _: (trained_parser(characters=True), SOME),
    "biaffine, Transformer": lambda bert: (
        random_parser(TransformerEncoder(str(bert), mix=2)),
        examples(),
    ),
    "stack-pointer": lambda _: (trained_pointer(), SOME),
    "WordCNN": lambda _: (trained_classifier(), texts(12, "dev")),
    **{name: lambda bert, n=name: (MADE[n](bert).double().eval(), PAIRS) for name in MADE},
    **{name: lambda _, n=name: (make(n), FORMS) for name in KINDS},
}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(params=MODELS)
def read(request: pytest.FixtureRequest, bert: Path) -> Read:
    return MODELS[request.param](bert)


def computed(model: Model, some: Sequence[Example], device: str) -> dict[str, torch.Tensor]:
    """The loss of each text, and the gradients of their sum to every weight and a delta."""
    model = copy.deepcopy(model).to(device)
    batch = model.encode(some).batch(range(len(some)), 1.0).to(model.device)
    delta = model.zero_delta(batch).requires_grad_()
    with torch.backends.cudnn.flags(enabled=False):  # its LSTM has no backward pass in evaluation
        losses = model.loss(model(batch, delta), batch)
        losses.sum().backward()
    found = {"losses": losses.detach(), "delta": delta.grad}
    found |= {name: weight.grad for name, weight in model.named_parameters()}
    return {name: value.cpu() for name, value in found.items() if value is not None}


def test_losses_and_gradients(read: Read) -> None:
    expected, found = (computed(*read, device) for device in ("cpu", GPU))
    assert len(expected) > 4
    torch.testing.assert_close(found, expected, **CLOSE)


def answered(members: Sequence[Model], some: Sequence[Example], device: str) -> list[Any]:
    """What models answer together."""
    members = [copy.deepcopy(one).to(device) for one in members]
    first = members[0]
    batches = [one.encode(some).batch(range(len(some)), 1.0).to(first.device) for one in members]
    with torch.no_grad():
        states = [one(batch) for one, batch in zip(members, batches, strict=True)]
        found = first.decode(members, states, batches)
    return first.answers(found, batches[0].lengths.tolist())


def test_answers_of_one_model_and_of_several(read: Read) -> None:
    model, some = read
    other = copy.deepcopy(model)
    with torch.no_grad():
        for weight in other.parameters():
            weight.mul_(1.1)
    for members in ([model], [model, other]):
        assert answered(members, some, GPU) == answered(members, some, "cpu")
    asked = [example.sentence for example in some]
    expected = model.predict(asked)
    assert copy.deepcopy(model).to(GPU).predict(asked) == expected


def white_box(seed: int) -> Attack:
    words, search = Lexicon(treebank_lexicon(0)), Zheng2020WhiteBox(gamma=0.3)
    return Attack(words, search, [AttackableTags()], goal=AttachmentDrop(), seed=seed)


ATTACKED: dict[str, tuple[Callable[[], Model], Callable[..., Attack], list[Example]]] = {
    "biaffine": (trained_parser, lexicon_attack, SOME),
    "biaffine, white box": (trained_parser, white_box, SOME),
    "stack-pointer": (trained_pointer, lexicon_attack, SOME),
    "stack-pointer, white box": (trained_pointer, white_box, SOME),
    "WordCNN": (trained_classifier, review_attack, texts(12, "dev")),
}


@pytest.mark.parametrize(("made", "attack", "data"), ATTACKED.values(), ids=ATTACKED)
def test_attacks(
    made: Callable[[], Model], attack: Callable[..., Attack], data: list[Example]
) -> None:
    """The same edits after the same queries."""
    expected, found = (
        list(attack(seed=3).run(data, ModelVictim([made().to(device)]))) for device in ("cpu", GPU)
    )
    assert any(result.words != result.example.sentence.words for result in expected)
    assert found == expected


DEFENSES: dict[str, Callable[[], Any]] = {
    "FGM": lambda: FGM(epsilon=1.0),
    "PGD": lambda: PGD(epsilon=1.0, step_size=0.5, random_start=True, seed=7),
    "FreeLB": lambda: FreeLB(epsilon=1.0, step_size=0.5, steps=2, seed=7),
    "substitution": lambda: SubstitutionAdversary(lexicon_attack(), fraction=0.5, budget=12),
}


@pytest.mark.parametrize("made", [trained_parser, trained_pointer])
@pytest.mark.parametrize("name", DEFENSES)
def test_training_with_a_defense(name: str, made: Callable[[], DependencyParser]) -> None:
    """Four steps end with the weights that the CPU ends with; their seeds draw on the CPU."""

    def fitted(accelerator: str) -> dict[str, torch.Tensor]:
        model = made()
        for module in model.modules():
            if hasattr(module, "dropout"):
                module.dropout = 0.0
        data = TreebankDataModule("sample", batches=Batches(words=300), seed=1)
        steps = {"accelerator": accelerator, "max_steps": 4, "max_epochs": -1}
        trainer(DEFENSES[name](), precision="64-true", **steps).fit(model, datamodule=data)
        return {key: value.cpu() for key, value in model.state_dict().items()}

    expected, found = fitted("cpu"), fitted("gpu")
    assert not all(torch.equal(expected[key], made().state_dict()[key]) for key in expected)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)
