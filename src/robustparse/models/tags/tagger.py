"""A tagger over any encoder: softmax or a CRF, and a label of the text if texts have one.

With an LSTM encoder this is the tagger of Lample et al. (2016) and of Ma and Hovy (2016). The
label, such as the intent of an utterance, is chosen from the maximum over the words' vectors, and
its loss is added to that of the tags (Goo et al. 2018 without their gate).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from robustparse.data.batch import Batch
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError, check_rates
from robustparse.models.base import Model
from robustparse.models.classification.classifier import maximum
from robustparse.models.decisions import Decisions
from robustparse.models.encoders.base import Encoder
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.dropout import shared_dropout
from robustparse.models.mean_scores import mean_scores, single_precision
from robustparse.models.tags.crf import CRF, negative_log_likelihood, viterbi
from robustparse.models.tags.tag_codec import TagCodec
from robustparse.tasks.tags import TAGS
from robustparse.types import Predictions

EPSILON = 1.0
"""The margin loss stops growing when a wrong tag wins by this much (1, Zheng et al. 2020)."""


@dataclass
class TagStates:
    """Output of the network.

    Args:
        tags: ``(batch, length, tags)`` scores of the tags of each word.
        labels: ``(batch, labels)`` scores of the labels of the text; None without labels.
    """

    tags: Tensor
    labels: Tensor | None


class BiLSTMTagger(Model[TagStates]):
    """A linear layer on the vectors of words, with or without a CRF.

    Args:
        encoder: returns a vector for each word; by default `LSTMEncoder`.
        crf: whether tags depend on the tag before; its sequences of span tags are always legal.
        dropout: dropout rate of the words' vectors.
        base: see `Model`.
    """

    task = TAGS
    shared_settings = ("crf",)

    def __init__(
        self,
        encoder: Encoder | None = None,
        crf: bool = False,
        dropout: float = 0.33,
        **base: Any,
    ) -> None:
        super().__init__(encoder or LSTMEncoder(), **base)
        check_rates("BiLSTMTagger", dropout=dropout)
        self.crf, self.dropout = crf, dropout
        self.initialize()

    def build(self, vocabulary: Vocabulary) -> None:
        """Make the layers.

        Raises:
            InputError: the encoder reads the tags that it should predict.
        """
        codec = TagCodec(vocabulary)
        if self.encoder.reads_tags and {*codec.tags} <= {*vocabulary.xpos}:
            problem = "reads the tags that the tagger should predict"
            raise InputError(problem, key="encoder", remedy="set its tag_dim to 0")
        self.output = nn.Linear(self.encoder.out_dim, len(codec.tags))
        if codec.labels:
            self.text_output = nn.Linear(self.encoder.out_dim, len(codec.labels))
        if self.crf:
            self.field = CRF(codec.tags)

    def make_codec(self, vocabulary: Vocabulary) -> TagCodec:
        """See `Model`."""
        return TagCodec(vocabulary)

    def states_of(self, embeddings: Tensor, batch: Batch) -> TagStates:
        """See `Model`."""
        vectors = self.encoder(embeddings, batch.words, batch.lengths)[:, 1:]
        vectors = shared_dropout(vectors, self.dropout, self.training)
        labels = None
        if hasattr(self, "text_output"):
            labels = single_precision(self.text_output(maximum(vectors, batch.lengths)))
        return TagStates(single_precision(self.output(vectors)), labels)

    def loss(self, states: TagStates, batch: Batch) -> Tensor:
        """Return the negative log-likelihood of the gold tags and of the gold label, ``(batch,)``.

        Unknown tags and labels add nothing; with a CRF, their words may have any tag.
        """
        gold = self._gold(batch)
        if self.crf:
            losses = negative_log_likelihood(self.field, states.tags, gold, batch.lengths)
        else:
            by_word = nn.functional.cross_entropy(
                states.tags.transpose(1, 2), gold, reduction="none", ignore_index=-1
            )
            losses = by_word.sum(1)
        if states.labels is not None and "label" in batch.gold:
            label = batch.gold["label"][:, 0]
            label = label.where(label < states.labels.shape[1], -1)
            losses = losses + nn.functional.cross_entropy(
                states.labels, label, reduction="none", ignore_index=-1
            )
        return losses

    def decisions(self, states: TagStates, batch: Batch) -> list[Decisions]:
        """See `Model`: the tag of each word (of a CRF, its marginal), and the label."""
        rows, words = batch.mask.nonzero(as_tuple=True)
        decisions = [Decisions.of(rows, self._by_word(states, batch)[rows, words])]
        if states.labels is not None:
            texts = torch.arange(len(states.labels), device=rows.device)
            decisions.append(Decisions.of(texts, states.labels))
        return decisions

    def margin(self, states: TagStates, batch: Batch) -> Tensor:
        """Return the sum over words of the best other tag's lead, at most 1 each, ``(batch,)``.

        This is the margin of Zheng et al. (2020, eq. 4) with tags instead of heads; scores of a CRF
        are the logarithms of its marginals.
        """
        gold, scores = self._gold(batch), self._by_word(states, batch)
        chosen = gold.clamp(min=0).unsqueeze(-1)
        rivals = scores.scatter(2, chosen, float("-inf")).amax(-1)
        margins = (rivals - scores.gather(2, chosen).squeeze(-1)).clamp(max=EPSILON)
        return margins.masked_fill((gold < 0) | (rivals == float("-inf")), 0.0).sum(1)

    def decode(
        self,
        members: Sequence["BiLSTMTagger"],
        states: Sequence[TagStates],
        batches: Sequence[Batch],
    ) -> Predictions:
        """Return the best tags, and the probabilities of the labels.

        The members' tag scores are averaged by `mean`; with a CRF, all its scores are averaged.
        """
        scores = [of_member.tags.detach().double() for of_member in states]
        if self.crf:
            fields = [member.field.scores() for member in members]
            averaged = (torch.stack(each).mean(0).double() for each in zip(*fields, strict=True))
            mean = torch.stack(scores).mean(0)
            tags = viterbi(mean, batches[0].lengths, *averaged)
        else:
            tags = mean_scores(scores, self.mean).argmax(-1)
        predicted: NDArray[np.int32] = tags.to(torch.int32).cpu().numpy()
        labels = [each.labels.detach().double() for each in states if each.labels is not None]
        if not labels:
            return (predicted,)
        return predicted, mean_scores(labels, self.mean).softmax(-1).cpu().numpy()

    def _gold(self, batch: Batch) -> Tensor:
        """Return the ids of the gold tags, -1 on padding and for unknown tags."""
        gold = batch.gold["tags"]
        known = batch.mask & (gold < self.output.out_features)
        return gold.masked_fill(~known, -1)

    def _by_word(self, states: TagStates, batch: Batch) -> Tensor:
        if not self.crf:
            return states.tags
        return self.field.log_marginals(states.tags, batch.lengths)
