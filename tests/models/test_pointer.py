"""TranX that copies: mixed probabilities by brute force, and constants never seen in training."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_semantic_parsers import EXAMPLES, batch_of, make, train

from robustparse import load
from robustparse.data.read_options import FileUse
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models import Encoder, LSTMEncoder, ModelVictim, TranX
from robustparse.models.semantic.pointer import columns_of
from robustparse.models.semantic.tranx import ActionStepper
from robustparse.types import Example, LogicalForm, Sentence, TextRows
from sample_runs import save_checkpoint


def example(text: str, form: str) -> Example:
    return Example(0, Sentence(tuple(text.split())), LogicalForm(form, "lambda"))


# c0 is a known token, zz and qq are none; qq is in the form only.
ODD = example("c0 the zz c0 dog", "( and ( a c0 ) ( b zz ) ( b qq ) ( a $0 ) )")


def attended_by_hand(parser: TranX, odd: Example) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The vectors of the words, and the attentional state of each step of the gold form."""
    batch = batch_of(parser, [odd])
    states = parser.encoder(parser.embed(batch), batch.words, batch.lengths)[0]
    hidden = parser.first_hidden(torch.cat([states[0], states[-1]])).tanh()
    cell = attended = torch.zeros(6, dtype=torch.float64)
    weights, words, found = dict(parser.named_parameters()), states[1:], []
    before = 0
    for action in batch.gold["actions"][0].tolist():
        inputs = torch.cat([parser.actions.weight[before], attended])
        hidden, cell = parser.cell(inputs, (hidden, cell))
        context = (words @ weights["attention.key.weight"].T @ hidden).softmax(0) @ words
        attended = (weights["attention.output.weight"] @ torch.cat([hidden, context])).tanh()
        found.append(attended)
        before = min(action, parser.numbers.unknown)
    return words, found


def mixed_by_hand(parser: TranX, odd: Example) -> list[dict[str, float]]:
    """The probability of each token, known or of the utterance, at each step of the gold form."""
    words, steps = attended_by_hand(parser, odd)
    first, found = parser.numbers.tokens.start, []
    for attended in steps:
        scores = parser.actions.weight[:-1] @ (parser.query.weight @ attended) + parser.bias
        generated = scores[first:].softmax(0).tolist()
        gates = parser.pointer.gate.weight @ attended + parser.pointer.gate.bias
        generate, copy = gates.softmax(0).tolist()
        pointed = (words @ (parser.pointer.query.weight @ attended)).softmax(0).tolist()
        mixed = {
            token: generate * p
            for token, p in zip(parser.vocabulary.labels, generated, strict=True)
        }
        for word, p in zip(odd.sentence.words, pointed, strict=True):
            mixed[word] = mixed.get(word, 0.0) + copy * p
        found.append(mixed)
    return found


@torch.no_grad()
def test_mixed_probabilities_by_brute_force():
    """Of each token at each step; in a batch with longer utterances, whose places are padding."""
    parser = make("TranX", copy=True)
    batch = batch_of(parser, [EXAMPLES[3], ODD])
    reading, numbers = parser(batch), parser.numbers
    _, steps = attended_by_hand(parser, ODD)
    attended = torch.stack(steps).expand(2, -1, -1)
    scores = parser.scores(attended, reading)[1]
    assert scores.shape[1] == numbers.unknown + len(EXAMPLES[3].sentence)
    for row, mixed in zip(scores, mixed_by_hand(parser, ODD), strict=True):
        names = [*mixed]
        columns = columns_of(
            torch.tensor([[numbers.number(name) for name in names]]),
            reading.words[1:],
            numbers.unknown,
        )
        np.testing.assert_allclose(row[columns[0]].exp(), [*mixed.values()], rtol=1e-11)
        other = torch.ones_like(row, dtype=torch.bool)
        other[: numbers.tokens.start] = False
        other[columns] = False
        assert (row[other] == float("-inf")).all()
        assert float(row[numbers.tokens.start :].exp().sum()) == pytest.approx(1, rel=1e-11)


@torch.no_grad()
def test_the_loss_by_brute_force():
    """A token that is not known counts by its copies, one that is nowhere does not count."""
    parser = make("TranX", copy=True, dropout=0.0, smoothing=0.1)
    batch = batch_of(parser, [EXAMPLES[3], ODD])
    loss, (_, steps) = 0.0, attended_by_hand(parser, ODD)
    numbers, counted = parser.numbers, []
    actions = batch.gold["actions"][1].tolist()
    for action, attended, mixed in zip(actions, steps, mixed_by_hand(parser, ODD), strict=False):
        if action < numbers.rules.stop:
            scores = parser.actions.weight[:-1] @ (parser.query.weight @ attended) + parser.bias
            loss -= float(scores[numbers.rules].log_softmax(0)[action - 1])
        elif (token := numbers.action(action)) in mixed:
            counted.append(token)
            loss -= np.log(mixed[token])
    assert counted == ["a", "c0", "b", "zz", "b", "a", "$0"]
    assert float(parser.loss(parser(batch), batch)[1]) == pytest.approx(loss, rel=1e-11)
    parser.train()  # nothing is smoothed
    parser.encoder.eval()
    assert float(parser.loss(parser(batch), batch)[1]) == pytest.approx(loss, rel=1e-11)


def test_gradients_reach_the_pointer_by_words_that_are_no_known_tokens():
    """Also where another step's token has no column at all; there is no NaN on the way."""
    parser = make("TranX", copy=True)
    batch = batch_of(parser, [EXAMPLES[3], ODD])
    delta = parser.zero_delta(batch).requires_grad_()
    with torch.autograd.set_detect_anomaly(True):
        parser.loss(parser(batch, delta), batch)[1].backward()
    for name, parameter in parser.pointer.named_parameters():
        assert parameter.grad.abs().min() > 0, name
    assert torch.isfinite(delta.grad).all()
    assert not delta.grad[1, 1 + len(ODD.sentence) :].any()


def test_columns_of_actions():
    """Known ones keep their numbers, others go by their first place in the utterance."""
    words = torch.tensor([[12, 3, 11, 12, 0], [13, 0, 0, 0, 0]])
    actions = torch.tensor([[3, 12, 11, 13, 0], [12, 13, 9, 10, 1]])
    assert columns_of(actions, words, 10).tolist() == [[3, 10, 12, 15, 0], [15, 10, 9, 15, 1]]
    none = columns_of(actions, words[:, :0], 10)
    assert none.tolist() == [[3, 10, 10, 10, 0], [10, 10, 9, 10, 1]]


# Each constant is rare enough to be an unknown word to the encoder.
SEEN = [
    example(text.format(f"x{i}"), form.format(f"x{i}"))
    for i, (text, form) in enumerate(
        [("where is {}", "( loc {} )"), ("how big is {}", "( size {} )")] * 4
    )
]
NEW = [example("where is zz", "( loc zz )"), example("how big is qq", "( size qq )")]


@cache
def trained(copy: bool, turned: bool = False) -> Any:
    """A parser of the training set; ``turned`` gives words other rows."""
    vocabulary = Vocabulary.from_examples(SEEN, min_count=2)
    if turned:
        vocabulary = replace(vocabulary, words=vocabulary.words[::-1])
    sizes: dict[str, Any] = {"action_dim": 8, "hidden": 16, "dropout": 0.0, "longest": 9}
    encoder = LSTMEncoder(8, 0, hidden=8, layers=1, dropout=0.0)
    parser = TranX(encoder, copy=copy, vocabulary=vocabulary, **sizes).double()
    train(parser, SEEN, 100, 0.03)
    return parser.eval()


def test_a_constant_never_seen_in_training_is_copied():
    texts = [one.sentence for one in NEW]
    parser, other = trained(True), trained(False)
    assert parser.predict(texts) == [one.gold for one in NEW]
    assert [parser.predict([text])[0] for text in texts] == [one.gold for one in NEW]
    for form in other.predict(texts):
        assert not {"zz", "qq"} & set(form.split())
    # Scores of a training run agree, and so does what a user is told.
    for model, right in ((parser, 100.0), (other, 0.0)):
        metric, batch = model.codec.metric(), batch_of(model, NEW)
        model.codec.update(metric, model.predicted(batch), batch)
        assert metric.compute() == right
        assert bool(list(model.warnings(NEW, FileUse("x.tsv")))) == (model is other)
    gone = example("where is it", "( loc zz )")
    assert "(zz)" in "".join(parser.warnings([gone], FileUse("x.tsv")))


def test_a_beam_wider_than_there_are_tokens():
    """Hypotheses of probability 0 never copy padding."""
    parser = make("TranX", copy=True, beam=400, longest=4)
    texts = [EXAMPLES[1].sentence, EXAMPLES[3].sentence]
    assert parser.predict(texts) == [parser.predict([text])[0] for text in texts]


@torch.no_grad()
def test_probabilities_of_copies_are_means_over_parsers():
    parsers = [make("TranX", copy=True, seed=seed) for seed in (0, 1)]
    readings = [parser(batch_of(parser, [ODD])) for parser in parsers]
    stepper = ActionStepper(parsers[0], parsers, readings)
    stepper.masks[:] = True  # tokens fit at the root too
    scores = stepper.scores()[0]
    by_hand = [mixed_by_hand(parser, ODD)[0] for parser in parsers]
    assert by_hand[0]["zz"] != pytest.approx(by_hand[1]["zz"], rel=1e-3)
    numbers = parsers[0].numbers
    for name, probability in by_hand[0].items():
        action = torch.tensor([[numbers.number(name)]])
        column = columns_of(action, readings[0].words, numbers.unknown)
        expected = (probability + by_hand[1][name]) / 2
        assert float(scores[column].exp()) == pytest.approx(expected, rel=1e-11)


def test_parsers_copy_together_and_under_attack():
    victim = ModelVictim([trained(True), trained(True, turned=True)])
    rows = np.stack([victim.intern(one.sentence.words) for one in NEW[:1] * 2])
    lengths, tags = np.array([3, 2], np.int32), np.zeros_like(rows)
    rows[1] = [victim.unknown, victim.unknown, 0]  # as attacks hide words
    with victim.evaluating():
        found = victim.predict(TextRows(rows, tags, lengths))
    assert victim.answers(found, lengths.tolist())[0] == NEW[0].gold
    assert (found[2] > 0).all()


def test_checkpoints_hold_the_choice_and_starts_copy_too(tmp_path: Path):
    parser = make("TranX", copy=True).float()
    path = save_checkpoint(parser, tmp_path / "parser.ckpt")
    texts = [one.sentence for one in [*EXAMPLES, ODD]]
    again = load(path)
    assert again.copy
    assert again.predict(texts) == parser.predict(texts)
    settings = {"hidden": 6, "longest": 9, "action_dim": 5, "init_from": str(path)}
    started = TranX(LSTMEncoder(5, 0, 4, 6, 1), copy=True, **settings).eval()
    assert started.predict(texts) == parser.predict(texts)
    with pytest.raises(InputError) as error:
        TranX(LSTMEncoder(5, 0, 4, 6, 1), **settings)
    assert str(error.value.remedy).endswith("trained with: --model.init_args.copy True")


def test_what_cannot_copy_is_refused():
    class Silent(LSTMEncoder):
        words_of = Encoder.words_of

    make("TranX", encoder=Silent(5, 0, 4, 6, 1))
    with pytest.raises(InputError) as error:
        make("TranX", encoder=Silent(5, 0, 4, 6, 1), copy=True)
    assert (error.value.key, error.value.expected) == (
        "encoder",
        "an encoder that defines words_of",
    )
    with pytest.raises(InputError, match="differ in copy") as error:
        ModelVictim([make("TranX", copy=True), make("TranX")])
    assert error.value.expected == "models trained with the same copy"
