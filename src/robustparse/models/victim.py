"""Models as attacks see them: word rows in, predictions out, left as they were found."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from robustparse.data.batch import Batch
from robustparse.data.reading import Reading
from robustparse.data.sampler import EvaluationLoader, forward_words
from robustparse.errors import InputError, check_choice
from robustparse.metrics import PunctuationPolicy
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
from robustparse.tasks.task import MOST_LISTED, Task
from robustparse.types import Example, Ids, Predictions

Precision = Literal["32-true", "bf16-mixed"]


class ModelVictim:
    """Fulfils the protocol of ``robustparse.attacks.victim`` with one model or several.

    Several models answer together, by the mean that the first one's ``mean`` says, and with its
    decoder and beam. Each has a word table of its own; the victim's rows are places in a table over
    all of them. What concerns labels and training data is the first model's.

    Args:
        models: under attack, all of one class, with the same labels and trained on the same data,
            as far as their checkpoints say.
        precision: of their passes: the models' own, or bfloat16 products as in mixed training,
            which are faster on processors that have them and may move an answer here and there.

    Raises:
        InputError: there is no model, or no such precision, or the models cannot answer together.
    """

    unknown = UNKNOWN

    def __init__(self, models: Sequence[Model], precision: Precision = "32-true") -> None:
        check_choice("precision", precision, get_args(Precision))
        self.models = list(models)
        _check_members(self.models)
        self._mixed = precision == "bf16-mixed"
        self._words = _JointTable([one.encoder.intern for one in self.models], reserved=2)
        self._marks = _JointTable([one.intern_marks for one in self.models], reserved=1)
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
    def batch_words(self) -> int:
        """See ``forward_words``."""
        return forward_words(self.model.device, None)

    @property
    def training_tags(self) -> Mapping[str, Mapping[str, str]]:
        """See ``Victim``."""
        return self.model.vocabulary.training_tags

    @property
    def training_words(self) -> Set[str]:
        """See ``Victim``; the most frequent come first."""
        return self.model.vocabulary.training_words

    def reading(self, example: Example) -> Reading:
        """See ``Task.reading``."""
        return self.task.reading(example)

    @property
    def training_features(self) -> Mapping[str, Set[tuple[str, str]]]:
        """See ``MorphologicalVictim``."""
        return self.model.vocabulary.training_features

    def check(self, examples: Sequence[Example]) -> None:
        """See ``Model.check``; all models must read the sentences."""
        for model in self.models:
            model.check(examples)

    def warnings(
        self,
        examples: Sequence[Example],
        path: str | Path,
        punctuation: PunctuationPolicy = "none",
        most: int | None = MOST_LISTED,
    ) -> Iterator[str]:
        """See ``Model.warnings``, of the first model."""
        return self.model.warnings(examples, path, punctuation, most=most)

    def intern(self, words: Sequence[str]) -> Ids:
        """Return the victim's rows of words, ``(words,)``."""
        return self._words.intern(words)

    def intern_marks(self, marks: Sequence[str]) -> Ids:
        """Return the victim's ids of marks, ``(marks,)``."""
        return self._marks.intern(marks)

    def name_ids(self, names: Sequence[str]) -> Ids:
        """See ``Model.name_ids``, of the first model."""
        return self.model.name_ids(names).astype(np.int32)

    def answers(self, predictions: Predictions, lengths: Sequence[int]) -> list[Any]:
        """Return predictions for texts of these lengths as the task's answers."""
        return self.model.answers(predictions, lengths)

    def embedded(self, words: Sequence[str]) -> NDArray[np.bool_] | None:
        """Return which words have an embedding of their own in some model, ``(words,)``."""
        told = [one.encoder.embedded(words) for one in self.models]
        known = [one for one in told if one is not None]
        return np.any(known, axis=0) if known else None

    def seen_in_training(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Return which words the first checkpoint's vocabulary holds, lower-cased, ``(words,)``.

        It leaves out words seen once and rarer than ``min_count``, which count as not seen.
        """
        held = self.model.vocabulary.held
        return np.array([word.lower() in held for word in words], dtype=np.bool_)

    def predict(self, words: Ids, marks: Ids, lengths: Ids) -> Predictions:
        """See ``Victim.predict``; one forward pass of each model."""
        members = range(len(self.models))
        batches = [self._batch(member, words, marks, lengths, {}) for member in members]
        states = [model(batch) for model, batch in zip(self.models, batches, strict=True)]
        return self.model.decode(self.models, states, batches)

    def gradient(
        self,
        words: Ids,
        marks: Ids,
        lengths: Ids,
        gold: Sequence[Any],
        loss: str,
        among: Sequence[NDArray[np.bool_]],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """See ``DifferentiableVictim.gradient``; there is one model only."""
        model = self._only("gradients of")
        batch = self._batch(0, words, marks, lengths, model.restricted_gold(gold, among))
        embedded = model.embed(batch).detach()
        # The backward pass of cuDNN's LSTM exists in training mode only.
        with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
            states = model.read(embedded.requires_grad_(), batch)
            losses = (model.margin if loss == "margin" else model.loss)(states, batch)
            (gradient,) = torch.autograd.grad(losses.sum(), embedded)
        return tuple(map(_numpy, by_word(model, batch, gradient, embedded.detach())))  # type: ignore[return-value]

    def followed(
        self,
        words: Ids,
        marks: Ids,
        lengths: Ids,
        gold: Sequence[Any],
        loss: str,
        among: Sequence[NDArray[np.bool_]],
    ) -> NDArray[np.float64]:
        """See ``MeasuredVictim.followed``; there is one model only."""
        model = self._only("losses of")
        batch = self._batch(0, words, marks, lengths, model.restricted_gold(gold, among))
        states = model.read(model.embed(batch), batch)
        return _numpy((model.margin if loss == "margin" else model.loss)(states, batch))

    def losses(self, examples: Sequence[Example]) -> NDArray[np.float64]:
        """Return the loss of each example's gold answer, without dropout, ``(examples,)``.

        There is one model only.
        """
        model = self._only("losses of")
        numbered = [replace(example, id=row) for row, example in enumerate(examples)]
        found = np.zeros(len(numbered))
        with self.evaluating():
            for batch in EvaluationLoader(model.encode(numbered, checked=False), self.batch_words):
                batch = batch.to(model.device)
                found[batch.ids.cpu().numpy()] = _numpy(model.loss(model(batch), batch))
        return found

    def vectors(self, rows: Ids) -> NDArray[np.float64]:
        """See ``DifferentiableVictim.vectors``."""
        if self._vectors is None:
            self._vectors = InputVectors(self._only("embeddings of"))
        return self._vectors.of(self._words.of_member(0, rows))

    def character_gradient(
        self, words: Ids, gradients: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """See ``CharacterVictim.character_gradient``."""
        model = self._only("character gradients of")
        rows = torch.from_numpy(self._words.of_member(0, words).astype(np.int64))
        flat = torch.from_numpy(gradients).flatten(0, 1)
        found, vectors = character_gradients(spelling(model), rows.to(model.device).flatten(), flat)
        shape = (*words.shape, *found.shape[1:])
        return _numpy(found).reshape(shape), _numpy(vectors).reshape(shape)

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
        """Switch to evaluation without gradients; afterwards every module's mode is what it was."""
        self._vectors = None  # weights may have changed since
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
                remedy="attack one checkpoint, or all of them by a black-box recipe",
            )
        return self.model

    def _batch(
        self,
        member: int,
        words: Ids,
        marks: Ids,
        lengths: Ids,
        gold: Mapping[str, NDArray[np.int64]],
    ) -> Batch:
        """Return texts as one model reads them, on its device."""
        parts = (
            np.arange(len(words)),
            self._words.of_member(member, words),
            self._marks.of_member(member, marks),
            lengths,
        )
        ids, rows, own, sizes = (torch.from_numpy(part.astype(np.int64)) for part in parts)
        columns = {name: torch.from_numpy(column) for name, column in gold.items()}
        batch = Batch(ids, rows, own, sizes, columns, weight=torch.tensor(1.0))
        return batch.to(self.models[member].device)


class _JointTable:
    """One numbering of words or marks over several models.

    Args:
        interns: of each model, what gives the ids of words or marks.
        reserved: ids from 0 that mean the same in every model.
    """

    def __init__(self, interns: Sequence[Callable[[Sequence[str]], Ids]], reserved: int) -> None:
        self._interns = interns
        self._rows: dict[str, int] = {}
        self._size = reserved
        self._members = np.tile(np.arange(reserved, dtype=np.int32), (len(interns), 1))

    def intern(self, words: Sequence[str]) -> Ids:
        """Return the place of each word in the table, ``(words,)``; new ones are added."""
        rows = self._rows
        new = [word for word in dict.fromkeys(words) if word not in rows]
        if new:
            end = self._size + len(new)
            rows.update(zip(new, range(self._size, end), strict=True))
            if end > self._members.shape[1]:
                self._members = np.pad(self._members, ((0, 0), (0, 2 * end)))
            for member, intern in enumerate(self._interns):
                self._members[member, self._size : end] = intern(new)
            self._size = end
        return np.fromiter(map(rows.__getitem__, words), np.int32, len(words))

    def of_member(self, member: int, rows: Ids) -> Ids:
        """Return a model's own ids of the table's, of any shape."""
        found: Ids = self._members[member][rows]
        return found


def _check_members(models: Sequence[Model]) -> None:
    """Refuse models that differ in what a joint answer needs, and none at all."""
    if not models:
        raise InputError("no model to attack", key="checkpoint", expected="at least one")
    first = models[0]
    origin = next((model for model in models if model.trained_on), first)
    for number, model in enumerate(models[1:], start=2):
        differing = (
            (other, each) for other in (first, origin) for each in _differences(other, model)
        )
        for other, (found, expected) in differing:
            own = "it" if model.checkpoint else f"model {number}"
            raise InputError(
                f"{own} and {other.checkpoint or f'model {1 + models.index(other)}'} {found}",
                path=model.checkpoint,
                key="checkpoint",
                expected=expected,
            )


def _differences(first: Model, model: Model) -> Iterator[tuple[str, str]]:
    """Yield why two models cannot answer together, and what could."""
    if type(model) is not type(first):
        names = f"a {type(model).__name__} and a {type(first).__name__}"
        yield f"are of different classes: {names}", "models of one class"
        return
    for what in ("labels", "sketches"):
        if differing := {*getattr(model.vocabulary, what)} ^ {*getattr(first.vocabulary, what)}:
            names = ", ".join(sorted(differing))
            yield f"have different {what}: {names}", f"models trained on the same {what}"
    for name in type(first).shared_settings:
        own, other = getattr(model, name), getattr(first, name)
        if own != other:
            yield f"differ in {name}: {own} and {other}", f"models trained with the same {name}"
    if first.trained_on and model.trained_on and first.trained_on != model.trained_on:
        yield "were trained on different data", "models trained on the same training file"


def _numpy(tensor: torch.Tensor) -> NDArray[np.float64]:
    array: NDArray[np.float64] = tensor.double().cpu().numpy()
    return array
