"""Semantic parsers against brute force, and what must not depend on how they are run."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from robustparse.attacks.goals.wrong_form import WrongForm
from robustparse.data.batch import Batch
from robustparse.data.sample.questions import sample_questions
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.grammars import Derivation, Node, actions_of, language_named
from robustparse.models import (
    Coarse2Fine,
    LSTMEncoder,
    ModelVictim,
    SemanticParser,
    Seq2Seq,
    TransformerEncoder,
    TranX,
)
from robustparse.models.beam import beam_search
from robustparse.models.encoders.base import Encoder
from robustparse.models.semantic.action_stepper import ActionStepper
from robustparse.models.semantic.actions import COLUMNS
from robustparse.models.semantic.sketch_steppers import SketchStepper
from robustparse.types import Example, LogicalForm, Sentence
from tiny_models import TEXTS, save_bert

FORMS = ("( a $0 )", "( and ( a $0 ) ( b c0 ) )", "( b c0 )", "( a c0 )")
EXAMPLES = [
    Example(id_, Sentence(tuple(text.split(" "))), LogicalForm(form, "lambda"))
    for id_, (text, form) in enumerate(zip(TEXTS, FORMS, strict=True))
]


PARENTS = ("parent_rule", "parent_field", "parent_type", "parent_state")
KINDS: dict[str, tuple[type[SemanticParser], dict[str, Any]]] = {
    "Seq2Seq": (Seq2Seq, {"token_dim": 5}),
    "TranX": (TranX, {"action_dim": 5}),
    "TranX with parents": (
        TranX,
        {"action_dim": 5, "field_dim": 3, "type_dim": 2} | dict.fromkeys(PARENTS, True),
    ),
}
KINDS["Coarse2Fine"] = (Coarse2Fine, {"input_dim": 4})
KIND = pytest.mark.parametrize("kind", KINDS)


def make(
    kind: str = "Seq2Seq",
    seed: int = 0,
    encoder: Encoder | None = None,
    examples: list[Example] = EXAMPLES,
    **other: Any,
) -> Any:
    """An untrained parser in float64, every weight random: no score is a tie."""
    vocabulary = Vocabulary.from_examples(examples, min_count=1)
    made, sizes = KINDS[kind]
    settings = {"hidden": 6, "longest": 9} | sizes | other
    parser = made(encoder or LSTMEncoder(5, 0, 4, 6, 1), vocabulary=vocabulary, **settings)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in parser.double().parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.add_(noise)
    if kind == "Coarse2Fine":  # random sketches are hardly ever balanced
        train(parser.eval(), examples, 120, 0.03)
    return parser.eval()


def train(parser: SemanticParser, examples: list[Example], steps: int, rate: float) -> None:
    optimizer = torch.optim.Adam(parser.parameters(), rate)
    batch = parser.encode(examples).batch(range(len(examples)), 1.0)
    with torch.enable_grad():
        for _ in range(steps):
            optimizer.zero_grad()
            parser.loss(parser(batch), batch).mean().backward()
            optimizer.step()
    parser.zero_grad()


def batch_of(parser: SemanticParser, examples: list[Example] = EXAMPLES) -> Batch:
    return parser.encode(examples).batch(range(len(examples)), 1.0)


def answered(parser: SemanticParser, batch: Batch) -> tuple[list[LogicalForm], np.ndarray]:
    found = parser.predicted(batch)
    return parser.answers(found, batch.lengths.tolist()), found[2]


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
    for seed in range(40 if kind != "Coarse2Fine" else 3):
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
def test_a_wide_beam_finds_the_best_form():
    few = [Example(0, Sentence(("the", "cats")), LogicalForm("( a )", "lambda"))]
    better = 0
    for seed in range(6):
        parser = make("Seq2Seq", seed, examples=few, beam=300, longest=5)
        every = [
            Example(0, few[0].sentence, LogicalForm(" ".join(tokens), "lambda"))
            for length in range(5)
            for tokens in itertools.product(("(", "a", ")"), repeat=length)
        ]
        batch = batch_of(parser, every)
        losses = parser.loss(parser(batch), batch)
        parser.longest = 5  # four tokens and the end
        (found,), (probability,) = answered(parser, batch_of(parser, few))
        if len(found.split()) < 5:
            assert found == every[int(losses.argmin())].gold
            assert probability == pytest.approx(float((-losses.min()).exp()), rel=1e-10)
            parser.beam = 1
            better += parser.predict([few[0].sentence]) != [found]
    assert better, "greedy search finds the best forms too: the test shows nothing"


@torch.no_grad()
def test_beam_of_one_is_greedy():
    parser = make(beam=1)
    for example in EXAMPLES:
        batch = batch_of(parser, [example])
        reading = parser(batch)
        state, token, found = reading.start, parser.end + 1, []
        while len(found) < parser.longest:
            state = parser.step(parser.tokens.weight[[token]], state, reading.memory)
            token = int(parser.output(state[2])[0].argmax())
            if token == parser.end:
                break
            found.append(parser.vocabulary.labels[token])
        assert parser.predict([example.sentence]) == [" ".join(found)]


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


@torch.no_grad()
def test_the_loss_by_hand():
    """Token by token: input feeding, attention to words and not to ROOT, and the end."""
    parser = make()
    example = EXAMPLES[1]
    batch = batch_of(parser, [example])
    states = parser.encoder(parser.embed(batch), batch.words, batch.lengths)[0]
    cell = parser.first_cell(torch.cat([states[0], states[-1]]))
    hidden, attended, loss = cell.tanh(), torch.zeros(6, dtype=torch.float64), 0.0
    weights = dict(parser.named_parameters())
    before = parser.end + 1
    for token in [*(parser.vocabulary.label_ids[t] for t in example.gold.split()), parser.end]:
        inputs = torch.cat([parser.tokens.weight[before], attended])  # input feeding
        hidden, cell = parser.cell(inputs, (hidden, cell))
        scores = states[1:] @ weights["attention.key.weight"].T @ hidden
        context = scores.softmax(0) @ states[1:]
        attended = (weights["attention.output.weight"] @ torch.cat([hidden, context])).tanh()
        loss = loss - (parser.output.weight @ attended).log_softmax(0)[token]
        before = token
    assert float(parser.loss(parser(batch), batch)) == pytest.approx(float(loss), rel=1e-12)


def steps_of(parser: TranX, form: str) -> list[tuple[int, int]]:
    """The actions of a form as (number, number of the parent's rule)."""
    language, numbers, steps = language_named("lambda"), parser.numbers, []
    derivation = Derivation(language.grammar)
    for action in actions_of(language.to_ast(language.read(form))):
        steps.append((numbers.number(action), numbers.kind(derivation).parent))
        derivation = derivation.apply(action)
    return steps


@torch.no_grad()
def test_the_loss_of_tranx_by_hand():
    """Rules and tokens have a softmax each; the parent's rule and state are read."""
    parser = make("TranX", parent_rule=True, parent_state=True)
    example = EXAMPLES[1]
    batch = batch_of(parser, [example])
    states = parser.encoder(parser.embed(batch), batch.words, batch.lengths)[0]
    hidden = parser.first_hidden(torch.cat([states[0], states[-1]])).tanh()
    cell = attended = torch.zeros(6, dtype=torch.float64)
    weights = dict(parser.named_parameters())
    embedded, rules = parser.actions.weight, parser.numbers.rules
    loss, before, opened, seen = 0.0, 0, {0: torch.zeros(6, dtype=torch.float64)}, []
    columns = {name: batch.gold[name][0].tolist() for name in COLUMNS}
    for step, (action, parent) in enumerate(steps_of(parser, example.gold)):
        assert (columns["actions"][step], columns["parents"][step]) == (action, parent)
        parent_state = opened[columns["parent_steps"][step]]
        inputs = torch.cat([embedded[before], attended, embedded[parent], parent_state])
        hidden, cell = parser.cell(inputs, (hidden, cell))
        opened[step + 1] = hidden
        context = (states[1:] @ weights["attention.key.weight"].T @ hidden).softmax(0) @ states[1:]
        attended = (weights["attention.output.weight"] @ torch.cat([hidden, context])).tanh()
        scores = embedded[:-1] @ (parser.query.weight @ attended) + parser.bias
        part = rules if action < rules.stop else parser.numbers.tokens
        loss = loss - scores[part].log_softmax(0)[action - part.start]
        if parent:  # the rule that was applied at the parent's step
            assert seen[columns["parent_steps"][step] - 1] == parent
        seen.append(action)
        before = action
    assert len(seen) > 8
    assert float(parser.loss(parser(batch), batch)) == pytest.approx(float(loss), rel=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("fixed_loss", [True, False])
def test_the_loss_of_coarse2fine_by_hand(fixed_loss: bool):
    """Both decoders see the output at the bracket's step; brackets count in training only."""
    parser = make("Coarse2Fine", dropout=0.0, smoothing=0.0, fixed_loss=fixed_loss)
    example = EXAMPLES[1]
    batch = batch_of(parser, [example])
    states = parser.encoder(parser.embed(batch), batch.words, batch.lengths)[0]
    cell = parser.first_cell(torch.cat([states[0], states[-1]]))
    words, start, numbers = states[1:], (cell.tanh(), cell), parser.sketch_tokens

    def losses(decoder: Any, inputs: list[Tensor], gold: list[int], above: list[int]) -> list[Any]:
        """The losses of each step; ``above`` is the step before which a bracket was opened."""
        (hidden, cell), outputs, found = start, [start[0]], []
        lstm, weights = decoder.lstm, dict(decoder.named_parameters())
        for read, number, parent in zip(inputs, gold, above, strict=True):
            gates = lstm.weight_ih_l0 @ read + lstm.bias_ih_l0
            gates = gates + lstm.weight_hh_l0 @ hidden + lstm.bias_hh_l0
            enter, forget, new, out = gates.chunk(4)
            cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
            hidden = out.sigmoid() * cell.tanh()
            outputs.append(hidden)
            shares = (words @ weights["attention.key.weight"].T @ hidden).softmax(0)
            both = torch.cat([hidden, shares @ words])
            attended = (weights["attention.output.weight"] @ both).tanh()
            scores = decoder.output(torch.cat([attended, outputs[parent]]))
            found.append(-scores.log_softmax(0)[number - 1])
        return found

    # ( and ( a $0 ) ( b c0 ) )
    sketch = [numbers[token] for token in ("(and", "a@1", "b@1", ")")]
    gold = [*sketch, parser.sketch_end]
    read = [parser.sketches.weight[number] for number in (0, *sketch)]
    coarse = sum(losses(parser.coarse, read, gold, [0, 1, 1, 1, 0]))
    encoded = parser.encoded_sketch(torch.tensor([gold]))[0]
    tokens = ("(and", "(a", "$0", ")", "(b", "c0", ")", ")")
    sources, above = (0, 1, 1, 1, 2, 2, 2, 3), [0, 1, 2, 2, 1, 5, 5, 1]
    ids = [1 + parser.vocabulary.label_ids[token.removeprefix("(")] for token in tokens]
    leaves = [token in ("$0", "c0") for token in tokens]
    before = [
        parser.leaves.weight[number] if leaf else encoded[source]
        for number, leaf, source in zip(ids, leaves, sources, strict=True)
    ]
    fine = losses(parser.fine, [parser.leaves.weight[0], *before[:-1]], ids, above)
    told = coarse + sum(loss for loss, leaf in zip(fine, leaves, strict=True) if leaf)
    assert float(parser.loss(parser(batch), batch)) == pytest.approx(float(told), rel=1e-12)
    parser.train()
    parser.encoder.eval()
    expected = coarse + sum(fine) if fixed_loss else told
    assert float(parser.loss(parser(batch), batch)) == pytest.approx(float(expected), rel=1e-12)


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


@torch.no_grad()
def test_smoothing_and_hidden_tokens_are_of_training_only():
    parser = make(dropout=0.0, token_dropout=0.5, smoothing=0.1)
    batch = batch_of(parser)
    plain = parser.loss(parser(batch), batch)
    parser.train()
    parser.encoder.eval()
    torch.manual_seed(0)
    noisy = parser.loss(parser(batch), batch)
    parser.token_dropout = 0.0
    smoothed = parser.loss(parser(batch), batch)
    parser.smoothing = 0.0
    assert torch.equal(parser.loss(parser(batch), batch), plain)
    assert not torch.allclose(smoothed, plain)
    assert not torch.allclose(noisy, smoothed)


@KIND
@pytest.mark.parametrize("mean", ["probabilities", "logits"])
def test_members_share_each_step(kind: str, mean: str):
    """Two equal parsers answer as one; the mean of two differs from both somewhere."""
    examples = [*EXAMPLES, *EXAMPLES[::-1]]
    differing = 0

    @torch.no_grad()
    def forms(*members: SemanticParser) -> list[LogicalForm]:
        members[0].mean = mean
        batches = [batch_of(member) for member in members]
        states = [member(batch) for member, batch in zip(members, batches, strict=True)]
        return members[0].answers(members[0].decode(members, states, batches), [])

    for seed in range(6 if kind != "Coarse2Fine" else 2):
        one, again = make(kind, seed, longest=30), make(kind, seed, longest=30)
        # Its tokens have other numbers.
        other = make(kind, seed + 1, examples=examples[4:], longest=30)
        assert forms(one, again) == forms(one)
        both = {form for form in forms(one, other) if form}
        differing += bool(both - {*forms(one), *forms(other)})
        if kind == "Coarse2Fine":  # both have learnt the forms, by other numbers
            assert forms(one, other) == [example.gold for example in EXAMPLES]
    assert differing or kind == "Coarse2Fine"


def test_a_token_never_seen_adds_no_loss_and_its_form_is_never_right():
    parser = make()
    odd = Example(0, EXAMPLES[0].sentence, LogicalForm("( z $0 )", "lambda"))
    batch = batch_of(parser, [odd])
    assert batch.gold["target"].tolist()[0].count(-1) == 1
    assert torch.isfinite(parser.loss(parser(batch), batch)).all()
    metric = parser.metric()
    nothing = np.array([0]), parser.meanings([""]), np.array([1.0])
    parser.update(metric, nothing, batch)
    assert metric.compute() == {"exact_match": 0.0}
    same = np.array([0]), parser.meanings(["( b c0 )"]), np.array([1.0])
    parser.update(metric, same, batch_of(parser, [EXAMPLES[2]]))
    assert metric.compute() == {"exact_match": 50.0}


@pytest.mark.parametrize("kind", ["Seq2Seq", "TranX", "Coarse2Fine"])
def test_it_learns_the_sample_and_its_goal_follows_the_gold_forms_loss(kind: str):
    examples = sample_questions(0).train[:60]
    vocabulary = Vocabulary.from_examples(examples, min_count=1)
    encoder = LSTMEncoder(24, 0, hidden=24, layers=1, dropout=0.0)
    sizes: dict[str, Any] = {"hidden": 32, "dropout": 0.0, "smoothing": 0.0, "beam": 2}
    own = {"Seq2Seq": {"token_dim": 16, "token_dropout": 0.0}, "TranX": {"action_dim": 16}}
    sizes |= own.get(kind, {"input_dim": 16})
    parser = KINDS[kind][0](encoder, vocabulary=vocabulary, **sizes)
    train(parser, examples, 250, 1e-2)
    parser.eval()
    batch = batch_of(parser, examples)
    with torch.no_grad():
        found = parser.predicted(batch)
        losses = parser.loss(parser(batch), batch).exp().reciprocal().numpy()
    victim = ModelVictim([parser])
    right = found[1] == WrongForm().gold(examples, victim)
    assert right.mean() > 0.9
    answers = parser.answers(found, batch.lengths.tolist())
    same = np.array([a == e.gold for a, e in zip(answers, examples, strict=True)])
    np.testing.assert_allclose(found[2][same], losses[same], rtol=1e-4)


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
    train(parser, examples, 150, 0.03)
    assert parser.predict(texts) == list(forms)


@pytest.mark.parametrize("sketch", ["(not )", "(or a@1 )", "(not", ") )", ""])
def test_a_sketch_that_no_form_has_gives_none(sketch: str, monkeypatch: pytest.MonkeyPatch):
    form = LogicalForm("( a ( ANS ) ) ; ( \\+ b ( ANS ) )", "prolog")
    parser = make("Coarse2Fine", examples=[Example(0, EXAMPLES[0].sentence, form)])
    monkeypatch.setattr(SketchStepper, "answer", lambda *_: sketch.split())
    assert parser.predict([EXAMPLES[0].sentence] * 2) == ["", ""]


def test_a_leaf_is_no_bracket():
    """Though the form's decoder learns brackets too, and here prefers them everywhere."""
    parser = make("Coarse2Fine")
    with torch.no_grad():
        parser.fine.output.bias[[parser.vocabulary.label_ids[token] for token in "()"]] = 100.0
    sentences = [example.sentence for example in EXAMPLES]
    assert parser.predict(sentences) == [example.gold for example in EXAMPLES]


@torch.no_grad()
def test_matrices_start_as_glorot_says_but_those_that_encoders_read(tmp_path: Path):
    vocabulary = Vocabulary.from_examples(EXAMPLES, min_count=1)
    parser = TranX(LSTMEncoder(40, 0, hidden=60, layers=1), vocabulary=vocabulary)
    recurrent = parser.encoder.lstm.forwards[0].weight_hh_l0  # (240, 60)
    assert float(recurrent.std()) == pytest.approx((2 / 300) ** 0.5, rel=0.02)
    for table in (parser.encoder.words, parser.actions):
        assert not table.weight[0].any()
        expected = (2 / sum(table.weight.shape)) ** 0.5
        assert float(table.weight[1:].std()) == pytest.approx(expected, rel=0.1)
    (tmp_path / "vectors.txt").write_text("the 1 2\ncats -1 -2\n")
    encoder = LSTMEncoder(2, 0, hidden=3, layers=1, vectors=str(tmp_path / "vectors.txt"))
    parser = TranX(encoder, vocabulary=vocabulary)
    scale = 2.5**0.5  # the deviation of the file's numbers
    assert parser.encoder.static.weight[2].tolist() == pytest.approx([-1 / scale, -2 / scale])
    assert not parser.encoder.words.weight.any()


def test_parsers_that_know_other_sketches_do_not_answer_together():
    turned = [replace(EXAMPLES[2], gold=LogicalForm("( c0 b )", "lambda")), *EXAMPLES]
    parsers = [make("Seq2Seq"), make("Seq2Seq", examples=turned)]
    with pytest.raises(InputError, match="different sketches: c0@1") as error:
        ModelVictim(parsers)
    assert error.value.expected == "models trained on the same sketches"


def test_over_a_transformer(tmp_path: Path):
    parser = make(encoder=TransformerEncoder(str(save_bert(tmp_path)), mix=1), beam=2)
    forms = parser.predict([example.sentence for example in EXAMPLES])
    for example, form in zip(EXAMPLES, forms, strict=True):
        assert parser.predict([example.sentence]) == [form]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("( not ( a $0 ) ( b $0 ) )", "not with argument"),
        ("( > $0 )", "compare with op, left, right"),
    ],
)
def test_forms_outside_the_grammar_are_named_by_line(form: str, expected: str):
    parser, odd = make("TranX"), Example(6, EXAMPLES[0].sentence, LogicalForm(form, "lambda"), "x")
    with pytest.raises(InputError) as error:
        parser.check_readable([*EXAMPLES, odd], "geo/train.tsv")
    found = error.value
    assert (found.path, found.line, found.expected) == ("geo/train.tsv", 7, expected)
    parser.check_readable(EXAMPLES, "geo/train.tsv")


@pytest.mark.parametrize("settings", [{"beam": 0}, {"longest": 0}, {"smoothing": 1.0}])
def test_numbers_out_of_range(settings: dict[str, Any]):
    with pytest.raises(InputError) as error:
        make(**settings)
    assert next(iter(settings)) in str(error.value)
