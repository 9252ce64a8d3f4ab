"""The white-box view of a parser against its definition and finite differences, in float64."""

import numpy as np
import pytest
import torch

from robustparse.errors import InputError
from robustparse.models.base import Model
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.transformer import TransformerEncoder
from robustparse.models.victim import ModelVictim
from robustparse.types import TextRows
from tiny_models import examples, random_parser, save_bert

SIZES = {"word_dim": 5, "hidden": 6, "layers": 1}
CHARACTERS = {"character_dim": 3, "character_out": 4}
LSTM: dict[str, dict[str, int]] = {
    "word": {**SIZES, "character_dim": 0},
    "word+POS": {**SIZES, "character_dim": 0, "tag_dim": 3},
    "character": {**SIZES, "word_dim": 0, **CHARACTERS},
    "word+character+POS": {**SIZES, **CHARACTERS, "tag_dim": 2},
}


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(params=[*LSTM, "transformer"])
def parser(request, bert) -> BiaffineParser:
    if request.param == "transformer":
        return random_parser(TransformerEncoder(str(bert), mix=1))
    return random_parser(LSTMEncoder(**LSTM[request.param]))


class Asked:
    """The arguments of `gradient` for the sentences of `examples`."""

    def __init__(self, parser: BiaffineParser, victim: ModelVictim) -> None:
        numbered = parser.encode(examples())
        self.batch = numbered.batch(range(len(examples())), 1.0)
        self.lengths = self.batch.lengths.tolist()
        rng = np.random.default_rng(0)
        # Gold heads that the parser may well get wrong, and all but the first word in the loss.
        self.heads = [
            np.array([rng.choice([h for h in range(n + 1) if h != m + 1]) for m in range(n)])
            for n in self.lengths
        ]
        self.among = [np.arange(n) > 0 for n in self.lengths]
        labels = self.batch.gold["labels"].numpy()
        gold = [(heads, labels[row, : len(heads)]) for row, heads in enumerate(self.heads)]
        mask, shape = self.batch.mask.numpy(), self.batch.words.shape
        words, marks = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        words[mask] = victim.intern([word for one in examples() for word in one.sentence.words])
        marks[mask] = victim.intern_marks([tag for one in examples() for tag in one.sentence.tags])
        self.arguments = (TextRows(words, marks, np.array(self.lengths, np.int32)), gold)

    def score(self, parser: BiaffineParser, row: int, delta: torch.Tensor) -> float:
        """F of one sentence, as equation 4 defines it, by loops over words and heads."""
        arcs = parser(self.batch, delta).arcs[row].numpy()
        total, length = 0.0, self.lengths[row]
        for word in range(1, length + 1):
            gold = self.heads[row][word - 1]
            rivals = [arcs[word, j] for j in range(length + 1) if j not in (gold, word)]
            if self.among[row][word - 1] and rivals:
                total += max(arcs[word, gold] - max(rivals), -1.0)
        return total


def test_the_gradient_is_that_of_equation_4(parser):
    victim = ModelVictim([parser])
    asked = Asked(parser, victim)
    form = parser.encoder.form_dim
    unit_words = parser.encoder.unit_words(asked.batch.words, asked.batch.lengths)
    rng, steep = np.random.default_rng(1), 0
    with victim.evaluating():
        slopes, _, _ = victim.gradient(*asked.arguments, "margin", asked.among)
        assert slopes.shape == (*asked.batch.words.shape, form)
        for row, length in enumerate(asked.lengths):
            for word in range(length):
                step = rng.normal(size=form)
                delta = parser.zero_delta(asked.batch)
                delta[row, unit_words[row] == word + 1, :form] = torch.from_numpy(1e-6 * step)
                rise = asked.score(parser, row, delta) - asked.score(parser, row, -delta)
                slope = float(step @ slopes[row, word])
                assert -rise / 2e-6 == pytest.approx(slope, abs=1e-5)
                steep += abs(slope) > 1e-3
    assert steep > 10


def test_both_losses_leave_words_out(parser):
    victim = ModelVictim([parser])
    asked = Asked(parser, victim)
    every = [np.ones(n, dtype=np.bool_) for n in asked.lengths]
    alone = [[np.arange(n) == m % n for n in asked.lengths] for m in range(max(asked.lengths))]
    with victim.evaluating():
        for loss in ("margin", "cross_entropy"):
            whole, _, _ = victim.gradient(*asked.arguments, loss, every)
            for row, length in enumerate(asked.lengths):
                parts = [
                    victim.gradient(*asked.arguments, loss, some)[0][row, :length]
                    for some in alone[:length]
                ]
                np.testing.assert_allclose(sum(parts), whole[row, :length], atol=1e-9)


def test_the_pieces_of_a_word_are_taken_together(bert):
    parser = random_parser(TransformerEncoder(str(bert), mix=1))
    victim = ModelVictim([parser])
    asked = Asked(parser, victim)
    batch = asked.batch
    batch.gold["heads"] = torch.zeros_like(batch.gold["heads"])
    gold = [(np.zeros(n, np.int64), np.zeros(n, np.int64)) for n in asked.lengths]
    batch.gold["labels"] = torch.zeros_like(batch.gold["labels"])
    every = [np.ones(n, dtype=np.bool_) for n in asked.lengths]
    with victim.evaluating():
        slopes, vectors, norms = victim.gradient(asked.arguments[0], gold, "cross_entropy", every)
        with torch.enable_grad():
            delta = parser.zero_delta(batch).requires_grad_()
            (plain,) = torch.autograd.grad(parser.loss(parser(batch, delta), batch).sum(), delta)
        embedded = parser.embed(batch)
    # "the cats saw the dog": [CLS] the cat ##s saw the dog
    pieces = {1: [1], 2: [2, 3], 3: [4], 4: [5], 5: [6]}
    for word, units in pieces.items():
        mine, theirs = slopes[0, word - 1], plain[0, units].numpy()
        np.testing.assert_allclose(mine, theirs.sum(0), atol=1e-12)
        np.testing.assert_allclose(vectors[0, word - 1], embedded[0, units].mean(0).numpy())
        assert norms[0, word - 1] == pytest.approx(np.sqrt((theirs**2).sum()))


def test_vectors_are_the_embeddings_of_words_without_tags(parser):
    victim = ModelVictim([parser])
    asked = Asked(parser, victim)
    rows = asked.arguments[0].words
    with victim.evaluating():
        _, vectors, norms = victim.gradient(*asked.arguments, "margin", asked.among)
        for row, length in enumerate(asked.lengths):
            np.testing.assert_allclose(
                victim.vectors(rows[row, :length]), vectors[row, :length], atol=1e-12
            )
            assert (norms[row, :length] >= 0).all()
        # Words met later have rows of their own.
        later = victim.intern(["dogs", "zebra", "the"])
        assert np.isfinite(victim.vectors(later)).all()
        assert victim.vectors(later[2:]).tolist() == victim.vectors(rows[0, :1]).tolist()
        assert victim.vectors(rows[0, :0]).shape == (0, parser.encoder.form_dim)


def test_vectors_are_looked_up_afresh_once_weights_have_changed(make_parser):
    parser = make_parser(character_dim=0)
    victim = ModelVictim([parser])
    rows = victim.intern(["cats", "the"])
    with victim.evaluating():
        before = victim.vectors(rows)
    with torch.no_grad():
        parser.encoder.words.weight.add_(1.0)
    with victim.evaluating():
        np.testing.assert_allclose(victim.vectors(rows), before + 1.0)


def test_gradients_of_characters_by_finite_differences():
    parser = random_parser(LSTMEncoder(**LSTM["character"]))
    victim = ModelVictim([parser])
    asked = Asked(parser, victim)
    words = asked.arguments[0].words
    encoder = parser.encoder
    rng = np.random.default_rng(0)
    with victim.evaluating():
        # Any function of the spelled vectors will do: their product with a fixed tensor.
        weights = rng.normal(size=(*words.shape, 4))
        slopes, vectors = victim.character_gradient(words, weights)
        ids = encoder.table.tensors(torch.device("cpu"))[1]
        for row, length in enumerate(asked.lengths):
            for word in range(length):
                spelled = ids[int(asked.batch.words[row, word])]
                size = int((spelled != 0).sum())
                base = encoder.characters(spelled[None, :size])
                np.testing.assert_array_equal(vectors[row, word, :size], base[0].numpy())
                assert not slopes[row, word, size:].any()
                step = torch.from_numpy(1e-6 * rng.normal(size=(1, size, 3)))
                ends = [
                    encoder.spell(base + sign * step, torch.tensor([size]))[0].numpy()
                    for sign in (1, -1)
                ]
                rise = float((ends[0] - ends[1]) @ weights[row, word]) / 2e-6
                inner = float((step[0].numpy() * slopes[row, word, :size]).sum()) / 1e-6
                assert rise == pytest.approx(inner, abs=1e-6)


def test_vectors_of_characters():
    parser = random_parser(LSTMEncoder(**LSTM["character"]))
    victim = ModelVictim([parser])
    with victim.evaluating():
        found = victim.character_vectors(victim.intern(["cat", "c\u00e6t"]))
    ids = {c: 3 + i for i, c in enumerate(parser.vocabulary.characters)}
    weight = parser.encoder.characters.weight.detach().numpy()
    assert found.shape == (2, 20, 3)
    np.testing.assert_array_equal(found[0, :3], weight[[ids[c] for c in "cat"]])
    assert not found[0, 3:].any()
    np.testing.assert_array_equal(found[1, [0, 2]], found[0, [0, 2]])
    assert not found[1, 1].any()  # no letter that training has seen


@pytest.mark.parametrize("name", ["word", "word+character+POS"])
def test_characters_of_parsers_that_read_words_are_refused(name):
    victim = ModelVictim([random_parser(LSTMEncoder(**LSTM[name]))])
    with pytest.raises(InputError, match="a parser that reads words by their characters only"):
        victim.character_vectors(victim.intern(["cat"]))


def test_parsers_that_score_no_arcs_have_no_margin(parser):
    class Transitions(BiaffineParser):
        margin = Model.margin

    parser.__class__ = Transitions
    victim = ModelVictim([parser])
    asked = Asked(parser, victim)
    with (
        victim.evaluating(),
        pytest.raises(InputError, match="Transitions has no margin loss"),
    ):
        victim.gradient(*asked.arguments, "margin", asked.among)
