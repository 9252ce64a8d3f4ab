"""What ``quickstart`` tells of each task: its sample, a model, and the sizes that suit both."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.data.datamodule import SAMPLE, DataModule
from robustparse.data.sample.questions import question_lexicon
from robustparse.data.sample.reviews import review_lexicon
from robustparse.data.sample.treebank import attack_lexicon
from robustparse.data.texts import TextDataModule
from robustparse.data.treebank import TreebankDataModule
from robustparse.data.utterances.forms import LogicalFormDataModule
from robustparse.models.base import Model
from robustparse.models.classification.cnn import WordCNN
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.word_embeddings import WordEmbeddings
from robustparse.models.optimization import Optimization
from robustparse.models.semantic.seq2seq import Seq2Seq

Lexicon = dict[str, list[str]]
Start = tuple[DataModule, str | None]
"""The training data, and the checkpoint that training starts from, if it does."""


class Story(NamedTuple):
    """The embedded data of a task, a model that learns them in a minute, and its attack.

    Args:
        model: what it is called, also in the name of its checkpoint.
        sample: what the embedded data are called.
        data: makes them of a seed.
        make: makes the model, of the data or a checkpoint, optimisation and seed.
        lexicon: makes the substitutes that keep every gold answer, of a seed.
        constraints: of the attack.
        gamma: the attack's edit budget, a fraction of the words.
        curve: other budgets, for the curve.
        epochs: of clean training; of training on with an adversary; and of training on without one,
            as many as take the same time.
        rates: learning rates of clean training and of training on.
    """

    model: str
    sample: str
    data: Callable[[int], DataModule]
    make: Callable[[Start, Optimization, int], Model]
    lexicon: Callable[[int], Lexicon]
    constraints: tuple[Constraint, ...]
    gamma: float
    curve: tuple[float, ...]
    epochs: tuple[int, int, int]
    rates: tuple[float, float]


def _treebank(seed: int) -> DataModule:
    return TreebankDataModule(folder=SAMPLE, batch_words=320, min_count=1, seed=seed)


def _parser(start: Start, optimization: Optimization, seed: int) -> Model:
    data, init_from = start
    return BiaffineParser(
        LSTMEncoder(word_dim=64, character_dim=0, hidden=128, layers=1, dropout=0.1),
        arc_dim=100,
        label_dim=50,
        optimization=optimization,
        seed=seed,
        init_from=init_from,
        vocabulary=data.vocabulary if init_from is None else None,
    )


def _reviews(seed: int) -> DataModule:
    return TextDataModule(folder=SAMPLE, batch_words=320, min_count=1, seed=seed)


def _classifier(start: Start, optimization: Optimization, seed: int) -> Model:
    data, init_from = start
    return WordCNN(
        WordEmbeddings(word_dim=64, dropout=0.1),
        filters=50,
        optimization=optimization,
        seed=seed,
        init_from=init_from,
        vocabulary=data.vocabulary if init_from is None else None,
    )


def _questions(seed: int) -> DataModule:
    return LogicalFormDataModule(folder=SAMPLE, batch_words=320, min_count=1, seed=seed)


def _semantic_parser(start: Start, optimization: Optimization, seed: int) -> Model:
    data, init_from = start
    return Seq2Seq(
        LSTMEncoder(word_dim=64, character_dim=0, hidden=64, layers=1, dropout=0.1),
        token_dim=32,
        hidden=128,
        dropout=0.1,
        token_dropout=0.1,
        beam=1,
        optimization=optimization,
        seed=seed,
        init_from=init_from,
        vocabulary=data.vocabulary if init_from is None else None,
    )


STORIES: Mapping[str, Story] = MappingProxyType(
    {
        "dependency": Story(
            *("parser", "treebank", _treebank, _parser, attack_lexicon, (AttackableTags(),)),
            gamma=0.15,
            curve=(0.05, 0.10, 0.20),
            epochs=(40, 16, 36),
            rates=(2e-3, 4e-3),
        ),
        "classification": Story(
            *("classifier", "reviews", _reviews, _classifier, review_lexicon, ()),
            gamma=0.15,
            curve=(0.2, 0.3, 0.4),
            epochs=(20, 10, 20),
            rates=(2e-3, 2e-3),
        ),
        "semantic": Story(
            *("parser", "questions", _questions, _semantic_parser, question_lexicon, ()),
            gamma=0.15,
            curve=(0.05, 0.10, 0.20),
            epochs=(20, 10, 20),
            rates=(2e-3, 2e-3),
        ),
    }
)
DEFAULT = "dependency"
