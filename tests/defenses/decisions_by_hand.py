"""Small models in float64, and the distributions of each of their decisions written out."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytorch_lightning as pl
import torch
from torch.nn.functional import kl_div

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.models import Model, Seq2Seq, WordCNN
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.word_embeddings import WordEmbeddings
from robustparse.types import Example, Label, LogicalForm
from tiny_models import examples

Answers = Sequence[Sequence[torch.Tensor]]
"""The log-probabilities of the choices of every decision of a text."""


def with_random_weights(model: Model) -> Any:
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.double().parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.add_(0.3 * noise)
    return model.train()


def forms() -> list[Example]:
    made = ("( a $0 )", "( and ( a $0 ) ( b c0 ) )", "( b c0 )", "( a cats )")
    pairs = zip(examples(), made, strict=True)
    return [Example(e.id, e.sentence, LogicalForm(form, "lambda")) for e, form in pairs]


def labelled() -> list[Example]:
    return [Example(e.id, e.sentence, Label("ab"[e.id % 2])) for e in examples()]


def biaffine(tags: int = 3) -> BiaffineParser:
    encoder = LSTMEncoder(5, 3, 4, hidden=6, layers=1, dropout=0.0, tag_dim=tags)
    known = Vocabulary.from_examples(examples(), min_count=1)
    parser = BiaffineParser(encoder, arc_dim=5, label_dim=4, dropout=0.0, vocabulary=known)
    return with_random_weights(parser)


def seq2seq() -> Seq2Seq:
    known = Vocabulary.from_examples(forms(), min_count=1)
    rates = {"dropout": 0.0, "token_dropout": 0.0}
    encoder = LSTMEncoder(5, 0, hidden=6, layers=1, dropout=0.0)
    return with_random_weights(Seq2Seq(encoder, 4, 6, vocabulary=known, **rates))


def cnn() -> WordCNN:
    known = Vocabulary.from_examples(labelled(), min_count=1)
    encoder = WordEmbeddings(word_dim=5, dropout=0.0)
    return with_random_weights(WordCNN(encoder, filters=4, dropout=0.0, vocabulary=known))


# The log-probabilities of every decision of one text, written out for each model.


def tree_decisions(model: BiaffineParser, states: Any, batch: Batch) -> list[list[torch.Tensor]]:
    made = []
    for word, head in enumerate(batch.gold["heads"][0].tolist(), start=1):
        one = torch.ones(1, dtype=torch.float64)
        dependent = torch.cat([states.rel_d[0, word], one])
        governor = torch.cat([states.rel_h[0, head], one])
        labels = torch.stack([dependent @ matrix @ governor for matrix in model.rel_attn.weight])
        made.append([states.arcs[0, word].log_softmax(0), labels.log_softmax(0)])
    return made


def form_decisions(model: Seq2Seq, states: Any, batch: Batch) -> list[list[torch.Tensor]]:
    made, state, previous = [], states.start, model.end + 1
    for token in batch.gold["target"][0].tolist():
        state = model.step(model.tokens.weight[[previous]], state, states.memory)
        made.append([model.scores(state[2])[0].log_softmax(0)])
        previous = token
    return made


def class_decisions(model: WordCNN, states: Any, batch: Batch) -> list[list[torch.Tensor]]:
    return [[states[0].log_softmax(0)]]


CASES: dict[str, tuple[Callable[[], Any], Callable[[], list[Example]], Any]] = {
    "biaffine": (biaffine, examples, tree_decisions),
    "Seq2Seq": (seq2seq, forms, form_decisions),
    "WordCNN": (cnn, labelled, class_decisions),
}


def answers(model: Any, example: Example, decide: Any) -> Answers:
    """Those of a text read alone."""
    batch = model.encode([example]).batch([0], 1.0)
    made: Answers = decide(model, model(batch), batch)
    return made


def divergences(first: Answers, second: Answers) -> list[torch.Tensor]:
    """KL(first || second) of every decision."""
    return [
        sum(kl_div(b, a, reduction="sum", log_target=True) for a, b in zip(*pair, strict=True))
        for pair in zip(first, second, strict=True)
    ]


def stage(epoch: int = 2) -> Any:
    """What an adversary asks of a trainer."""
    plain = pl.plugins.Precision()
    return SimpleNamespace(current_epoch=epoch, world_size=1, precision_plugin=plain)


def close(first: torch.Tensor, second: torch.Tensor) -> None:
    torch.testing.assert_close(first, second, rtol=1e-10, atol=1e-10)
