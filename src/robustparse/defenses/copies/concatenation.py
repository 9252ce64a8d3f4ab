"""Concatenation of training examples (Jia and Liang 2016, section 4.3, their third operation).

In addition to each example, the model is trained on it and another one as a single example: both
utterances with a separator in between, answered by both forms in order. Answers are longer than
those of the data, so that attention must find the part of an utterance which a form is about.
"""

from collections.abc import Sequence
from typing import ClassVar

import pytorch_lightning as pl

from robustparse.defenses.copies.copying import CopyingAdversary, Mode
from robustparse.defenses.requirements import model_of
from robustparse.models.base import Model
from robustparse.randomness import stream
from robustparse.types import Example


class Concatenation(CopyingAdversary):
    """Trains on pairs of examples too, drawn anew in every epoch.

    The second example of a pair is any one of the training set, drawn from (seed, epoch, id of the
    first). The separator is the encoder's, which tables of words read as the beginning of a text.
    Nothing changes where the trained model answers: its answer ends with the first form.

    Args:
        fraction: of the examples that begin a pair (1: as many pairs as examples, Jia and Liang).
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

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Look up the examples; join one with itself, which tells whether the task can.

        Raises:
            InputError: see `CopyingAdversary.on_fit_start` and `Task.concatenated`.
        """
        super().on_fit_start(trainer, pl_module)
        model = model_of(pl_module, self.owner)
        for example in [*self.examples.values()][:1]:
            model.task.concatenated(example, example, model.encoder.separator)

    def copies(
        self, trainer: pl.Trainer, model: Model, chosen: Sequence[Example], seed: int
    ) -> list[Example]:
        """Join each of the chosen examples with a drawn one; see `CopyingAdversary.copies`."""
        examples, separator = [*self.examples.values()], model.encoder.separator
        pairs = ((one, stream(seed, one.id).integers(len(examples))) for one in chosen)
        return [
            model.task.concatenated(first, examples[second], separator) for first, second in pairs
        ]
