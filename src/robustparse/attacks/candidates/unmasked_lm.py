"""Candidates of BERT-Attack: what a masked language model predicts at an unmasked word.

Li et al. 2020, section 3.2: the model reads the whole sentence and predicts each of its pieces; the
top K predictions are kept. A word of one piece gets those that are whole words. For a word of
several pieces, the predictions are combined; of the most probable combinations, the K with the
lowest perplexity under the same model are the candidates.
"""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.masked_lm import MaskedLM
from robustparse.errors import check_choice, check_least
from robustparse.pretrained.loaded_model import WeightPrecision, batches
from robustparse.types import Floats, Indices

Perplexity = Literal["alone", "sentence"]

_PREDICTED = 1024  # pieces of a forward pass, which limits the memory for logits


class UnmaskedLM(MaskedLM):
    """Proposes words that a masked language model predicts at the unmasked word.

    The word itself is usually the first prediction; at most `top_k` - 1 candidates then remain.

    Args:
        model: see `MaskedLM`.
        top_k: predictions kept for each piece, and combinations kept for a word of several pieces
            (Li et al. 2020: 48).
        combinations: how many combinations are compared, the most probable ones. The paper compares
            all `top_k` ** pieces: 2304 for a word of two pieces.
        perplexity: what ranks the combinations. `alone`: the model reads the combination by itself
            (the released code of Li et al. 2020). `sentence`: the probabilities predicted in the
            sentence, which need no further pass.
        batch_tokens: see `MaskedLM`.
        precision: see `MaskedLM`.
        device: see `MaskedLM`.
        download: see `MaskedLM`.
    """

    def __init__(
        self,
        model: str,
        *,
        top_k: int = 48,
        combinations: int = 2304,
        perplexity: Perplexity = "alone",
        batch_tokens: int = 8192,
        precision: WeightPrecision = "float32",
        device: str = "auto",
        download: bool = False,
    ) -> None:
        super().__init__(
            model,
            top_k=top_k,
            sample=None,
            batch_tokens=batch_tokens,
            precision=precision,
            device=device,
            download=download,
        )
        check_least("masked language model", combinations=combinations)
        check_choice("masked language model: perplexity", perplexity, get_args(Perplexity))
        self.combinations, self.perplexity = combinations, perplexity

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        if not slots:
            return []
        combined = [self._combined(*predicted) for predicted in self._predictions(slots)]
        if self.perplexity == "alone":
            rows = [row for row, words in enumerate(combined) if words.shape[1] > 1 and len(words)]
            losses = self._losses([combined[row] for row in rows])
            for row, of_slot in zip(rows, losses, strict=True):
                combined[row] = combined[row][np.argsort(of_slot, kind="stable")]
        return [self._words(words) for words in combined]

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        settings = f"{self.top_k} {self.combinations} {self.perplexity} {self.precision}"
        return f"UnmaskedLM {self._digest} {settings}"

    def _predictions(self, slots: Sequence[Slot]) -> list[tuple[Indices, Floats]]:
        """Return the top_k predictions for each slot: ids and log-probabilities, `(pieces, top_k)`.

        The most probable prediction of a piece comes first.
        """
        inputs = self._pieces.unmasked(slots)
        predictions = [(np.zeros((0, 0), np.int64), np.zeros((0, 0)))] * len(slots)
        for rows in batches([len(ids) for ids, _, _ in inputs], self.batch_tokens):
            ids, mask = self._loaded.padded([inputs[row][0] for row in rows])
            # A text with a word of several pieces stands in several rows, one for each piece.
            sizes = [inputs[row][2] for row in rows]
            owners = np.repeat(np.arange(len(rows)), sizes)
            columns = np.concatenate(
                [np.arange(first, first + size) for _, first, size in (inputs[r] for r in rows)]
            )
            again = torch.from_numpy(owners).to(ids.device)
            with torch.inference_mode():
                logits = self._loaded.logits_at(
                    ids[again], mask[again], torch.from_numpy(columns).to(ids.device)
                )
                shares = logits.double().log_softmax(1)
                values, top = shares.topk(min(self.top_k, logits.shape[1]), dim=1)
            ends = np.cumsum(sizes)[:-1]
            of_rows = (np.split(each.cpu().numpy(), ends) for each in (top, values))
            for row, numbers, shares_of_row in zip(rows, *of_rows, strict=True):
                predictions[row] = numbers, shares_of_row
        return predictions

    def _combined(self, ids: Indices, shares: Floats) -> Indices:
        """Combine the predictions for the pieces of a word, the most probable combinations first.

        The best combinations of all pieces begin with the best ones of the first pieces, so those
        of each beginning are enough.

        Args:
            ids: the predictions, `(pieces, top_k)`.
            shares: their log-probabilities.

        Returns:
            Pieces that make one word, a word by itself and continuations, `(combinations, pieces)`.
        """
        words, totals = np.zeros((1, 0), dtype=np.int64), np.zeros(1)
        for place, (of_piece, of_shares) in enumerate(zip(ids, shares, strict=True)):
            fitting = self._pieces.goes_on if place else self._pieces.whole_words
            kept = np.array([bool(fitting[piece]) for piece in of_piece.tolist()], dtype=np.bool_)
            sums = totals[:, None] + of_shares[kept]
            order = np.argsort(-sums, axis=None, kind="stable")[: self.combinations]
            rows, columns = np.unravel_index(order, sums.shape)
            words = np.column_stack([words[rows], of_piece[kept][columns]])
            totals = sums.reshape(-1)[order]
        return words

    @torch.inference_mode()
    def _losses(self, texts: Sequence[Indices]) -> list[Floats]:
        """Compute the log-perplexity of each combination, `(combinations,)` for each word.

        As in the released code, the model reads the pieces unmasked, without special ones.
        """
        if not texts:
            return []
        rows = [row for of_slot in texts for row in of_slot.tolist()]
        losses = np.zeros(len(rows))
        for some in batches([len(row) for row in rows], _PREDICTED):
            ids, mask = self._loaded.padded([rows[row] for row in some])
            logits = self._loaded.logits(ids, mask)
            # (rows, pieces, vocabulary) to (rows, vocabulary, pieces), as the loss wants it
            each = cross_entropy(logits.transpose(1, 2), ids, reduction="none").double()
            losses[some] = ((each * mask).sum(dim=1) / mask.sum(dim=1)).cpu().numpy()
        return np.split(losses, np.cumsum([len(of_slot) for of_slot in texts])[:-1])

    def _words(self, combined: Indices) -> list[str]:
        """Return the first `top_k` combinations as words, without those that are no word."""
        first = combined[: self.top_k].tolist()
        return [word for pieces in first if (word := self._pieces.word(pieces))]
