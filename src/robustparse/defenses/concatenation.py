"""Concatenation of training examples (Jia and Liang 2016, section 4.3, their third operation).

The model is also trained on pairs of examples that are joined to a single one: both utterances with
a separator between them, answered by both forms in order. The longer answers force attention to
find the part of the utterance that belongs to each form.
"""

from collections.abc import Sequence
from typing import ClassVar

import pytorch_lightning as pl

from robustparse.defenses.copying import CopyingAdversary, Mode
from robustparse.defenses.requirements import model_of
from robustparse.errors import InputError
from robustparse.models.base import Model
from robustparse.randomness import stream
from robustparse.tasks.task import Concatenates
from robustparse.types import Example


class Concatenation(CopyingAdversary):
    """Adds concatenated pairs of training examples, drawn anew in every epoch.

    The second example of a pair is any training example, drawn from (seed, epoch, id of the first).
    The separator is the encoder's; word tables read it as the beginning of a text. Predictions of
    the trained model are not affected: an answer ends with the first form.

    Args:
        fraction: the fraction of examples that begin a pair (1: as many pairs as examples, Jia and
            Liang).
        every: see `CopyingAdversary`.
        seed: see `CopyingAdversary`.
        mode: see `CopyingAdversary`.

    Raises:
        InputError: a setting is out of range; or, as training begins, answers of the model's task
            cannot be joined.
    """

    owner: ClassVar[str] = "concatenation"

    def __init__(
        self, *, fraction: float = 1.0, every: int = 1, seed: int = 0, mode: Mode = "append"
    ) -> None:
        super().__init__(fraction=fraction, every=every, seed=seed, mode=mode)

    @property
    def cost(self) -> float:
        """As for other copies; but a pair is twice as long as a text."""
        return super().cost + self.fraction / self.every

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Look up the examples.

        Raises:
            InputError: the examples of the task cannot be joined; or see `CopyingAdversary`.
        """
        super().on_fit_start(trainer, pl_module)
        _joining(model_of(pl_module, self.owner))

    def copies(
        self, trainer: pl.Trainer, model: Model, chosen: Sequence[Example], seed: int
    ) -> list[Example]:
        """Join each of the chosen examples with a drawn one; see `CopyingAdversary.copies`."""
        examples, separator = [*self.examples.values()], model.encoder.separator
        pairs = ((first, stream(seed, first.id).integers(len(examples))) for first in chosen)
        files = _joining(model)
        return [files.concatenated(first, examples[second], separator) for first, second in pairs]


def _joining(model: Model) -> Concatenates:
    """Return the files of a model's task, whose examples can be joined.

    Raises:
        InputError: they cannot.
    """
    files = model.task.files
    if not isinstance(files, Concatenates):
        message = f"answers of the task {model.task.name} cannot be joined"
        raise InputError(message, key="task", expected="semantic parsing")
    return files
