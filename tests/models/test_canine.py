"""CANINE against transformers run plainly, one sentence at a time."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformer_vectors import read
from transformers import CanineModel

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models import PairEncoderClassifier
from robustparse.models.checkpoint import instantiate, specification
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.canine import CanineEncoder
from robustparse.models.encoders.transformer import TransformerEncoder
from robustparse.models.load import load
from robustparse.types import Example, Sentence
from sample_runs import save_checkpoint
from tiny_models import NO_PIECE, TEXTS, examples, random_parser, save_bert, save_canine

CLS, SEP = chr(0xE000), chr(0xE001)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_canine(tmp_path_factory.mktemp("canine"))


def made(folder: Path, vocabulary, **options) -> CanineEncoder:
    encoder = CanineEncoder(str(folder), **options)
    encoder.build(vocabulary)
    return encoder.eval()


def plainly(folder: Path, text: str, pooling: str, positions: int = 64) -> torch.Tensor:
    """ROOT's and each word's vector, of a text padded to all positions."""
    network = CanineModel.from_pretrained(folder).eval()
    whole = f"{CLS} {text}{SEP}"
    ids = torch.zeros(1, positions, dtype=torch.int64)
    ids[0, : len(whole)] = torch.tensor([ord(character) for character in whole])
    mask = (torch.arange(positions) < len(whole)).long()[None]
    with torch.no_grad():
        states = network(input_ids=ids, attention_mask=mask).last_hidden_state[0]
    vectors, begin = [states[0]], 2
    for word in text.split(" "):
        own = states[begin : begin + len(word)]
        vectors.append({"first": own[0], "last": own[-1], "mean": own.mean(0)}[pooling])
        begin += len(word) + 1
    return torch.stack(vectors)


@pytest.mark.parametrize("pooling", ["mean", "first", "last"])
def test_words_get_what_transformers_says(folder, vocabulary, pooling):
    encoder = made(folder, vocabulary, pooling=pooling)
    # Of 1 to 15 letters: sentences end at every place of a group of 4 and of a block of 16.
    texts = [*TEXTS, *("o" * count for count in range(1, 16))]
    states, _, lengths = read(encoder, *texts)
    assert encoder.out_dim == states.shape[2] == 16
    for text, row, length in zip(texts, states, lengths.tolist(), strict=True):
        expected = plainly(folder, text, pooling)
        torch.testing.assert_close(row[: length + 1], expected, rtol=0, atol=2e-5)


def test_vectors_do_not_depend_on_batch_mates_in_float64(folder, vocabulary):
    encoder = made(folder, vocabulary).double()
    texts = [*TEXTS, *("o" * count for count in range(1, 16))]
    states, _, _ = read(encoder, *texts)
    assert states.isfinite().all()
    for text, row in zip(texts, states, strict=True):
        alone, _, _ = read(encoder, text)
        torch.testing.assert_close(row[: alone.shape[1]], alone[0], rtol=0, atol=1e-12)


def test_mixed_precision_gives_finite_vectors(folder, vocabulary):
    encoder = made(folder, vocabulary)
    with torch.autocast("cpu", torch.bfloat16):
        states, _, _ = read(encoder, *TEXTS)  # of some, blocks hold nothing but padding
    assert states.isfinite().all()


def test_windows_are_read_each_on_its_own(tmp_path, vocabulary):
    folder = save_canine(tmp_path, positions=40)
    encoder = made(folder, vocabulary, long_sentences="split")
    assert encoder.limit == 30
    text = "dog saw cats sawing the dog the cats saw the dog"
    # With their blanks, the first seven words have 4 + 4 + 5 + 7 + 4 + 4 = 28 characters.
    words = text.split()
    states, _, _ = read(encoder, "the dog", text)
    parts = [plainly(folder, " ".join(part), "mean", 40) for part in (words[:6], words[6:])]
    expected = torch.cat([parts[0], parts[1][1:]])
    torch.testing.assert_close(states[1], expected, rtol=0, atol=2e-5)
    with pytest.raises(InputError) as caught:
        made(folder, vocabulary).check(Sentence(tuple(words)))
    assert caught.value.found == "49 characters, over the encoder's limit of 30"
    assert caught.value.remedy.startswith("set its long_sentences to split or truncate")


def test_deltas_stand_on_characters_but_not_on_blanks(folder, vocabulary):
    encoder = made(folder, vocabulary)
    _, words, lengths = read(encoder, "the o", "dog")
    units = encoder.unit_words(words, lengths)
    # [CLS] blank t h e blank o [SEP] against [CLS] blank d o g [SEP] and padding
    assert units.tolist() == [[0, 0, 1, 1, 1, 0, 2, 0], [0, 0, 1, 1, 1, 0, 0, 0]]
    assert torch.equal(encoder.delta_mask(words, lengths), units > 0)


def test_words_are_spelled(folder, vocabulary):
    table = made(folder, vocabulary).table
    words = ["dog", "-LRB-", "\ud83d", " ", "10 000", NO_PIECE, SEP, "x" * 60]
    ids, counts = table.describe(words)
    texts = [" dog", " (", " \ufffd", " \ufffd", " 10 000", f" {NO_PIECE}", f" {SEP}"]
    texts.append(" " + "x" * 49)
    assert counts[:, 0].tolist() == [len(text) for text in texts]
    spelled = ["".join(map(chr, row[:count])) for row, (count,) in zip(ids, counts, strict=True)]
    assert spelled == texts
    assert table.separator == SEP
    unknown = [column[1] for column in table.tensors(torch.device("cpu"))]
    assert unknown[0][: unknown[1]].tolist() == [ord(" "), 0xFFFD]


def test_every_tuned_parameter_gets_a_gradient(folder, vocabulary):
    parser = BiaffineParser(CanineEncoder(str(folder)), vocabulary=vocabulary).train()
    assert all(module.training for module in parser.encoder.network.modules())
    batch = parser.encode(examples()).batch(range(len(TEXTS)), 1.0)
    parser.loss(parser(batch), batch).sum().backward()
    for name, parameter in parser.named_parameters():
        assert parameter.grad is not None, name
    frozen = BiaffineParser(CanineEncoder(str(folder), tune=False), vocabulary=vocabulary).train()
    assert not frozen.encoder.pretrained_parameters()
    assert not any(module.training for module in frozen.encoder.network.modules())


def test_a_checkpoint_is_loaded_without_the_folder(tmp_path):
    folder = save_canine(tmp_path / "canine")
    parser = random_parser(CanineEncoder(str(folder)))
    assert str(tmp_path) not in parser.encoder.stored["config"]
    path = save_checkpoint(parser.float(), tmp_path / "parser.ckpt")
    for file in folder.iterdir():
        file.unlink()
    sentences = [example.sentence for example in examples()]
    again = load(path)
    assert again.predict(sentences) == parser.predict(sentences)
    assert again.encoder.differences(specification(parser.encoder)["init_args"]) == []
    other = CanineEncoder(str(save_canine(folder, positions=48)))
    other.build(parser.vocabulary)
    expected = [f"its configuration (model: {folder})"]
    assert other.differences(specification(parser.encoder)["init_args"]) == expected
    specified = specification(parser)
    specified["init_args"]["encoder"]["init_args"]["stored"] = None
    with pytest.raises(InputError, match="lacks its content"):
        instantiate(specified, vocabulary=parser.vocabulary)


def test_each_class_names_the_other_for_what_it_does_not_read(tmp_path, folder, vocabulary):
    with pytest.raises(InputError) as caught:
        CanineEncoder(str(save_bert(tmp_path / "bert"))).build(vocabulary)
    assert caught.value.key == f"pretrained encoder {tmp_path / 'bert'}"
    assert (caught.value.found, caught.value.expected) == ("its model_type is 'bert'", "canine")
    assert "TransformerEncoder" in caught.value.remedy
    with pytest.raises(InputError) as caught:
        TransformerEncoder(str(folder), mix=1).build(vocabulary)
    assert caught.value.found == "its model_type is 'canine'"
    assert "CanineEncoder" in caught.value.remedy


@pytest.mark.parametrize("positions", [11, 12])
def test_a_network_of_too_few_positions_is_refused(positions, tmp_path, vocabulary):
    encoder = CanineEncoder(str(save_canine(tmp_path, positions)))
    if positions == 12:
        encoder.build(vocabulary)
        assert encoder.table.describe(["dog"])[1] == np.array([[2]])
        return
    with pytest.raises(InputError) as caught:
        encoder.build(vocabulary)
    assert (caught.value.found, caught.value.expected) == ("it has 11 positions", "at least 12")


def test_a_premise_is_cut_for_a_separator_of_two_characters(folder):
    """A pair that fits exactly loses none of its words, one more loses its premise's last."""
    premise, text = ("dog", "cats", "saw"), ("the", "dog")
    pairs = [Example(0, Sentence(text, context=premise), "no")]
    encoder = CanineEncoder(str(folder), long_sentences="truncate")
    model = PairEncoderClassifier(encoder, vocabulary=Vocabulary.from_examples(pairs, 1)).eval()
    batch = model.encode(pairs).batch([0], 1.0)
    units = int(sum(encoder.units(rows).sum() for rows in (model.contexts(batch)[0], batch.words)))
    for limit, kept in ((units + 2, 3), (units + 1, 2)):
        encoder.limit = limit
        before = model._joined(batch)[2]
        assert before.tolist() == [kept + 1]
