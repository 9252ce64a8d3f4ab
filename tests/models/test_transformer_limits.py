"""Sentences longer than a pretrained encoder reads."""

from functools import partial

import pytest
import torch
from transformer_vectors import made, plainly, read
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizer,
    CamembertConfig,
    CamembertModel,
    Data2VecTextConfig,
    Data2VecTextModel,
    LongformerConfig,
    LongformerModel,
    MPNetConfig,
    MPNetModel,
    RobertaConfig,
    RobertaModel,
    XLMRobertaConfig,
    XLMRobertaModel,
    XLNetConfig,
    XLNetModel,
)

from robustparse.errors import InputError
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.transformer import TransformerEncoder
from robustparse.types import Sentence
from tiny_models import PIECES, examples, save_bert

LONG = " ".join(["dog", "cats", "sawing"] * 6)  # 30 pieces; the network takes 22


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("bert"))


def test_a_sentence_over_the_limit_is_an_error_that_says_what_to_do(folder, vocabulary):
    parser = BiaffineParser(TransformerEncoder(str(folder), mix=1), vocabulary=vocabulary)
    with pytest.raises(InputError, match=r"sentence 2: 30 word pieces.*limit of 22.*split or"):
        parser.encode(examples(("dog", LONG)))
    with pytest.raises(InputError, match="sentence 1: 30 word pieces"):
        parser.predict([LONG.split()])


# Network, configuration, how many of 27 positions can be read.
RELATIVES = [
    (BertModel, BertConfig, 27),
    (RobertaModel, RobertaConfig, 25),
    (XLMRobertaModel, XLMRobertaConfig, 25),
    (CamembertModel, CamembertConfig, 25),
    (Data2VecTextModel, Data2VecTextConfig, 25),
    (MPNetModel, MPNetConfig, 25),
    (LongformerModel, partial(LongformerConfig, attention_window=4), 24),
]


@pytest.mark.parametrize(
    ("network", "config", "positions"), RELATIVES, ids=lambda one: getattr(one, "__name__", None)
)
def test_the_limit_is_what_the_network_can_read(network, config, positions, tmp_path, vocabulary):
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    rows = {"vocab_size": len(PIECES), "max_position_embeddings": 27, "pad_token_id": 1}
    with torch.random.fork_rng():
        network(config(**sizes, **rows, intermediate_size=16)).save_pretrained(tmp_path)
    pieces = {piece: id_ for id_, piece in enumerate(PIECES)}
    BertTokenizer(vocab=pieces).save_pretrained(tmp_path)
    encoder = made(tmp_path, vocabulary, mix=1)
    assert encoder.limit == positions - 2
    longest = " ".join(["dog"] * encoder.limit)
    states, _, _ = read(encoder, longest)
    assert states.shape == (1, 1 + encoder.limit, 16)
    encoder.check(Sentence(tuple(longest.split(" "))))
    with pytest.raises(InputError, match=f"over the encoder's limit of {encoder.limit}"):
        encoder.check(Sentence(("dog", *longest.split(" "))))
    with pytest.raises((IndexError, RuntimeError)), torch.no_grad():  # and no more than that
        encoder.network(inputs_embeds=torch.zeros(1, positions + 1, 16, dtype=torch.float64))


def test_a_network_that_names_no_limit_reads_as_many_as_bert(tmp_path, vocabulary):
    config = XLNetConfig(vocab_size=len(PIECES), d_model=16, n_layer=1, n_head=2, d_inner=16)
    assert config.max_position_embeddings == -1
    with torch.random.fork_rng():
        XLNetModel(config).save_pretrained(tmp_path)
    pieces = {piece: id_ for id_, piece in enumerate(PIECES)}
    BertTokenizer(vocab=pieces).save_pretrained(tmp_path)
    encoder = made(tmp_path, vocabulary, mix=1)
    assert encoder.limit == 510
    states, _, _ = read(encoder, "the dog saw cats", "cats")
    alone, _, _ = read(encoder, "cats")
    torch.testing.assert_close(states[1, :2], alone[0], rtol=0, atol=1e-10)


def test_split_reads_windows_each_on_its_own(folder, vocabulary):
    encoder = made(folder, vocabulary, mix=2, long_sentences="split")
    words = LONG.split()
    # Pieces 1 2 2 1 2 2 ...: the first 13 words have 21 of them, the 14th would make 23.
    first, second = " ".join(words[:13]), " ".join(words[13:])
    states, _, _ = read(encoder, "the dog", LONG)
    parts = [plainly(folder, part, "mean", 2) for part in (first, second)]
    expected = torch.cat([parts[0], parts[1][1:]])
    torch.testing.assert_close(states[1], expected, rtol=0, atol=1e-10)
    torch.testing.assert_close(states[0, :3], plainly(folder, "the dog", "mean", 2))
    encoder.check(Sentence(tuple(words)))


def test_truncate_leaves_zeros_behind_the_limit(folder, vocabulary):
    encoder = made(folder, vocabulary, mix=1, long_sentences="truncate")
    states, _, _ = read(encoder, LONG)
    expected = plainly(folder, " ".join(LONG.split()[:13]), "mean", 1)
    torch.testing.assert_close(states[0, :14], expected, rtol=0, atol=1e-10)
    assert not states[0, 14:].any()
    encoder.check(Sentence(tuple(LONG.split())))
