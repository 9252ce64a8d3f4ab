"""What holds for every encoder: batches, deltas, checkpoints, learning."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models.checkpoint import instantiate, specification
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.canine import CanineEncoder
from robustparse.models.encoders.elmo import ELMoEncoder
from robustparse.models.encoders.normalized import NormalizedLSTMEncoder
from robustparse.models.encoders.transformer import TransformerEncoder
from robustparse.models.encoders.word_embeddings import WordEmbeddings
from robustparse.models.victim import ModelVictim
from robustparse.types import DependencyTree, Example, Sentence, TextRows
from tiny_elmo import save_elmo
from tiny_models import TEXTS, examples, random_parser, save_bert, save_canine

SIZES = {"hidden": 6, "layers": 2, "word_dim": 5}
CHARACTERS = {"character_dim": 3, "character_out": 4}
MADE: dict[str, Callable[[Path], Encoder]] = {
    "word": lambda _: LSTMEncoder(**SIZES, character_dim=0),
    "word+POS": lambda _: LSTMEncoder(**SIZES, character_dim=0, tag_dim=3),
    "character": lambda _: LSTMEncoder(**{**SIZES, "word_dim": 0}, **CHARACTERS),
    "word+character": lambda _: LSTMEncoder(**SIZES, **CHARACTERS),
    "word+character+POS": lambda _: LSTMEncoder(**SIZES, **CHARACTERS, tag_dim=2),
    "normalized": lambda _: NormalizedLSTMEncoder(**SIZES, **CHARACTERS),
    "vectors": lambda folder: LSTMEncoder(
        **SIZES, character_dim=0, vectors=str(folder / "vectors.txt")
    ),
    "transformer": lambda folder: TransformerEncoder(str(folder), mix=2),
    "transformer, split, LSTM": lambda folder: TransformerEncoder(
        str(folder), mix=1, pooling="first", lstm_layers=1, hidden=6, long_sentences="split"
    ),
    "ELMo": lambda folder: ELMoEncoder(**save_elmo(folder / "elmo")),
    "ELMo, tuned, LSTM": lambda folder: ELMoEncoder(
        **save_elmo(folder / "elmo"), tune=True, lstm_layers=1, hidden=6
    ),
    "CANINE, LSTM": lambda folder: CanineEncoder(
        str(save_canine(folder / "canine")), lstm_layers=1, hidden=6
    ),
    "CANINE, split, frozen, LSTM": lambda folder: CanineEncoder(
        str(save_canine(folder / "short", positions=40)),
        pooling="first",
        tune=False,
        lstm_layers=1,
        hidden=6,
        long_sentences="split",
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = save_bert(tmp_path_factory.mktemp("bert"), positions=14)
    rows = [("dog", 1.0), ("cats", -2.0), ("the", 0.5), ("Saw", 3.0)]
    lines = [" ".join([word, *(f"{value + i}" for i in range(5))]) for word, value in rows]
    (path / "vectors.txt").write_text("\n".join(lines))
    return path


@pytest.fixture(params=MADE)
def parser(request, folder) -> BiaffineParser:
    encoder = MADE[request.param](folder)
    if request.param == "transformer":
        encoder.long_sentences = "truncate"
    return random_parser(encoder)


def batch_of(parser: BiaffineParser) -> Batch:
    return parser.encode(examples()).batch(range(len(TEXTS)), 1.0)


def test_a_parse_never_depends_on_its_batch_mates(parser):
    made = examples()
    together = parser.predict_step(batch_of(parser), 0)
    alone = [parser.predict_step(parser.encode([one]).batch([0], 1.0), 0)[0] for one in made]
    assert together == alone
    sums = parser.loss(parser(batch_of(parser)), batch_of(parser))
    single = [parser.encode([one]).batch([0], 1.0) for one in made]
    each = [parser.loss(parser(batch), batch) for batch in single]
    torch.testing.assert_close(sums, torch.cat(each), rtol=0, atol=1e-10)


def test_python_gets_the_trees_that_predict_writes(parser):
    sentences = [example.sentence for example in examples()]
    expected = [prediction.answer for prediction in parser.predict_step(batch_of(parser), 0)]
    modes = [module.training for module in parser.train().modules()]
    assert parser.predict(sentences, batch_words=7) == expected
    assert any(modes)
    assert [module.training for module in parser.modules()] == modes  # left as it was found
    assert parser.predict([]) == []


def refused(parser, sentences, key, expected):
    with pytest.raises(InputError) as caught:
        parser.predict(sentences)
    assert caught.value.key == key
    assert caught.value.expected.startswith(expected)


def test_a_sentence_is_a_list_of_strings(parser):
    for given in ("The cat sleeps", Sentence("dog")):
        refused(parser, [Sentence(("dog",), xpos=("NN",)), given], "sentence 2", "a list of words")
    refused(parser, "The cat sleeps", "sentence 1", "a list of words")
    for wrong in (7, None, b"cats", ["cats"]):
        refused(parser, [["dog", wrong]], "sentence 1, word 2", "a string")
        tagged = Sentence(("dog", wrong), xpos=("NN", "NN"))
        refused(parser, [tagged], "sentence 1, word 2", "a string")
    for none in (None, 3, ()):
        refused(parser, [none], "sentence 1", "a list of words")
    for alone in (None, Sentence(("dog",), xpos=("NN",))):
        refused(parser, alone, None, "a list of sentences")
    with pytest.raises(InputError, match="batch_words must be >= 1, got 0"):
        parser.predict([["dog"]], batch_words=0)


def test_offsets_reach_the_loss_only_on_words(parser):
    batch = batch_of(parser)
    delta = parser.zero_delta(batch).requires_grad_()
    assert delta.shape == parser.embed(batch).shape
    clean = parser.loss(parser(batch), batch)
    with_zero = parser.loss(parser(batch, delta), batch)
    assert torch.equal(clean, with_zero)
    (gradient,) = torch.autograd.grad(with_zero.sum(), delta)
    mask = parser.delta_mask(batch)
    assert mask.shape == (*delta.shape[:2], 1)
    # Every word of every sentence is felt, unless it stands after the encoder's limit.
    felt = (gradient * mask).abs().sum(-1) > 0
    assert torch.equal(felt, mask[..., 0].bool())
    # The gradient is that of the loss: a small step changes it by the inner product.
    step = torch.randn(delta.shape, generator=torch.Generator().manual_seed(1)).double()
    step = 1e-6 * step * mask
    moved = parser.loss(parser(batch, step), batch)
    difference = float((moved - clean).sum().detach())
    assert difference == pytest.approx(float((gradient * step).sum().detach()), rel=1e-3)


def test_a_checkpoint_makes_the_same_parser(parser):
    again = instantiate(specification(parser), vocabulary=parser.vocabulary).double().eval()
    again.load_state_dict(parser.state_dict())
    assert again.predict_step(batch_of(again), 0) == parser.predict_step(batch_of(parser), 0)


def test_it_learns(parser):
    batch = batch_of(parser)
    before = parser.loss(parser(batch), batch).sum().item()
    optimizer = torch.optim.Adam([p for p in parser.parameters() if p.requires_grad], 3e-2)
    for _ in range(30):  # without dropout, which slows so small a network down
        loss = parser.loss(parser(batch), batch).sum()
        if loss.item() < 0.7 * before:
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert parser.loss(parser(batch), batch).sum().item() < 0.7 * before


def test_attacks_see_the_same_parser(parser):
    batch, victim = batch_of(parser), ModelVictim([parser])
    made = examples()
    words = [word for one in made for word in one.sentence.words]
    assert parser.encoder.words_of(parser.encoder.intern(words).tolist()) == words
    rows = victim.intern(words)
    ids = victim.intern_marks([mark for one in made for mark in one.sentence.marks])
    shape, lengths = batch.words.shape, batch.lengths.numpy().astype(np.int32)
    texts, marks = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    texts[batch.mask.numpy()], marks[batch.mask.numpy()] = rows, ids
    with victim.evaluating():
        predictions = victim.predict(TextRows(texts, marks, lengths))
        unknown = np.where(texts > 0, victim.unknown, 0).astype(np.int32)
        heads, _ = victim.predict(TextRows(unknown, marks, lengths))
    expected = [prediction.answer for prediction in parser.predict_step(batch, 0)]
    assert victim.answers(predictions, lengths.tolist()) == expected
    assert heads.shape == shape


def test_tags_are_part_of_the_input_where_they_are_read(folder):
    parser = BiaffineParser(
        MADE["word+POS"](folder), arc_dim=7, vocabulary=Vocabulary.from_examples(examples())
    ).eval()
    words = ("dog", "saw", "cats")

    def embedded(*tags: str) -> torch.Tensor:
        ids = torch.from_numpy(parser.encoder.intern_tags(tags).astype("int64"))[None]
        rows = torch.from_numpy(parser.encoder.intern(words).astype("int64"))[None]
        return parser.encoder.embed(rows, ids)

    seen, other = embedded("NN", "XX", "NN"), embedded("NN", "NN", "NN")
    assert not torch.equal(seen[0, 2], other[0, 2])
    assert torch.equal(seen[0, 1], other[0, 1])
    # Tags never seen in training are all alike.
    assert torch.equal(embedded("??", "!!", "NN")[0, :, 5:], embedded("!!", "??", "NN")[0, :, 5:])
    for missing in (["a", "dog"], Sentence(("a", "dog"))):
        with pytest.raises(InputError, match="sentence 1: the model reads part-of-speech tags"):
            parser.predict([missing])
    assert len(parser.predict([Sentence(("a", "dog"), upos=("NN", "NN"))])) == 1


def test_every_word_has_one_tag(parser):
    words, tags = ("dog", "saw", "cats"), ("NN", "XX", "NN")
    whole = Sentence(words, xpos=tags)
    for wrong in (tags[:2], (*tags, "NN")):
        for given in (Sentence(words, xpos=wrong), Sentence(words, upos=wrong, xpos=tags)):
            refused(parser, [whole, given], "sentence 2", "a tag for each word")
    # One tag too few in a sentence and one too many in the next are as many as words.
    parted = [Sentence(words, xpos=tags[:2]), Sentence(words, xpos=(*tags, "NN"))]
    tree = DependencyTree((0, 1, 2), ("root", "obj", "obj"))
    shifted = [Example(id_, sentence, tree) for id_, sentence in enumerate(parted)]
    if parser.encoder.reads_tags:
        with pytest.raises(InputError, match="the sentence has 2 for 3 words"):
            parser.encode(shifted)
    else:
        assert not parser.encode(shifted).marks.values.any()


def test_vectors_of_few_training_words_are_warned_of_once(tmp_path, caplog):
    known = replace(Vocabulary.from_examples(examples()), words=("the", "cats", "saw", "dog"))
    for words, share in (("The zebra", "25.0%"), ("the Cats", None), ("the cats saw", None)):
        path = tmp_path / "few.txt"
        path.write_text("".join(f"{word} {at} 2\n" for at, word in enumerate(words.split())))
        for make in (WordEmbeddings, partial(LSTMEncoder, hidden=2, layers=1)):
            caplog.clear()
            encoder = make(word_dim=2, vectors=str(path))
            encoder.build(known)
            said = [record.getMessage() for record in caplog.records]
            assert len(said) == (share is not None)
            assert all(f"{path}: " in one and f"{share} of" in one for one in said)
            assert all("below 50%" in one for one in said)
            again = make(word_dim=2, vectors=str(path), vector_words=encoder.vector_words)
            again.build(known)  # as from a checkpoint
            assert len(caplog.records) == len(said)


def test_static_vectors_are_added_to_what_is_trained(folder):
    encoder = MADE["vectors"](folder)
    encoder.build(Vocabulary.from_examples(examples()))
    rows = torch.from_numpy(encoder.intern(["dog", "CATS", "Saw", "saw", "zebra"]).astype("int64"))
    embedded = encoder.embed(rows[None], rows[None])[0, 1:]
    values = torch.tensor([[1.0], [-2.0], [0.5], [3.0]]) + torch.arange(5.0)
    values = values / values.std(unbiased=False)
    torch.testing.assert_close(embedded[0], values[0])
    torch.testing.assert_close(embedded[1], values[1])  # found in lower case
    torch.testing.assert_close(embedded[2], values[3])  # found as it is
    assert not embedded[3:].any()  # not in the file; what is trained starts at zero
    assert not encoder.static.weight.requires_grad
    capped = LSTMEncoder(**SIZES, vectors=str(folder / "vectors.txt"), max_vectors=2)
    capped.build(Vocabulary.from_examples(examples()))
    assert capped.vector_words == ["dog", "cats"]
    wrong = LSTMEncoder(**{**SIZES, "word_dim": 4}, vectors=str(folder / "vectors.txt"))
    with pytest.raises(InputError, match="vectors of 5 numbers, but word_dim is 4") as caught:
        wrong.build(Vocabulary.from_examples(examples()))
    assert caught.value.path == str(folder / "vectors.txt")
    assert caught.value.remedy == "set word_dim to 5"
