"""Two forms as one answer: their gold columns, and what a parser learns and answers from them."""

from typing import Any

import pytest
import torch

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.grammars import actions_of
from robustparse.grammars.sketches import opened, sketch_of, tokens_of
from robustparse.models import Coarse2Fine, LSTMEncoder, SemanticParser, Seq2Seq, TranX
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.word_embeddings import WordEmbeddings
from robustparse.models.semantic.actions import COLUMNS, Frontier
from robustparse.types import Example, LogicalForm, Sentence

FORMS = {
    "what is near": "( lambda $0 e ( and ( near $0 c0 ) ( big $0 ) ) )",
    "a thing": "( b c0 )",
    "how big is it": "( size ( b c0 ) )",
    "it is not": "( lambda $0 e ( not ( big $0 ) ) )",
}
EXAMPLES = [
    Example(id_, Sentence(tuple(text.split())), LogicalForm(form, "lambda"))
    for id_, (text, form) in enumerate(FORMS.items())
]
PARENTS = dict.fromkeys(("parent_rule", "parent_field", "parent_type", "parent_state"), True)
KINDS: dict[str, tuple[type[SemanticParser], dict[str, Any]]] = {
    "Seq2Seq": (Seq2Seq, {}),
    "TranX": (TranX, PARENTS),
    "Coarse2Fine": (Coarse2Fine, {"input_dim": 16}),
}
KIND = pytest.mark.parametrize("kind", KINDS)


def make(kind: str, **settings: Any) -> Any:
    made, usual = KINDS[kind]
    vocabulary = Vocabulary.from_examples(EXAMPLES, min_count=1)
    settings = {"hidden": 32, "dropout": 0.0, "smoothing": 0.0, "longest": 30} | usual | settings
    encoder = LSTMEncoder(16, 0, hidden=16, layers=1, dropout=0.0)
    return made(encoder, vocabulary=vocabulary, **settings).double().eval()


def joined(parser: SemanticParser, first: int, second: int) -> Example:
    pair = EXAMPLES[first], EXAMPLES[second]
    return parser.task.files.concatenated(*pair, parser.encoder.separator)


def batch_of(parser: SemanticParser, *examples: Example) -> Batch:
    return parser.encode(examples).batch(range(len(examples)), 1.0)


def columns(parser: SemanticParser, example: Example) -> dict[str, list[int]]:
    return {name: column[0].tolist() for name, column in batch_of(parser, example).gold.items()}


def tree(example: Example) -> Any:
    return make("TranX").language.read(example.gold)


def test_the_columns_of_seq2seq_have_the_end_of_each_form():
    parser = make("Seq2Seq")
    ids = parser.vocabulary.label_ids
    first, second = ([ids[token] for token in EXAMPLES[i].gold.split()] for i in (0, 1))
    found = columns(parser, joined(parser, 0, 1))
    assert found["target"] == [*first, parser.end, *second, parser.end]


def test_the_columns_of_tranx_point_at_rules_of_the_own_tree():
    """Each step whose field has a parent points at the last open rule, found by a stack."""
    parser = make("TranX")
    found, numbers = columns(parser, joined(parser, 0, 3)), parser.numbers
    parents: list[int] = []
    actions: list[int] = []
    for example in (EXAMPLES[0], EXAMPLES[3]):
        open_: list[list[int]] = []  # step of a rule, and its fields that are left
        for action in actions_of(parser.language.to_ast(tree(example))):
            while open_ and not open_[-1][1]:
                open_.pop()
            parents.append(open_[-1][0] if open_ else 0)
            actions.append(numbers.number(action))
            fields = getattr(action, "fields", None)
            if open_ and _closes(parser, found, len(actions) - 1, action):
                open_[-1][1] -= 1
            if fields is not None:
                open_.append([len(actions), len(fields)])
    assert found["actions"] == actions
    assert found["parent_steps"] == parents
    assert sum(step == 0 for step in parents) == 2


def _closes(parser: TranX, found: dict[str, list[int]], step: int, action: Any) -> bool:
    """Whether an action fills its field: REDUCE closes one of any number of values."""
    field = parser.numbers.grammar.fields[found["fields"][step] - 1]
    return not field.repeated or not (isinstance(action, str) or hasattr(action, "fields"))


def test_the_columns_of_coarse2fine_are_those_of_one_text():
    """Both forms are balanced, so that brackets of the joined tokens are found as of one form."""
    parser = make("Coarse2Fine")
    found = columns(parser, joined(parser, 0, 2))
    sketches = [sketch_of(tree(EXAMPLES[i]), parser.language) for i in (0, 2)]
    tokens = [token for i in (0, 2) for token in tokens_of(tree(EXAMPLES[i]), parser.language)]
    ended = [*sketches[0], "end", *sketches[1]]
    assert found["sketch_opened"] == opened(ended)
    assert found["opened"] == opened(tokens)[:-1]
    ids, end = parser.codec.sketch_tokens, parser.codec.sketch_end
    assert found["sketch"] == [*(ids.get(token, end) for token in ended), end]
    for token, source in zip(tokens, found["sources"], strict=True):
        head = token.removeprefix("(")
        of = ended[source - 1]
        assert token == ")" or head.startswith(("$", "c")) or head == of.strip("(").split("@")[0]
    assert max(found["sources"]) == len(ended)
    names = ["", *parser.vocabulary.labels]
    for token, leaf, fixed in zip(tokens, found["leaves"], found["fixed"], strict=True):
        assert names[leaf or fixed] == token.removeprefix("(")


@torch.no_grad()
@pytest.mark.parametrize("kind", ["Seq2Seq", "TranX"])
def test_the_loss_continues_where_the_first_form_ends(kind: str):
    """Step by step: the second form is read after the first, in the state that it left."""
    parser = make(kind)
    batch = batch_of(parser, joined(parser, 0, 1))
    reading = parser(batch)
    if kind == "Seq2Seq":
        state, before, loss = reading.start, parser.end + 1, 0.0
        for token in batch.gold["target"][0].tolist():
            state = parser.step(parser.tokens.weight[[before]], state, reading.memory)
            loss -= float(parser.scores(state[2])[0].log_softmax(-1)[token])
            before = token
    else:
        zeros = torch.zeros_like(reading.start)
        state, before, loss, history = (reading.start, zeros, zeros), 0, 0.0, [zeros]
        for action, *read in zip(*(batch.gold[name][0].tolist() for name in COLUMNS), strict=True):
            frontier = Frontier(*(torch.tensor([one]) for one in read))
            state = parser.step(
                torch.tensor([before]), frontier, history[read[-1]], state, reading.memory
            )
            history.append(state[0])
            part = parser.numbers.rules
            part = part if action < part.stop else parser.numbers.tokens
            scores = parser.scores(state[2][None], reading)[0, 0, part].log_softmax(-1)
            loss -= float(scores[action - part.start])
            before = action
    assert float(parser.loss(reading, batch)) == pytest.approx(loss, rel=1e-12)


@torch.no_grad()
@KIND
def test_losses_do_not_depend_on_batch_mates(kind: str):
    parser = make(kind)
    examples = [joined(parser, 0, 1), EXAMPLES[2], joined(parser, 3, 2), EXAMPLES[1]]
    batch = batch_of(parser, *examples)
    losses = parser.loss(parser(batch), batch)
    for row, example in enumerate(examples):
        own = batch_of(parser, example)
        assert torch.allclose(parser.loss(parser(own), own)[0], losses[row], rtol=1e-12)
    assert len(set(losses.tolist())) == len(examples)


@KIND
def test_a_parser_of_pairs_answers_with_the_first_form(kind: str):
    """Trained on pairs, it answers single utterances as ever, and pairs with one form."""
    parser = make(kind)
    firsts = [0, 1, 2, 3] * 2
    pairs = [
        joined(parser, first, 3 - first // 2 if at < 4 else first // 2)
        for at, first in enumerate(firsts)
    ]
    batch = batch_of(parser, *EXAMPLES, *pairs)
    optimizer = torch.optim.Adam(parser.parameters(), 0.02)
    for _ in range(50):
        optimizer.zero_grad()
        loss = parser.loss(parser(batch), batch).mean()
        if loss < 0.1:
            break
        loss.backward()
        optimizer.step()
    answers = parser.predict([one.sentence for one in (*EXAMPLES, *pairs)])
    right = [answer == gold for answer, gold in zip(answers[:4], FORMS.values(), strict=True)]
    assert all(right)
    of_pairs = [EXAMPLES[first].gold for first in firsts]
    assert sum(a == b for a, b in zip(answers[4:], of_pairs, strict=True)) >= 6


@pytest.mark.parametrize("encoder", [LSTMEncoder(4, 3, 4, 4, 1), WordEmbeddings(4)])
def test_tables_of_words_read_the_separator_as_root(encoder: Encoder):
    encoder.build(Vocabulary.from_examples(EXAMPLES, min_count=1))
    words = torch.from_numpy(encoder.intern([encoder.separator, "unheard-of"]))[None].long()
    root, separator, unknown = encoder.embed(words, torch.zeros_like(words))[0, :, :4]
    assert torch.equal(separator, root)
    assert not torch.equal(unknown, root)
