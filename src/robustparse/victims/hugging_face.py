"""Fine-tuned Hugging Face classifiers and taggers, unchanged."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from robustparse.attacks.victim import Loss
from robustparse.data.sampler import forward_words
from robustparse.data.tags.schemes import BEGIN, INSIDE, OUTSIDE, scheme_of, split_tag, to_bio
from robustparse.devices import chosen_device
from robustparse.errors import InputError
from robustparse.pretrained.foreign_code import settings_in
from robustparse.pretrained.loaded_model import AnyKind, LoadedModel, WeightPrecision
from robustparse.pretrained.loading import CLASSIFIER, TAGGER, model_folder, output_names
from robustparse.types import Floats, Ids, Mask, TagSequence, TextRows
from robustparse.victims.black_box import BlackBox, Pairs, Texts

_MARGIN = 1.0  # of Zheng et al. (2020, equation 4)


class HuggingFaceModel(BlackBox):
    """A saved model of Hugging Face, or one on the hub, with its tokenizer; loaded at first use."""

    kind: ClassVar[AnyKind]
    model: str
    precision: WeightPrecision
    download: bool

    @property
    def name(self) -> str:
        """The name of the model, without the folders above it."""
        return Path(self.model).name

    @property
    def unknown_word(self) -> str:
        """The tokenizer's unknown token, or its mask token if it has none."""
        tokenizer = self._loaded.tokenizer
        return str(tokenizer.unk_token or tokenizer.mask_token or super().unknown_word)

    @property
    def batch_words(self) -> int:  # type: ignore[override]
        """See ``forward_words``."""
        return forward_words(torch.device(chosen_device("device", self.device)), None)

    @cached_property
    def _loaded(self) -> LoadedModel:
        loaded = LoadedModel(self.model, self.kind, self.precision, self.device, self.download)
        tokenizer = loaded.tokenizer
        if tokenizer.pad_token is None:  # as of GPT-2; the attention mask hides what pads
            tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
        loaded.network.config.pad_token_id = tokenizer.pad_token_id
        return loaded


class HuggingFaceClassifier(HuggingFaceModel):
    """Any ``AutoModelForSequenceClassification``, of single texts or of pairs.

    The answers are those of the model's own ``pipeline``: the tokenizer reads the words of a text,
    joined by blanks, as one string, cut to the model's greatest length. White-box attacks get
    gradients at the input embeddings.

    Args:
        model: the folder of a saved model, or its name on the hub.
        labels: names for the model's labels, in the order of its outputs, if the data has other
            names for them; by default those in its ``config.json``.
        pairs: whether it classifies pairs; the hypotheses are attacked.
        device: ``auto`` takes a GPU if there is one; ``--device`` of a command comes first.
        precision: number format of the model.
        download: whether to download a model that is not in the local cache.
        training: a file of training texts; see `BlackBox`.
        batch_texts: largest number of texts in one forward pass.

    Raises:
        InputError: there is no such model, its files ask to run code, it is a regression or
            answers several labels at once, or the number of labels is wrong.
    """

    kind = "classifier"

    def __init__(
        self,
        model: str,
        *,
        labels: list[str] | None = None,
        pairs: bool = False,
        device: str = "auto",
        precision: WeightPrecision = "float32",
        download: bool = False,
        training: str | None = None,
        batch_texts: int = 256,
    ) -> None:
        own = _labels(model, download)
        if labels is not None and len(labels) != len(own):
            raise InputError(
                f"got {len(labels)} labels",
                key="victim: labels",
                expected=f"{len(own)}, one for each of {', '.join(own)}",
            )
        named = own if labels is None else labels
        super().__init__("classification", labels=named, batch_texts=batch_texts, pairs=pairs)
        self.model, self.device, self.precision = model, device, precision
        self.download = download
        self.training = [] if training is None else self.task.files.read(training)
        self._vectors: dict[int, Floats] = {}

    @torch.inference_mode()
    def answer(self, texts: Texts | Pairs) -> list[tuple[str, Floats]]:
        """Classify texts or pairs: the most probable label, and the probabilities of all."""
        probabilities = self._logits(self._inputs(texts)).softmax(-1).double().cpu().numpy()
        labels = self.labels or ()
        return [(labels[row.argmax()], row) for row in probabilities]

    def gradient(
        self, texts: TextRows, gold: Sequence[Any], loss: Loss, among: Sequence[Mask]
    ) -> tuple[Floats, Floats, Floats]:
        """See ``DifferentiableVictim.gradient``."""
        spelt = self.as_words(texts)
        inputs = self._inputs(spelt)
        with torch.enable_grad(), self._embedded() as embedded:
            losses = _losses(self._logits(inputs), self._gold(gold), loss)
            (gradient,) = torch.autograd.grad(losses.sum(), embedded)
        member = self._members(inputs, spelt, texts.words.shape[1]).to(gradient)
        counts = member.sum(-1, keepdim=True).clamp(min=1)
        squares = (member @ gradient.square().sum(-1, keepdim=True)).squeeze(-1)
        means = (member @ embedded[0].detach()) / counts
        return _numpy(member @ gradient), _numpy(means), _numpy(squares.sqrt())

    def followed(
        self, texts: TextRows, gold: Sequence[Any], loss: Loss, among: Sequence[Mask]
    ) -> Floats:
        """See ``MeasuredVictim.followed``."""
        with torch.inference_mode():
            logits = self._logits(self._inputs(self.as_words(texts)))
            return _numpy(_losses(logits, self._gold(gold), loss))

    def vectors(self, rows: Ids) -> Floats:
        """See ``DifferentiableVictim.vectors``; each word is embedded as the second of a text."""
        known = self._vectors
        if new := [row for row in np.unique(rows).tolist() if row not in known]:
            texts = [["a", word] for word in self.words_of(new)]
            pairs = [(text, text) for text in texts]
            inputs = self._inputs(pairs if self.pairs else texts)
            with torch.inference_mode():
                embedded = self._loaded.network.get_input_embeddings()(inputs["input_ids"])
                member = self._members(inputs, pairs if self.pairs else texts, 2).to(embedded)
                means = (member @ embedded) / member.sum(-1, keepdim=True).clamp(min=1)
            known.update(zip(new, _numpy(means[:, 1]), strict=True))
        return np.stack([known[row] for row in rows.tolist()])

    def _inputs(self, texts: Texts | Pairs) -> Any:
        """Return the padded inputs of the network, a ``BatchEncoding`` on its device."""
        loaded = self._loaded
        several: list[Any] = [*zip(*texts, strict=True)] if self.pairs else [texts]
        columns = [[" ".join(text) for text in column] for column in several]
        limits = {"truncation": True, "max_length": loaded.max_pieces}
        inputs: Any = loaded.tokenizer(*columns, padding=True, return_tensors="pt", **limits)
        return inputs.to(loaded.device)

    def _logits(self, inputs: Any) -> Tensor:
        """Return the scores of the labels, ``(texts, labels)``, in float32 or float64."""
        return self._loaded.wide(self._loaded.network(**inputs).logits)

    @contextmanager
    def _embedded(self) -> Iterator[list[Tensor]]:
        """Collect the input embeddings of a forward pass, and let gradients reach them."""
        collected: list[Tensor] = []

        def collect(_module: nn.Module, _given: Any, output: Tensor) -> Tensor:
            collected.append(output.detach().requires_grad_())
            return collected[-1]

        hook = self._loaded.network.get_input_embeddings().register_forward_hook(collect)
        try:
            yield collected
        finally:
            hook.remove()

    def _members(self, inputs: Any, texts: Texts | Pairs, words: int) -> Tensor:
        """Tell which pieces belong to each of the first ``words`` words of the attacked texts.

        Returns:
            ``(texts, words, pieces)``.

        Raises:
            InputError: the tokenizer does not tell where its pieces come from.
        """
        if not inputs.is_fast:
            raise InputError(
                f"the tokenizer of {self.name} does not tell where its pieces come from",
                key="attack",
                remedy="choose a search without gradients, or save the model with a fast tokenizer",
            )
        side = int(self.pairs)
        owner = np.full(tuple(inputs["input_ids"].shape), -1)
        for row, (encoding, text) in enumerate(zip(inputs.encodings, texts, strict=True)):
            sizes = [len(word) for word in (text[side] if self.pairs else text)]
            ends = np.cumsum(sizes) + np.arange(len(sizes))  # a blank stands before each other word
            begins_ends = np.array(encoding.offsets)
            inside = np.array([part == side for part in encoding.sequence_ids])
            inside &= begins_ends[:, 0] < begins_ends[:, 1]
            # Some tokenizers count the blank before a word as part of its first piece.
            owner[row, inside] = np.searchsorted(ends, begins_ends[inside, 1] - 1, side="right")
        member = owner[:, None] == np.arange(words)[:, None]
        return torch.from_numpy(member).to(inputs["input_ids"].device)

    def _gold(self, gold: Sequence[Any]) -> Tensor:
        return torch.tensor(list(gold), device=self._loaded.device)


class HuggingFaceTagger(HuggingFaceModel):
    """Any ``AutoModelForTokenClassification``.

    The tag of a word is that of its first piece; tags of spans are read in the model's scheme and
    become BIO, repaired as conlleval reads them.

    Args:
        model: the folder of a saved model, or its name on the hub.
        device: ``auto`` takes a GPU if there is one; ``--device`` of a command comes first.
        precision: number format of the model.
        download: whether to download a model that is not in the local cache.
        training: a file of training sentences; see `BlackBox`.
        batch_texts: largest number of texts in one forward pass.

    Raises:
        InputError: there is no such model, its files ask to run code, or a sentence has more
            pieces than it reads.
    """

    kind = "tagger"

    def __init__(
        self,
        model: str,
        *,
        device: str = "auto",
        precision: WeightPrecision = "float32",
        download: bool = False,
        training: str | None = None,
        batch_texts: int = 64,
    ) -> None:
        super().__init__("tags", batch_texts=batch_texts)
        path = model_folder(model, download, TAGGER) / "config.json"
        self.tags = output_names(path, settings_in(path, TAGGER))
        self.model, self.device, self.precision = model, device, precision
        self.download = download
        self.training = [] if training is None else self.task.files.read(training)

    @property
    def answerable(self) -> list[str]:
        """The tags of the model in BIO."""
        parts = map(split_tag, self.tags)
        return [
            name
            for prefix, kind in parts
            for name in ([BEGIN + kind, INSIDE + kind] if prefix else [kind])
        ]

    @torch.inference_mode()
    def answer(self, texts: Texts) -> list[TagSequence]:
        """Tag sentences."""
        loaded = self._loaded
        inputs: Any = loaded.tokenizer(
            texts, is_split_into_words=True, padding=True, return_tensors="pt"
        )
        pieces = inputs["input_ids"].shape[1]
        if pieces > loaded.max_pieces:
            first = " ".join(texts[int(inputs["attention_mask"].sum(1).argmax())][:8])
            problem = f"{pieces} word pieces, over the limit of {loaded.max_pieces}, in {first!r} …"
            raise InputError(problem, key="victim", remedy="leave this sentence out of the data")
        best = loaded.network(**inputs.to(loaded.device)).logits.argmax(-1).tolist()
        scheme = scheme_of([self.tags])
        answers = []
        for row, (words, tags) in enumerate(zip(texts, best, strict=True)):
            # A word without a piece, such as a zero-width blank, gets O, or the first tag if there
            # is no O.
            of_words = [OUTSIDE if OUTSIDE in self.tags else self.tags[0]] * len(words)
            for piece, word in reversed([*enumerate(inputs.word_ids(row))]):
                if word is not None:
                    of_words[word] = self.tags[tags[piece]]
            answers.append(TagSequence(to_bio(of_words, scheme, repair=True)))
        return answers


def _labels(model: str, download: bool) -> list[str]:
    """Return the labels of a model, in the order of its outputs.

    Raises:
        InputError: there is no such model, or it does not choose one of several labels.
    """
    path = model_folder(model, download, CLASSIFIER) / "config.json"
    settings = settings_in(path, CLASSIFIER)
    names = output_names(path, settings)
    kind = settings.get("problem_type")
    if kind not in (None, "single_label_classification") or len(names) < 2:
        raise InputError(
            f"a model with {len(names)} outputs ({kind or 'regression'})",
            path=path,
            expected="a model that chooses one of two or more labels",
        )
    return names


def _losses(scores: Tensor, gold: Tensor, loss: Loss) -> Tensor:
    """Return the loss of each text, ``(texts,)``.

    Args:
        scores: of the labels, ``(texts, labels)``.
        gold: the gold labels, ``(texts,)``.
        loss: ``margin`` is by how much the best other label beats the gold one, at most 1.
    """
    if loss == "cross_entropy":
        return cross_entropy(scores, gold, reduction="none")
    of_gold = scores.gather(1, gold[:, None])
    rivals = scores.scatter(1, gold[:, None], float("-inf")).amax(1, keepdim=True)
    return (rivals - of_gold).squeeze(1).clamp(max=_MARGIN)


def _numpy(tensor: Tensor) -> Floats:
    array: Floats = tensor.double().cpu().numpy()
    return array
