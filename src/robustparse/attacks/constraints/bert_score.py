"""Changes must preserve a sentence's meaning, measured by BERTScore (Zhang et al. 2020).

Every word piece of a text has a contextual vector. With unit vectors x_i of the reference's m
pieces and y_j of the other text's n pieces, equations 1 to 3 are::

    recall = sum_i max_j x_i y_j / m
    precision = sum_j max_i x_i y_j / n
    F1 = 2 precision recall / (precision + recall)
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pad_sequence

from robustparse.attacks.constraints.sentence_constraint import Edit, Recent, SentenceConstraint
from robustparse.errors import InputError, check_choice, check_least
from robustparse.pretrained.loaded_model import LoadedModel, WeightPrecision, batches
from robustparse.types import Floats, Mask, View

_SCORES, _REFERENCES = 1 << 16, 1 << 8  # pairs of texts; texts, 50 kilobytes and more each
_ENCODED = 1 << 12  # texts, of 512 pieces some 20 kilobytes each

_Pair = tuple[tuple[str, ...], tuple[str, ...]]


class BERTScore(SentenceConstraint):
    """The BERTScore (F1) of the changed sentence must reach a minimum.

    Compares with the *original* sentence, so that the minimum holds for all changes together.
    Scores are not rescaled and not comparable between models: measure the scores of random words
    before choosing a minimum for another model.

    A text with more pieces than the model accepts is cut off. Changes beyond the cut are rejected.

    Args:
        model: a Transformer over word pieces, by its folder or its hub name (read from the local
            cache), for example a masked language model. BERT base, uncased, in Yoo et al. 2020.
        minimum: the minimum F1 (0.9, Yoo et al. 2020).
        layer: the layer whose vectors are compared; 0 is the embeddings. None takes three quarters
            of the layers: the 9th of 12 and the 18th of 24, which Zhang et al. 2020 (appendix B)
            chose for BERT base and large.
        specials: whether the marks at a text's ends, [CLS] and [SEP], are left `out`, or may
            `match` pieces of the other text, as in the released code of Zhang et al. 2020. In
            either case they are not averaged.
        view: which text of a pair is compared: its own text, or both texts joined (TextAttack).
        batch_tokens: padded pieces per forward pass.
        precision: number format of the model; batches change float64 scores in the last digits
            only, others by rounding errors.
        device: `auto` takes a GPU if there is one.
        download: whether to download a model that is not in the local cache.

    Raises:
        InputError: a setting is out of range; before the first sentence is attacked: the model, the
            layer or the device is missing.
    """

    needs = ("BERT",)
    loads = ("_loaded",)

    def __init__(
        self,
        model: str,
        *,
        minimum: float = 0.9,
        layer: int | None = None,
        specials: Literal["out", "match"] = "out",
        view: View = "text",
        batch_tokens: int = 4096,
        precision: WeightPrecision = "float32",
        device: str = "auto",
        download: bool = False,
    ) -> None:
        if not -1.0 <= minimum <= 1.0:
            raise InputError(f"must be in [-1, 1], got {minimum}", key="BERTScore: minimum")
        check_choice("BERTScore: specials", specials, ("out", "match"))
        check_choice("BERTScore: view", view, get_args(View))
        check_least("BERTScore", batch_tokens=batch_tokens)
        check_least("BERTScore", 0, layer=layer)
        self.model = model
        self.minimum = minimum
        self.layer = layer
        self.specials = specials
        self.view: View = view
        self.batch_tokens = batch_tokens
        self.precision: WeightPrecision = precision
        self.device = device
        self.download = download
        self._known: Recent[_Pair, float] = Recent(_SCORES)
        self._references: Recent[tuple[str, ...], _Pieces] = Recent(_REFERENCES)
        self._encoded: Recent[tuple[str, ...], list[int]] = Recent(_ENCODED)

    def admits(self, edits: Sequence[Edit]) -> Mask:
        """See `SentenceConstraint.admits`."""
        read = self._read([edit.seen(self.view) for edit in edits])
        inside = [edit for edit, is_read in zip(edits, read.tolist(), strict=True) if is_read]
        admitted = np.zeros(len(edits), dtype=np.bool_)
        admitted[read] = self.similarities(inside) >= self.minimum
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
        """Compute the F1 of texts and references, both as lists of words, `(texts,)`."""
        return np.array(self._known.of(list(zip(texts, references, strict=True)), self._scores))

    def _read(self, edits: Sequence[Edit]) -> Mask:
        """Tell which changed words are not cut off, `(edits,)`."""
        read = self._fits([edit.changed for edit in edits])
        # The end of the changed word matters only if the text is cut off.
        cut = [edit for edit, whole in zip(edits, read.tolist(), strict=True) if not whole]
        read[~read] = self._fits([edit.changed[: edit.position + 1] for edit in cut])
        return read

    def _fits(self, texts: Sequence[tuple[str, ...]]) -> Mask:
        """Tell which texts have no more pieces than the model accepts, `(texts,)`."""
        room = self._loaded.max_pieces
        return np.array([len(ids) <= room for ids in self._ids(texts)], dtype=np.bool_)

    def _ids(self, texts: Sequence[tuple[str, ...]]) -> list[list[int]]:
        """Return all piece ids of the texts, marks included."""
        return self._encoded.of(texts, self._tokenized)

    def _tokenized(self, texts: Sequence[tuple[str, ...]]) -> list[list[int]]:
        encoded = self._loaded.tokenizer([" ".join(words) for words in texts], verbose=False)
        ids: list[list[int]] = encoded["input_ids"]
        return ids

    def _scores(self, pairs: Sequence[_Pair]) -> list[float]:
        references = self._references.of([reference for _, reference in pairs], self._pieces)
        scores = np.zeros(len(pairs))
        encoded = [self._cut(ids) for ids in self._ids([text for text, _ in pairs])]
        for rows in batches([len(ids) for ids in encoded], self.batch_tokens):
            texts = self._vectors([encoded[row] for row in rows])
            batch_scores = f1(texts, _padded([references[row] for row in rows]))
            scores[rows] = batch_scores.double().cpu().numpy()
        as_list: list[float] = scores.tolist()
        return as_list

    def _pieces(self, texts: Sequence[tuple[str, ...]]) -> "list[_Pieces]":
        """Return the pieces of each text, without padding."""
        encoded = [self._cut(ids) for ids in self._ids(texts)]
        pieces: dict[int, _Pieces] = {}
        for rows in batches([len(ids) for ids in encoded], self.batch_tokens):
            batch = self._vectors([encoded[row] for row in rows])
            for index, row in enumerate(rows):
                size = len(encoded[row])
                pieces[row] = _Pieces(*(tensor[index, :size].clone() for tensor in batch))
        return [pieces[row] for row in range(len(texts))]

    def _cut(self, ids: list[int]) -> list[int]:
        """Cut off pieces beyond the model's maximum, but keep the mark at the end."""
        room = self._loaded.max_pieces
        return ids if len(ids) <= room else [*ids[: room - 1], ids[-1]]

    @torch.inference_mode()
    def _vectors(self, inputs: Sequence[Sequence[int]]) -> "_Pieces":
        """Compute the vectors of a batch of texts from their piece ids."""
        ids, mask = self._loaded.padded(inputs)
        network = self._loaded.network.base_model
        states = network(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        states = states.hidden_states[self._layer]
        states = states if self.precision == "float64" else states.float()
        marks = torch.tensor(self._loaded.tokenizer.all_special_ids, device=ids.device)
        unknown = self._loaded.tokenizer.unk_token_id
        words = ~torch.isin(ids, marks) | (ids == (-1 if unknown is None else unknown))
        words = words & mask.bool()
        matched = mask.bool() if self.specials == "match" else words
        return _Pieces(normalize(states, dim=-1), words.double(), matched)

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
    """The pieces of a text, or of a padded batch of texts.

    Args:
        vectors: unit vectors, `(pieces, dim)` or `(texts, pieces, dim)`.
        weights: 1 for pieces of words, 0 for marks and padding, `(pieces,)` or `(texts, pieces)`.
        matched: whether a piece may match pieces of the other text, in the shape of `weights`.
    """

    vectors: torch.Tensor
    weights: torch.Tensor
    matched: torch.Tensor


def _padded(texts: Sequence[_Pieces]) -> _Pieces:
    return _Pieces(
        *(pad_sequence(list(tensors), batch_first=True) for tensors in zip(*texts, strict=True))
    )


def f1(texts: _Pieces, references: _Pieces) -> torch.Tensor:
    """Compute the F1 of each text and its reference, `(texts,)`; 0 for a text without pieces."""
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
