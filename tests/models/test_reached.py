"""Networks with parameters that no word's vector depends on."""

from pathlib import Path

import pytest
from transformers import (
    BertTokenizer,
    LongformerConfig,
    LongformerModel,
    PreTrainedModel,
    RoFormerConfig,
    RoFormerModel,
    XLNetConfig,
    XLNetModel,
)

from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.transformer import TransformerEncoder
from tiny_models import PIECES, TEXTS, examples, save_bert

SIZES = {"vocab_size": len(PIECES), "hidden_size": 16, "num_hidden_layers": 2}
HEADS = {"num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 24}
XLNET = {"vocab_size": len(PIECES), "d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 16}
# The network, and what of it is not trained.
MADE = {
    "Longformer": (
        lambda: LongformerModel(LongformerConfig(**SIZES, **HEADS, attention_window=4)),
        ("_global.",),
    ),
    "RoFormer": (lambda: RoFormerModel(RoFormerConfig(**SIZES, **HEADS)), ("embed_positions",)),
    "XLNet": (lambda: XLNetModel(XLNetConfig(**XLNET)), ("mask_emb", "r_s_bias", "seg_embed")),
}


def save(folder: Path, network: PreTrainedModel) -> Path:
    network.save_pretrained(folder)
    BertTokenizer(vocab={piece: id_ for id_, piece in enumerate(PIECES)}).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("mix", [1, 2])
@pytest.mark.parametrize("name", MADE)
def test_what_is_trained_is_what_gets_a_gradient(name, mix, tmp_path, vocabulary):
    make, apart = MADE[name]
    encoder = TransformerEncoder(str(save(tmp_path, make())), mix=mix)
    parser = BiaffineParser(encoder, vocabulary=vocabulary).train()
    batch = parser.encode(examples()).batch(range(len(TEXTS)), 1.0)
    parser.loss(parser(batch), batch).sum().backward()
    for parameter_name, parameter in encoder.network.named_parameters():
        unreached = any(part in parameter_name for part in apart)
        assert parameter.requires_grad == (not unreached), parameter_name
        assert (parameter.grad is None) == unreached, parameter_name


def test_a_network_that_is_not_tuned_stays_as_it_is(tmp_path, vocabulary):
    encoder = TransformerEncoder(str(save_bert(tmp_path)), mix=1, tune=False)
    encoder.build(vocabulary)
    assert not any(parameter.requires_grad for parameter in encoder.network.parameters())
    assert not encoder.network.training
