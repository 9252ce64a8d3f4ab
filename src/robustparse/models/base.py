"""One base for every model: embed, forward, loss, decode, and the only training step.

The *delta* is added to the embeddings after look-up and before dropout, one row a word or sub-word
piece (what belongs to no word, as ROOT and padding, must get zeros). Gradient defenses use nothing
else of a model's inside; white-box attacks use `embed` and `read`, what comes before and after it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from pytorch_lightning.trainer.states import TrainerFn
from pytorch_lightning.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn
from torchmetrics import Metric

from robustparse.data.batch import Batch, Column, EncodedCorpus
from robustparse.data.given import Text, examples_of
from robustparse.data.sampler import EvaluationLoader, Unit, forward_words
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, check_seed
from robustparse.lightning import batches_done, loader_states, start_accumulation
from robustparse.metrics import PunctuationPolicy
from robustparse.models.bounds import making_from
from robustparse.models.checkpoint import (
    KEY,
    check_same_class,
    check_same_files,
    describe,
    fill_weights,
    held_arguments,
    read_checkpoint,
    specification,
)
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.dropout import evaluating
from robustparse.models.optimization import Optimization
from robustparse.models.scores import Mean
from robustparse.tasks.task import MOST_LISTED, Task
from robustparse.types import Example, Prediction, Predictions

States = Any
"""What ``forward`` gives and ``loss`` and ``decode`` take; its type is the model's own."""


class Model(pl.LightningModule, ABC):
    """Reads texts by an encoder, and answers; subclasses say how.

    Args:
        encoder: gives a vector a word.
        optimization: optimiser and schedule.
        seed: of initialisation and dropout.

    Attributes:
        task: the kind of its answers.
        unit: what losses are divided by.
        reads_pairs: whether it reads the context of a text too.
        delta_source: gives the delta of ``forward``; set by a gradient adversary while it trains.
        vocabulary: what the model knows of its training data.
        mean: of what it takes the mean where others answer together with it.
        shared_settings: arguments that models must have in common to answer together.
        checkpoint: the file that it was loaded from.
        trained_on: what tells its training data from others, copies apart; None if unknown.
        data_columns: the names of the columns that its training data were read from; None where
            they had none.
    """

    mean: Mean = "probabilities"
    unit: ClassVar[Unit] = "words"
    shared_settings: ClassVar[tuple[str, ...]] = ()
    checkpoint: str | None = None
    trained_on: str | None = None
    data_columns: list[str] | None = None
    reads_pairs: ClassVar[bool] = False
    vocabulary: Vocabulary
    task: Task

    def __init__(self, encoder: Encoder, optimization: Optimization, seed: int) -> None:
        super().__init__()
        check_seed("model: seed", seed)
        self.encoder, self.optimization, self.seed = encoder, optimization, seed
        self.delta_source: Callable[[Batch], Tensor] | None = None
        self.validation_score, self.test_score = self.metric(), self.metric()
        self._loader_states: list[dict[str, int]] = []

    def initialize(self, vocabulary: Vocabulary | None, init_from: str | None) -> None:
        """Make the layers from (seed, vocabulary), or all from a checkpoint, ``init_from``.

        What its encoder had read from files, as a tokenizer, comes from the checkpoint too.

        Raises:
            InputError: neither is given, or the checkpoint does not fit or holds NaN.
        """
        if init_from is not None:
            start = read_checkpoint(init_from, "init_from")
            check_same_class(self, str(init_from), start)
            with making_from(init_from, start["state_dict"]):
                self.encoder.restore(held_arguments(start, "encoder"))
                self._make(Vocabulary.from_lists(start[KEY]["vocabulary"]))
            fill_weights(self, str(init_from), start)
        elif vocabulary is not None:
            self._make(vocabulary)
        else:
            raise InputError(
                "neither a vocabulary nor a checkpoint is given",
                key=type(self).__name__,
                remedy="pass vocabulary=Vocabulary.from_examples(examples), or init_from=PATH",
            )

    def _make(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            self.encoder.build(vocabulary)
            self.build(vocabulary)

    # What a model is made of

    @abstractmethod
    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers above the encoder."""

    @abstractmethod
    def read(self, embeddings: Tensor, batch: Batch) -> States:
        """Return what ``forward`` does, of texts that embed so, ``(batch, units, dim)``."""

    @abstractmethod
    def loss(self, states: States, batch: Batch) -> Tensor:
        """Return the loss of each text, summed over its words if these have one, ``(batch,)``."""

    @abstractmethod
    def decode(
        self, members: Sequence[Any], states: Sequence[States], batches: Sequence[Batch]
    ) -> Predictions:
        """Return the answers to a batch, arrays of ``batch`` rows.

        Models that answer together, this one first, give states and batches of the same texts.
        """

    @abstractmethod
    def answers(self, predictions: Predictions, lengths: Sequence[int]) -> list[Any]:
        """Return predictions for texts of these lengths as answers, of the type of gold ones."""

    @abstractmethod
    def gold_columns(
        self, examples: Sequence[Example], punctuation: PunctuationPolicy
    ) -> dict[str, Column]:
        """Return the gold answers as the columns that ``loss`` and scores look at."""

    @abstractmethod
    def restricted_gold(
        self, gold: Sequence[Any], among: Sequence[NDArray[np.bool_]]
    ) -> dict[str, NDArray[np.int64]]:
        """Return gold columns, ``(texts, width)``, of which the loss sees only the words ``among``.

        Gold answers are as an attack's goal keeps them; ``among`` is ``(words,)`` of each text.
        """

    @abstractmethod
    def metric(self) -> Metric:
        """Return a metric without texts; its ``compute`` gives the task's scores by name."""

    @abstractmethod
    def update(self, metric: Metric, predictions: Predictions, batch: Batch) -> None:
        """Add a batch to a metric."""

    def intern_marks(self, marks: Sequence[str]) -> NDArray[np.int32]:
        """Return ids of what goes with positions, usually their tags, ``(marks,)``."""
        return self.encoder.intern_tags(marks)

    def name_ids(self, names: Sequence[str]) -> NDArray[np.integer[Any]]:
        """Return ids of labels, ``(names,)``; -1 of one never seen in training."""
        return np.array([self.vocabulary.label_ids.get(name, -1) for name in names], np.int32)

    def margin(self, states: States, batch: Batch) -> Tensor:
        """Return the margin loss that white-box attacks may raise, of each text, ``(batch,)``.

        Raises:
            InputError: the model has none.
        """
        found = f"{type(self).__name__} has no margin loss"
        raise InputError(found, key="loss", remedy="choose cross_entropy")

    # Forward

    def embed(self, batch: Batch) -> Tensor:
        """Return ``(batch, units, dim)``; ROOT comes first."""
        return self.encoder.embed(batch.words, batch.marks)

    def forward(self, batch: Batch, delta: Tensor | None = None) -> States:
        """Read a batch, a delta ``(batch, units, dim)`` added to its embeddings."""
        embeddings = self.embed(batch)
        return self.read(embeddings if delta is None else embeddings + delta, batch)

    def zero_delta(self, batch: Batch) -> Tensor:
        """Return ``(batch, units, dim)`` zeros, of the embeddings' shape."""
        shape = (*self.encoder.delta_mask(batch.words, batch.lengths).shape, self.encoder.dim)
        return next(self.parameters()).new_zeros(shape)

    def delta_mask(self, batch: Batch) -> Tensor:
        """Return ``(batch, units, 1)``: 1 where a delta is allowed, on words or their pieces."""
        mask = self.encoder.delta_mask(batch.words, batch.lengths)
        return mask.unsqueeze(-1).to(next(self.parameters()).dtype)

    def predicted(self, batch: Batch) -> Predictions:
        """Return this model's own answers to a batch."""
        return self.decode([self], [self(batch)], [batch])

    def predict(
        self, sentences: Sequence[Text], batch_words: int | None = None, checked: bool = True
    ) -> list[Any]:
        """Return the answers to texts, each a list of words or a ``Sentence`` with tags.

        Args:
            sentences: what to read; text must have been split into words.
            batch_words: padded words of a forward pass; None leaves them to ``forward_words``.
            checked: see ``encode``.

        Raises:
            InputError: see ``examples_of`` and ``check``; or ``batch_words`` is below 1.
        """
        examples, size = examples_of(sentences), forward_words(self.device, batch_words)
        data = self.encode(examples, checked=checked, gold=False)
        with evaluating(self):
            batches = (batch.to(self.device) for batch in EvaluationLoader(data, size))
            found = {p.id: p.answer for batch in batches for p in self.predict_step(batch, 0)}
        return [found[index] for index in range(len(data))]

    # Data

    def check(self, examples: Sequence[Example]) -> None:
        """Refuse sentences that this model cannot read.

        Raises:
            InputError: names the first such sentence, counted from 1.
        """
        for example in examples:
            try:
                self.encoder.check(example.sentence)
            except InputError as error:
                raise InputError(str(error), key=f"sentence {example.id + 1}") from None

    def check_readable(
        self, examples: Sequence[Example], path: str | Path, punctuation: PunctuationPolicy = "none"
    ) -> None:
        """Refuse sentences of a file as ``check`` does, by file and line."""
        self.task.check(examples, path, self.check, punctuation)

    def warnings(
        self,
        examples: Sequence[Example],
        path: str | Path,
        punctuation: PunctuationPolicy = "none",
        training: bool = False,
        gold: bool = True,
        most: int | None = MOST_LISTED,
    ) -> Iterator[str]:
        """Yield what scores on a file, or training on it, suffer from; ``gold`` as in `encode`."""
        known, texts = self.vocabulary.labels, [example.sentence for example in examples]
        yield from (f"{path}: {warning}" for warning in self.encoder.warnings(texts))
        if gold:
            yield from self.task.warnings(examples, path, known, punctuation, training, most)

    def encode(
        self,
        examples: Sequence[Example],
        punctuation: PunctuationPolicy = "none",
        *,
        checked: bool = True,
        gold: bool = True,
    ) -> EncodedCorpus:
        """Return texts as rows of the word table, and their gold answers as columns.

        Args:
            examples: the texts.
            punctuation: which words count in scores.
            checked: refuse what ``check`` refuses; copies that an attack made are none of it.
            gold: look at gold answers.
        """
        if checked:
            self.check(examples)
        columns = self.gold_columns(examples, punctuation) if gold else {}
        return EncodedCorpus.of(examples, self.encoder.intern, self.intern_marks, columns)

    # Training

    def on_fit_start(self) -> None:
        """Refuse to train what could not be loaded again; switch a loaded model to training mode.

        Lightning leaves the modes as they are: dropout would stay off, and cuDNN's LSTM has no
        backward pass in evaluation mode.
        """
        specification(self)
        if not self.training:
            self.train()

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Seed dropout from (seed, epoch, batch, process): a resumed run draws the same masks."""
        place = [self.seed, self.current_epoch, batch_idx, self.global_rank]
        torch.manual_seed(int(np.random.SeedSequence(place).generate_state(1, np.uint64)[0]))

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the loss per unit of the global batch, times the processes averaged over."""
        delta = None if self.delta_source is None else self.delta_source(batch)
        losses = self.loss(self(batch, delta), batch)
        return losses.sum() / batch.weight * self.trainer.world_size

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        """Log the loss here, which an adversary's second pass does not reach."""
        # Lightning has divided it by the batches of an optimiser step.
        loss = outputs["loss"] * self.trainer.accumulate_grad_batches
        self.log("train/loss", loss, prog_bar=True)

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """Return the optimiser with its schedule, stepped every batch."""
        return self.optimization.configured(self, self.encoder.pretrained_parameters())

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip as the trainer says; Lightning's own way refuses a fused optimiser in bf16."""
        if gradient_clip_val and gradient_clip_val > 0:
            norm = gradient_clip_algorithm != "value"
            clip = nn.utils.clip_grad_norm_ if norm else nn.utils.clip_grad_value_
            clip(self.parameters(), gradient_clip_val)

    # Resuming

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add what makes the model anew; say which batch comes next."""
        checkpoint[KEY] = describe(self, self.vocabulary, self.trained_on, self.data_columns)
        # A loader does not know that ``limit_train_batches`` ends an epoch before its end.
        for loader in loader_states(checkpoint):
            loader["position"] = batches_done(checkpoint) % int(self.trainer.num_training_batches)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse to continue with other vectors, another tokenizer or another vocabulary.

        Weights that are not finite are refused too, except where training is to continue.
        """
        check_same_files(self.encoder, self.vocabulary, checkpoint)
        trainer = self._trainer
        if trainer is not None:
            # Lightning converts the module only after loading: float64 would go through float32.
            trainer.precision_plugin.convert_module(self)
        resumes = trainer is not None and trainer.state.fn == TrainerFn.FITTING
        path = "the checkpoint" if trainer is None else str(trainer.ckpt_path)
        fill_weights(self, path, checkpoint, finite=not resumes)
        if resumes:
            self._loader_states = loader_states(checkpoint)

    def on_train_start(self) -> None:
        """Put the loader where the checkpoint says.

        Lightning does so only if nothing has asked for the loader before; a linear schedule has.
        """
        for state in self._loader_states:
            self.trainer.train_dataloader.load_state_dict(state)  # type: ignore[union-attr]
        self._loader_states = []
        start_accumulation(self.trainer)

    # Evaluation

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add the batch to the scores."""
        self.update(self.validation_score, self.predicted(batch), batch)

    def test_step(self, batch: Batch, batch_idx: int) -> None:
        """Add the batch to the scores."""
        self.update(self.test_score, self.predicted(batch), batch)

    def predict_step(self, batch: Batch, batch_idx: int) -> list[Prediction]:
        """Return the answer to each text."""
        answers = self.answers(self.predicted(batch), batch.lengths.tolist())
        return list(map(Prediction, batch.ids.tolist(), answers))

    def on_validation_epoch_end(self) -> None:
        """Log each score as ``val/SCORE``, summed over processes."""
        self._log_scores("val", self.validation_score)

    def on_test_epoch_end(self) -> None:
        """Log each score as ``test/SCORE``."""
        self._log_scores("test", self.test_score)

    def _log_scores(self, split: str, metric: Metric) -> None:
        for name, value in metric.compute().items():
            self.log(f"{split}/{name}", value, prog_bar=name == self.task.headline)
        metric.reset()
