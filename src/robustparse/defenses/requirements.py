"""What a defense needs of the run it is put into, checked before anything takes time."""

import logging
from collections.abc import Iterable, Sequence

import pytorch_lightning as pl
from pytorch_lightning.utilities import rank_zero_only

from robustparse.attacks.constraints.constraint import Constraint
from robustparse.data.datamodule import DataModule
from robustparse.errors import InputError
from robustparse.models.base import Model
from robustparse.types import Example

log = logging.getLogger(__name__)


def parser_of(module: pl.LightningModule, who: str) -> Model:
    """Return the module that is trained.

    Args:
        module: what Lightning hands to the callback.
        who: the callback, as the message calls it.

    Raises:
        InputError: it is none of our parsers.
    """
    if not isinstance(module, Model):
        raise InputError(f"{who} needs a robustparse parser, got {type(module).__name__}")
    return module


def data_of(trainer: pl.Trainer, who: str) -> DataModule:
    """Return the data module that is trained on.

    Args:
        trainer: what Lightning hands to the callback.
        who: the callback, as the message calls it.

    Raises:
        InputError: there is none, or none of ours.
    """
    data = getattr(trainer, "datamodule", None)
    if not isinstance(data, DataModule):
        raise InputError(f"{who} needs a DataModule, got {type(data).__name__}")
    return data


@rank_zero_only
def tell_unmatched(examples: Sequence[Example], constraints: Iterable[Constraint]) -> None:
    """Warn, in one process, of what an attack's constraints list and the sentences do not have."""
    for constraint in constraints:
        for warning in constraint.warnings(examples):
            log.warning(warning)
