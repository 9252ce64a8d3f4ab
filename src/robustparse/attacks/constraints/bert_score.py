"""Candidates must keep a sentence's meaning, as BERTScore sees it (Zhang et al. 2020).

Every word piece of a text has a vector in its context. With unit vectors x_i of the reference and
y_j of the other text, and weights w of the pieces, equations 1 to 3 and section 3 are::

    recall = sum_i w_i max_j x_i y_j / sum_i w_i
    precision = sum_j w_j max_i x_i y_j / sum_j w_j
    F1 = 2 precision recall / (precision + recall)

Without inverse document frequencies every weight is 1.
"""

import math
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pad_sequence

from robustparse.attacks.constraints.sentence_constraint import Edit, Recent, SentenceConstraint
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError, check_choice, check_least
from robustparse.files import read_text
from robustparse.pretrained import LoadedModel, WeightPrecision, batches
from robustparse.types import Floats, Mask, View

_SCORES, _REFERENCES = 1 << 16, 1 << 8  # pairs of texts; texts, 50 kilobytes and more each
_ENCODED = 1 << 12  # texts, of 512 pieces some 20 kilobytes each

_Pair = tuple[tuple[str, ...], tuple[str, ...]]


class BERTScore(SentenceConstraint):
    """The BERTScore (F1) of the changed sentence reaches a minimum.

    Compares with the *original* sentence, so that several changes together keep to the minimum.
    Scores are neither rescaled nor comparable between models: measure what random words get
    before choosing a minimum for another one.

    A text of more pieces than the model reads is cut off there. A change beyond is not read, and
    `unread` decides on it.

    Args:
        model: a Transformer that reads word pieces, by its folder or its hub name (read from the
            local cache); a masked language model will do. BERT base, uncased, in Yoo et al. 2020.
        minimum: the least F1 (0.9, Yoo et al. 2020).
        layer: whose vectors are compared, from 0, the embeddings. None takes three quarters of the
            layers: the 9th of 12 and the 18th of 24, which Zhang et al. 2020 (appendix B) chose for
            BERT base and large.
        idf: a text file, one text a line: pieces that are in few of its N lines weigh more,
            log((N + 1) / (n + 1)) if they are in n of them. None weighs all alike (Yoo et al.
            2020).
        specials: whether the marks at a text's ends, [CLS] and [SEP], are left `out`, or may
            `match` pieces of the other text, as in the released code of Zhang et al. 2020. They
            weigh nothing either way.
        unread: what becomes of a change that the model does not read: `reject`, or `accept`.
        view: what a sentence is of a pair: its own text, or both texts joined (as TextAttack has
            it).
        batch_tokens: padded pieces of one forward pass.
        precision: number format of the model; float64 makes scores independent of batching to the
            last digits, the others up to rounding.
        device: `auto` takes a GPU if there is one.
        download: whether a name that is not in the local cache may be fetched.

    Raises:
        InputError: a setting is out of range; before the first sentence is attacked: the model, the
            layer, the device or the file is missing.
    """

    def __init__(
        self,
        model: str,
        *,
        minimum: float = 0.9,
        layer: int | None = None,
        idf: str | None = None,
        specials: Literal["out", "match"] = "out",
        unread: Literal["reject", "accept"] = "reject",
        view: View = "text",
        batch_tokens: int = 4096,
        precision: WeightPrecision = "float32",
        device: str = "auto",
        download: bool = False,
    ) -> None:
        if not -1.0 <= minimum <= 1.0:
            raise InputError(f"must be in [-1, 1], got {minimum}", key="BERTScore: minimum")
        check_choice("BERTScore: specials", specials, ("out", "match"))
        check_choice("BERTScore: unread", unread, ("reject", "accept"))
        check_choice("BERTScore: view", view, get_args(View))
        check_least("BERTScore", batch_tokens=batch_tokens)
        check_least("BERTScore", 0, layer=layer)
        self.model = model
        self.minimum = minimum
        self.layer = layer
        self.idf = idf
        self.specials = specials
        self.unread = unread
        self.view: View = view
        self.batch_tokens = batch_tokens
        self.precision: WeightPrecision = precision
        self.device = device
        self.download = download
        self._known: Recent[_Pair, float] = Recent(_SCORES)
        self._references: Recent[tuple[str, ...], _Pieces] = Recent(_REFERENCES)
        self._encoded: Recent[tuple[str, ...], list[int]] = Recent(_ENCODED)

    def prepare(self, victim: Victim) -> None:
        """Load the model: a missing one ends an attack before the victim is asked anything."""
        _ = self._loaded

    def admits(self, edits: Sequence[Edit]) -> Mask:
        """See `SentenceConstraint.admits`."""
        read = self._read([edit.seen(self.view) for edit in edits])
        admitted = np.full(len(edits), self.unread == "accept")
        some = [edit for edit, whole in zip(edits, read.tolist(), strict=True) if whole]
        admitted[read] = self.similarities(some) >= self.minimum
        return admitted

    def similarities(self, edits: Sequence[Edit]) -> Floats:
        """Compute the F1 of each changed sentence and the original, `(edits,)`."""
        edits = [edit.seen(self.view) for edit in edits]
        return self.between(
            [edit.changed for edit in edits], [edit.sentence.words for edit in edits]
        )

    def between(
        self, texts: Sequence[tuple[str, ...]], references: Sequence[tuple[str, ...]]
    ) -> Floats:
        """Compute the F1 of each text and its reference, lists of words, `(texts,)`."""
        return np.array(self._known.of(list(zip(texts, references, strict=True)), self._scores))

    def _read(self, edits: Sequence[Edit]) -> Mask:
        """Tell which changed words are among the pieces that the model reads, `(edits,)`."""
        read = self._fits([edit.changed for edit in edits])
        # Where the changed word ends only matters in a text that is cut off.
        cut = [edit for edit, whole in zip(edits, read.tolist(), strict=True) if not whole]
        read[~read] = self._fits([edit.changed[: edit.position + 1] for edit in cut])
        return read

    def _fits(self, texts: Sequence[tuple[str, ...]]) -> Mask:
        """Tell which texts have no more pieces than the model reads, `(texts,)`."""
        room = self._loaded.max_pieces
        return np.array([len(ids) <= room for ids in self._ids(texts)], dtype=np.bool_)

    def _ids(self, texts: Sequence[tuple[str, ...]]) -> list[list[int]]:
        """Return the piece ids of the texts, marks included, however many."""
        return self._encoded.of(texts, self._tokenized)

    def _tokenized(self, texts: Sequence[tuple[str, ...]]) -> list[list[int]]:
        found = self._loaded.tokenizer([" ".join(words) for words in texts], verbose=False)
        ids: list[list[int]] = found["input_ids"]
        return ids

    def _scores(self, pairs: Sequence[_Pair]) -> list[float]:
        references = self._references.of([reference for _, reference in pairs], self._pieces)
        scores = np.zeros(len(pairs))
        encoded = [self._cut(ids) for ids in self._ids([text for text, _ in pairs])]
        for rows in batches([len(ids) for ids in encoded], self.batch_tokens):
            texts = self._vectors([encoded[row] for row in rows])
            found = f1(texts, _padded([references[row] for row in rows]))
            scores[rows] = found.double().cpu().numpy()
        found_scores: list[float] = scores.tolist()
        return found_scores

    def _pieces(self, texts: Sequence[tuple[str, ...]]) -> "list[_Pieces]":
        """Return the pieces of each text, without padding."""
        encoded = [self._cut(ids) for ids in self._ids(texts)]
        found: dict[int, _Pieces] = {}
        for rows in batches([len(ids) for ids in encoded], self.batch_tokens):
            batch = self._vectors([encoded[row] for row in rows])
            for place, row in enumerate(rows):
                size = len(encoded[row])
                found[row] = _Pieces(*(part[place, :size].clone() for part in batch))
        return [found[row] for row in range(len(texts))]

    def _cut(self, ids: list[int]) -> list[int]:
        """Cut what the model does not read; the mark at the end stays."""
        room = self._loaded.max_pieces
        return ids if len(ids) <= room else [*ids[: room - 1], ids[-1]]

    @torch.inference_mode()
    def _vectors(self, inputs: Sequence[Sequence[int]]) -> "_Pieces":
        """Read texts by their piece ids: a batch."""
        ids, mask = self._loaded.padded(inputs)
        network = self._loaded.network.base_model
        states = network(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        states = states.hidden_states[self._layer]
        states = states if self.precision == "float64" else states.float()
        marks = torch.tensor(self._loaded.tokenizer.all_special_ids, device=ids.device)
        unknown = self._loaded.tokenizer.unk_token_id
        words = ~torch.isin(ids, marks) | (ids == (-1 if unknown is None else unknown))
        weights = words & mask.bool()
        matched = mask.bool() if self.specials == "match" else weights
        return _Pieces(normalize(states, dim=-1), weights * self._weight(ids), matched)

    def _weight(self, ids: torch.Tensor) -> torch.Tensor:
        """Look up the inverse document frequency of each piece, in the shape of the ids."""
        return self._frequencies[ids] if self.idf is not None else torch.ones_like(ids).double()

    @cached_property
    def _frequencies(self) -> torch.Tensor:
        """The inverse document frequency of every piece, `(pieces of the vocabulary,)`."""
        lines = read_text(Path(str(self.idf)).expanduser()).splitlines()
        texts = [tuple(line.split()) for line in lines]
        encoded = self._tokenized(texts) if texts else []
        counts = Counter(one for ids in encoded for one in set(ids))
        size = 1 + max(self._loaded.tokenizer.get_vocab().values())
        table = [math.log((len(texts) + 1) / (counts.get(one, 0) + 1)) for one in range(size)]
        return torch.tensor(table, dtype=torch.float64, device=self._loaded.device)

    @cached_property
    def _layer(self) -> int:
        layers = int(self._loaded.network.config.num_hidden_layers)
        if self.layer is not None and self.layer > layers:
            raise InputError(
                f"{self.model} has {layers} layers, got {self.layer}",
                key="BERTScore: layer",
                expected=f"0 (the embeddings) to {layers}, or None: {3 * layers // 4}",
            )
        return 3 * layers // 4 if self.layer is None else self.layer

    @cached_property
    def _loaded(self) -> LoadedModel:
        return LoadedModel(self.model, "encoder", self.precision, self.device, self.download)


class _Pieces(NamedTuple):
    """Pieces of a text, or of a batch of them with padding.

    Args:
        vectors: of length 1, `(pieces, dim)` or `(texts, pieces, dim)`.
        weights: in the mean over the text, 0 of marks and padding, `(pieces,)` or
            `(texts, pieces)`.
        matched: whether pieces of the other text may be matched with it, as `weights`.
    """

    vectors: torch.Tensor
    weights: torch.Tensor
    matched: torch.Tensor


def _padded(texts: Sequence[_Pieces]) -> _Pieces:
    return _Pieces(
        *(pad_sequence(list(part), batch_first=True) for part in zip(*texts, strict=True))
    )


def f1(texts: _Pieces, references: _Pieces) -> torch.Tensor:
    """Compute the F1 of each text and its reference, `(texts,)`; 0 for one without a piece."""
    # (texts, pieces, dim) and (texts, others, dim) to (texts, pieces, others)
    cosines = torch.einsum("npd,nqd->npq", texts.vectors, references.vectors)
    precision = _mean_of_best(cosines, texts.weights, references.matched)
    recall = _mean_of_best(cosines.transpose(1, 2), references.weights, texts.matched)
    both = precision + recall
    return torch.where(both > 0, 2 * precision * recall / both, torch.zeros_like(both))


def _mean_of_best(
    cosines: torch.Tensor, weights: torch.Tensor, matched: torch.Tensor
) -> torch.Tensor:
    """Average each piece's best match, `(texts,)`, from `(texts, pieces, others)`."""
    best = cosines.masked_fill(~matched[:, None], -1.0).amax(dim=2)
    total = weights.sum(dim=1).clamp(min=1e-12)
    return (best * weights).sum(dim=1) / total
