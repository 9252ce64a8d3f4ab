"""The equal-compute control of a defense: the same training without it, for as many passes."""

import shlex
import sys
from collections.abc import Sequence
from math import ceil, isfinite
from pathlib import Path

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback

from robustparse.defenses.copying import CopyingAdversary
from robustparse.defenses.gradient_adversary import GradientAdversary
from robustparse.files import write_text
from robustparse.options.arguments import each_option
from robustparse.reports.training import CONTROL

_REPLACED = ("--trainer.max_steps", "--trainer.max_epochs", "--trainer.default_root_dir")


def without_defenses(arguments: Sequence[str]) -> list[str] | None:
    """Return the arguments of a ``fit`` without its defenses; None if it has none.

    Defenses are the configurations in a folder ``defense``. The options of copies go with them.
    """
    kept: list[str] = []
    defended = False
    for name, value, tokens in each_option(arguments):
        if name in ("--config", "-c") and Path(value or "").parent.name == "defense":
            defended = True
        elif name not in (*_REPLACED, "--ckpt_path") and ".augmentation" not in name:
            kept += tokens
    return kept if defended else None


class EqualComputeControl(Callback):
    """Prints the command of the control when training starts, and writes it for the report.

    Args:
        arguments: the arguments of the run, without its defenses.
        folder: the folder of the run.
    """

    def __init__(self, arguments: Sequence[str], folder: Path) -> None:
        self.arguments, self.folder = arguments, folder

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Multiply the run's steps by the cost of a step with its adversaries."""
        if not trainer.is_global_zero:
            return
        cost = 1.0
        for callback in trainer.callbacks:  # type: ignore[attr-defined]
            if isinstance(callback, GradientAdversary | CopyingAdversary):
                cost += callback.cost - 1
        steps = trainer.estimated_stepping_batches
        limit = ""
        if isfinite(steps):
            limit = f"--trainer.max_epochs -1 --trainer.max_steps {ceil(steps * cost)} "
        folder = shlex.quote(f"{self.folder}_control")
        command = f"robustparse {shlex.join(self.arguments)} "
        command += f"{limit}--trainer.default_root_dir {folder}"
        write_text(self.folder / CONTROL, f"{command}\n")
        print(f"robustparse: the equal-compute control: {command}", file=sys.stderr)
