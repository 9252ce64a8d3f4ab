"""Perplexity under a causal or masked language model, and a constraint on its increase.

Causal: exp of the mean negative log-likelihood of each piece given the preceding ones, without the
first piece and without a start symbol (Wang et al. 2021). Masked: the pseudo-perplexity of Salazar
et al. 2020, where each piece in turn is masked and predicted from all others.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import get_args

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from robustparse.attacks.constraints.sentence_constraint import Edit, Recent, SentenceConstraint
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError, check_choice, check_least
from robustparse.pretrained.loaded_model import Kind, LoadedModel, WeightPrecision, batches
from robustparse.types import Floats, Mask

_REMEMBERED = 1 << 16  # texts


class PerplexityRise(SentenceConstraint):
    """A change may raise the sentence's perplexity by at most `most`.

    Compares with the *current* sentence, just before the change, so that several changes may add up
    to more (Wang et al. 2021).

    Args:
        language_model: measures perplexity (GPT-2 in the paper).
        most: the allowed increase of the perplexity itself, not of its logarithm (20 in the paper).

    Raises:
        InputError: most is NaN; when first used: the model cannot be loaded.
    """

    def __init__(self, language_model: "LanguageModel", *, most: float = 20.0) -> None:
        if np.isnan(most):
            raise InputError(f"must be a number, got {most}", key="perplexity: most")
        self.language_model = language_model
        self.most = most
        self._known: Recent[tuple[str, ...], float] = Recent(_REMEMBERED)

    def prepare(self, victim: Victim) -> None:
        """See `Component.prepare`."""
        _ = self.language_model._loaded

    def admits(self, edits: Sequence[Edit]) -> Mask:
        """See `SentenceConstraint.admits`."""
        texts = [edit.changed for edit in edits] + [edit.current for edit in edits]
        values = self._known.of(texts, lambda new: self.language_model.perplexities(new).tolist())
        changed, current = np.array(values).reshape(2, len(edits))
        admitted: Mask = changed - current <= self.most
        return admitted


class LanguageModel:
    """Computes perplexities; the model is loaded when first used.

    Args:
        model: folder of a saved model, or a hub name (read from the local cache).
        kind: `causal` (`AutoModelForCausalLM`) or `masked` (`AutoModelForMaskedLM`).
        longest: maximum pieces per sentence (128 in the released code of Wang et al. 2021); the
            rest is cut off.
        batch_tokens: padded tokens per forward pass.
        precision: number format of the model; batches change float64 perplexities in the last
            digits only, others by rounding errors.
        device: `auto` takes a GPU if there is one.
        download: whether to download a model that is not in the local cache.

    Raises:
        InputError: when first used: there is no such model or device.
    """

    needs = ("language model",)

    def __init__(
        self,
        model: str,
        kind: Kind = "causal",
        *,
        longest: int = 128,
        batch_tokens: int = 2048,
        precision: WeightPrecision = "float32",
        device: str = "auto",
        download: bool = False,
    ) -> None:
        check_choice("language model: kind", kind, get_args(Kind))
        check_least("language model", 2, longest=longest)
        check_least("language model", batch_tokens=batch_tokens)
        self.model = model
        self.kind: Kind = kind
        self.longest = longest
        self.batch_tokens = batch_tokens
        self.precision: WeightPrecision = precision
        self.device = device
        self.download = download

    def perplexities(self, texts: Sequence[Sequence[str]]) -> Floats:
        """Compute the perplexity of each list of words, joined by blanks, `(texts,)`.

        A text of one piece, of which a causal model predicts nothing, has perplexity 1.
        """
        if not texts:
            return np.zeros(0)
        losses = self._causal(texts) if self.kind == "causal" else self._masked(texts)
        perplexities: Floats = np.exp(losses)
        return perplexities

    @torch.inference_mode()
    def _causal(self, texts: Sequence[Sequence[str]]) -> Floats:
        """Compute the mean loss of each text, `(texts,)`."""
        loaded, joined = self._loaded, [" ".join(words) for words in texts]
        encoded = loaded.tokenizer(joined, add_special_tokens=False)["input_ids"]
        inputs = [ids[: self._room] for ids in encoded]
        means = np.zeros(len(texts))
        for rows in batches([len(ids) for ids in inputs], self.batch_tokens):
            ids, mask = loaded.padded([inputs[row] for row in rows])
            if ids.shape[1] < 2:
                continue
            logits = loaded.logits(ids, mask)[:, :-1]
            # (rows, pieces, vocabulary) to (rows, vocabulary, pieces), as the loss wants it
            losses = cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
            predicted = mask[:, 1:]
            sums = (losses.double() * predicted).sum(dim=1)
            means[rows] = (sums / predicted.sum(dim=1).clamp(min=1)).cpu().numpy()
        return means

    @torch.inference_mode()
    def _masked(self, texts: Sequence[Sequence[str]]) -> Floats:
        encoded = self._loaded.tokenizer(
            [" ".join(words) for words in texts],
            truncation=True,
            max_length=self._room,
            return_special_tokens_mask=True,
        )
        # One row per piece: (text, index of the masked piece).
        masked = [
            (text, at)
            for text, special in enumerate(encoded["special_tokens_mask"])
            for at, known in enumerate(special)
            if not known
        ]
        inputs: list[list[int]] = encoded["input_ids"]
        losses = np.zeros(len(masked))
        for rows in batches([len(inputs[text]) for text, _ in masked], self.batch_tokens):
            ids, mask = self._loaded.padded([inputs[masked[row][0]] for row in rows])
            index = torch.arange(len(rows), device=ids.device)
            columns = torch.tensor([masked[row][1] for row in rows], device=ids.device)
            targets = ids[index, columns]
            ids[index, columns] = self._loaded.tokenizer.mask_token_id
            logits = self._loaded.logits_at(ids, mask, columns)
            batch_losses = cross_entropy(logits, targets, reduction="none")
            losses[rows] = batch_losses.double().cpu().numpy()
        owners = np.array([text for text, _ in masked], dtype=np.int64)
        sums = np.bincount(owners, weights=losses, minlength=len(texts))
        means: Floats = sums / np.bincount(owners, minlength=len(texts)).clip(min=1)
        return means

    @cached_property
    def _loaded(self) -> LoadedModel:
        return LoadedModel(self.model, self.kind, self.precision, self.device, self.download)

    @cached_property
    def _room(self) -> int:
        """Maximum pieces per text, special ones included."""
        return min(self.longest, self._loaded.max_pieces)
