"""A language model in memory: rows are padded, and the head runs on the masked pieces alone."""

from collections.abc import Sequence
from functools import cached_property

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from robustparse.pretrained import Kind, Precision, load_pretrained, named_device


class LoadedModel:
    """A pretrained language model on its device, in evaluation mode.

    Args:
        model: folder of a saved model, or a hub name.
        kind: causal or masked.
        precision: number format of the model.
        device: `auto` takes a GPU if there is one.
        download: whether a name that is not in the local cache may be fetched.

    Attributes:
        device: where it is.
        network: the model.
        tokenizer: its tokenizer.

    Raises:
        InputError: there is no such model or device, or the model cannot be loaded.
    """

    def __init__(
        self, model: str, kind: Kind, precision: Precision, device: str, download: bool
    ) -> None:
        self.device = named_device(device)
        self.network: PreTrainedModel
        self.tokenizer: PreTrainedTokenizerBase
        self.network, self.tokenizer = load_pretrained(
            model, download, precision, self.device, kind
        )
        self._precision = precision

    @property
    def room(self) -> int:
        """Pieces that it reads of a text, special ones included."""
        # RoBERTa numbers positions from 2: two places fewer than the table has fit every model.
        positions = int(getattr(self.network.config, "max_position_embeddings", 1 << 20)) - 2
        return min(positions, int(self.tokenizer.model_max_length))

    def padded(self, inputs: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids and attention mask, `(rows, pieces)` each; padding is masked."""
        width = max(len(ids) for ids in inputs)
        padding = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([[*ids, *[padding] * (width - len(ids))] for ids in inputs]).long()
        mask = torch.tensor([[1] * len(ids) + [0] * (width - len(ids)) for ids in inputs]).long()
        return ids.to(self.device), mask.to(self.device)

    def logits(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Logits of every piece, `(rows, pieces, vocabulary)`, in single precision or double."""
        return self._wide(self.network(input_ids=ids, attention_mask=mask).logits)

    def logits_at(
        self, ids: torch.Tensor, mask: torch.Tensor, columns: torch.Tensor
    ) -> torch.Tensor:
        """Those of one piece of each row, `(rows, vocabulary)`.

        Args:
            ids: `(rows, pieces)`.
            mask: `(rows, pieces)`.
            columns: index of the piece, `(rows,)`.
        """
        rows = torch.arange(len(ids), device=self.device)
        batch = {"input_ids": ids, "attention_mask": mask}
        if self.head is None:
            return self._wide(self.network(**batch).logits[rows, columns])
        states = self.network.base_model(**batch).last_hidden_state
        return self._wide(self.head(states[rows, columns]))

    @cached_property
    @torch.inference_mode()
    def head(self) -> torch.nn.Module | None:
        """The part that turns one hidden row into logits, if it can be run on its own.

        It costs more than the encoder when it runs on every row. Classes name it differently and
        some put more between encoder and head, so it is used only where it reproduces the logits.
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

    def _wide(self, logits: torch.Tensor) -> torch.Tensor:
        return logits if self._precision == "float64" else logits.float()
