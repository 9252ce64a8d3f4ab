"""One base for every parser: embed, encode, score, decode, and the delta interface.

Offset interface: an additive tensor on the embeddings after look-up and before dropout, one row a
word or sub-word piece (what is no word's, as ROOT and padding, must get zeros). White-box attacks
and gradient adversaries use nothing else of a parser's inside.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from robustparse.data.batch import Batch, EncodedCorpus
from robustparse.data.sampler import EvaluationLoader, forward_words
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.metrics import PunctuationPolicy, counted_words
from robustparse.models.checkpoint import KEY, fill_weights, held_arguments, read_checkpoint
from robustparse.models.encoders.base import Encoder
from robustparse.models.evaluating import evaluating
from robustparse.models.learning import LearningModule
from robustparse.models.optimization import Optimization
from robustparse.models.unparsed import all_without_gold
from robustparse.tasks.task import Task
from robustparse.types import DependencyTree, Example, Prediction, Sentence


class Model(LearningModule):
    """Embeds, encodes, scores and decodes; subclasses say how scores come about.

    Args:
        encoder: gives a vector a word.
        optimization: optimiser and schedule.
        seed: of initialisation and dropout.
    """

    task: Task

    def __init__(self, encoder: Encoder, optimization: Optimization, seed: int) -> None:
        super().__init__(optimization, seed)
        self.encoder = encoder

    def initialize(self, vocabulary: Vocabulary | None, init_from: str | None) -> None:
        """Make the layers from (seed, vocabulary), or from a checkpoint's vocabulary and weights.

        What its encoder had read from files, the words of vectors or a tokenizer, comes from the
        checkpoint too: its weights have no other meaning.

        Raises:
            InputError: neither is given, or the checkpoint does not fit or holds NaN.
        """
        start = None if init_from is None else read_checkpoint(init_from)
        if start is not None:
            vocabulary = Vocabulary.from_lists(start[KEY]["vocabulary"])
            self.encoder.take(held_arguments(start, "encoder"))
        if vocabulary is None:
            raise InputError(
                "no training data to take the vocabulary from: set data.init_args.folder or "
                "train_file, or start from a checkpoint with model.init_args.init_from"
            )
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
        """Return encoder states ``(batch, 1 + length, out_dim)`` -> the parser's scores."""

    @abstractmethod
    def losses(self, scores: Any, batch: Batch) -> Tensor:
        """Return the loss of each sentence, summed over its words, ``(batch,)``."""

    @abstractmethod
    def parse_scores(
        self, scores: Any, lengths: Tensor
    ) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """Heads and label ids, each ``(batch, length)``."""

    def arc_scores(self, scores: Any) -> Tensor:
        """``(batch, 1 + length, 1 + length)`` [dependent, head], -inf on padded heads.

        Raises:
            InputError: the parser does not score all arcs.
        """
        raise InputError(
            f"{type(self).__name__} does not score every arc, which the margin loss of white-box "
            "attacks needs; choose the loss cross_entropy"
        )

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse to continue with other vectors or another tokenizer as well.

        Raises:
            InputError: they, the vocabulary or the weights are another parser's.
        """
        if found := self.encoder.differences(held_arguments(checkpoint, "encoder")):
            raise InputError(
                f"the checkpoint's encoder differs in {' and '.join(found)}; resume with the files "
                "it was trained with, or start from it with model.init_args.init_from"
            )
        super().on_load_checkpoint(checkpoint)

    # Forward

    def embed(self, batch: Batch) -> Tensor:
        """``(batch, units, dim)``; ROOT comes first."""
        return self.encoder.embed(batch.words, batch.tags)

    def zero_delta(self, batch: Batch) -> Tensor:
        """``(batch, units, dim)`` zeros, of the embeddings' shape."""
        shape = (*self.encoder.delta_mask(batch.words, batch.lengths).shape, self.encoder.dim)
        return next(self.parameters()).new_zeros(shape)

    def delta_mask(self, batch: Batch) -> Tensor:
        """``(batch, units, 1)``: 1 where a delta may stand, on words or their pieces."""
        mask = self.encoder.delta_mask(batch.words, batch.lengths)
        return mask.unsqueeze(-1).to(next(self.parameters()).dtype)

    def loss(self, batch: Batch, delta: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Loss sums and word counts of each sentence, both ``(batch,)``.

        Args:
            batch: the sentences.
            delta: ``(batch, units, dim)``, added to the embeddings.
        """
        return self.losses(self.scored(batch, delta), batch), batch.lengths

    def scored(self, batch: Batch, delta: Tensor | None = None) -> Any:
        """Return the parser's scores; arguments as in ``loss``."""
        embeddings = self.embed(batch)
        return self.scored_at(embeddings if delta is None else embeddings + delta, batch)

    def scored_at(self, embeddings: Tensor, batch: Batch) -> Any:
        """Return the parser's scores of sentences that embed so, ``(batch, units, dim)``."""
        states = self.encoder(embeddings, batch.words, batch.lengths)
        return self.score(states, batch.lengths)

    def parse_ids(
        self, words: Tensor, tags: Tensor, lengths: Tensor
    ) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """Rows of the word table and tag ids -> heads and label ids, all ``(batch, length)``."""
        states = self.encoder(self.encoder.embed(words, tags), words, lengths)
        return self.parse_scores(self.score(states, lengths), lengths)

    def decode(self, batch: Batch) -> list[Prediction]:
        """Return the parse of each sentence."""
        heads, labels = self.parse_ids(batch.words, batch.tags, batch.lengths)
        names = self.vocabulary.labels
        rows = enumerate(zip(batch.ids.tolist(), batch.lengths.tolist(), strict=True))
        return [
            Prediction(
                id_,
                DependencyTree(
                    tuple(int(head) for head in heads[row, :length]),
                    tuple(names[label] for label in labels[row, :length]),
                ),
            )
            for row, (id_, length) in rows
        ]

    def parse(
        self, sentences: Sequence[Sentence | Sequence[str]], batch_words: int | None = None
    ) -> list[DependencyTree]:
        """Return the trees of sentences, each a list of words or a ``Sentence`` with tags.

        Args:
            sentences: what to parse; text must have been split into words.
            batch_words: words of a forward pass, padding included; None leaves them to
                ``forward_words``.

        Raises:
            InputError: one sentence alone; one that is no list of strings, or empty, or that this
                parser cannot read; or ``batch_words`` is below 1.
        """
        examples = all_without_gold(sentences)
        trees: dict[int, DependencyTree] = {}
        size = forward_words(self.device, batch_words)
        with evaluating(self):
            for batch in EvaluationLoader(self.number(examples), size):
                trees.update((p.id, p.answer) for p in self.decode(batch.to(self.device)))
        return [trees[index] for index in range(len(examples))]

    # Data

    def check(self, examples: Sequence[Example]) -> None:
        """Refuse sentences that this parser cannot read.

        Raises:
            InputError: names the first such sentence, counted from 1.
        """
        for example in examples:
            try:
                self.encoder.check(example.sentence)
            except InputError as error:
                raise InputError(f"sentence {example.id + 1}: {error}") from None

    def unmatched(self, examples: Sequence[Example]) -> str:
        """See ``Encoder.unmatched``."""
        return self.encoder.unmatched(example.sentence for example in examples)

    def number(
        self,
        examples: Sequence[Example],
        punctuation: PunctuationPolicy = "none",
        checked: bool = True,
    ) -> EncodedCorpus:
        """Sentences as rows of the word table and ids of the vocabulary.

        Args:
            examples: the sentences.
            punctuation: which words count in scores.
            checked: refuse what ``check`` refuses; copies that an attack made are none of it.

        Raises:
            InputError: see ``check``.
        """
        if checked:
            self.check(examples)
        words = [word for example in examples for word in example.sentence.words]
        tags = ["_"] * len(words)
        if self.encoder.reads_tags:
            tags = [tag for example in examples for tag in example.sentence.tags]
        labels = [label for example in examples for label in example.gold.labels]
        ids = self.vocabulary.label_ids
        lengths = [len(example.sentence) for example in examples]
        counted = [counted_words(example.sentence, punctuation) for example in examples]
        heads = [head for example in examples for head in example.gold.heads]
        return EncodedCorpus(
            ids=np.array([example.id for example in examples], dtype=np.int64),
            start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            words=self.encoder.intern(words).astype(np.int64),
            tags=self.encoder.intern_tags(tags).astype(np.int64),
            heads=np.array(heads, dtype=np.int64),
            labels=np.array([ids.get(label, -1) for label in labels], dtype=np.int64),
            counted=np.concatenate(counted) if counted else np.zeros(0, dtype=np.bool_),
        )

    def pretrained_parameters(self) -> list[torch.nn.Parameter]:
        """Return the encoder's."""
        return self.encoder.pretrained_parameters()
