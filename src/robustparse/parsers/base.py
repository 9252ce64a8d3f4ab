"""One base for every parser: the only training step, the offset interface, evaluation.

Offset interface: an additive tensor on the embeddings after look-up and before dropout, one row a
word (ROOT at position 0 and padding must get zeros). White-box attacks and gradient adversaries use
nothing else of a parser's inside.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from pytorch_lightning.utilities.types import OptimizerLRScheduler
from torch import Tensor

from robustparse.data.batch import Batch, Numbered
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.metrics import AttachmentScore, PunctuationPolicy, counted_words
from robustparse.parsers.checkpoint import KEY, describe, fill_weights, read_checkpoint
from robustparse.parsers.encoders import Encoder
from robustparse.parsers.optimization import Optimization
from robustparse.types import DependencyTree, Example, Prediction


class ParserModule(pl.LightningModule, ABC):
    """Embeds, encodes, scores, learns and decodes; subclasses say how scores come about.

    Args:
        encoder: gives a vector a word.
        optimization: optimiser and schedule.
        seed: of initialisation and dropout.

    Attributes:
        offset_source: set by a gradient adversary while it trains: called with each batch, gives
            the offset of ``loss``.
    """

    def __init__(self, encoder: Encoder, optimization: Optimization, seed: int) -> None:
        super().__init__()
        self.encoder, self.optimization, self.seed = encoder, optimization, seed
        self.offset_source: Callable[[Batch], Tensor] | None = None
        self.validation_score, self.test_score = AttachmentScore(), AttachmentScore()
        self._loader_states: list[dict[str, int]] = []

    def initialize(self, vocabulary: Vocabulary | None, init_from: str | None) -> None:
        """Make the layers from (seed, vocabulary), or from a checkpoint's vocabulary and weights.

        Raises:
            InputError: neither is given, or the checkpoint does not fit.
        """
        start = None if init_from is None else read_checkpoint(init_from)
        if start is not None:
            vocabulary = Vocabulary.from_lists(start[KEY]["vocabulary"])
        if vocabulary is None:
            raise InputError("a parser needs a vocabulary, from a data module or a checkpoint")
        self.vocabulary = vocabulary
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            self.encoder.build(vocabulary)
            self.build(vocabulary)
        if start is not None:
            fill_weights(self, str(init_from), start["state_dict"])

    @abstractmethod
    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers above the encoder."""

    @abstractmethod
    def score(self, states: Tensor, lengths: Tensor) -> Any:
        """Encoder states ``(batch, 1 + length, out_dim)`` -> the parser's scores."""

    @abstractmethod
    def losses(self, scores: Any, batch: Batch) -> Tensor:
        """The loss of each sentence, summed over its words, ``(batch,)``."""

    @abstractmethod
    def parse_scores(
        self, scores: Any, lengths: Tensor
    ) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """Heads and label ids, each ``(batch, length)``."""

    # Forward

    def embed(self, batch: Batch) -> Tensor:
        """``(batch, 1 + length, dim)``; position 0 is ROOT."""
        return self.encoder.embed(batch.words, batch.tags)

    def zero_offset(self, batch: Batch) -> Tensor:
        """``(batch, 1 + length, dim)`` zeros, of the embeddings' shape."""
        shape = (len(batch), 1 + batch.words.shape[1], self.encoder.dim)
        return next(self.parameters()).new_zeros(shape)

    def offset_mask(self, batch: Batch) -> Tensor:
        """``(batch, 1 + length, 1)``: 1 where an offset may stand, on words."""
        return torch.nn.functional.pad(batch.mask, (1, 0)).unsqueeze(-1).to(self.dtype)

    def loss(self, batch: Batch, offset: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Loss sums and word counts of each sentence, both ``(batch,)``.

        Args:
            batch: the sentences.
            offset: ``(batch, 1 + length, dim)``, added to the embeddings.
        """
        embeddings = self.embed(batch)
        if offset is not None:
            embeddings = embeddings + offset
        scores = self.score(self.encoder(embeddings, batch.lengths), batch.lengths)
        return self.losses(scores, batch), batch.lengths

    def parse(
        self, words: Tensor, tags: Tensor, lengths: Tensor
    ) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """Rows of the word table and tag ids -> heads and label ids, all ``(batch, length)``."""
        states = self.encoder(self.encoder.embed(words, tags), lengths)
        return self.parse_scores(self.score(states, lengths), lengths)

    def decode(self, batch: Batch) -> list[Prediction]:
        """The parse of each sentence."""
        heads, labels = self.parse(batch.words, batch.tags, batch.lengths)
        names = self.vocabulary.labels
        return [
            Prediction(
                int(id_),
                DependencyTree(
                    tuple(int(head) for head in heads[row, :length]),
                    tuple(names[label] for label in labels[row, :length]),
                ),
            )
            for row, (id_, length) in enumerate(
                zip(batch.ids.tolist(), batch.lengths.tolist(), strict=True)
            )
        ]

    # Data

    def number(
        self, examples: Sequence[Example], punctuation: PunctuationPolicy = "none"
    ) -> Numbered:
        """Sentences as rows of the word table and ids of the vocabulary."""
        words = [word for example in examples for word in example.sentence.words]
        labels = [label for example in examples for label in example.gold.labels]
        ids = self.vocabulary.label_ids
        lengths = [len(example.sentence) for example in examples]
        counted = [counted_words(example.sentence, punctuation) for example in examples]
        heads = [head for example in examples for head in example.gold.heads]
        return Numbered(
            ids=np.array([example.id for example in examples], dtype=np.int64),
            start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            words=self.encoder.intern(words).astype(np.int64),
            tags=np.zeros(len(words), dtype=np.int64),
            heads=np.array(heads, dtype=np.int64),
            labels=np.array([ids.get(label, -1) for label in labels], dtype=np.int64),
            counted=np.concatenate(counted) if counted else np.zeros(0, dtype=np.bool_),
        )

    # Training

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Seed dropout from (seed, epoch, batch, process): a resumed run draws the same masks."""
        place = [self.seed, self.current_epoch, batch_idx, self.global_rank]
        torch.manual_seed(int(np.random.SeedSequence(place).generate_state(1, np.uint64)[0]))

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The batch's share of the loss per word of the global batch.

        Multiplied by the number of processes, over which gradients are averaged afterwards.
        """
        offset = None if self.offset_source is None else self.offset_source(batch)
        sums, _ = self.loss(batch, offset)
        return sums.sum() / batch.weight * self.trainer.world_size

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        """Log the loss here, where an adversary's second pass does not come by."""
        self.log("train/loss", outputs["loss"], prog_bar=True)

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """Adam with its schedule, stepped every batch."""
        chosen = self.optimization
        adam = torch.optim.Adam(
            self.parameters(), chosen.learning_rate, betas=chosen.betas, eps=chosen.eps
        )
        total = self.trainer.estimated_stepping_batches if chosen.schedule == "linear" else 0
        schedule = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: chosen.factor(step, total))
        return {"optimizer": adam, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add what makes the parser anew."""
        checkpoint[KEY] = describe(self, self.vocabulary)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse to continue with another vocabulary, whose rows would mean other words.

        Raises:
            InputError: the vocabulary or the weights are another parser's.
        """
        held = checkpoint.get(KEY, {}).get("vocabulary")
        if held != self.vocabulary.to_lists():
            raise InputError(
                "the checkpoint was trained with another vocabulary than this data gives; resume "
                "with the same training file, or start from it with model.init_args.init_from"
            )
        fill_weights(self, "the checkpoint", checkpoint["state_dict"])
        fit_loop = checkpoint.get("loops", {}).get("fit_loop", {})
        self._loader_states = fit_loop.get("state_dict", {}).get("combined_loader", [])

    def on_train_start(self) -> None:
        """Put the loader where the checkpoint says.

        Lightning does so only if nothing has asked for the loader before; a linear schedule has.
        """
        for state in self._loader_states:
            self.trainer.train_dataloader.load_state_dict(state)  # type: ignore[union-attr]
        self._loader_states = []

    # Evaluation

    def _update(self, score: AttachmentScore, batch: Batch) -> None:
        answer = self.parse(batch.words, batch.tags, batch.lengths)
        heads, labels = (torch.from_numpy(part) for part in answer)
        right_heads = heads.to(self.device) == batch.heads
        score.update(right_heads, labels.to(self.device) == batch.labels, batch.counted)

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Count correct arcs."""
        self._update(self.validation_score, batch)

    def test_step(self, batch: Batch, batch_idx: int) -> None:
        """Count correct arcs."""
        self._update(self.test_score, batch)

    def predict_step(self, batch: Batch, batch_idx: int) -> list[Prediction]:
        """The parse of each sentence."""
        return self.decode(batch)

    def on_validation_epoch_end(self) -> None:
        """Log ``val/uas`` and so on, summed over processes."""
        self._log_scores("val", self.validation_score)

    def on_test_epoch_end(self) -> None:
        """Log ``test/uas`` and so on."""
        self._log_scores("test", self.test_score)

    def _log_scores(self, split: str, score: AttachmentScore) -> None:
        for name, value in score.compute().items():
            self.log(f"{split}/{name}", value, prog_bar=name == "las")
        score.reset()
