"""Changes must preserve a sentence's meaning, measured by a sentence encoder or word vectors.

Jin et al. 2020 use the Universal Sentence Encoder. Here `SentenceSimilarity` uses any encoder of
the optional library sentence-transformers, `VectorSimilarity` the mean of word vectors, as do the
`ThoughtVectors` of Kuleshov et al. 2018.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch.nn.functional import embedding_bag

from robustparse.attacks.constraints.sentence_constraint import Edit, Recent, SentenceConstraint
from robustparse.devices import chosen_device
from robustparse.errors import InputError, check_choice, check_least, optional_library, reason
from robustparse.pretrained.foreign_code import refuse_own_modules
from robustparse.pretrained.loaded_model import WeightPrecision
from robustparse.pretrained.loading import quiet
from robustparse.types import Floats, Mask, View
from robustparse.vectors import read_lowered

Measure = Literal["cosine", "angular", "textfooler"]
Reference = Literal["original", "current"]
Short = Literal["check", "pass"] | float

_REMEMBERED = 1 << 14  # texts, some kilobytes each
_FOLDER = "a folder with modules.json, config.json, model.safetensors and tokenizer.json"


class TextSimilarity(SentenceConstraint):
    """The changed sentence must be similar to its reference; subclasses embed texts.

    With theta the angle between the two embeddings in radians, the measures are `cosine`:
    cos(theta); `angular`: 1 - theta / pi; `textfooler`: 1 - theta, as in the released code of
    Jin et al. 2020. A threshold of 0.9 means cos(theta) >= 0.9, 0.951 and 0.995, respectively.

    Args:
        minimum: the minimum similarity (Yoo et al. 2020: 0.9, angular).
        measure: the measure of similarity.
        reference: the `original` sentence, or the `current` one just before the change (Jin et al.
            2020, Yoo et al. 2020).
        window: number of words around the change that are compared; odd (15 in both papers). None
            compares whole sentences.
        short: what to do with sentences shorter than the window: `check` compares them whole,
            `pass` accepts them (Yoo et al. 2020, which leaves short sentences unconstrained). A
            number compares them whole with this minimum (the released code of Jin et al. 2020:
            0.1, `textfooler`). Only with a window.
        view: which text of a pair is compared: its own text, or both texts joined (TextAttack), to
            which the window and `short` then apply.

    Raises:
        InputError: a setting is out of range.
    """

    def __init__(
        self,
        *,
        minimum: float = 0.9,
        measure: Measure = "angular",
        reference: Reference = "original",
        window: int | None = None,
        short: Short = "check",
        view: View = "text",
    ) -> None:
        check_choice("similarity: measure", measure, ("cosine", "angular", "textfooler"))
        check_choice("similarity: reference", reference, ("original", "current"))
        check_choice("similarity: view", view, get_args(View))
        if isinstance(short, str):
            check_choice("similarity: short", short, ("check", "pass"))
        elif not -1.0 <= short <= 1.0:
            raise InputError(f"must be in [-1, 1], got {short}", key="similarity: short")
        if window is None and short != "check":
            raise InputError(
                f"{short} has no effect without a window",
                key="similarity: short",
                remedy="set window (shorter sentences are short), or leave short out",
            )
        if not -1.0 <= minimum <= 1.0:
            raise InputError(f"must be in [-1, 1], got {minimum}", key="similarity: minimum")
        if window is not None and (window < 1 or window % 2 == 0):
            raise InputError(f"must be odd and positive, got {window}", key="similarity: window")
        self.minimum = minimum
        self.measure: Measure = measure
        self.reference: Reference = reference
        self.window = window
        self.short: Short = short
        self.view: View = view
        self._known: Recent[str, Floats] = Recent(_REMEMBERED)

    def admits(self, edits: Sequence[Edit]) -> Mask:
        """See `SentenceConstraint.admits`."""
        sizes = [len(edit.seen(self.view).current) for edit in edits]
        short = np.array([size < (self.window or 0) for size in sizes], dtype=np.bool_)
        passed = short & (self.short == "pass")
        checked = [edit for edit, free in zip(edits, passed.tolist(), strict=True) if not free]
        least = self.minimum if isinstance(self.short, str) else self.short
        minima = np.where(short, least, self.minimum)[~passed]
        passed[~passed] = self.similarities(checked) >= minima
        return passed

    def similarities(self, edits: Sequence[Edit]) -> Floats:
        """Measure the similarity of each changed sentence to its reference, `(edits,)`.

        Short sentences that would pass unchecked are measured as a whole.
        """
        by_original = self.reference == "original"
        edits = [edit.seen(self.view) for edit in edits]
        return self.between(
            [self._text(edit, edit.changed) for edit in edits],
            [
                self._text(edit, edit.sentence.words if by_original else edit.current)
                for edit in edits
            ],
        )

    def between(self, texts: Sequence[str], others: Sequence[str]) -> Floats:
        """Measure the similarity of pairs of texts, `(texts,)`."""
        if not texts:
            return np.zeros(0)
        vectors = np.stack(self._known.of([*texts, *others], self._embed))
        cosines: Floats = np.einsum("nd,nd->n", vectors[: len(texts)], vectors[len(texts) :])
        if self.measure == "cosine":
            return cosines
        theta: Floats = np.arccos(np.clip(cosines, -1.0, 1.0))
        return 1.0 - (theta / np.pi if self.measure == "angular" else theta)

    def _text(self, edit: Edit, words: Sequence[str]) -> str:
        """Return the words in the window, which keeps its size at the ends of the text."""
        if self.window is None:
            return " ".join(words)
        begin = max(0, min(edit.position - self.window // 2, len(words) - self.window))
        return " ".join(words[begin : begin + self.window])

    @abstractmethod
    def _embed(self, texts: list[str]) -> list[Floats]:
        """Return unit vectors, or a zero vector, whose cosine with any vector is 0."""


class SentenceSimilarity(TextSimilarity):
    """The changed sentence must be similar to its reference by a sentence encoder.

    Args:
        model: folder of a saved encoder, with its weights in `model.safetensors`, or a hub name
            (read from the local cache).
        minimum: see `TextSimilarity`.
        measure: see `TextSimilarity`.
        reference: see `TextSimilarity`.
        window: see `TextSimilarity`.
        short: see `TextSimilarity`.
        view: see `TextSimilarity`.
        batch_texts: texts per forward pass.
        precision: number format of the encoder; batches change float64 similarities in the last
            digits only, others by rounding errors.
        device: `auto` takes a GPU if there is one.
        download: whether to download a model that is not in the local cache.

    Raises:
        InputError: before the first sentence is attacked: the library, the model or the device is
            missing.
    """

    needs = ("sentence encoder",)
    loads = ("_encoder",)

    def __init__(
        self,
        model: str,
        *,
        minimum: float = 0.9,
        measure: Measure = "angular",
        reference: Reference = "original",
        window: int | None = None,
        short: Short = "check",
        view: View = "text",
        batch_texts: int = 64,
        precision: WeightPrecision = "float32",
        device: str = "auto",
        download: bool = False,
    ) -> None:
        super().__init__(
            minimum=minimum,
            measure=measure,
            reference=reference,
            window=window,
            short=short,
            view=view,
        )
        check_least("similarity", batch_texts=batch_texts)
        self.model = model
        self.batch_texts = batch_texts
        self.precision: WeightPrecision = precision
        self.device = device
        self.download = download

    def _embed(self, texts: list[str]) -> list[Floats]:
        vectors = self._encoder.encode(
            texts, batch_size=self.batch_texts, convert_to_numpy=True, show_progress_bar=False
        ).astype(np.float64)
        return list(_unit(vectors))

    @cached_property
    def _encoder(self) -> Any:
        remedy = 'run `pip install "robustparse[similarity]"`'
        library = optional_library("sentence_transformers", "similarity", remedy)
        path = Path(self.model).expanduser()
        device = chosen_device("device", self.device)
        refuse_own_modules(self.model, self.download, "sentence encoder")
        try:
            # Loading may draw initial weights, which must not advance the global random state.
            with quiet(), torch.random.fork_rng(devices=[]):
                encoder = library.SentenceTransformer(
                    str(path) if path.is_dir() else self.model,
                    device=device,
                    local_files_only=path.is_dir() or not self.download,
                    trust_remote_code=False,
                    # Only safetensors weights are read: nothing is unpickled.
                    model_kwargs={"use_safetensors": True},
                )
            return encoder.to(getattr(torch, self.precision)).eval()
        except Exception as error:  # the library raises many types for a missing or bad model
            what = "in this folder" if path.is_dir() else f"{self.model!r} (not a folder)"
            raise InputError(
                f"the sentence encoder {what} cannot be loaded ({reason(error)})",
                path=path if path.is_dir() else None,
                key="similarity: model",
                expected=_FOLDER,
                remedy="save one with `SentenceTransformer.save`, or name one of the hub and set "
                "`download: true` next to it in a copy of the recipe",
            ) from error


class VectorSimilarity(TextSimilarity):
    """The changed sentence must be similar to its reference by the mean of their word vectors.

    Words are looked up lower-cased; words without a vector, or with a zero vector, are left out.

    Args:
        vectors: a text file of word vectors (`vectors.read_vectors`).
        minimum: see `TextSimilarity`.
        measure: see `TextSimilarity`.
        reference: see `TextSimilarity`.
        window: see `TextSimilarity`.
        short: see `TextSimilarity`.
        view: see `TextSimilarity`.
        limit: reads the first N words of the file; None reads all.

    Raises:
        InputError: before the first sentence is attacked: the file is malformed.
    """

    needs = ("word vectors",)
    loads = ("_table",)

    def __init__(
        self,
        vectors: str,
        *,
        minimum: float = 0.9,
        measure: Measure = "angular",
        reference: Reference = "original",
        window: int | None = None,
        short: Short = "check",
        view: View = "text",
        limit: int | None = None,
    ) -> None:
        super().__init__(
            minimum=minimum,
            measure=measure,
            reference=reference,
            window=window,
            short=short,
            view=view,
        )
        self.vectors = vectors
        self.limit = limit

    def _embed(self, texts: list[str]) -> list[Floats]:
        words = [text.lower().split() for text in texts]
        return list(_unit(_pooled(words, *self._table, mode="sum")))

    @cached_property
    def _table(self) -> tuple[dict[str, int], Floats]:
        return read_lowered(Path(self.vectors).expanduser(), self.limit)


class ThoughtVectors(SentenceConstraint):
    """The changed sentence's thought vector must be near that of the original sentence.

    A thought vector is the mean of the vectors of a sentence's words (Kuleshov et al. 2018,
    equation 4); their distance is Euclidean. Words are looked up lower-cased; words without a
    vector are left out. The vectors keep the lengths that the file gives them.

    Args:
        vectors: a text file of word vectors (`vectors.read_vectors`).
        most: the maximum distance, in units of the vectors (Kuleshov et al. 2018: 0.2).
        limit: reads the first N words of the file; None reads all.

    Raises:
        InputError: most is below 0; before the first sentence is attacked: the file is malformed.
    """

    needs = ("word vectors",)
    loads = ("_table",)

    def __init__(self, vectors: str, *, most: float = 0.2, limit: int | None = None) -> None:
        if not most >= 0.0:
            raise InputError(f"must be at least 0, got {most}", key="thought vectors: most")
        self.vectors, self.most, self.limit = vectors, most, limit
        self._known: Recent[tuple[str, ...], Floats] = Recent(_REMEMBERED)

    def admits(self, edits: Sequence[Edit]) -> Mask:
        """See `SentenceConstraint.admits`."""
        return -self.similarities(edits) <= self.most

    def similarities(self, edits: Sequence[Edit]) -> Floats:
        """Return minus the distances, `(edits,)`."""
        texts = [edit.changed for edit in edits] + [edit.sentence.words for edit in edits]
        means = np.array(self._known.of(texts, self._means)).reshape(2, len(edits), -1)
        distances: Floats = np.linalg.norm(means[0] - means[1], axis=1)
        return -distances

    def _means(self, texts: list[tuple[str, ...]]) -> list[Floats]:
        words = [list(map(str.lower, text)) for text in texts]
        return list(_pooled(words, *self._table, mode="mean"))

    @cached_property
    def _table(self) -> tuple[dict[str, int], Floats]:
        return read_lowered(Path(self.vectors).expanduser(), self.limit)


def _unit(vectors: Floats) -> Floats:
    """Divide vectors `(n, dim)` by their lengths; zero vectors stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = vectors / np.where(lengths > 0, lengths, 1.0)
    return unit


def _pooled(
    texts: Sequence[Sequence[str]],
    row_of: Mapping[str, int],
    table: Floats,
    mode: Literal["sum", "mean"],
) -> Floats:
    """Return the sum or the mean of the vectors of each text's known words, `(texts, dim)`."""
    rows = [[row_of[word] for word in text if word in row_of] for text in texts]
    sizes = torch.tensor([len(each) for each in rows], dtype=torch.long)
    known = torch.tensor([*chain(*rows)], dtype=torch.long)
    vectors = torch.from_numpy(table)
    pooled: Floats = embedding_bag(known, vectors, sizes.cumsum(0) - sizes, mode=mode).numpy()
    return pooled
