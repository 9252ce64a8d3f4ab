"""Training shows a bar in a terminal, and lines elsewhere."""

from types import SimpleNamespace

import pytest
import torch
from pytorch_lightning.callbacks import TQDMProgressBar

from robustparse.lightning import TrainingBar
from robustparse.tracking.progress import ProgressLines, progress


def trainer(step: int, **more: object) -> SimpleNamespace:
    metrics = {"train/loss": torch.tensor(1.25), "val/las": torch.tensor(81.5)}
    known = {"global_step": step, "log_every_n_steps": 2, "current_epoch": 3}
    known |= {"callback_metrics": metrics, "is_global_zero": True, "sanity_checking": False}
    known |= {"accumulate_grad_batches": 2}
    return SimpleNamespace(**{**known, **more})


def test_a_line_for_every_logged_step_and_every_validation(capsys):
    lines = ProgressLines()
    for step in (1, 2, 2, 3, 4):  # two batches of one optimizer step
        lines.on_train_batch_end(trainer(step), None, {"loss": torch.tensor(0.5)})
    lines.on_validation_end(trainer(4), None)
    lines.on_validation_end(trainer(0, sanity_checking=True), None)
    lines.on_validation_end(trainer(4, is_global_zero=False), None)
    assert capsys.readouterr().out.splitlines() == [
        "epoch 3, step 2: train/loss 1",
        "epoch 3, step 4: train/loss 1",
        "epoch 3, step 4: val/las 81.5",
    ]


def test_what_shows_progress():
    assert isinstance(progress([], terminal=True), TrainingBar)
    assert isinstance(progress([], terminal=False), ProgressLines)
    assert progress([TQDMProgressBar()], terminal=False) is None


@pytest.mark.parametrize(("epochs", "label"), [(-1, "Epoch 26"), (30, "Epoch 26/29")])
def test_the_label_of_an_epoch(epochs, label):
    bar = TrainingBar()
    bar._trainer = SimpleNamespace(max_epochs=epochs, sanity_checking=False)
    assert bar._get_train_description(26).strip() == label
