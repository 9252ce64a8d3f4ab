"""Candidates of a masked language model: the words that it predicts for a mask.

Zheng et al. 2020, section 3.2: the word is masked in its sentence, the top 110 logits of BERT are
kept, and 99 of them are drawn without replacement in proportion to their softmax. The whole word is
replaced by one mask, and every candidate is a piece that is a whole word. Only one word of a
sentence is masked at a time; the released code never undoes a mask and reads the first one.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from robustparse.attacks.candidates.generator import CandidateGenerator, Merged, Slot
from robustparse.attacks.candidates.word_pieces import Put, WordPieces
from robustparse.errors import InputError, check_choice, check_least
from robustparse.files.digests import folder_digest
from robustparse.pretrained.loaded_model import LoadedModel, WeightPrecision, batches
from robustparse.pretrained.loading import model_folder
from robustparse.randomness import stream
from robustparse.types import Floats, Indices


class MaskedLM(CandidateGenerator):
    """Proposes whole-word pieces of a masked language model, which is loaded when first used.

    Args:
        model: folder of a saved model, or a hub name (read from the local cache).
        top_k: logits kept (110 in the released code of Zheng et al. 2020).
        sample: how many of them are drawn without replacement, in proportion to their softmax (99
            in the released code); None takes all by falling logit.
        batch_tokens: padded tokens per forward pass.
        precision: number format of the model; with float64, candidates do not depend on batches;
            with the others, near-ties may.
        device: `auto` takes a GPU if there is one.
        download: whether to download a model that is not in the local cache.
        least: words below this probability, taken among all pieces of the model, are left out.
    """

    needs = ("masked language model",)
    put: Put = "replace"
    is_model = True
    loads = ("_loaded",)

    def __init__(
        self,
        model: str,
        *,
        top_k: int = 110,
        sample: int | None = 99,
        batch_tokens: int = 8192,
        precision: WeightPrecision = "float32",
        device: str = "auto",
        download: bool = False,
        least: float = 0.0,
    ) -> None:
        check_least("masked language model", top_k=top_k, sample=sample, batch_tokens=batch_tokens)
        if sample is not None and sample > top_k:
            raise InputError(
                f"must not exceed top_k, got {sample} of {top_k}",
                key="masked language model: sample",
                remedy=f"set sample to {top_k} or fewer, or to null, which takes all of them",
            )
        self.model = model
        self.top_k = top_k
        self.sample = sample
        self.draws = sample is not None
        self.batch_tokens = batch_tokens
        self.precision: WeightPrecision = precision
        self.device = device
        self.download = download
        self.least = least

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        if not slots:
            return []
        words = self._pieces.whole_words
        proposals: list[list[str]] = [[] for _ in slots]
        for index, ids, logits in self._top(slots):
            if self.sample is not None:
                rng = stream(seed, slots[index].id, 1 + slots[index].position)
                # Adding Gumbel noise and sorting draws without replacement, in order.
                logits = logits + rng.gumbel(size=len(logits))
            order = np.lexsort((ids, -logits))[: self.sample]
            new = [words[i] for i in ids[order].tolist() if words[i]]
            proposals[index] = _placed(self.put, slots[index].word, new)
        return proposals

    def probabilities(self, slots: Sequence[Slot]) -> list[list[tuple[str, float]]]:
        """Return the candidates of each slot, the most probable first.

        A candidate's probability is its softmax among the ``top_k`` pieces of the slot.
        """
        words = self._pieces.whole_words
        candidates: list[list[tuple[str, float]]] = [[] for _ in slots]
        for index, ids, logits in self._top(slots):
            weights = np.exp(logits - logits.max())
            weights /= weights.sum()
            order = np.lexsort((ids, -logits))
            candidates[index] = [
                (words[piece], weight)
                for piece, weight in zip(ids[order].tolist(), weights[order].tolist(), strict=True)
                if words[piece]
            ]
        return candidates

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        settings = f"{self.top_k} {self.sample} {self.precision}"
        settings += "" if self.put == "replace" else f" {self.put}"
        settings += f" {self.least}" if self.least else ""
        return f"MaskedLM {self._digest} {settings}"

    @cached_property
    def _digest(self) -> str:
        if self.download and not Path(self.model).expanduser().is_dir():
            # Before it is loaded, the cache may hold only its config.json, which models share.
            _ = self._loaded
        return folder_digest(model_folder(self.model, self.download))

    @cached_property
    def _loaded(self) -> LoadedModel:
        return LoadedModel(self.model, "masked", self.precision, self.device, self.download)

    @cached_property
    def _pieces(self) -> WordPieces:
        loaded = self._loaded
        return WordPieces(loaded.tokenizer, loaded.network.config.vocab_size, loaded.max_pieces)

    def _top(self, slots: Sequence[Slot]) -> Iterator[tuple[int, Indices, Floats]]:
        """Yield (slot, ids, logits) of each slot's top_k pieces, ids and logits `(top_k,)`."""
        last = 2 if self.put == "merge" else 1  # the last word has no next one
        asked = [
            row for row, slot in enumerate(slots) if slot.position + last <= len(slot.sentence)
        ]
        masked = self._pieces.masked([slots[row] for row in asked], self.put)
        inputs = dict(zip(asked, masked, strict=True))
        for chosen in batches([len(ids) for ids, _ in masked], self.batch_tokens):
            rows = [asked[index] for index in chosen]
            ids, mask = self._loaded.padded([inputs[row][0] for row in rows])
            columns = torch.tensor([inputs[row][1] for row in rows], device=ids.device)
            with torch.inference_mode():
                logits = self._loaded.logits_at(ids, mask, columns)
                values, top = logits.topk(min(self.top_k, logits.shape[1]), dim=1)
                shares = (values - logits.logsumexp(1, keepdim=True)).exp()
            found = (each.cpu().numpy() for each in (top, values.double(), shares >= self.least))
            for row, ids, logits, likely in zip(rows, *found, strict=True):
                yield row, ids[likely], logits[likely]


class MaskedInsertion(MaskedLM):
    """Proposes to insert a word next to the word: words that the model predicts for a mask there.

    Of CLARE (Li et al. 2021) and of BAE-I (Garg and Ramakrishnan 2020).

    Args:
        model: see `MaskedLM`.
        side: `before` or `after` the word.
        top_k: see `MaskedLM`.
        sample: see `MaskedLM`.
        batch_tokens: see `MaskedLM`.
        precision: see `MaskedLM`.
        device: see `MaskedLM`.
        download: see `MaskedLM`.
        least: see `MaskedLM`.
        follows: whether words are inserted next to a word that the search has just replaced, where
            the model reads the current sentence (BAE-R+I); only `GreedyByImportance`.
    """

    changes = "insertions"
    tasks = ("semantic", "classification")
    verbatim = spans = True

    def __init__(
        self,
        model: str,
        *,
        side: Literal["before", "after"] = "after",
        top_k: int = 110,
        sample: int | None = 99,
        batch_tokens: int = 8192,
        precision: WeightPrecision = "float32",
        device: str = "auto",
        download: bool = False,
        least: float = 0.0,
        follows: bool = False,
    ) -> None:
        check_choice("masked language model: side", side, ("before", "after"))
        super().__init__(
            model,
            top_k=top_k,
            sample=sample,
            batch_tokens=batch_tokens,
            precision=precision,
            device=device,
            download=download,
            least=least,
        )
        self.side, self.follows = side, follows
        self.put = "insert_before" if side == "before" else "insert_after"


class MaskedMerge(MaskedLM):
    """Proposes one word for the word and the next one: words that the model predicts for both.

    Of CLARE (Li et al. 2021). The arguments are those of `MaskedLM`.
    """

    changes = "merges"
    tasks = ("semantic", "classification")
    verbatim = spans = True
    put = "merge"


def _placed(put: Put, word: str, new: Sequence[str]) -> list[str]:
    """Return the candidates of a word, from the words that the model predicts."""
    if put == "merge":
        return [Merged(each) for each in new]
    if put == "insert_before":
        return [f"{each} {word}" for each in new]
    if put == "insert_after":
        return [f"{word} {each}" for each in new]
    return list(new)
