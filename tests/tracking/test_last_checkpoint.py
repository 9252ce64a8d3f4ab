"""``LastCheckpoint`` with ``EarlyStopping``; what it saves is tested by killing whole runs."""

from pathlib import Path
from typing import Any

import pytest
from pytorch_lightning.callbacks import EarlyStopping
from pytorch_lightning.demos.boring_classes import BoringModel

from robustparse.tracking.last_checkpoint import FILE, LastCheckpoint
from sample_runs import trainer

# Some runs here resume without ``EarlyStopping``, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:Be aware that when using `ckpt_path`")


class Scored(BoringModel):
    """Logs one score an epoch, or none."""

    def __init__(self, scores: tuple[float | None, ...]) -> None:
        super().__init__()
        self.scores, self.epochs = scores, 0

    def on_train_epoch_end(self) -> None:
        if (score := self.scores[self.current_epoch]) is not None:
            self.log("score", score)
        self.epochs += 1


def trained(
    folder: Path,
    scores: tuple[float | None, ...],
    patience: int | None,
    epochs: int | None = None,
    start: str | None = None,
    **further: Any,
) -> int:
    """The epochs that a run trains for: all, or until no score has risen for ``patience``."""
    model = Scored(scores)
    # Before the callbacks that end it, as in every run.
    callbacks: list[Any] = [LastCheckpoint()]
    if patience is not None:
        rule: dict[str, Any] = {"patience": patience, "check_on_train_epoch_end": True, **further}
        callbacks.append(EarlyStopping("score", mode="max", strict=False, **rule))
    sizes = {"max_epochs": epochs or len(scores), "limit_train_batches": 2}
    trainer(*callbacks, default_root_dir=folder, **sizes).fit(model, ckpt_path=start)
    return model.epochs


@pytest.mark.parametrize(
    ("patience", "scores", "epochs"),
    [
        (0, (1.0, 2.0, 3.0, 3.0, 4.0, 5.0), 4),
        (2, (1.0, 2.0, 2.0, 2.0, 3.0, 4.0), 4),
        (1, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), 6),
    ],
)
def test_what_early_stopping_ended_continues_only_without_it(
    tmp_path: Path, patience: int, scores: tuple[float, ...], epochs: int
) -> None:
    last = str(tmp_path / FILE)
    assert trained(tmp_path, scores, patience) == epochs
    assert trained(tmp_path, scores, patience, start=last) == 0
    assert trained(tmp_path, scores, None, start=last) == len(scores) - epochs


@pytest.mark.parametrize(
    ("scores", "rule"),
    [((9.0, 9.5), {"stopping_threshold": 8.0}), ((float("nan"), 1.0), {"check_finite": True})],
)
def test_a_run_that_ended_in_its_first_epoch_has_ended(
    tmp_path: Path, scores: tuple[float, ...], rule: dict[str, Any]
) -> None:
    assert trained(tmp_path, scores, patience=5, **rule) == 1
    assert trained(tmp_path, scores, patience=5, start=str(tmp_path / FILE), **rule) == 0


def test_a_resumed_run_counts_the_latest_score_again_where_an_epoch_brings_none(
    tmp_path: Path,
) -> None:
    """As one never stopped: the score of epoch 1 counts in epoch 2 as well, its own in epoch 3."""
    scores = (None, 1.0, None, 1.0, None, 1.0, None)
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    assert trained(whole, scores, patience=2) == 4
    assert trained(stopped, scores, patience=2, epochs=2) == 2
    assert trained(stopped, scores, patience=2, start=str(stopped / FILE)) == 2
