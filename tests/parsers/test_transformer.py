"""A pretrained encoder against transformers run plainly, one sentence at a time."""

import json
import shutil
from functools import partial

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModel,
    AutoTokenizer,
    BartConfig,
    BartModel,
    BertConfig,
    BertModel,
    BertTokenizer,
    ByT5Tokenizer,
    CamembertConfig,
    CamembertModel,
    CanineConfig,
    CanineModel,
    CanineTokenizer,
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
)

from robustparse.errors import InputError
from robustparse.parsers.biaffine import BiaffineParser
from robustparse.parsers.checkpoint import instantiate, specification
from robustparse.parsers.transformer import TransformerEncoder
from robustparse.types import Sentence
from tiny_models import NO_PIECE, PIECES, TEXTS, examples, save_bert


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("bert"))


def made(folder, vocabulary, **options) -> TransformerEncoder:
    encoder = TransformerEncoder(str(folder), **{"mix": 2, **options})
    encoder.build(vocabulary)
    return encoder.double().eval()


def read(encoder, *texts: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Vectors ``(batch, 1 + length, out_dim)``, rows and lengths."""
    split = [text.split(" ") for text in texts]
    words = torch.zeros(len(split), max(map(len, split)), dtype=torch.int64)
    for at, one in enumerate(split):
        words[at, : len(one)] = torch.from_numpy(encoder.intern(one).astype(np.int64))
    lengths = torch.tensor([len(one) for one in split])
    with torch.no_grad():
        return encoder(encoder.embed(words, words), words, lengths), words, lengths


def plainly(folder, text: str, pooling: str, mix: int) -> torch.Tensor:
    """ROOT's and each word's vector by transformers' own alignment; uniform mix of layers."""
    network = AutoModel.from_pretrained(folder).double().eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    words = [word if word != NO_PIECE else "[UNK]" for word in text.split(" ")]
    encoded = tokenizer(words, is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        hidden = network(**encoded, output_hidden_states=True).hidden_states
    states = torch.stack(hidden[-mix:]).mean(0)[0]
    vectors = [states[0]]
    for word in range(len(words)):
        pieces = states[[place == word for place in encoded.word_ids()]]
        vectors.append({"first": pieces[0], "last": pieces[-1], "mean": pieces.mean(0)}[pooling])
    return torch.stack(vectors)


@pytest.mark.parametrize(("pooling", "mix"), [("mean", 1), ("first", 1), ("last", 1), ("mean", 2)])
def test_words_get_what_transformers_says(folder, vocabulary, pooling, mix):
    encoder = made(folder, vocabulary, pooling=pooling, mix=mix)
    states, _, lengths = read(encoder, *TEXTS)
    assert encoder.out_dim == states.shape[2] == 16
    for text, row, length in zip(TEXTS, states, lengths.tolist(), strict=True):
        expected = plainly(folder, text, pooling, mix)
        torch.testing.assert_close(row[: length + 1], expected, rtol=0, atol=1e-10)


def test_a_word_without_a_piece_is_the_unknown_piece(folder, vocabulary):
    encoder = made(folder, vocabulary)
    assert encoder.table.count(encoder.intern([NO_PIECE, "\x00", "sawing", "zebra"])) == 5
    states, _, _ = read(encoder, NO_PIECE, "zebra")
    torch.testing.assert_close(states[0], states[1], rtol=0, atol=1e-12)


def test_words_with_an_unknown_piece_are_not_embedded(folder, vocabulary):
    encoder = made(folder, vocabulary)
    words = [NO_PIECE, "sawing", "zebra", "dog"]
    assert encoder.embedded(words).tolist() == [False, True, False, True]


def test_padding_and_truncation_of_a_tokenizer_file_are_switched_off(folder, tmp_path, vocabulary):
    padded = tmp_path / "padded"
    shutil.copytree(folder, padded)
    content = json.loads((padded / "tokenizer.json").read_text())
    content["padding"] = {
        "strategy": {"Fixed": 12},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[PAD]",
    }
    content["truncation"] = {
        "direction": "Right",
        "max_length": 1,
        "strategy": "LongestFirst",
        "stride": 0,
    }
    (padded / "tokenizer.json").write_text(json.dumps(content))
    words = ["cats", NO_PIECE, "sawing", "dog", "zebra"]
    plain, other = made(folder, vocabulary), made(padded, vocabulary)
    for expected, found in zip(
        plain.table.describe(words), other.table.describe(words), strict=True
    ):
        assert found.tolist() == expected.tolist()
    # Those of a checkpoint written before are mended as well.
    stored = {**other.stored, "tokenizer": json.dumps(content)}
    again = TransformerEncoder(str(padded), mix=2, stored=stored)
    again.build(vocabulary)
    assert again.table.count(again.intern(words)) == 7


def test_a_pathological_word_is_cut(folder, vocabulary):
    encoder = made(folder, vocabulary)
    assert encoder.table.count(encoder.intern(["cat" + "s" * 90])) == 16


LONG = " ".join(["dog", "cats", "sawing"] * 6)  # 30 pieces; the network takes 22


def test_a_sentence_over_the_limit_is_an_error_that_says_what_to_do(folder, vocabulary):
    parser = BiaffineParser(TransformerEncoder(str(folder), mix=1), vocabulary=vocabulary)
    with pytest.raises(InputError, match=r"sentence 2: 30 word pieces.*limit of 22.*split or"):
        parser.number(examples(("dog", LONG)))
    with pytest.raises(InputError, match="sentence 1: 30 word pieces"):
        parser.parse([LONG.split()])


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


def test_offsets_stand_on_the_pieces_of_words(folder, vocabulary):
    encoder = made(folder, vocabulary)
    _, words, lengths = read(encoder, "the cats saw", "dog")
    mask = encoder.offset_mask(words, lengths)
    # [CLS] the cat ##s saw [SEP] against [CLS] dog [SEP] and padding
    assert mask.tolist() == [[False, True, True, True, True, False], [False, True] + [False] * 4]


def test_an_lstm_may_read_the_words(folder, vocabulary):
    encoder = made(folder, vocabulary, lstm_layers=1, hidden=5)
    states, _, _ = read(encoder, *TEXTS)
    assert encoder.out_dim == states.shape[2] == 10
    alone, _, _ = read(encoder, TEXTS[0])
    torch.testing.assert_close(states[0, :6], alone[0], rtol=0, atol=1e-12)


def test_frozen_networks_learn_nothing_and_drop_nothing(folder, vocabulary):
    frozen = BiaffineParser(
        TransformerEncoder(str(folder), mix=1, tune=False), vocabulary=vocabulary
    )
    assert not frozen.pretrained_parameters()
    assert not any(p.requires_grad for p in frozen.encoder.network.parameters())
    frozen.train()
    assert not any(module.training for module in frozen.encoder.network.modules())
    tuned = BiaffineParser(TransformerEncoder(str(folder), mix=1), vocabulary=vocabulary).train()
    assert all(module.training for module in tuned.encoder.network.modules())
    assert len(tuned.pretrained_parameters()) == len(list(tuned.encoder.network.parameters()))


def test_every_tuned_parameter_gets_a_gradient(folder, vocabulary):
    parser = BiaffineParser(TransformerEncoder(str(folder), mix=2), vocabulary=vocabulary).train()
    batch = parser.number(examples()).batch(range(len(TEXTS)), 1.0)
    parser.loss(batch)[0].sum().backward()
    for name, parameter in parser.named_parameters():
        assert parameter.grad is not None, name


def test_a_checkpoint_needs_the_folder_no_more(tmp_path, vocabulary):
    folder = save_bert(tmp_path / "bert", dtype=torch.float16)
    parser = BiaffineParser(TransformerEncoder(str(folder), mix=2), vocabulary=vocabulary).eval()
    assert {p.dtype for p in parser.parameters()} == {torch.float32}
    held = json.loads(json.dumps(specification(parser)))
    shutil.rmtree(folder)
    again = instantiate(held, vocabulary=vocabulary).eval()
    again.load_state_dict(parser.state_dict())
    sentences = [example.sentence for example in examples()]
    assert again.parse(sentences) == parser.parse(sentences)


def test_wrong_models_are_said(tmp_path, vocabulary):
    def build(path, **options):
        TransformerEncoder(str(path), **options).build(vocabulary)

    with pytest.raises(InputError, match="neither a folder nor a model in the local cache"):
        build(tmp_path / "nowhere")
    folder = save_bert(tmp_path / "bert")
    with pytest.raises(InputError, match=r"mix is 3, and .* has 2 layers"):
        build(folder, mix=3)
    shutil.copytree(folder, tmp_path / "mute")
    for path in (tmp_path / "mute").glob("*token*"):
        path.unlink()
    with pytest.raises(InputError, match=r"mute: .*tokenizer"):
        build(tmp_path / "mute", mix=1)
    weights = load_file(folder / "model.safetensors")
    weights["embeddings.word_embeddings.weight"] = weights["embeddings.word_embeddings.weight"][:6]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": 6}))
    with pytest.raises(InputError, match=f"tokenizer has {len(PIECES)} pieces, its weights only 6"):
        build(folder, mix=1)


def test_models_that_are_no_encoder_of_pieces_are_refused_in_one_error(tmp_path, vocabulary):
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    tiny = {**sizes, "intermediate_size": 16}
    both = BartConfig(
        vocab_size=len(PIECES),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=24,
    )
    BartModel(both).save_pretrained(tmp_path / "bart")
    BertTokenizer(vocab={p: i for i, p in enumerate(PIECES)}).save_pretrained(tmp_path / "bart")
    BertModel(BertConfig(vocab_size=384, **tiny)).save_pretrained(tmp_path / "bytes")
    ByT5Tokenizer().save_pretrained(tmp_path / "bytes")
    CanineModel(CanineConfig(**tiny, num_hash_buckets=64)).save_pretrained(tmp_path / "canine")
    CanineTokenizer().save_pretrained(tmp_path / "canine")
    for name, message in {
        "bart": "it is an encoder with a decoder; expected an encoder such as BERT",
        "bytes": "ByT5Tokenizer is a tokenizer without a fast version",
        "canine": r"its config\.json has no vocab_size",
    }.items():
        with pytest.raises(InputError, match=rf"^pretrained encoder .*{name}: {message}"):
            TransformerEncoder(str(tmp_path / name), mix=1).build(vocabulary)


@pytest.mark.parametrize("spare", [1024, 1025])
def test_a_tokenizer_far_smaller_than_the_table_has_another_vocabulary(tmp_path, vocabulary, spare):
    rows = len(PIECES) + spare
    folder = save_bert(tmp_path / "bert", layers=1, rows=rows)
    encoder = TransformerEncoder(str(folder), mix=1)
    if spare == 1024:  # as tables are padded to round sizes
        encoder.build(vocabulary)
        assert len(encoder.network.get_input_embeddings().weight) == rows
        return
    with pytest.raises(InputError, match=f"another vocabulary: {len(PIECES)} pieces for.* {rows}"):
        encoder.build(vocabulary)


def test_a_real_model_is_accepted(shared, vocabulary):
    encoder = TransformerEncoder(str(shared / "models" / "minilm-mlm"), mix=1)
    encoder.build(vocabulary)
    assert len(encoder.network.get_input_embeddings().weight) == 30522


@pytest.mark.parametrize("wrong", [{"mix": 0}, {"lstm_layers": -1}, {"dropout": 1.0}])
def test_impossible_sizes_are_refused(wrong):
    with pytest.raises(InputError, match="mix and hidden must be >= 1"):
        TransformerEncoder("anything", **wrong)


@pytest.mark.parametrize(
    ("setting", "allowed"),
    [("pooling", "first, mean, last"), ("long_sentences", "error, split, truncate")],
)
def test_unknown_choices_are_refused(setting, allowed):
    said = f"TransformerEncoder: {setting} must be one of {allowed}, got 'all'"
    with pytest.raises(InputError, match=said):
        TransformerEncoder("anything", **{setting: "all"})
