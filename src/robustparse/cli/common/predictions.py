"""``predict``: the test sentences with their predicted answers, in the format of their file."""

import sys
from pathlib import Path
from typing import Any, cast

import pytorch_lightning as pl

from robustparse.data.datamodule import SAMPLE, DataModule
from robustparse.devices import gathered
from robustparse.errors import InputError
from robustparse.evaluation.clean import write_answers
from robustparse.models.base import Model
from robustparse.types import Prediction


class PredictionFile(pl.Callback):
    """Collects what ``predict`` says and writes each sentence in the format of its file.

    Sentences of batches that the Trainer leaves out are left out, and counted on standard error.

    Args:
        folder: where ``predictions`` goes, with the ending of the data's.

    Attributes:
        path: of the file, once it is written.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.path: Path | None = None
        self._own: list[Prediction] = []

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Refuse to answer nothing.

        Raises:
            InputError: there is to be no batch.
        """
        if trainer.limit_predict_batches == 0:
            raise InputError("is 0: nothing would be answered", key="trainer.limit_predict_batches")

    def on_predict_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, *_: Any, **__: Any
    ) -> None:
        """Collect."""
        self._own += outputs

    def on_predict_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Gather the predictions of all processes, write them on the first."""
        predictions = gathered(self._own)
        if trainer.is_global_zero:
            data: DataModule = trainer.datamodule  # type: ignore[attr-defined]
            task, examples = cast(Model, pl_module).task, data.examples("test", gold=False)
            self.path = self.folder / f"predictions{task.ending(data.path('test') or SAMPLE)}"
            if left_out := write_answers(self.path, task, examples, predictions):
                told = f"{left_out} of {len(examples)} sentences were not read and are left out"
                print(f"robustparse: {told} (limit_predict_batches)", file=sys.stderr)
