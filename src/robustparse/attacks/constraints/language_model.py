"""Perplexity under a causal or masked language model, and constraints on fluency.

Causal: exp of the mean negative log-likelihood of each piece given the preceding ones, without the
first piece and without a start symbol (Wang et al. 2021). Masked: the pseudo-perplexity of Salazar
et al. 2020, where each piece in turn is masked and predicted from all others.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.constraints.constraint import Constraint, Masks, Words
from robustparse.attacks.constraints.sentence_constraint import Edit, Recent, SentenceConstraint
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError, check_choice, check_least
from robustparse.pretrained.loaded_model import Kind, LoadedModel, WeightPrecision, batches
from robustparse.types import Floats, Mask

_REMEMBERED = 1 << 16  # texts


class PerplexityRise(SentenceConstraint):
    """A change may raise the sentence's perplexity by at most `most`.

    Args:
        language_model: measures perplexity (GPT-2 in Wang et al. 2021).
        most: the allowed increase of the perplexity (20 in Wang et al. 2021), or decrease of the
            log-probability (2 nats in Kuleshov et al. 2018 for sentiment).
        measure: `perplexity` itself, not its logarithm, or `log_probability`, the logarithm of the
            whole sentence's probability (Kuleshov et al. 2018, equation 5; a likelier sentence is
            never rejected).
        reference: the `current` sentence, just before the change, so that several changes may add
            up to more (Wang et al. 2021), or the `original` one (Kuleshov et al. 2018).

    Raises:
        InputError: most is NaN; when first used: the model cannot be loaded.
    """

    def __init__(
        self,
        language_model: "LanguageModel",
        *,
        most: float = 20.0,
        measure: Literal["perplexity", "log_probability"] = "perplexity",
        reference: Literal["current", "original"] = "current",
    ) -> None:
        if np.isnan(most):
            raise InputError(f"must be a number, got {most}", key="perplexity: most")
        check_choice("perplexity: measure", measure, ("perplexity", "log_probability"))
        check_choice("perplexity: reference", reference, ("current", "original"))
        self.language_model = language_model
        self.most, self.measure, self.reference = most, measure, reference
        self._known: Recent[tuple[str, ...], float] = Recent(_REMEMBERED)

    def prepare(self, victim: Victim) -> None:
        """See `Component.prepare`."""
        _ = self.language_model._loaded

    def admits(self, edits: Sequence[Edit]) -> Mask:
        """See `SentenceConstraint.admits`."""
        original = self.reference == "original"
        texts = [edit.changed for edit in edits]
        texts += [edit.sentence.words if original else edit.current for edit in edits]
        changed, before = np.array(self._known.of(texts, self._values)).reshape(2, len(edits))
        admitted: Mask = changed - before <= self.most
        return admitted

    def _values(self, texts: list[tuple[str, ...]]) -> list[float]:
        """Return what may rise by `most`."""
        if self.measure == "perplexity":
            values = self.language_model.perplexities(texts)
        else:
            values = -self.language_model.log_probabilities(texts)
        return list(map(float, values))


class LanguageModelPerplexity(Constraint):
    """A candidate must be likely among the words around it.

    Each candidate is put into the *original* sentence, and a language model reads the words around
    it. Alzantot et al. 2018 keep the most probable candidates of a word (their context is the
    current sentence); Jia et al. 2019 those that are not much less probable than the word itself.

    Args:
        language_model: reads the words around a candidate.
        window: the words that it reads on each side; None reads the whole sentence (Jia et al.
            2019, appendix A.3: 6).
        keep: how many candidates of a word pass, the most probable ones (Alzantot et al. 2018: 4);
            None keeps all. Ties go to the first candidate.
        most: how much the logarithm of the window's probability may fall below that of the original
            words, in nats (Jia et al. 2019: 5); None sets no limit.

    Raises:
        InputError: a setting is out of range; when first used: the model cannot be loaded.
    """

    is_model = True

    def __init__(
        self,
        language_model: "LanguageModel",
        *,
        window: int | None = 6,
        keep: int | None = 4,
        most: float | None = None,
    ) -> None:
        check_least("language model perplexity", window=window, keep=keep)
        if most is not None and np.isnan(most):
            raise InputError(f"must be a number, got {most}", key="language model perplexity: most")
        self.language_model = language_model
        self.window, self.keep, self.most = window, keep, most

    def prepare(self, victim: Victim) -> None:
        """See `Component.prepare`."""
        _ = self.language_model._loaded

    def accept(self, slots: Sequence[Slot], candidates: Words, victim: Victim) -> Masks:
        """See `Constraint.accept`."""
        texts = [
            self._around(slot, word)
            for slot, words in zip(slots, candidates, strict=True)
            for word in (slot.word, *words)
        ]
        values = self.language_model.log_probabilities(texts)
        ends = np.cumsum([1 + len(words) for words in candidates])
        return [self._mask(of_slot) for of_slot in np.split(values, ends[:-1])] if slots else []

    def _around(self, slot: Slot, word: str) -> tuple[str, ...]:
        words, at = slot.sentence.words, slot.position
        if self.window is None:
            return (*words[:at], word, *words[at + 1 :])
        begin = max(0, at - self.window)
        return (*words[begin:at], word, *words[at + 1 : at + 1 + self.window])

    def _mask(self, values: Floats) -> Mask:
        """Tell which candidates pass; the first value is that of the original word."""
        original, values = values[0], values[1:]
        passed = np.ones(len(values), dtype=np.bool_)
        if self.most is not None:
            passed &= values >= original - self.most
        if self.keep is not None:
            best = np.argsort(-values, kind="stable")[: self.keep]
            passed &= np.isin(np.arange(len(values)), best)
        return passed


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
        losses, pieces = self._losses(texts)
        perplexities: Floats = np.exp(losses / np.maximum(pieces, 1))
        return perplexities

    def log_probabilities(self, texts: Sequence[Sequence[str]]) -> Floats:
        """Compute the logarithm of the probability of each list of words in nats, `(texts,)`.

        It is that of the pieces which perplexity averages over.
        """
        return -self._losses(texts)[0] if texts else np.zeros(0)

    def _losses(self, texts: Sequence[Sequence[str]]) -> tuple[Floats, Floats]:
        """Compute the summed loss of each text and the number of predicted pieces, `(texts,)`."""
        return self._causal(texts) if self.kind == "causal" else self._masked(texts)

    @torch.inference_mode()
    def _causal(self, texts: Sequence[Sequence[str]]) -> tuple[Floats, Floats]:
        loaded, joined = self._loaded, [" ".join(words) for words in texts]
        encoded = loaded.tokenizer(joined, add_special_tokens=False)["input_ids"]
        inputs = [ids[: self._room] for ids in encoded]
        sums, pieces = np.zeros(len(texts)), np.zeros(len(texts))
        for rows in batches([len(ids) for ids in inputs], self.batch_tokens):
            ids, mask = loaded.padded([inputs[row] for row in rows])
            if ids.shape[1] < 2:
                continue
            logits = loaded.logits(ids, mask)[:, :-1]
            # (rows, pieces, vocabulary) to (rows, vocabulary, pieces), as the loss wants it
            losses = cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
            predicted = mask[:, 1:]
            sums[rows] = (losses.double() * predicted).sum(dim=1).cpu().numpy()
            pieces[rows] = predicted.sum(dim=1).cpu().numpy()
        return sums, pieces

    @torch.inference_mode()
    def _masked(self, texts: Sequence[Sequence[str]]) -> tuple[Floats, Floats]:
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
        sums = np.bincount(owners, weights=losses, minlength=len(texts)).astype(np.float64)
        return sums, np.bincount(owners, minlength=len(texts)).astype(np.float64)

    @cached_property
    def _loaded(self) -> LoadedModel:
        return LoadedModel(self.model, self.kind, self.precision, self.device, self.download)

    @cached_property
    def _room(self) -> int:
        """Maximum pieces per text, special ones included."""
        return min(self.longest, self._loaded.max_pieces)
