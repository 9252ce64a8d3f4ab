"""TranX: its loss by hand, how its matrices start, and forms outside its grammar."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tiny_semantic_parsers import EXAMPLES, batch_of, make

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.grammars import REDUCE, Derivation, actions_of, language_named
from robustparse.models import (
    LSTMEncoder,
    TranX,
)
from robustparse.models.semantic.actions import COLUMNS
from robustparse.types import Example, LogicalForm


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


def test_a_tree_that_its_language_cannot_write_is_an_empty_form():
    """Prolog writes no conjunction of nothing, which an untrained parser soon builds."""
    form = LogicalForm("a ( ANS ) , a ( c0 )", "prolog")
    examples = [replace(EXAMPLES[0], gold=form)]
    parser = make("TranX", examples=examples, beam=1)
    numbers = parser.numbers
    with torch.no_grad():
        parser.bias[numbers.number(parser.language.rule("And"))] = 1e3
        parser.bias[numbers.number(REDUCE)] = 2e3  # not allowed before
    (answer,) = parser.predict([examples[0].sentence])
    assert answer == ""
    assert parser.codec.meanings([answer]).tolist() == [-1]


def test_sorted_children_are_learnt_whatever_the_order_of_the_file():
    forms = ("( and ( from a ) ( b c0 ) ( a $0 ) )", "( and ( a $0 ) ( from a ) ( b c0 ) )")
    one, other = (LogicalForm(form, "lambda") for form in forms)
    examples = [*EXAMPLES, Example(4, EXAMPLES[0].sentence, one)]
    parsers = [make("TranX", examples=examples, sort_children=heads) for heads in (None, ["from"])]
    apart, same = (
        parser.codec.columns_of(one) == parser.codec.columns_of(other) for parser in parsers
    )
    assert (apart, same) == (False, True)
    # Those with the heads come first, the others by their text.
    first = parsers[0].codec.columns_of(
        LogicalForm("( and ( from a ) ( a $0 ) ( b c0 ) )", "lambda")
    )
    assert parsers[1].codec.columns_of(other)["actions"] == first["actions"]
