"""The built-in sample of each task, and a small model for it, for ``quickstart``."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytorch_lightning as pl
from pytorch_lightning.callbacks import RichProgressBar

from robustparse.api.progress import quiet
from robustparse.data.datamodule import SAMPLE, Batches, DataModule
from robustparse.data.sample.questions import question_lexicon
from robustparse.data.sample.reviews import review_lexicon
from robustparse.data.sample.treebank import treebank_lexicon
from robustparse.data.tags.datamodule import TagDataModule
from robustparse.data.text_datamodule import TextDataModule
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.data.utterances.forms import LogicalFormDataModule
from robustparse.files.output_folders import make_folder
from robustparse.lightning import resume_only_as_told
from robustparse.models.base import Model
from robustparse.models.classification.cnn import WordCNN
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.word_embeddings import WordEmbeddings
from robustparse.models.optimization import Optimization
from robustparse.models.semantic.seq2seq import Seq2Seq
from robustparse.models.tags.tagger import BiLSTMTagger
from robustparse.tracking.checkpoint_io import VerifiedCheckpointIO
from robustparse.tracking.csv import CsvLogger


class Subject(NamedTuple):
    """The built-in data of a task, and a model that learns them in a minute.

    Args:
        model: the kind of model, in messages and in the name of the checkpoint.
        sample: the kind of data, in messages.
        data: makes the data module, given ``seed`` and other settings.
        make: makes the model, given the settings that all models have.
        lexicon: returns substitutes that keep every gold answer, given a seed.
    """

    model: str
    sample: str
    data: Callable[..., DataModule]
    make: Callable[..., Model]
    lexicon: Callable[[int], dict[str, list[str]]]

    def fit(
        self,
        folder: Path,
        data: DataModule,
        epochs: int,
        learning_rate: float,
        callbacks: Sequence[pl.Callback] = (),
        init_from: Path | None = None,
    ) -> Path:
        """Train in a folder, from random weights or those of a checkpoint.

        Returns:
            The path of the new checkpoint.
        """
        model = self.make(
            optimization=Optimization(learning_rate, schedule="linear"),
            seed=data.seed,
            init_from=None if init_from is None else str(init_from),
            vocabulary=data.vocabulary if init_from is None else None,
        )
        with quiet():
            trainer = pl.Trainer(
                max_epochs=epochs,
                accelerator="cpu",
                devices=1,
                gradient_clip_val=5.0,
                callbacks=[*callbacks, RichProgressBar(leave=False)],
                logger=CsvLogger(str(make_folder(folder))),
                default_root_dir=str(folder),
                enable_checkpointing=False,
                enable_model_summary=False,
                use_distributed_sampler=False,
                plugins=[VerifiedCheckpointIO()],
            )
            resume_only_as_told(trainer)
            trainer.fit(model, datamodule=data)
            path = folder / f"{self.model}.ckpt"
            trainer.save_checkpoint(path)
        return path


def _parser(**common: Any) -> Model:
    encoder = LSTMEncoder(word_dim=64, character_dim=0, hidden=128, layers=1, dropout=0.1)
    return BiaffineParser(encoder, arc_dim=100, label_dim=50, **common)


def _classifier(**common: Any) -> Model:
    return WordCNN(WordEmbeddings(word_dim=64, dropout=0.1), filters=50, **common)


def _tagger(**common: Any) -> Model:
    encoder = LSTMEncoder(word_dim=64, character_dim=0, hidden=64, layers=1, dropout=0.1)
    return BiLSTMTagger(encoder, dropout=0.1, **common)


def _semantic_parser(**common: Any) -> Model:
    encoder = LSTMEncoder(word_dim=64, character_dim=0, hidden=64, layers=1, dropout=0.1)
    return Seq2Seq(
        encoder, token_dim=32, hidden=128, dropout=0.1, token_dropout=0.1, beam=1, **common
    )


def _data(kind: type[DataModule]) -> Callable[..., DataModule]:
    return partial(kind, folder=SAMPLE, batches=Batches(words=320), min_count=1)


SENTENCES = Subject("parser", "treebank", _data(TreebankDataModule), _parser, treebank_lexicon)
TAGGED = Subject("tagger", "tags", _data(TagDataModule), _tagger, treebank_lexicon)
REVIEWS = Subject("classifier", "reviews", _data(TextDataModule), _classifier, review_lexicon)
QUESTIONS = Subject(
    "parser", "questions", _data(LogicalFormDataModule), _semantic_parser, question_lexicon
)
