"""Models as victims of attacks: rows of words in, predictions out."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from robustparse.data.batch import Batch
from robustparse.data.read_options import FileUse
from robustparse.data.reading import Reading
from robustparse.data.sampler import EvaluationLoader, forward_words
from robustparse.errors import InputError, check_choice
from robustparse.models.base import Model
from robustparse.models.encoders.dropout import evaluating
from robustparse.models.encoders.word_table import UNKNOWN
from robustparse.models.reference import ReferenceModel
from robustparse.models.white_box import (
    InputVectors,
    by_word,
    character_gradients,
    character_vectors,
    spelling,
)
from robustparse.tasks.task import Task
from robustparse.types import Example, Ids, Predictions, TextRows

Precision = Literal["32-true", "bf16-mixed"]


class ModelVictim:
    """A model, or an ensemble, as a victim; see ``robustparse.attacks.victim`` for the protocols.

    The members of an ensemble answer together: the first model's ``mean``, decoder and beam count,
    and so do its labels and training data. Each model has its own word table; the victim's rows
    belong to a joint table.

    Args:
        models: models of one class, with equal labels and, if known, equal training data.
        precision: ``32-true``, or ``bf16-mixed`` as in mixed training, which is faster on some
            processors and changes a few answers.

    Raises:
        InputError: there is no model, the precision is unknown, or the models cannot answer
            together.
    """

    unknown = UNKNOWN
    one_process = False

    def __init__(self, models: Sequence[Model], precision: Precision = "32-true") -> None:
        check_choice("precision", precision, get_args(Precision))
        self.models = list(models)
        _check_members(self.models)
        self._mixed = precision == "bf16-mixed"
        self._words = _JointTable([model.intern for model in self.models], reserved=2)
        self._marks = _JointTable([model.intern_marks for model in self.models], reserved=1)
        self._vectors: InputVectors | None = None

    @property
    def model(self) -> Model:
        """The first model."""
        return self.models[0]

    @property
    def task(self) -> Task:
        """The kind of its answers."""
        return self.model.task

    @property
    def pairs(self) -> bool:
        """Whether it reads the context of a text too."""
        return self.model.reads_pairs

    @property
    def batch_words(self) -> int:
        """See ``forward_words``."""
        return forward_words(self.model.device, None)

    @property
    def training_tags(self) -> Mapping[str, Mapping[str, str]]:
        """See ``Victim``."""
        return self.model.vocabulary.training_tags

    @property
    def training_words(self) -> Set[str]:
        """See ``Victim``; the most frequent words come first."""
        return self.model.vocabulary.training_words

    def reading(self, example: Example) -> Reading:
        """See ``Files.reading``."""
        return self.task.files.reading(example)

    @property
    def training_features(self) -> Mapping[str, Set[tuple[str, str]]]:
        """See ``MorphologicalVictim``."""
        return self.model.vocabulary.training_features

    def check(self, examples: Sequence[Example]) -> None:
        """See ``Model.check``; every model must be able to read the sentences."""
        for model in self.models:
            model.check(examples)

    def warnings(self, examples: Sequence[Example], use: FileUse) -> Iterator[str]:
        """See ``Model.warnings``; those of the first model."""
        return self.model.warnings(examples, use)

    def intern(self, words: Sequence[str]) -> Ids:
        """Return the victim's rows of words, ``(words,)``."""
        return self._words.intern(words)

    def intern_marks(self, marks: Sequence[str]) -> Ids:
        """Return the victim's ids of marks, ``(marks,)``."""
        return self._marks.intern(marks)

    def name_ids(self, names: Sequence[str]) -> Ids:
        """See ``Codec.name_ids``; those of the first model."""
        return self.model.codec.name_ids(names).astype(np.int32)

    def answers(self, predictions: Predictions, lengths: Sequence[int]) -> list[Any]:
        """Return predictions for texts of these lengths as the task's answers."""
        return self.model.codec.decode_rows(predictions, lengths)

    def embedded(self, words: Sequence[str]) -> NDArray[np.bool_] | None:
        """Return which words have an embedding in any model, ``(words,)``; None if unknown."""
        by_model = [model.encoder.embedded(model.codes(words)) for model in self.models]
        known = [mask for mask in by_model if mask is not None]
        return np.any(known, axis=0) if known else None

    def seen_in_training(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Return which words are in the first model's vocabulary, ignoring case, ``(words,)``.

        The vocabulary has no words seen once or less often than ``min_count``.
        """
        held = self.model.vocabulary.held
        return np.array([word.lower() in held for word in words], dtype=np.bool_)

    def predict(self, texts: TextRows) -> Predictions:
        """See ``Victim.predict``."""
        members = range(len(self.models))
        batches = [self._batch(member, texts, {}) for member in members]
        states = [model(batch) for model, batch in zip(self.models, batches, strict=True)]
        return self.model.decode(self.models, states, batches)

    def gradient(
        self,
        texts: TextRows,
        gold: Sequence[Any],
        loss: str,
        among: Sequence[NDArray[np.bool_]],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """See ``DifferentiableVictim.gradient``; not for ensembles."""
        model = self._only("gradients of")
        batch = self._batch(0, texts, model.codec.restrict(gold, among))
        embedded = model.embed(batch).detach()
        # The backward pass of cuDNN's LSTM exists in training mode only.
        with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
            states = model.states_of(embedded.requires_grad_(), batch)
            losses = (model.margin if loss == "margin" else model.loss)(states, batch)
            (gradient,) = torch.autograd.grad(losses.sum(), embedded)
        return tuple(map(_numpy, by_word(model, batch, gradient, embedded.detach())))  # type: ignore[return-value]

    def followed(
        self,
        texts: TextRows,
        gold: Sequence[Any],
        loss: str,
        among: Sequence[NDArray[np.bool_]],
    ) -> NDArray[np.float64]:
        """See ``MeasuredVictim.followed``; not for ensembles."""
        model = self._only("losses of")
        batch = self._batch(0, texts, model.codec.restrict(gold, among))
        states = model.states_of(model.embed(batch), batch)
        return _numpy((model.margin if loss == "margin" else model.loss)(states, batch))

    def losses(self, examples: Sequence[Example]) -> NDArray[np.float64]:
        """Return the losses of gold answers, without dropout, ``(examples,)``; for one model."""
        model = self._only("losses of")
        numbered = [replace(example, id=row) for row, example in enumerate(examples)]
        losses = np.zeros(len(numbered))
        with self.evaluating():
            for batch in EvaluationLoader(model.encode(numbered, checked=False), self.batch_words):
                batch = batch.to(model.device)
                losses[batch.ids.cpu().numpy()] = _numpy(model.loss(model(batch), batch))
        return losses

    def vectors(self, rows: Ids) -> NDArray[np.float64]:
        """See ``DifferentiableVictim.vectors``."""
        if self._vectors is None or self._vectors.outdated:
            self._vectors = InputVectors(self._only("embeddings of"))
        return self._vectors.of(self._words.of_member(0, rows))

    def character_gradient(
        self, words: Ids, gradients: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """See ``CharacterVictim.character_gradient``."""
        model = self._only("character gradients of")
        rows = torch.from_numpy(self._words.of_member(0, words).astype(np.int64))
        flat = torch.from_numpy(gradients).flatten(0, 1)
        rows = rows.to(model.device).flatten()
        by_character, vectors = character_gradients(spelling(model), rows, flat)
        shape = (*words.shape, *by_character.shape[1:])
        return _numpy(by_character).reshape(shape), _numpy(vectors).reshape(shape)

    def character_vectors(self, rows: Ids) -> NDArray[np.float64]:
        """See ``CharacterVictim.character_vectors``."""
        encoder = spelling(self._only("character embeddings of"))
        return _numpy(character_vectors(encoder, self._words.of_member(0, rows)))

    def reference(self, checkpoint: str) -> ReferenceModel:
        """See ``ReferringVictim.reference``."""
        return ReferenceModel(checkpoint)

    def check_reference(self, reference: ReferenceModel, others: Sequence[ReferenceModel]) -> None:
        """See ``ReferringVictim.check_reference``."""
        reference.check_against(self.models, others)

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Switch to evaluation without gradients, and restore every module's mode afterwards."""
        device = self.model.device.type
        mixed = torch.autocast(device, torch.bfloat16) if self._mixed else nullcontext()
        with ExitStack() as stack:
            for model in self.models:
                stack.enter_context(evaluating(model))
            stack.enter_context(mixed)
            yield

    def _only(self, what: str) -> Model:
        if len(self.models) > 1:
            raise InputError(
                f"{what} {len(self.models)} models together were asked for",
                key="checkpoint",
                remedy="attack one checkpoint, or choose a black-box recipe",
            )
        return self.model

    def _batch(self, member: int, texts: TextRows, gold: Mapping[str, NDArray[np.int64]]) -> Batch:
        """Return texts as a batch of one model, on its device."""
        rows = self._words.of_member(member, texts.words)
        marks = self._marks.of_member(member, texts.marks)
        arrays = (np.arange(len(rows)), rows, marks, texts.lengths)
        ids, of_words, of_marks, sizes = (torch.from_numpy(a.astype(np.int64)) for a in arrays)
        columns = {name: torch.from_numpy(column) for name, column in gold.items()}
        batch = Batch(ids, of_words, of_marks, sizes, columns, weight=torch.tensor(1.0))
        return batch.to(self.models[member].device)


class _JointTable:
    """A joint numbering of words or marks for several models.

    Words with equal ids in every model share a row, since the victim reads them as the same word.

    Args:
        interns: for each model, the function that returns the ids of words or marks.
        reserved: the number of ids, from 0, that are equal in all models.
    """

    def __init__(self, interns: Sequence[Callable[[Sequence[str]], Ids]], reserved: int) -> None:
        self._interns = interns
        self._rows: dict[str, int] = {}
        self._row_of_ids = {(row,) * len(interns): row for row in range(reserved)}
        self._size = reserved
        self._members = np.tile(np.arange(reserved, dtype=np.int32), (len(interns), 1))

    def intern(self, words: Sequence[str]) -> Ids:
        """Return the row of each word, ``(words,)``; add new words to the table."""
        rows = self._rows
        new = [word for word in dict.fromkeys(words) if word not in rows]
        if new:
            known = self._row_of_ids
            ids = list(zip(*(intern(new).tolist() for intern in self._interns), strict=True))
            for word, of_word in zip(new, ids, strict=True):
                rows[word] = known.setdefault(of_word, len(known))
            self._add(list(known)[self._size :])
        return np.fromiter(map(rows.__getitem__, words), np.int32, len(words))

    def _add(self, ids: Sequence[tuple[int, ...]]) -> None:
        """Add rows, each with the ids that all models have for it."""
        end = self._size + len(ids)
        if end > self._members.shape[1]:
            self._members = np.pad(self._members, ((0, 0), (0, 2 * end)))
        self._members[:, self._size : end] = (
            np.array(ids, np.int32).reshape(len(ids), len(self._interns)).T
        )
        self._size = end

    def of_member(self, member: int, rows: Ids) -> Ids:
        """Return a model's ids for rows of the table, of any shape."""
        ids: Ids = self._members[member][rows]
        return ids


def _check_members(models: Sequence[Model]) -> None:
    """Check that models can answer together."""
    if not models:
        raise InputError("no model to attack", key="checkpoint", expected="at least one")
    first = models[0]
    origin = next((model for model in models if model.trained_on), first)
    for number, model in enumerate(models[1:], start=2):
        for other in (first, origin):
            for difference, expected in _differences(other, model):
                name = "it" if model.checkpoint else f"model {number}"
                other_name = other.checkpoint or f"model {1 + models.index(other)}"
                raise InputError(
                    f"{name} and {other_name} {difference}",
                    path=model.checkpoint,
                    key="checkpoint",
                    expected=expected,
                )


def _differences(first: Model, model: Model) -> Iterator[tuple[str, str]]:
    """Yield the reasons why two models cannot answer together, and what is expected instead."""
    if type(model) is not type(first):
        names = f"a {type(model).__name__} and a {type(first).__name__}"
        yield f"are of different classes: {names}", "models of one class"
        return
    for what in ("labels", "sketches"):
        names, expected = getattr(model.vocabulary, what), getattr(first.vocabulary, what)
        if names != expected:
            differing = ", ".join(sorted({*names} ^ {*expected})) or "the same, in another order"
            yield f"have different {what}: {differing}", f"models trained on the same {what}"
    for name in type(first).shared_settings:
        values = getattr(model, name), getattr(first, name)
        if values[0] != values[1]:
            difference = f"differ in {name}: {values[0]} and {values[1]}"
            yield difference, f"models trained with the same {name}"
    if first.trained_on and model.trained_on and first.trained_on != model.trained_on:
        yield "were trained on different data", "models trained on the same training file"


def _numpy(tensor: torch.Tensor) -> NDArray[np.float64]:
    array: NDArray[np.float64] = tensor.double().cpu().numpy()
    return array
