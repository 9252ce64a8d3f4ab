"""A linear-chain conditional random field (Lafferty et al. 2001; Lample et al. 2016, section 2.2).

The score of tags y of a sentence of n words is

    s(y) = start(y_1) + sum_i emission(i, y_i) + sum_i transition(y_(i-1), y_i) + end(y_n)

and p(y) = exp(s(y)) / Z. Sums over all tags are exact, by the forward algorithm. Transitions that
BIO forbids have no probability: the field neither predicts nor counts an illegal sequence.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from robustparse.data.tags.schemes import OUTSIDE, may_follow

FORBIDDEN = -1e4
"""The score of a forbidden transition: exp(-1e4) is 0 in double precision, and has no NaN."""


class CRF(nn.Module):
    """Transitions between tags, and sums and maxima over sequences of tags.

    Args:
        tags: the tags, in the order of the emissions.
    """

    forbidden: Tensor
    no_start: Tensor

    def __init__(self, tags: Sequence[str]) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(len(tags), len(tags)))
        self.start = nn.Parameter(torch.zeros(len(tags)))
        self.end = nn.Parameter(torch.zeros(len(tags)))
        follows = [[may_follow(before, tag) for tag in tags] for before in tags]
        begins = [may_follow(OUTSIDE, tag) for tag in tags]
        self.register_buffer("forbidden", ~torch.tensor(follows), persistent=False)
        self.register_buffer("no_start", ~torch.tensor(begins), persistent=False)

    def scores(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return transitions ``(tags, tags)``, starts and ends ``(tags,)``, masked."""
        transitions = self.transitions.masked_fill(self.forbidden, FORBIDDEN)
        return transitions, self.start.masked_fill(self.no_start, FORBIDDEN), self.end

    def log_partition(self, emissions: Tensor, lengths: Tensor) -> Tensor:
        """Return log Z, ``(batch,)``, by the forward algorithm.

        Args:
            emissions: ``(batch, length, tags)``.
            lengths: ``(batch,)`` words of each text.
        """
        return _log_partition(emissions, lengths, *self.scores())

    def log_marginals(self, emissions: Tensor, lengths: Tensor) -> Tensor:
        """Return log p(y_i = tag) of each word, ``(batch, length, tags)``, by forward-backward.

        Values of padding are undefined.
        """
        transitions, start, end = self.scores()
        ahead = [start + emissions[:, 0]]
        for word in range(1, emissions.shape[1]):
            before = ahead[-1].unsqueeze(-1) + transitions
            ahead.append(before.logsumexp(1) + emissions[:, word])
        behind = [end.expand_as(emissions[:, 0])]
        for word in reversed(range(1, emissions.shape[1])):
            after = (behind[0] + emissions[:, word]).unsqueeze(1) + transitions
            last = (word >= lengths)[:, None]
            behind.insert(0, torch.where(last, end, after.logsumexp(2)))
        return (torch.stack(ahead, 1) + torch.stack(behind, 1)).log_softmax(-1)


def _log_partition(
    emissions: Tensor, lengths: Tensor, transitions: Tensor, start: Tensor, end: Tensor
) -> Tensor:
    totals = start + emissions[:, 0]
    for word in range(1, emissions.shape[1]):
        # [batch, before, tag] -> [batch, tag]
        new = (totals.unsqueeze(-1) + transitions).logsumexp(1) + emissions[:, word]
        totals = torch.where((word < lengths)[:, None], new, totals)
    return (totals + end).logsumexp(1)


def negative_log_likelihood(crf: CRF, emissions: Tensor, gold: Tensor, lengths: Tensor) -> Tensor:
    """Return log Z - log Z of the sequences that agree with the gold tags, ``(batch,)``.

    Args:
        crf: the field.
        emissions: ``(batch, length, tags)``.
        gold: ``(batch, length)`` tag ids; -1 lets a word have any tag.
        lengths: ``(batch,)`` words of each text.
    """
    tags = torch.arange(emissions.shape[2], device=emissions.device)
    ruled_out = (gold >= 0).unsqueeze(-1) & (gold.unsqueeze(-1) != tags)
    agreeing = emissions.masked_fill(ruled_out, FORBIDDEN)
    return crf.log_partition(emissions, lengths) - crf.log_partition(agreeing, lengths)


def viterbi(
    emissions: Tensor, lengths: Tensor, transitions: Tensor, start: Tensor, end: Tensor
) -> Tensor:
    """Return the best sequence of tags of each text, ``(batch, length)``; 0 on padding.

    Of sequences with equal scores, the one whose last tags have lower ids.

    Args:
        emissions: ``(batch, length, tags)``.
        lengths: ``(batch,)``.
        transitions: ``(tags, tags)``; the others are ``(tags,)``; see `CRF.scores`.
        start: scores of first tags.
        end: scores of last tags.
    """
    totals, origins = start + emissions[:, 0], []
    for word in range(1, emissions.shape[1]):
        best, origin = (totals.unsqueeze(-1) + transitions).max(1)
        inside = (word < lengths)[:, None]
        totals = torch.where(inside, best + emissions[:, word], totals)
        same = torch.arange(totals.shape[1], device=totals.device).expand_as(origin)
        origins.append(torch.where(inside, origin, same))
    chosen = [(totals + end).argmax(1)]
    for origin in reversed(origins):
        chosen.insert(0, origin.gather(1, chosen[0][:, None]).squeeze(1))
    # Beyond the end of a text, each tag leads back to itself: the last tag is repeated.
    path = torch.stack(chosen, 1)
    positions = torch.arange(path.shape[1], device=path.device)
    return path.masked_fill(positions >= lengths[:, None], 0)
