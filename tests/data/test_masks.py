"""Which modules draw dropout masks, by the names under which libraries keep the probability."""

import pytest
import torch
from torch import nn
from transformers import BertConfig, BertModel

from robustparse.data.datamodule import drops_out


def test_a_parser_draws_masks_unless_its_dropout_is_zero(make_parser):
    assert drops_out(make_parser().train())
    assert not drops_out(make_parser(dropout=0.0).train())
    partly = make_parser(dropout=0.0).train()
    partly.encoder.lstm.dropout = 0.1
    assert drops_out(partly)


@pytest.mark.parametrize(
    "module",
    [
        nn.Dropout(0.1),
        nn.AlphaDropout(0.1),
        nn.LSTM(2, 2, 2, dropout=0.1),
        nn.MultiheadAttention(2, 1, dropout=0.1),
    ],
)
def test_modules_of_torch(module):
    assert drops_out(nn.Sequential(module))
    assert not drops_out(nn.Sequential(module).eval())


@pytest.mark.parametrize(
    "module", [nn.Dropout(0.0), nn.Linear(2, 2), nn.LSTM(2, 2, 2), nn.PairwiseDistance(p=2.0)]
)
def test_modules_without_masks(module):
    assert not drops_out(nn.Sequential(module))


@pytest.mark.parametrize("name", ["hidden_dropout_prob", "attention_probs_dropout_prob"])
def test_a_pretrained_network(name):
    sizes = {"hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1, "vocab_size": 5}
    none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}

    def network(**dropout: float) -> BertModel:
        with torch.random.fork_rng():
            return BertModel(BertConfig(**sizes, **{**none, **dropout})).train()

    assert not drops_out(network())
    assert drops_out(network(**{name: 0.1}))
    assert not drops_out(network(**{name: 0.1}).eval())
