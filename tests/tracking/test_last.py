"""``LastCheckpoint`` beside ``EarlyStopping``; what it saves is tested by killing whole runs."""

from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
from pytorch_lightning.callbacks import EarlyStopping
from pytorch_lightning.demos.boring_classes import BoringModel

from robustparse.tracking.last import FILE, LastCheckpoint


class Scored(BoringModel):
    """Logs one score an epoch."""

    def __init__(self, scores: tuple[float, ...]) -> None:
        super().__init__()
        self.scores, self.epochs = scores, 0

    def on_train_epoch_end(self) -> None:
        self.log("score", self.scores[self.current_epoch])
        self.epochs += 1


@pytest.mark.parametrize(
    ("patience", "scores", "epochs"),
    [
        (0, (1.0, 2.0, 3.0, 3.0, 4.0, 5.0), 4),
        (2, (1.0, 2.0, 2.0, 2.0, 3.0, 4.0), 4),
        (1, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), 6),
    ],
)
def test_what_early_stopping_ended_trains_on_without_it_alone(
    tmp_path: Path, patience: int, scores: tuple[float, ...], epochs: int
) -> None:
    def trained(stopping: bool, start: str | None = None) -> int:
        model = Scored(scores)
        # In front of the callbacks that end it, as in every run.
        callbacks: list[Any] = [LastCheckpoint()]
        if stopping:
            rule: dict[str, Any] = {"patience": patience, "check_on_train_epoch_end": True}
            callbacks.append(EarlyStopping("score", mode="max", **rule))
        trainer = pl.Trainer(
            default_root_dir=tmp_path,
            accelerator="cpu",
            max_epochs=len(scores),
            limit_train_batches=2,
            limit_val_batches=0,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=callbacks,
        )
        trainer.fit(model, ckpt_path=start)
        return model.epochs

    last = str(tmp_path / FILE)
    assert trained(stopping=True) == epochs
    assert trained(stopping=True, start=last) == 0
    assert trained(stopping=False, start=last) == len(scores) - epochs
