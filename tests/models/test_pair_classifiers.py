"""Classifiers of pairs: what one pair at a time gives, and what stands beside it in a batch."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from transformers import AutoModel, AutoTokenizer

from robustparse.data.plain_texts import examples_of
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models import (
    ESIM,
    InferSent,
    LSTMEncoder,
    ModelVictim,
    PairClassifier,
    PairEncoderClassifier,
    TransformerEncoder,
    WordEmbeddings,
)
from robustparse.models.checkpoint import instantiate, specification
from robustparse.models.encoders.transformer import LongSentences
from robustparse.types import Example, Sentence, TextRows
from tiny_models import save_bert

# Two hypotheses share a premise; one premise is a word, and one holds a word of no training text.
PAIRS = [
    ("the dog saw cats", "a dog saw the cats", "yes"),
    ("the dog saw cats", "cats", "no"),
    ("cats", "the dog saw", "no"),
    ("a dog ran away with the cats", "zebras saw a dog", "maybe"),
]
EXAMPLES = [
    Example(id_, Sentence(tuple(text.split()), context=tuple(premise.split())), label)
    for id_, (premise, text, label) in enumerate(PAIRS)
]
VOCABULARY = Vocabulary.from_examples(EXAMPLES, min_count=1)

MADE: dict[str, Callable[[Path], PairClassifier]] = {
    "InferSent": lambda _: InferSent(WordEmbeddings(5), 3, 4, vocabulary=VOCABULARY),
    "ESIM": lambda _: ESIM(WordEmbeddings(5), 3, vocabulary=VOCABULARY),
    "[CLS]": lambda bert: PairEncoderClassifier(
        TransformerEncoder(str(bert), mix=1), vocabulary=VOCABULARY
    ),
}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(params=MADE)
def model(request: pytest.FixtureRequest, bert: Path) -> PairClassifier:
    return MADE[request.param](bert).double().eval()


def scores(model: PairClassifier, examples: Sequence[Example]) -> torch.Tensor:
    """Scores of labels, ``(examples, labels)``, and the loss of each as their last column."""
    batch = model.encode(examples).batch(range(len(examples)), 1.0)
    found = model(batch)
    return torch.cat([found, model.loss(found, batch)[:, None]], dim=1)


def test_an_answer_depends_on_its_own_pair(model: PairClassifier) -> None:
    together = scores(model, EXAMPLES)
    for row, example in enumerate(EXAMPLES):
        assert torch.allclose(scores(model, [example])[0], together[row], atol=1e-12)
    torch.testing.assert_close(scores(model, EXAMPLES[::-1]).flip(0), together)
    other = replace(EXAMPLES[0], sentence=replace(EXAMPLES[0].sentence, context=("cats", "ran")))
    assert not torch.allclose(scores(model, [other])[0], together[0], atol=1e-6)


def test_every_parameter_learns(model: PairClassifier) -> None:
    scores(model, EXAMPLES)[:, -1].sum().backward()
    unread = {"encoder.mix_weights"}  # of a single layer
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and name not in unread:
            assert parameter.grad is not None, name
            assert parameter.grad.abs().sum() > 0, name


def test_infersent_by_hand() -> None:
    """u and v of one pair by `nn.LSTM`, and equation by equation what follows."""
    model = MADE["InferSent"](Path()).double().eval()
    assert isinstance(model, InferSent)
    vectors = []
    for words in (EXAMPLES[0].sentence.context, EXAMPLES[0].sentence.words):
        rows = torch.from_numpy(model.encoder.intern(words).astype(np.int64))[None]
        embedded = model.encoder.embed(rows, rows)[:, 1:]
        left = model.lstm.forwards[0](embedded)[0]
        right = model.lstm.backwards[0](embedded.flip(1))[0].flip(1)
        vectors.append(torch.cat([left, right], dim=-1).amax(1))
    u, v = vectors
    expected = model.output(model.layers(torch.cat([u, v, (u - v).abs(), u * v], dim=1)))
    torch.testing.assert_close(scores(model, EXAMPLES[:1])[:, :-1], expected)


def test_esim_by_hand() -> None:
    """One pair, its attention word by word."""
    model = MADE["ESIM"](Path()).double().eval()
    assert isinstance(model, ESIM)

    def read(lstm: nn.Module, states: torch.Tensor) -> torch.Tensor:
        left = lstm.forwards[0](states[None])[0]
        right = lstm.backwards[0](states[None].flip(1))[0].flip(1)
        return torch.cat([left, right], dim=-1)[0]

    def encoded(words: tuple[str, ...]) -> torch.Tensor:
        rows = torch.from_numpy(model.encoder.intern(words).astype(np.int64))[None]
        return read(model.input_encoding, model.encoder.embed(rows, rows)[0, 1:])

    a, b = encoded(EXAMPLES[3].sentence.context), encoded(EXAMPLES[3].sentence.words)
    parts = []
    for one, other in ((a, b), (b, a)):
        compared = []
        for word in one:
            weights = torch.stack([word @ beside for beside in other]).softmax(0)
            aligned = sum(w * beside for w, beside in zip(weights, other, strict=True))
            compared.append(torch.cat([word, aligned, word - aligned, word * aligned]))
        composed = read(model.composition, model.projection(torch.stack(compared)).relu())
        parts += [composed.mean(0), composed.amax(0)]
    expected = model.output(model.final(torch.cat(parts)).tanh())
    torch.testing.assert_close(scores(model, EXAMPLES[3:])[0, :-1], expected)


def test_an_encoder_reads_both_texts_as_transformers_joins_them(bert: Path) -> None:
    model = MADE["[CLS]"](bert).double().eval()
    network, tokenizer = AutoModel.from_pretrained(bert), AutoTokenizer.from_pretrained(bert)
    for example in EXAMPLES:
        text = example.sentence
        encoded = tokenizer(
            list(text.context), list(text.words), is_split_into_words=True, return_tensors="pt"
        )
        encoded["token_type_ids"] = torch.zeros_like(encoded["input_ids"])
        with torch.no_grad():
            first = network.double().eval()(**encoded).last_hidden_state[:, 0]
        torch.testing.assert_close(scores(model, [example])[:, :-1], model.output(first))


def test_a_victim_sees_hypotheses_only(model: PairClassifier) -> None:
    """Rows and gradients are of the hypothesis; the mark of each word brings its premise."""
    victim = ModelVictim([model])
    text = EXAMPLES[0].sentence
    words, marks = victim.intern(text.words)[None], victim.intern_marks(text.marks)[None]
    lengths = np.array([len(text)], np.int32)
    with victim.evaluating():
        (found,) = victim.predict(TextRows(words, marks, lengths))
        gradient, _, norms = victim.gradient(
            TextRows(words, marks, lengths), [0], "cross_entropy", [np.ones(len(text), np.bool_)]
        )
    expected = scores(model, EXAMPLES[:1])[:, :-1].softmax(1).detach().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert gradient.shape[:2] == norms.shape == (1, len(text))
    assert (norms > 0).all()


def test_a_delta_moves_the_hypothesis(model: PairClassifier) -> None:
    """The loss falls along its gradient as the first order says."""
    batch = model.encode(EXAMPLES).batch(range(4), 1.0)
    delta = model.zero_delta(batch).requires_grad_()
    loss = model.loss(model(batch, delta), batch).sum()
    (slope,) = torch.autograd.grad(loss, delta)
    slope = slope * model.delta_mask(batch)
    moved = model.loss(model(batch, -1e-6 * slope), batch).sum()
    expected = -1e-6 * slope.square().sum()
    assert expected < 0
    torch.testing.assert_close(moved - loss, expected, rtol=1e-3, atol=1e-14)


def test_it_is_made_again_from_its_checkpoint(model: PairClassifier) -> None:
    again = instantiate(specification(model), vocabulary=VOCABULARY).double().eval()
    again.load_state_dict(model.state_dict())
    torch.testing.assert_close(scores(again, EXAMPLES), scores(model, EXAMPLES))


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda _: InferSent(WordEmbeddings(4), hidden=0, vocabulary=VOCABULARY), "hidden"),
        (lambda _: ESIM(WordEmbeddings(4), hidden=0, vocabulary=VOCABULARY), "hidden"),
        (
            lambda _: ESIM(LSTMEncoder(5, 3, 4, tag_dim=2, hidden=3), vocabulary=VOCABULARY),
            "reads tags",
        ),
        (
            lambda bert: PairEncoderClassifier(
                TransformerEncoder(str(bert), mix=1, long_sentences="split"),
                vocabulary=VOCABULARY,
            ),
            "split would answer from the first window",
        ),
        (
            lambda _: PairEncoderClassifier(WordEmbeddings(4), vocabulary=VOCABULARY),
            "WordEmbeddings gives ROOT the same vector in every text",
        ),
    ],
)
def test_mistakes_are_named(mistake: Callable[[Path], object], message: str, bert: Path) -> None:
    with pytest.raises(InputError, match=message):
        mistake(bert)


def test_encoded_pairs_know_the_lengths_of_their_contexts(bert: Path) -> None:
    assert MADE["ESIM"](bert).encode(EXAMPLES).contexts.tolist() == [4, 4, 1, 7]


def test_texts_it_cannot_read_are_named(bert: Path) -> None:
    with pytest.raises(InputError, match="sentence 2: ESIM reads pairs, and this is a single text"):
        MADE["ESIM"](bert).check([EXAMPLES[0], Example(1, Sentence(("cats",)), "no")])
    half = ("dog",) * 11  # the network takes 22
    too_long = Example(7, Sentence(half, context=half), "no")
    refused = [
        ("error", too_long, "23 word pieces in both texts", "long_sentences to truncate, which"),
        ("truncate", replace(too_long, sentence=Sentence(half * 2, context=half)), "23", "take"),
    ]
    for policy, example, found, remedy in refused:
        with pytest.raises(
            InputError, match=r"sentence 8: .* over the encoder's limit of 22"
        ) as said:
            reading(bert, policy).check([example])
        assert found in said.value.found
        assert remedy in (said.value.remedy or "")
    reading(bert, "truncate").check([too_long])
    of_words = InferSent(TransformerEncoder(str(bert), mix=1), 3, 4, vocabulary=VOCABULARY)
    with pytest.raises(InputError, match="sentence 8: its first text: 44 word pieces"):
        of_words.check([replace(too_long, sentence=Sentence(half, context=half * 4))])


def reading(bert: Path, policy: LongSentences) -> PairEncoderClassifier:
    encoder = TransformerEncoder(str(bert), mix=1, long_sentences=policy)
    return PairEncoderClassifier(encoder, vocabulary=VOCABULARY).double().eval()


@pytest.mark.parametrize("policy", ["error", "truncate"])
def test_a_pair_over_the_limit_loses_the_end_of_its_premise(
    bert: Path, policy: LongSentences
) -> None:
    """As an attack may make it, and a file hold it where the policy is to truncate."""
    model = reading(bert, policy)

    def scored(premise: Sequence[str], text: Sequence[str]) -> torch.Tensor:
        batch = model.encode([pair(premise, text), EXAMPLES[0]], checked=False).batch([0, 1], 1.0)
        found = model(batch)
        assert torch.allclose(found[1], scores(model, EXAMPLES[:1])[0, :-1], atol=1e-12)
        return found[0]

    def pair(premise: Sequence[str], text: Sequence[str]) -> Example:
        return Example(1, Sentence((*text,), context=(*premise,)), "no")

    premise = ["dog", "cats", "saw"] * 9  # 1, 2 and 1 pieces: 36
    one, other = ["the", "dog"], ["cats", "saw"]
    # 22 pieces less 3 of text and separator leave room for 19, with which the 15th word ends at 20.
    assert torch.allclose(scored(premise, one), scored(premise[:14], one), atol=1e-12)
    assert not torch.allclose(scored(premise, one), scored(premise[:13], one), atol=1e-6)
    assert not torch.allclose(scored(premise, one), scored(premise, other), atol=1e-6)
    # No word of the premise fits; then not even the separator does.
    for text in (["dog"] * 21, ["dog"] * 22, ["dog"] * 30):
        assert torch.allclose(scored(premise, text), scored(premise[1:], text), atol=1e-12)
    delta = model.zero_delta(model.encode([pair(premise, one)], checked=False).batch([0], 1.0))
    assert delta.shape[1] == 4  # [CLS], two words, [SEP]


def test_a_premise_is_a_list_of_words() -> None:
    for context, place in (("the dog", "context"), (("the", 3), "context, word 2")):
        with pytest.raises(InputError, match=f"sentence 1, {place}: got"):
            examples_of([Sentence(("a", "dog"), context=context)])
