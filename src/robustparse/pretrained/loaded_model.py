"""A pretrained language model or encoder in use: padded batches and logits."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal

import torch
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from robustparse.devices import chosen_device
from robustparse.pretrained.loading import (
    CAUSAL_LM,
    CLASSIFIER,
    ENCODER,
    MASKED_LM,
    TAGGER,
    load,
)

WeightPrecision = Literal["float32", "bfloat16", "float64"]
Kind = Literal["masked", "causal"]
AnyKind = Kind | Literal["encoder", "classifier", "tagger"]

_KINDS: dict[AnyKind, tuple[Any, str]] = {
    "masked": (AutoModelForMaskedLM, MASKED_LM),
    "causal": (AutoModelForCausalLM, CAUSAL_LM),
    "encoder": (AutoModel, ENCODER),
    "classifier": (AutoModelForSequenceClassification, CLASSIFIER),
    "tagger": (AutoModelForTokenClassification, TAGGER),
}


class LoadedModel:
    """A pretrained Transformer on its device, in evaluation mode.

    Args:
        model: folder of a saved model, or a hub name.
        kind: a causal or masked language model, an encoder without a head, a classifier of
            texts, or one of words.
        precision: number format of the model.
        device: `auto` takes a GPU if there is one.
        download: whether to download a model that is not in the local cache.

    Raises:
        InputError: there is no such model or device; the model cannot be loaded, has no tokenizer,
            names code of its own, or is a masked language model without a mask token.
    """

    def __init__(
        self,
        model: str,
        kind: AnyKind,
        precision: WeightPrecision,
        device: str,
        download: bool,
    ) -> None:
        self.device = torch.device(chosen_device("device", device))
        self.network: PreTrainedModel
        self.tokenizer: PreTrainedTokenizerBase
        self.network, self.tokenizer = load(*_KINDS[kind], model, download)
        module: torch.nn.Module = self.network
        module.to(device=self.device, dtype=getattr(torch, precision)).eval().requires_grad_(False)
        self._precision = precision

    @property
    def max_pieces(self) -> int:
        """Maximum pieces per text, special ones included."""
        return min(
            int(self.tokenizer.model_max_length), positions_of(self.network.base_model, 1 << 20)
        )

    def padded(self, inputs: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Pad rows of piece ids: ids and attention mask, `(rows, pieces)` each."""
        width = max(len(ids) for ids in inputs)
        padding = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([[*ids, *[padding] * (width - len(ids))] for ids in inputs]).long()
        mask = torch.tensor([[1] * len(ids) + [0] * (width - len(ids)) for ids in inputs]).long()
        return ids.to(self.device), mask.to(self.device)

    def logits(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Compute the logits of every piece, `(rows, pieces, vocabulary)`, in float32 or float64.

        Arguments are as `padded` gives them.
        """
        return self.wide(self.network(input_ids=ids, attention_mask=mask).logits)

    def logits_at(
        self, ids: torch.Tensor, mask: torch.Tensor, columns: torch.Tensor
    ) -> torch.Tensor:
        """Compute the logits of one piece per row, given by `columns`, `(rows, vocabulary)`."""
        rows = torch.arange(len(ids), device=self.device)
        batch = {"input_ids": ids, "attention_mask": mask}
        if self.head is None:
            return self.wide(self.network(**batch).logits[rows, columns])
        states = self.network.base_model(**batch).last_hidden_state
        return self.wide(self.head(states[rows, columns]))

    @cached_property
    @torch.inference_mode()
    def head(self) -> torch.nn.Module | None:
        """The module that maps hidden states to logits, or None if it cannot be run separately.

        Running it on every piece would cost more than the encoder. Classes name it differently, and
        some have layers between encoder and head, so it is used only if it reproduces the logits.
        """
        probe = torch.full((1, 3), self.tokenizer.mask_token_id, device=self.device)
        expected = self.network(input_ids=probe).logits[0, 1]
        for name in ("cls", "lm_head"):
            head = getattr(self.network, name, None)
            if isinstance(head, torch.nn.Module):
                hidden = self.network.base_model(input_ids=probe).last_hidden_state[:, 1]
                logits = head(hidden)
                if logits.shape[1:] == expected.shape and torch.allclose(
                    logits[0].float(), expected.float(), rtol=1e-2, atol=1e-2
                ):
                    return head
        return None

    def wide(self, logits: torch.Tensor) -> torch.Tensor:
        """Return logits in float32, or in float64 if that is the model's precision."""
        return logits if self._precision == "float64" else logits.float()


def positions_of(network: Any, otherwise: int) -> int:
    """Return the maximum number of pieces of a network without a head, special ones included.

    RoBERTa and related models number positions after the padding row of their embeddings. Networks
    without a maximum get ``otherwise``.
    """
    named = int(getattr(network.config, "max_position_embeddings", 0))
    embeddings = getattr(network, "embeddings", None)
    return (named if named > 0 else otherwise) - (getattr(embeddings, "padding_idx", -1) + 1)


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield batches of rows of similar length, longest first, within a budget of padded tokens."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    begin = 0
    while begin < len(order):
        # The first row is the longest and determines how many rows fit into the budget.
        rows = order[begin : begin + max(1, budget // max(1, lengths[order[begin]]))]
        begin += len(rows)
        yield rows
