"""Online training on perturbed sentences: surface noise without an attack."""

from collections.abc import Sequence
from typing import ClassVar

import pytorch_lightning as pl

from robustparse.defenses.copying import CopyingAdversary, Mode
from robustparse.evaluation.perturbed import perturbed
from robustparse.models.base import Model
from robustparse.perturbations.perturbation import Perturbation, check_operations
from robustparse.types import Example


class PerturbationAdversary(CopyingAdversary):
    """Trains on perturbed copies of some sentences of a batch.

    Each drawn sentence is perturbed by one of the operations, drawn anew in every epoch, or by the
    next one if that operation changes nothing.

    Args:
        operations: one or more operations, such as `Typos`.
        fraction: see `CopyingAdversary`.
        every: see `CopyingAdversary`.
        seed: see `CopyingAdversary`.
        mode: see `CopyingAdversary`.

    Raises:
        InputError: there is no operation, or a setting is out of range.
    """

    owner: ClassVar[str] = "perturbation adversary"

    def __init__(
        self,
        operations: list[Perturbation],
        *,
        fraction: float = 0.5,
        every: int = 1,
        seed: int = 0,
        mode: Mode = "append",
    ) -> None:
        super().__init__(fraction=fraction, every=every, seed=seed, mode=mode)
        check_operations(operations, f"{self.owner}: operations")
        self.operations = list(operations)
        names = ", ".join(type(operation).__name__ for operation in operations)
        self.why_few = (
            f"{names} leave most sentences unchanged: add operations, or set mode: replace, which "
            "makes each step as large as in clean training"
        )

    def copies(
        self, trainer: pl.Trainer, model: Model, chosen: Sequence[Example], seed: int
    ) -> list[Example]:
        """See `CopyingAdversary.copies`."""
        return [copy.example for copy in perturbed(model.task, self.operations, chosen, seed)]
