"""Which parameters learn at which rate."""

import pytest

from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.transformer import TransformerEncoder
from robustparse.models.optimization import Optimization
from tiny_models import save_bert


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("bert"))


def rates(parser: BiaffineParser) -> dict[str, float]:
    """The peak rate of each parameter that an optimiser holds, each of them once."""
    names = {id(parameter): name for name, parameter in parser.named_parameters()}
    groups = parser.configure_optimizers()["optimizer"].param_groups
    held = [(names[id(p)], group["initial_lr"]) for group in groups for p in group["params"]]
    assert len(dict(held)) == len(held)
    return dict(held)


def trainable(parser: BiaffineParser) -> set[str]:
    return {name for name, parameter in parser.named_parameters() if parameter.requires_grad}


@pytest.mark.parametrize("mix", [1, 2])
@pytest.mark.parametrize("rate", [None, 3e-5])
def test_a_tuned_network_learns_at_its_own_rate(folder, vocabulary, mix, rate):
    parser = BiaffineParser(
        TransformerEncoder(str(folder), mix=mix, lstm_layers=1, hidden=5),
        optimization=Optimization(learning_rate=2e-3, pretrained_learning_rate=rate),
        vocabulary=vocabulary,
    )
    found = rates(parser)
    assert set(found) == trainable(parser)
    network = {name for name in found if name.startswith("encoder.network.")}
    assert len(network) == len(list(parser.encoder.network.parameters()))
    assert {found[name] for name in network} == {2e-3 if rate is None else rate}
    assert {found[name] for name in found.keys() - network} == {2e-3}
    # What stands on the network is none of it; weights of a single layer are not learned.
    assert ("encoder.mix_weights" in found) == (mix > 1)
    assert {"arc_attn.weight", "encoder.lstm.forwards.0.weight_ih_l0"} <= found.keys() - network


def test_a_frozen_network_is_in_no_group(folder, vocabulary):
    parser = BiaffineParser(
        TransformerEncoder(str(folder), mix=1, tune=False),
        optimization=Optimization(learning_rate=2e-3, pretrained_learning_rate=3e-5),
        vocabulary=vocabulary,
    )
    found = rates(parser)
    assert set(found) == trainable(parser)
    assert not any(name.startswith("encoder.network.") for name in found)
    assert set(found.values()) == {2e-3}


@pytest.mark.parametrize("tune", [False, True])
def test_vectors_learn_like_all_else_where_they_are_tuned(tmp_path, vocabulary, tune):
    (tmp_path / "vectors.txt").write_text("the 1 2 3\ncats 4 5 6\n")
    encoder = LSTMEncoder(
        word_dim=3,
        character_dim=0,
        hidden=4,
        layers=1,
        vectors=str(tmp_path / "vectors.txt"),
        tune_vectors=tune,
    )
    found = rates(BiaffineParser(encoder, vocabulary=vocabulary))
    assert ("encoder.static.weight" in found) == tune
    assert set(found.values()) == {Optimization().learning_rate}
