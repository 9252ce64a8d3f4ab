"""Sentences longer than a pretrained encoder reads."""

import pytest
import torch
from transformer_vectors import made, plainly, read

from robustparse.errors import InputError
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.transformer import TransformerEncoder
from robustparse.types import Sentence
from tiny_models import examples, save_bert

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


def test_truncate_leaves_zeros_after_the_limit(folder, vocabulary):
    encoder = made(folder, vocabulary, mix=1, long_sentences="truncate")
    states, _, _ = read(encoder, LONG)
    expected = plainly(folder, " ".join(LONG.split()[:13]), "mean", 1)
    torch.testing.assert_close(states[0, :14], expected, rtol=0, atol=1e-10)
    assert not states[0, 14:].any()
    encoder.check(Sentence(tuple(LONG.split())))
