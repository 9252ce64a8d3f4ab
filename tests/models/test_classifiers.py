"""Text classifiers against what one text at a time gives, written out in numpy."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models import (
    EncoderClassifier,
    LSTMEncoder,
    ModelVictim,
    TextClassifier,
    TransformerEncoder,
    WordCNN,
    WordEmbeddings,
    WordLSTM,
)
from robustparse.models.checkpoint import instantiate, specification
from robustparse.types import Example, Sentence, TextRows
from tiny_models import TEXTS, save_bert

GOLD = ("pos", "neg", "pos", "neu")
# "cats" is one word, which is less than every width; an unknown word stands in the third text.
EXAMPLES = [
    Example(id_, Sentence(tuple(text.split(" "))), label)
    for id_, (text, label) in enumerate(zip(TEXTS, GOLD, strict=True))
]
VOCABULARY = Vocabulary.from_examples(EXAMPLES, min_count=1)
Floats = NDArray[np.float64]

MADE: dict[str, Callable[[Path], TextClassifier]] = {
    "cnn": lambda _: WordCNN(WordEmbeddings(5), (2, 3), 4, vocabulary=VOCABULARY),
    "lstm": lambda _: WordLSTM(WordEmbeddings(5), 3, vocabulary=VOCABULARY),
    "bag of words": lambda _: EncoderClassifier(
        WordEmbeddings(5), pooling="mean", vocabulary=VOCABULARY
    ),
    "cnn over an LSTM": lambda _: WordCNN(
        LSTMEncoder(5, 3, 4, hidden=3, layers=1), (1, 4), 3, vocabulary=VOCABULARY
    ),
    "[CLS]": lambda bert: EncoderClassifier(
        TransformerEncoder(str(bert), mix=1), vocabulary=VOCABULARY
    ),
    "mean of pieces": lambda bert: EncoderClassifier(
        TransformerEncoder(str(bert), mix=2), pooling="mean", vocabulary=VOCABULARY
    ),
}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(params=MADE)
def classifier(request: pytest.FixtureRequest, bert: Path) -> TextClassifier:
    return randomized(MADE[request.param](bert))


def randomized(model: TextClassifier, seed: int = 0) -> TextClassifier:
    """Put random float64 numbers into every weight."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.double().parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.add_(0.5 * noise)
    return model.eval()


def batch_of(model: TextClassifier, chosen: Sequence[int] = range(len(EXAMPLES))) -> Batch:
    return model.encode(EXAMPLES).batch(chosen, 1.0)


def test_a_score_never_depends_on_batch_mates(classifier: TextClassifier) -> None:
    alone = torch.cat([classifier(batch_of(classifier, [row])) for row in range(len(EXAMPLES))])
    for company in ([0, 1, 2, 3], [3, 1], [1, 0, 1, 2], [2, 3, 0]):
        together = classifier(batch_of(classifier, company))
        torch.testing.assert_close(together, alone[company], rtol=0, atol=1e-12)
    # What stands where there is no word is not read.
    batch = batch_of(classifier)
    delta = torch.randn(classifier.zero_delta(batch).shape, dtype=torch.float64)
    beyond = delta * (classifier.encoder.unit_words(batch.words, batch.lengths) == 0)[..., None]
    if isinstance(classifier.encoder, WordEmbeddings):
        assert torch.equal(classifier(batch, beyond), classifier(batch))


def softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def sigmoid(values: Floats) -> Floats:
    return 1 / (1 + np.exp(-values))


def cnn(model: WordCNN, vectors: Floats) -> Floats:
    """A text's vectors ``(words, dim)``, padded to the widest convolution -> maxima."""
    missing = max(0, max(model.widths) - len(vectors))
    vectors = np.concatenate([vectors, np.zeros((missing, vectors.shape[1]))])
    pooled: list[float] = []
    for width, convolution in zip(model.widths, model.convolutions, strict=True):
        weight, bias = (part.detach().numpy() for part in (convolution.weight, convolution.bias))
        for kernel, own in zip(weight, bias, strict=True):
            sums = [
                sum(kernel[:, step] @ vectors[at + step] for step in range(width)) + own
                for at in range(len(vectors) - width + 1)
            ]
            pooled.append(max(max(sums), 0.0))
    return np.array(pooled)


def one_way(lstm: nn.Module, vectors: Floats) -> Floats:
    """The states of an LSTM, a word at a time (input, forget, cell and output gate)."""
    parts = [part.detach().numpy() for part in lstm.parameters()]
    hidden = cell = np.zeros(parts[1].shape[1])
    states = []
    for vector in vectors:
        gates = parts[0] @ vector + parts[2] + parts[1] @ hidden + parts[3]
        into, forget, new, out = np.split(gates, 4)
        cell = sigmoid(forget) * cell + sigmoid(into) * np.tanh(new)
        hidden = sigmoid(out) * np.tanh(cell)
        states.append(hidden)
    return np.array(states)


def lstm(model: WordLSTM, vectors: Floats) -> Floats:
    there = one_way(model.lstm.forwards[0], vectors)
    back = one_way(model.lstm.backwards[0], vectors[::-1])
    return np.concatenate([there.max(0), back.max(0)])


NAIVE: dict[str, Callable[[Any, Floats], Floats]] = {
    "cnn": cnn,
    "lstm": lstm,
    "bag of words": lambda _, vectors: vectors.mean(0),
}


@pytest.mark.parametrize("name", NAIVE)
def test_it_is_the_text_by_text_definition(name: str, bert: Path) -> None:
    model = randomized(MADE[name](bert))
    table = model.encoder.words.weight.detach().numpy()
    weight, bias = (part.detach().numpy() for part in (model.output.weight, model.output.bias))
    batch = batch_of(model)
    (probabilities,) = model.predicted(batch)
    losses = model.loss(model(batch), batch)
    for row, example in enumerate(EXAMPLES):
        known = {word: id_ for id_, word in enumerate(VOCABULARY.words, start=3)}
        vectors = table[[known[word] for word in example.sentence.words]]
        expected = softmax(weight @ NAIVE[name](model, vectors) + bias)
        np.testing.assert_allclose(probabilities[row], expected, rtol=0, atol=1e-12)
        gold = -np.log(expected[VOCABULARY.label_ids[example.gold]])
        assert float(losses[row].detach()) == pytest.approx(gold, abs=1e-12)
    assert probabilities.dtype == np.float64


def test_deltas_reach_the_loss_as_its_gradient_says(classifier: TextClassifier) -> None:
    # Not the last text: it says "the dog" twice, and a maximum over equals has no gradient.
    batch = batch_of(classifier, [0, 1, 2])
    delta = classifier.zero_delta(batch).requires_grad_()
    for loss in (classifier.loss, classifier.margin):
        clean = loss(classifier(batch, delta), batch)
        (gradient,) = torch.autograd.grad(clean.sum(), delta)
        mask = classifier.delta_mask(batch)
        step = torch.randn(delta.shape, generator=torch.Generator().manual_seed(1)).double()
        step = 1e-7 * step * mask
        moved = loss(classifier(batch, step), batch)
        difference = float((moved - clean).sum().detach())
        assert difference == pytest.approx(float((gradient * step).sum()), rel=1e-3, abs=1e-12)


def test_the_margin_is_that_of_the_best_other_label() -> None:
    model = MADE["cnn"](Path())
    assert model.vocabulary.labels == ("neg", "neu", "pos")
    scores = torch.tensor([[1.0, 2.5, 3.0], [-1.0, 9.0, 0.0], [2.0, 3.0, 1.0], [4.9, 4.0, 5.0]])
    batch = batch_of(model)  # gold: 2, 0, 2, 1
    batch.gold["label"][2] = -1
    torch.testing.assert_close(model.margin(scores, batch), torch.tensor([-0.5, 1.0, 0.0, 1.0]))
    assert model.loss(scores, batch)[2] == 0


def test_labels_ties_and_unknown_gold() -> None:
    model = MADE["lstm"](Path())
    even = np.array([[0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [0.1, 0.1, 0.8], [1.0, 0.0, 0.0]])
    answers = model.codec.decode_rows((even,), [5, 1, 6, 10])
    assert answers == ["neg", "neu", "pos", "neg"]
    assert answers[0].probabilities == {"neg": 0.4, "neu": 0.4, "pos": 0.2}
    others = [*EXAMPLES[:3], Example(3, Sentence(("dog",)), "never seen")]
    batch = model.encode(others).batch(range(4), 1.0)
    assert batch.gold["label"][:, 0].tolist() == [2, 0, 2, -1]
    metric = model.codec.metric()
    model.codec.update(metric, (even,), batch)
    assert metric.compute() == 25.0


def test_several_answer_by_their_mean_probability() -> None:
    turned = Vocabulary.from_lists(VOCABULARY.to_lists() | {"words": list(VOCABULARY.words[::-1])})
    one = randomized(MADE["cnn"](Path()))
    other = randomized(WordCNN(WordEmbeddings(5), (2, 3), 4, vocabulary=turned), seed=1)
    (first,), (second,) = one.predicted(batch_of(one)), other.predicted(batch_of(other))
    victim = ModelVictim([one, other])
    rows = [victim.intern(example.sentence.words) for example in EXAMPLES]
    lengths = np.array([len(row) for row in rows], np.int32)
    words = np.zeros((len(rows), lengths.max()), np.int32)
    for row, own in enumerate(rows):
        words[row, : len(own)] = own
    with victim.evaluating():
        (found,) = victim.predict(TextRows(words, np.zeros_like(words), lengths))
        one.mean = "logits"
        (product,) = victim.predict(TextRows(words, np.zeros_like(words), lengths))
    np.testing.assert_allclose(found, (first + second) / 2, rtol=0, atol=1e-15)
    roots = np.sqrt(first * second)
    np.testing.assert_allclose(product, roots / roots.sum(1, keepdims=True), rtol=0, atol=1e-14)
    assert victim.name_ids(["pos", "none"]).tolist() == [2, -1]


def test_white_boxes_get_the_gradient_of_the_gold_label() -> None:
    model = randomized(MADE["lstm"](Path()))
    victim = ModelVictim([model])
    words = victim.intern(EXAMPLES[0].sentence.words)[None]
    lengths, gold = np.array([words.shape[1]], np.int32), [2]
    among = [np.zeros(words.shape[1], np.bool_)]  # a label has no words of its own
    with victim.evaluating():
        found, _, norms = victim.gradient(
            TextRows(words, np.zeros_like(words), lengths), gold, "cross_entropy", among
        )
    batch = batch_of(model, [0])
    delta: Tensor = model.zero_delta(batch).requires_grad_()
    loss = -model(batch, delta).log_softmax(1)[0, 2]
    (expected,) = torch.autograd.grad(loss, delta)
    np.testing.assert_allclose(found[0], expected[0, 1:].numpy(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(norms[0], expected[0, 1:].norm(dim=-1).numpy(), atol=1e-12)


def test_a_checkpoint_and_a_seed_make_the_same_again(classifier: TextClassifier) -> None:
    again = instantiate(specification(classifier), vocabulary=classifier.vocabulary).double().eval()
    again.load_state_dict(classifier.state_dict())
    batch = batch_of(classifier)
    assert torch.equal(again(batch_of(again)), classifier(batch))
    first, second = (MADE["cnn"](Path()) for _ in range(2))
    other = WordCNN(WordEmbeddings(5), (2, 3), 4, seed=1, vocabulary=VOCABULARY)
    for name, weight in first.state_dict().items():
        assert torch.equal(weight, second.state_dict()[name])
    assert not torch.equal(first.output.weight, other.output.weight)


def test_it_learns(classifier: TextClassifier) -> None:
    batch = batch_of(classifier)
    before = classifier.loss(classifier(batch), batch).sum().item()
    optimizer = torch.optim.Adam([p for p in classifier.parameters() if p.requires_grad], 3e-2)
    for _ in range(20):
        optimizer.zero_grad()
        classifier.loss(classifier(batch), batch).sum().backward()
        optimizer.step()
    assert classifier.loss(classifier(batch), batch).sum().item() < 0.7 * before


def test_the_mean_of_a_truncated_text_is_over_the_words_read(bert: Path) -> None:
    """The network takes 22 pieces, of a word each."""
    encoder = TransformerEncoder(str(bert), mix=1, long_sentences="truncate")
    classifier = EncoderClassifier(encoder, pooling="mean", vocabulary=VOCABULARY).eval()
    whole = Sentence(("dog",) * 22)
    longer = Sentence(("dog",) * 60)
    batches = [
        classifier.encode([Example(0, text, "pos")]).batch([0], 1.0) for text in (whole, longer)
    ]
    with torch.no_grad():
        found = [classifier.vectors(classifier.embed(batch), batch) for batch in batches]
    assert torch.allclose(*found, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda: WordCNN(widths=(), vocabulary=VOCABULARY), "WordCNN: widths"),
        (lambda: WordCNN(widths=(3, 0), vocabulary=VOCABULARY), "WordCNN: widths"),
        (lambda: WordCNN(filters=0, vocabulary=VOCABULARY), "WordCNN: filters"),
        (lambda: WordLSTM(hidden=0, vocabulary=VOCABULARY), "WordLSTM: hidden"),
        (lambda: WordLSTM(dropout=1.0, vocabulary=VOCABULARY), "WordLSTM: dropout"),
        (
            lambda: EncoderClassifier(WordEmbeddings(), "last", vocabulary=VOCABULARY),
            "EncoderClassifier: pooling",
        ),
        (
            lambda: EncoderClassifier(WordEmbeddings(), vocabulary=VOCABULARY),
            "EncoderClassifier: encoder",
        ),
        (
            lambda: EncoderClassifier(TransformerEncoder("x", long_sentences="split")),
            "EncoderClassifier: long_sentences",
        ),
        (lambda: WordEmbeddings(0), "WordEmbeddings: word_dim"),
        (lambda: WordEmbeddings(dropout=-0.1), "WordEmbeddings: dropout"),
        (lambda: WordEmbeddings(tune_vectors=False), "WordEmbeddings: tune_vectors"),
    ],
)
def test_settings_out_of_range(make: Callable[[], object], key: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert caught.value.key == key


def test_vectors_are_looked_up_scaled_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("dog 3 4\ncats -2 0\nSaw 0 0.5\n", encoding="utf-8")
    encoder = WordEmbeddings(2, vectors=str(path), tune_vectors=False, unit_length=True)
    model = WordCNN(encoder, vocabulary=VOCABULARY)
    asked = ["dog", "CATS", "Saw", "saw", "the", "zebra"]
    # "saw" and "the" are training words without a vector: unknown, as words never seen.
    assert encoder.embedded(asked).tolist() == [True, True, True, False, False, False]
    rows = torch.from_numpy(encoder.intern(asked).astype(np.int64))
    found = encoder.embed(rows[None], rows[None])[0, 1:]
    torch.testing.assert_close(found[:3], torch.tensor([[0.6, 0.8], [-1.0, 0.0], [0.0, 1.0]]))
    assert torch.equal(found[3], found[5])
    torch.testing.assert_close(found[3].norm(), torch.tensor(1.0))
    assert not encoder.words.weight.requires_grad
    tuned = WordEmbeddings(2, vectors=str(path))
    tuned.build(VOCABULARY)
    assert tuned.words.weight.requires_grad
    torch.testing.assert_close(tuned.words.weight[3].detach(), torch.tensor([3.0, 4.0]))
    path.unlink()  # a checkpoint holds all of it
    again = instantiate(specification(model), vocabulary=VOCABULARY)
    again.load_state_dict(model.state_dict())
    assert torch.equal(again(batch_of(again)), again.eval()(batch_of(again))) is False
    assert torch.equal(again(batch_of(again)), model.eval()(batch_of(model)))
