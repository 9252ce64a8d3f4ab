"""A pretrained encoder against transformers run plainly, one sentence at a time."""

import json
import shutil

import pytest
import torch
from transformer_vectors import made, plainly, read

from robustparse.models.checkpoint import instantiate, specification
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.transformer import TransformerEncoder
from tiny_models import NO_PIECE, PIECES, TEXTS, examples, save_bert


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("bert"))


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


def test_half_a_character_is_the_replacement_character(folder, vocabulary):
    # As Python reads them from JSON, or from bytes with surrogateescape.
    words = ["dog", "dog\ud83d", "\udcff", "\ud83d\ude00", "the\ude00cat"]
    whole = ["dog", "dog\ufffd", "\ufffd", "\U0001f600", "the\ufffdcat"]
    table = made(folder, vocabulary).table
    assert [part.tolist() for part in table.describe(words)] == [
        part.tolist() for part in table.describe(whole)
    ]
    parser = BiaffineParser(TransformerEncoder(str(folder), mix=1), vocabulary=vocabulary)
    assert len(parser.predict([words])[0].heads) == len(words)


def test_bracket_names_of_the_penn_treebank_are_brackets(tmp_path, vocabulary):
    names = ["-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-"]
    brackets = list("()[]{}")
    # Without the last one, whose name is then as unknown as itself.
    pieces = [*PIECES, *brackets[:-1]]
    encoder = made(save_bert(tmp_path / "bert", pieces=pieces), vocabulary)
    ids, counts = encoder.table.describe(names)
    first = len(PIECES)
    assert ids[:, 0].tolist() == [first, first + 1, first + 2, first + 3, first + 4, 1]
    assert counts[:, 0].tolist() == [1] * 6
    for found, plain in zip((ids, counts), encoder.table.describe(brackets), strict=True):
        assert found.tolist() == plain.tolist()
    assert encoder.embedded(names).tolist() == [True] * 5 + [False]


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


def test_offsets_stand_on_the_pieces_of_words(folder, vocabulary):
    encoder = made(folder, vocabulary)
    _, words, lengths = read(encoder, "the cats saw", "dog")
    mask = encoder.delta_mask(words, lengths)
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
    assert not frozen.encoder.pretrained_parameters()
    assert not any(p.requires_grad for p in frozen.encoder.network.parameters())
    frozen.train()
    assert not any(module.training for module in frozen.encoder.network.modules())
    tuned = BiaffineParser(TransformerEncoder(str(folder), mix=1), vocabulary=vocabulary).train()
    assert all(module.training for module in tuned.encoder.network.modules())
    assert len(tuned.encoder.pretrained_parameters()) == len(
        list(tuned.encoder.network.parameters())
    )


def test_every_tuned_parameter_gets_a_gradient(folder, vocabulary):
    parser = BiaffineParser(TransformerEncoder(str(folder), mix=2), vocabulary=vocabulary).train()
    batch = parser.encode(examples()).batch(range(len(TEXTS)), 1.0)
    parser.loss(parser(batch), batch).sum().backward()
    for name, parameter in parser.named_parameters():
        assert parameter.grad is not None, name


def test_a_checkpoint_does_not_say_where_the_home_folder_is(tmp_path, vocabulary, monkeypatch):
    save_bert(tmp_path / "bert")
    monkeypatch.setenv("HOME", str(tmp_path))
    parser = BiaffineParser(TransformerEncoder("~/bert", mix=1), vocabulary=vocabulary)
    assert str(tmp_path) not in json.dumps(specification(parser))


def test_a_checkpoint_needs_the_folder_no_more(tmp_path, vocabulary):
    folder = save_bert(tmp_path / "bert", dtype=torch.float16)
    parser = BiaffineParser(TransformerEncoder(str(folder), mix=2), vocabulary=vocabulary).eval()
    assert {p.dtype for p in parser.parameters()} == {torch.float32}
    held = json.loads(json.dumps(specification(parser)))
    shutil.rmtree(folder)
    again = instantiate(held, vocabulary=vocabulary).eval()
    again.load_state_dict(parser.state_dict())
    sentences = [example.sentence for example in examples()]
    assert again.predict(sentences) == parser.predict(sentences)
