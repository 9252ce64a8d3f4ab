"""The LSTM encoder: what a word's embedding holds, and that neighbours in a batch play no part."""

import numpy as np
import pytest
import torch
from torch import nn

from robustparse.errors import InputError
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.word_table import PADDING, RESERVED, ROOT, UNKNOWN


@pytest.fixture
def encoder(vocabulary):
    made = LSTMEncoder(word_dim=5, character_dim=3, character_out=4, hidden=6, layers=2)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        made.build(vocabulary)
    return made.double().eval()


def rows(encoder, *sentences: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of the word table, padded, and lengths."""
    split = [sentence.split() for sentence in sentences]
    padded = torch.zeros(len(split), max(map(len, split)), dtype=torch.int64)
    for at, words in enumerate(split):
        padded[at, : len(words)] = torch.from_numpy(encoder.intern(words).astype(np.int64))
    return padded, torch.tensor([len(words) for words in split])


def test_shapes_and_sizes(encoder):
    words, lengths = rows(encoder, "the cats saw the dog", "Yes")
    embeddings = encoder.embed(words, words)
    assert embeddings.shape == (2, 6, encoder.dim)
    assert encoder.dim == 9
    states = encoder(embeddings, words, lengths)
    assert states.shape == (2, 6, encoder.out_dim)
    assert encoder.out_dim == 12


def test_embeddings_are_the_word_row_and_the_spelled_characters(encoder, vocabulary):
    text = ["The", "cats", "Oh!", "extraordinarilyverylong"]
    words, _ = rows(encoder, " ".join(text))
    embeddings = encoder.embed(words, words)[0]
    spelling = {c: RESERVED + i for i, c in enumerate(vocabulary.characters)}
    lstm = nn.LSTM(3, 2, batch_first=True, bidirectional=True).double()
    ours = encoder.character_lstm
    with torch.no_grad():
        for part, end in ((ours.forwards, ""), (ours.backwards, "_reverse")):
            for name, weight in part[0].named_parameters():
                getattr(lstm, name + end).copy_(weight)
    for at, word in enumerate([None, *text]):
        known = word is not None and word.lower() in vocabulary.words
        row = RESERVED + vocabulary.words.index(word.lower()) if known else UNKNOWN
        row = ROOT if word is None else row
        torch.testing.assert_close(embeddings[at, :5], encoder.words.weight[row])
        ids = [ROOT] if word is None else [spelling.get(c, UNKNOWN) for c in word[:20]]
        _, (last, _) = lstm(encoder.characters(torch.tensor([ids])))
        torch.testing.assert_close(embeddings[at, 5:], last.flatten(), rtol=0, atol=1e-12)


def test_words_seen_once_differ_only_by_their_characters(encoder):
    words, _ = rows(encoder, "dogs dogs zebra")
    embeddings = encoder.embed(words, words)[0]
    assert torch.equal(embeddings[1], embeddings[2])
    assert torch.equal(embeddings[1, :5], embeddings[3, :5])
    assert not torch.allclose(embeddings[1, 5:], embeddings[3, 5:])


def test_without_characters_unknown_words_are_alike(vocabulary):
    encoder = LSTMEncoder(word_dim=5, character_dim=0, hidden=6, layers=1)
    encoder.build(vocabulary)
    assert encoder.dim == 5
    words, lengths = rows(encoder.eval(), "dogs zebra the")
    embeddings = encoder.embed(words, words)[0]
    assert torch.equal(embeddings[1], embeddings[2])
    assert not torch.equal(embeddings[1], embeddings[3])
    assert encoder(embeddings[None], words, lengths).shape == (1, 4, 12)


def test_tags_are_not_read(encoder):
    words, _ = rows(encoder, "the cats")
    assert torch.equal(encoder.embed(words, words), encoder.embed(words, words + 1))


def test_a_sentence_is_read_the_same_by_itself_and_in_a_batch(encoder):
    sentences = ("the cats saw the dog yesterday", "Yes", "zebra feed the extraordinarily cats")
    words, lengths = rows(encoder, *sentences)
    together = encoder(encoder.embed(words, words), words, lengths)
    for at, sentence in enumerate(sentences):
        alone, length = rows(encoder, sentence)
        expected = encoder(encoder.embed(alone, alone), alone, length)[0]
        torch.testing.assert_close(together[at, : length + 1], expected, rtol=0, atol=1e-12)


def test_every_state_has_read_every_word(encoder):
    words, lengths = rows(encoder, "the cats saw the dog", "Yes zebra")
    embeddings = encoder.embed(words, words).detach().requires_grad_()
    states = encoder(embeddings, words, lengths)
    for row, length in enumerate(lengths.tolist()):
        for at in range(length + 1):
            total = states[row, at].sum()
            (gradient,) = torch.autograd.grad(total, embeddings, retain_graph=True)
            read = gradient.abs().amax(-1) > 0
            assert read[row].tolist() == [place <= length for place in range(6)]
            assert not read[1 - row].any()


def test_offsets_on_padding_are_ignored(encoder):
    words, lengths = rows(encoder, "the cats saw", "Yes")
    embeddings = encoder.embed(words, words)
    noisy = embeddings.clone()
    noisy[1, 2:] += 100.0
    inside = torch.arange(4) <= lengths[:, None]
    assert torch.equal(
        encoder(noisy, words, lengths)[inside], encoder(embeddings, words, lengths)[inside]
    )


def test_the_table_grows_without_changing_what_was_known(encoder):
    words, _ = rows(encoder, "the cats saw")
    before = encoder.embed(words, words)
    encoder.intern([f"new{number}" for number in range(50)])
    assert torch.equal(encoder.embed(words, words), before)


def test_dropout_acts_only_in_training_and_after_the_embeddings(encoder):
    words, lengths = rows(encoder, "the cats saw the dog")
    embeddings = encoder.embed(words, words)
    calm = encoder(embeddings, words, lengths)
    encoder.train()
    assert torch.equal(encoder.embed(words, words), embeddings)
    assert not torch.equal(encoder(embeddings, words, lengths), calm)
    encoder.dropout = encoder.lstm.dropout = 0.0
    assert torch.equal(encoder(embeddings, words, lengths), calm)


def test_dropout_of_dimensions_takes_the_place_of_that_of_embeddings(encoder):
    words, lengths = rows(encoder, "the cats saw the dog")
    embeddings = torch.ones_like(encoder.embed(words, words))
    seen = []
    encoder.lstm.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    encoder.train().embedding_dropout = 0.5
    encoder(embeddings, words, lengths)
    assert set(seen[0].flatten().tolist()) == {0.0, 2.0}
    assert torch.equal(seen[0], seen[0][:, :1].expand_as(seen[0]))  # one mask for all words
    encoder.embedding_dropout = 0.0  # though whole embeddings would be dropped
    encoder(embeddings, words, lengths)
    assert torch.equal(seen[1], embeddings)


def test_padding_has_no_embedding(encoder):
    assert not encoder.words.weight[PADDING].any()
    assert not encoder.characters.weight[PADDING].any()


def with_vectors(path, rows) -> LSTMEncoder:
    lines = [f"{word} {' '.join(values)}\n" for word, values in rows.items()]
    path.write_text("".join(lines))
    return LSTMEncoder(word_dim=3, character_dim=0, hidden=2, layers=1, vectors=str(path))


@pytest.mark.parametrize("value", ["0", "0.1", "-7", "3e38"])
def test_vectors_of_one_value_cannot_be_divided_by_their_deviation(tmp_path, vocabulary, value):
    rows = {f"w{index}": [value] * 3 for index in range(9)}
    with pytest.raises(InputError, match="standard deviation") as caught:
        with_vectors(tmp_path / "vectors.txt", rows).build(vocabulary)
    assert caught.value.path == str(tmp_path / "vectors.txt")
    assert "values differ" in caught.value.remedy


def test_the_squares_of_large_values_are_numbers(tmp_path, vocabulary):
    encoder = with_vectors(tmp_path / "v.txt", {"a": ["3e38", "1e38", "0"], "b": ["-3e38"] * 3})
    encoder.build(vocabulary)
    weight = encoder.static.weight[1:].double().numpy()
    expected = np.array([[3.0, 1.0, 0.0], [-3.0] * 3])
    np.testing.assert_allclose(weight, expected / expected.std(), rtol=1e-6)


@pytest.mark.parametrize(
    ("wrong", "setting", "message"),
    [
        ({"word_dim": 0, "character_dim": 0}, "", "both 0: words cannot be distinguished"),
        ({"word_dim": 0, "vectors": "a.txt"}, "vectors", "set word_dim to their width"),
        ({"max_vectors": 9}, "max_vectors", "has no effect without vectors; set vectors"),
        ({"tune_vectors": True}, "tune_vectors", "has no effect without vectors"),
        ({"vectors": "a.txt", "max_vectors": 0}, "max_vectors", "must be >= 1, got 0"),
        ({"hidden": 0}, "hidden", "must be >= 1, got 0"),
        ({"layers": 0}, "layers", "must be >= 1, got 0"),
        ({"word_dim": -1}, "word_dim", "must be >= 0, got -1"),
        ({"tag_dim": -1}, "tag_dim", "must be >= 0, got -1"),
        ({"character_dim": -1}, "character_dim", "must be >= 0, got -1"),
        ({"character_out": 5}, "character_out", "must be even and >= 2, got 5"),
        ({"character_out": 0}, "character_out", "must be even and >= 2, got 0"),
        ({"dropout": 1.0}, "dropout", r"must be in \[0, 1\), got 1.0"),
        ({"dropout": -0.1}, "dropout", "got -0.1"),
        ({"embedding_dropout": 1.0}, "embedding_dropout", "got 1.0"),
    ],
)
def test_impossible_sizes_are_refused(wrong, setting, message):
    with pytest.raises(InputError, match=message) as caught:
        LSTMEncoder(**wrong)
    assert caught.value.key == (f"LSTMEncoder: {setting}" if setting else "LSTMEncoder")
