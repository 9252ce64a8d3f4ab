"""What every training run gets by default: loggers, checkpoints and a copy of its settings."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback, Checkpoint, ModelCheckpoint
from pytorch_lightning.cli import SaveConfigCallback
from pytorch_lightning.loggers import Logger
from pytorch_lightning.plugins.io import CheckpointIO

from robustparse.cli.options import as_list
from robustparse.errors import InputError
from robustparse.files.checkpoints import checkpoint_file
from robustparse.files.writing import write_text
from robustparse.models.checkpoint import read_checkpoint
from robustparse.tracking.checkpoint_io import VerifiedCheckpointIO
from robustparse.tracking.csv import CsvLogger
from robustparse.tracking.earlier_runs import BEST, EARLIER
from robustparse.tracking.last_checkpoint import FILE as LAST
from robustparse.tracking.last_checkpoint import LastCheckpoint


class ConfigFile(SaveConfigCallback):
    """Writes ``config.yaml`` next to the checkpoints, without the checkpoint resumed from.

    It is written when training starts. Before that, a checkpoint may still be rejected, and the
    file may belong to an earlier run.
    """

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Do nothing yet."""

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write the file in the first process."""
        if trainer.is_global_zero:
            self.save_config(trainer, pl_module, "fit")

    def save_config(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Write the file; Lightning's class requires this method."""
        config = self.config.clone()
        config["ckpt_path"] = None
        path = Path(trainer.default_root_dir) / self.config_filename
        write_text(path, self.parser.dump(config, skip_unset=False, skip_validation=True))


@dataclass(frozen=True)
class Start:
    """The checkpoint that a command starts from, and the optimizer steps it has seen."""

    path: Path
    step: int

    def within(self, folder: Path) -> bool:
        """Tell whether it belongs to the current run in a folder, not to an earlier one."""
        inside = folder.resolve()
        name = self.path.resolve()
        return inside in name.parents and name.relative_to(inside).parts[0] != EARLIER

    def elsewhere(self, folder: Path) -> bool:
        """Tell whether it is not the last state of the run in a folder.

        Then the metrics in the folder from ``step`` on do not belong to the new run.
        """
        return self.path.resolve() != (folder / LAST).resolve()


def resolve_checkpoint(command: str, requested: str | None, folder: Path) -> Start | None:
    """Return the checkpoint a command starts from; None trains from scratch.

    Args:
        command: ``fit`` or one of those that need a trained model.
        requested: a file, the folder of a run, ``last``, ``best`` or None.
        folder: of the run, where ``last.ckpt`` and ``best.ckpt`` lie.

    Raises:
        InputError: there is none, or it cannot be used for this.
    """
    if requested is None:
        if command == "fit":
            return None
        raise InputError(
            f"{command} needs a trained model", remedy="give --ckpt_path best, last or a file"
        )
    path = folder / f"{requested}.ckpt" if requested in ("best", "last") else Path(requested)
    if command == "fit" and requested == "last" and not path.exists():
        return None
    path = checkpoint_file(path)
    content = read_checkpoint(path)
    states = {"loops", "optimizer_states", "lr_schedulers"} <= set(content)
    if command == "fit" and not (states and content["optimizer_states"]):
        raise InputError(
            "holds only weights, no optimizer to resume with",
            path=path,
            remedy="start from it with --model.init_from",
        )
    return Start(path, int(content.get("global_step", 0)))


def loggers(requested: Any, folder: Path, fits: bool, start: Start | None) -> list[Logger]:
    """Return the requested loggers, told where they are and whether a run is continued.

    A run that trains (``fits``) gets a ``metrics.csv``; another is only looked at.
    """
    chosen = [] if requested in (None, True, False) else as_list(requested)
    chosen += [CsvLogger(str(folder))] if fits else []
    continued = start is not None and start.within(folder)
    resumed = continued or not fits
    before = start.step if fits and start is not None and continued else None
    elsewhere = fits and start is not None and start.elsewhere(folder)
    for logger in chosen:
        if hasattr(logger, "begin"):
            logger.begin(str(folder), resumed, before, elsewhere)
    return chosen


def callbacks(
    requested: Any, last: LastCheckpoint, folder: Path, monitor: str | None
) -> list[Callback]:
    """Return the requested callbacks, with those that write ``last.ckpt`` and ``best.ckpt``.

    There is no ``best.ckpt`` if the user configured a checkpoint callback. A ModelCheckpoint
    without a folder writes into the run's, unless it would overwrite our ``last.ckpt``.

    Args:
        requested: the user's callbacks.
        last: the callback that writes ``last.ckpt``, which comes first.
        folder: the folder of the run.
        monitor: the metric that chooses ``best.ckpt``; None if nothing is validated.
    """
    chosen: list[Callback] = [last, *as_list(requested)]
    for saver in (callback for callback in chosen if isinstance(callback, ModelCheckpoint)):
        if saver.dirpath is None and not saver.save_last:
            saver.dirpath = str(folder.resolve())
    if monitor is not None and not any(isinstance(callback, Checkpoint) for callback in chosen):
        best = ModelCheckpoint(
            dirpath=folder,
            filename=BEST.removesuffix(".ckpt"),
            monitor=monitor,
            mode="max",
            enable_version_counter=False,
        )
        chosen.append(best)
    return chosen


def left_by(trainer: pl.Trainer, folder: Path) -> str:
    """Return one line about the steps of a finished run and the checkpoints in its folder."""
    savers = [
        saver
        for saver in trainer.checkpoint_callbacks
        if isinstance(saver, ModelCheckpoint) and saver.monitor is not None
    ]
    kept = [LAST] if (folder / LAST).exists() else []
    for saver in savers:
        if saver.best_model_path and saver.best_model_score is not None:
            score = f"{saver.monitor} {float(saver.best_model_score):.2f}"
            path = Path(saver.best_model_path)
            named = (
                path.relative_to(folder) if path.is_relative_to(folder) else saver.best_model_path
            )
            kept.append(f"{named} ({score})")
    text = (
        f"trained {trainer.global_step} steps; {folder} has {' and '.join(kept) or 'no checkpoint'}"
    )
    if kept and savers and not any(saver.best_model_path for saver in savers):
        text += f", but no {BEST}: nothing was validated (see trainer.val_check_interval)"
    return text


def plugins(requested: Any, strategy: Any, folder: Path) -> list[Any]:
    """Return the requested plugins, and the one that writes checkpoints whole and unpickles none.

    Raises:
        InputError: a plugin, or the strategy, brings another way to read checkpoints.
    """
    chosen = as_list(requested)
    readers = [("plugins", plugin) for plugin in chosen if isinstance(plugin, CheckpointIO)]
    if (reader := getattr(strategy, "_checkpoint_io", None)) is not None:
        readers.append(("strategy", reader))
    for setting, reader in readers:
        raise InputError(
            f"{type(reader).__name__} would write and read checkpoints without the checks of "
            f"{VerifiedCheckpointIO.__name__}",
            key=f"trainer.{setting}",
            remedy="leave it out",
        )
    return [*chosen, VerifiedCheckpointIO(folder)]
