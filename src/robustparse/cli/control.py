"""The equal-compute control of a defense: the same training without it, for as many passes."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from math import ceil, isfinite
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback

from robustparse.cli.options import as_list
from robustparse.defenses.copying import CopyingAdversary
from robustparse.defenses.gradient_adversary import GradientAdversary
from robustparse.errors import say
from robustparse.files.writing import write_text
from robustparse.options.tokens import each_option
from robustparse.options.yaml_files import read_yaml
from robustparse.reports.training import CONTROL

_ADVERSARIES = (GradientAdversary, CopyingAdversary)
_REPLACED = ("--trainer.max_steps", "--trainer.max_epochs", "--trainer.default_root_dir")


def without_defenses(arguments: Sequence[str]) -> list[str] | None:
    """Return the arguments of a ``fit`` without its defenses; None if it has none.

    Defenses are the configurations that only add adversaries or copies, such as those in the folder
    ``defense`` and edited copies of them. The options of copies go with them. There is no such
    command, either, where an adversary stands among other settings of a file.
    """
    kept: list[str] = []
    defended = False
    for name, value, tokens in each_option(arguments):
        if name in ("--config", "-c") and value is not None:
            adversaries, others = _kinds_of_settings(value)
            if adversaries and others:
                return None
            defended |= adversaries
            kept += [] if adversaries else tokens
        elif name not in (*_REPLACED, "--ckpt_path") and ".augmentation" not in name:
            kept += tokens
    return kept if defended else None


def _kinds_of_settings(config: str) -> tuple[bool, bool]:
    """Tell whether a configuration has adversaries or copies, and whether it has anything else."""
    path = Path(config)
    if path.parent.name == "defense":
        return True, False
    settings = read_yaml(path) if path.is_file() else None
    if not isinstance(settings, dict):
        return False, True
    adversaries = others = False
    for name, value in _settings(settings):
        if name.rstrip("+") == "trainer.callbacks":
            adds = [_is_adversary(callback) for callback in as_list(value)]
            adversaries |= any(adds)
            others |= not all(adds)
        elif ".augmentation" in name:
            adversaries = True
        else:
            others = True
    return adversaries, others


def _settings(node: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted names and values of a configuration; a single callback is a value."""
    for key, value in node.items():
        if isinstance(value, dict) and key.rstrip("+") != "callbacks":
            yield from _settings(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _is_adversary(callback: Any) -> bool:
    named = callback.get("class_path") if isinstance(callback, dict) else callback
    module, _, name = str(named).rpartition(".")
    # The classes of a run have been imported when its configurations were checked.
    kind = getattr(sys.modules.get(module or "robustparse.defenses"), name, None)
    return isinstance(kind, type) and issubclass(kind, _ADVERSARIES)


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
            if isinstance(callback, _ADVERSARIES):
                cost += callback.cost - 1
        steps = trainer.estimated_stepping_batches
        limit = ""
        if isfinite(steps):
            limit = f"--trainer.max_epochs -1 --trainer.max_steps {ceil(steps * cost)} "
        folder = shlex.quote(f"{self.folder}_control")
        command = f"robustparse {shlex.join(self.arguments)} "
        command += f"{limit}--trainer.default_root_dir {folder}"
        write_text(self.folder / CONTROL, f"{command}\n")
        say(f"the equal-compute control: {command}")
