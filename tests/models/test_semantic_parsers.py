"""Semantic parsers: what must not depend on how they are run."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tiny_semantic_parsers import EXAMPLES, KIND, KINDS, answered, batch_of, make, train

from robustparse.attacks import (
    Attack,
    GradientNorm,
    GreedyByImportance,
    VocabularyWords,
    Zheng2020WhiteBox,
)
from robustparse.attacks.goals.wrong_form import WrongForm
from robustparse.data.batch import Batch
from robustparse.data.read_options import FileUse
from robustparse.data.sample.questions import sample_questions
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.grammars import Node
from robustparse.models import (
    LSTMEncoder,
    ModelVictim,
    SemanticParser,
    TranX,
)
from robustparse.models.beam_search import beam_search
from robustparse.models.semantic.actions import COLUMNS
from robustparse.models.semantic.tranx import ActionStepper
from robustparse.types import Example, LogicalForm, TextRows


def trees(parser: TranX, batch: Batch) -> list[Node | None]:
    """The trees of the forms: another tree may be printed as the same form."""
    stepper = ActionStepper(parser, [parser], [parser(batch)])
    settings = (len(batch), parser.beam, parser.longest)
    return beam_search(stepper, *settings, per_action=parser.per_action)[0]


def with_gold(parser: SemanticParser, example: Example, gold: LogicalForm | Node) -> Batch:
    """A batch of one utterance with another gold answer."""
    if isinstance(gold, str):
        return batch_of(parser, [Example(0, example.sentence, gold)])
    batch = batch_of(parser, [example])
    columns = np.array(parser.numbers.steps(gold)).T[:, None]
    batch.gold |= {n: torch.from_numpy(c) for n, c in zip(COLUMNS, columns, strict=True)}
    return batch


@torch.no_grad()
@KIND
@pytest.mark.parametrize("beam", [1, 4])
def test_probabilities_are_those_of_teacher_forcing(kind: str, beam: int):
    # Random parsers seldom end a form: one that is as long as allowed has no end to be forced.
    checked = 0
    for seed in range(40):
        if checked > 5:
            break
        parser = make(kind, seed, beam=beam, longest=30)
        batch = batch_of(parser)
        forms, probabilities = answered(parser, batch)
        built = trees(parser, batch) if isinstance(parser, TranX) else forms
        for row, (form, probability) in enumerate(zip(built, probabilities, strict=True)):
            if form is not None and 0 < len(forms[row].split()) < 30:
                own = with_gold(parser, EXAMPLES[row], form)
                loss = float(parser.loss(parser(own), own))
                assert np.exp(-loss) == pytest.approx(probability, rel=1e-10)
                checked += 1
    assert checked > 5


@torch.no_grad()
@KIND
@pytest.mark.parametrize("beam", [1, 3])
def test_forms_and_losses_do_not_depend_on_batch_mates(kind: str, beam: int):
    parser = make(kind, beam=beam)
    batch = batch_of(parser)
    losses, (forms, probabilities) = parser.loss(parser(batch), batch), answered(parser, batch)
    for row, example in enumerate(EXAMPLES):
        single = batch_of(parser, [example])
        assert torch.allclose(parser.loss(parser(single), single)[0], losses[row], rtol=1e-12)
        (form,), (probability,) = answered(parser, single)
        assert (form, probability) == (forms[row], pytest.approx(probabilities[row], rel=1e-10))


@KIND
def test_every_parameter_gets_a_gradient_and_moves(kind: str):
    off = {"dropout": 0.0} | ({"token_dropout": 0.0} if kind == "Seq2Seq" else {})
    parser = make(kind, **off).train()
    before = {name: parameter.clone() for name, parameter in parser.named_parameters()}
    optimizer = torch.optim.Adam(parser.parameters(), 1e-3)
    batch = batch_of(parser)
    parser.loss(parser(batch), batch).sum().backward()
    optimizer.step()
    for name, parameter in parser.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name
        assert not torch.equal(parameter, before[name]), name


@KIND
def test_a_delta_changes_the_loss_and_has_a_gradient(kind: str):
    """Its gradient is the difference quotient of the loss, and 0 beyond a text's end."""
    parser = make(kind)
    batch = batch_of(parser)
    delta = parser.zero_delta(batch).requires_grad_()
    losses = parser.loss(parser(batch, delta), batch)
    (gradient,) = torch.autograd.grad(losses.sum(), delta)
    words = parser.delta_mask(batch).bool().expand_as(gradient)
    assert gradient[words].abs().min() > 0
    direction = gradient * words / gradient[words].norm()
    with torch.no_grad():
        up, down = (parser.loss(parser(batch, h * direction), batch) for h in (1e-5, -1e-5))
    assert (up > down).any()
    rise = float((up - down).sum() / 2e-5)
    assert rise == pytest.approx(float((gradient * direction).sum()), rel=1e-5)
    beyond = torch.arange(gradient.shape[1])[None] > batch.lengths[:, None]
    assert beyond.any()
    assert not gradient[beyond].any()


@KIND
@pytest.mark.parametrize("mean", ["probabilities", "logits"])
def test_members_share_each_step(kind: str, mean: str):
    """Two equal parsers answer as one; the mean of two differs from both somewhere."""
    differing = 0

    @torch.no_grad()
    def forms(*members: SemanticParser) -> list[LogicalForm]:
        members[0].mean = mean
        batches = [batch_of(member) for member in members]
        states = [member(batch) for member, batch in zip(members, batches, strict=True)]
        return members[0].codec.decode_rows(members[0].decode(members, states, batches), [])

    for seed in range(1 if kind == "Coarse2Fine" else 3):  # the former is trained, which takes long
        if differing:
            break
        one, again = make(kind, seed, longest=30), make(kind, seed, longest=30)
        other = make(kind, seed + 1, longest=30)
        assert forms(one, again) == forms(one)
        both = {form for form in forms(one, other) if form}
        differing += bool(both - {*forms(one), *forms(other)})
        if kind == "Coarse2Fine":  # both have learnt the forms
            assert forms(one, other) == [example.gold for example in EXAMPLES]
    assert differing or kind == "Coarse2Fine"


@pytest.mark.parametrize("kind", ["Seq2Seq", "TranX", "Coarse2Fine"])
def test_it_learns_the_sample_and_its_goal_follows_the_gold_forms_loss(kind: str):
    examples = sample_questions(0).train[:12]
    vocabulary = Vocabulary.from_examples(examples, min_count=1)
    encoder = LSTMEncoder(24, 0, hidden=24, layers=1, dropout=0.0)
    sizes: dict[str, Any] = {"hidden": 32, "dropout": 0.0, "smoothing": 0.0, "beam": 2}
    own = {"Seq2Seq": {"token_dim": 16, "token_dropout": 0.0}, "TranX": {"action_dim": 16}}
    sizes |= own.get(kind, {"input_dim": 16})
    parser = KINDS[kind][0](encoder, vocabulary=vocabulary, **sizes)
    train(parser, examples, 100, 3e-2)
    parser.eval()
    batch = batch_of(parser, examples)
    with torch.no_grad():
        found = parser.predicted(batch)
        losses = parser.loss(parser(batch), batch).exp().reciprocal().numpy()
    victim = ModelVictim([parser])
    right = found[1] == [gold.meaning for gold in WrongForm().gold(examples, victim)]
    assert right.mean() > 0.9
    answers = parser.codec.decode_rows(found, batch.lengths.tolist())
    same = np.array([a == e.gold for a, e in zip(answers, examples, strict=True)])
    np.testing.assert_allclose(found[2][same], losses[same], rtol=1e-4)
    searches = (
        Zheng2020WhiteBox(loss="cross_entropy"),
        GreedyByImportance(ranking=GradientNorm()),
    )
    for search in searches:
        attack = Attack(VocabularyWords(sample=8), search, goal=WrongForm())
        assert any(outcome.success for outcome in attack.run(examples, victim))


@KIND
def test_white_boxes_get_the_gradient_of_the_gold_forms_loss(kind: str):
    parser, every = make(kind), np.ones(0, np.bool_)
    victim, delta = ModelVictim([parser]), parser.zero_delta(batch := batch_of(parser))
    rows = [victim.intern(example.sentence.words) for example in EXAMPLES]
    lengths = np.array([len(row) for row in rows], np.int32)
    words = np.zeros((len(rows), lengths.max()), np.int32)
    for row, own in enumerate(rows):
        words[row, : len(own)] = own
    gold = WrongForm().gold(EXAMPLES, victim)
    with victim.evaluating():
        found, _, _ = victim.gradient(
            TextRows(words, np.zeros_like(words), lengths),
            gold,
            "cross_entropy",
            [every] * len(rows),
        )
    loss = parser.loss(parser(batch, delta.requires_grad_()), batch).sum()
    (expected,) = torch.autograd.grad(loss, delta)
    for row, size in enumerate(lengths):
        own = expected[row, 1 : 1 + size].numpy()
        assert np.abs(own).max() > 1e-6
        np.testing.assert_allclose(found[row, :size], own, rtol=0, atol=1e-12)


@KIND
def test_it_learns_prolog(kind: str):
    forms = (
        "job ( ANS ) , a ( ANS , c0 )",
        "\\+ job ( ANS )",
        "( b ( ANS ) ) ; ( a ( ANS , J ) )",
        "b ( J )",
    )
    texts = [example.sentence for example in EXAMPLES]
    examples = [
        Example(id_, text, LogicalForm(form, "prolog"))
        for id_, (text, form) in enumerate(zip(texts, forms, strict=True))
    ]
    parser = make(kind, examples=examples, hidden=12, longest=30)
    for _ in range(10):
        train(parser, examples, 20, 0.05)
        if parser.predict(texts) == list(forms):
            break
    assert parser.predict(texts) == list(forms)


def test_parsers_that_know_other_sketches_do_not_answer_together():
    turned = [replace(EXAMPLES[2], gold=LogicalForm("( c0 b )", "lambda")), *EXAMPLES]
    parsers = [make("Seq2Seq"), make("Seq2Seq", examples=turned)]
    with pytest.raises(InputError, match="different sketches: c0@1") as error:
        ModelVictim(parsers)
    assert error.value.expected == "models trained on the same sketches"


@pytest.mark.parametrize("settings", [{"beam": 0}, {"longest": 0}, {"smoothing": 1.0}])
def test_numbers_out_of_range(settings: dict[str, Any]):
    with pytest.raises(InputError) as error:
        make(**settings)
    assert next(iter(settings)) in str(error.value)


@KIND
def test_a_form_with_other_names_of_variables_is_right_as_in_evaluate(kind: str):
    """The gold form's variable was never seen in training, and means the same."""
    bound = "( lambda {0} e ( a {0} ) )"
    examples = [replace(EXAMPLES[0], gold=LogicalForm(bound.format("$0"), "lambda"))]
    parser = make(kind, examples=[*examples, *EXAMPLES])
    gold = LogicalForm(bound.format("$7"), "lambda")
    metric = parser.codec.metric()
    answer = np.array([0]), parser.codec.meanings([examples[0].gold]), np.array([1.0])
    parser.codec.update(metric, answer, batch_of(parser, [replace(EXAMPLES[0], gold=gold)]))
    assert metric.compute() == 100.0
    assert parser.task.scores.correct(examples[0].gold, Example(0, EXAMPLES[0].sentence, gold), [])[
        "correct"
    ]


@KIND
def test_forms_over_the_limit_are_told(kind: str):
    parser = make(kind)
    columns = [parser.codec.columns_of(example.gold) for example in EXAMPLES]
    steps = [parser.codec.steps(one) for one in columns]
    parser.longest = max(steps)
    assert not any("over the limit" in one for one in parser.warnings(EXAMPLES, FileUse("x.tsv")))
    parser.longest -= 1
    (told,) = (
        one for one in parser.warnings(EXAMPLES, FileUse("x.tsv")) if "over the limit" in one
    )
    line, count = steps.index(max(steps)) + 1, steps.count(max(steps))
    assert told.startswith(f"x.tsv:{line}: a logical form of {max(steps)} steps, over the limit")
    assert f"the {count} utterances" in told
    assert not any(
        "over the" in one for one in parser.warnings(EXAMPLES, FileUse("x.tsv", gold=False))
    )
