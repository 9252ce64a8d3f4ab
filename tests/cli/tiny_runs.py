"""Small training runs in processes that can be killed, and whether two of them ended the same."""

import csv
import os
import signal
from pathlib import Path
from typing import Any

import pytorch_lightning.trainer.call as call
import torch
import yaml

from robustparse.cli.main import main
from robustparse.tracking.csv import MetricsTable

Settings = dict[str, Any]

STEPS = 80

# Figures of the clock, the only ones that may differ between two runs.
CLOCK = ("seconds",)


def write_config(
    path: Path,
    callbacks: list[Settings] | None = None,
    schedule: str = "linear",
    parser: str = "BiaffineParser",
    **trainer: Any,
) -> Path:
    """A configuration of a tiny parser on the sample treebank, 36 batches an epoch.

    It validates on two batches.

    Args:
        path: the file to write.
        callbacks: more callbacks, as ``class_path`` and ``init_args``.
        schedule: of the learning rate.
        parser: its class.
        trainer: settings of the Trainer over the usual ones.
    """
    sizes = {"word_dim": 8, "character_dim": 6, "character_out": 8, "hidden": 8, "layers": 1}
    usual = {
        "max_steps": STEPS,
        "accelerator": "cpu",
        "devices": 1,
        "log_every_n_steps": 1,
        "gradient_clip_val": 5.0,
        "limit_val_batches": 2,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "callbacks": callbacks or [],
    }
    encoder = {"class_path": "robustparse.models.LSTMEncoder", "init_args": sizes}
    config = {
        "trainer": {**usual, **trainer},
        "model": {
            "class_path": f"robustparse.models.{parser}",
            "init_args": {
                "encoder": encoder,
                "arc_dim": 8,
                "label_dim": 6,
                **({"hidden": 8} if parser == "StackPointerParser" else {}),
                "optimization": {"schedule": schedule},
            },
        },
        "data": {
            "class_path": "robustparse.data.TreebankDataModule",
            "init_args": {"folder": "sample", "batches": {"words": 400}},
        },
        "last_checkpoint": {"every_n_train_steps": 5},
    }
    path.write_text(yaml.safe_dump(config))
    return path


def fit(config: Path, folder: Path, *options: str) -> list[str]:
    """The arguments of a training run that resumes where there is something to resume from."""
    where = ["--trainer.default_root_dir", str(folder), "--ckpt_path", "last", "--trust", "faults"]
    return ["fit", "--config", str(config), *where, *options]


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every file in a folder, by its name."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def differences(run: Path, reference: Path) -> list[str]:
    """What differs between two runs that ended; nothing if one is as good as the other."""
    found = []
    for name, parts in (
        ("last.ckpt", ("state_dict", "optimizer_states", "lr_schedulers", "global_step", "epoch")),
        ("best.ckpt", ("state_dict", "global_step")),
    ):
        one, other = (
            torch.load(folder / name, weights_only=True) if (folder / name).exists() else None
            for folder in (run, reference)
        )
        if (one is None) != (other is None):
            found.append(f"{name} is missing in one")
        elif one is not None and other is not None:
            found += [f"{name}: {part}" for part in parts if not same(one[part], other[part])]
    if sorted(metrics(run)) != sorted(metrics(reference)):
        found.append("metrics.csv")
    return found


def metrics(folder: Path) -> list[tuple[str, ...]]:
    """The rows of ``metrics.csv``, as they stand there."""
    with (folder / "metrics.csv").open(newline="") as file:
        return [tuple(row) for row in csv.reader(file) if not row[1].endswith(CLOCK)]


def same(one: Any, other: Any) -> bool:
    """Bit for bit."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def run_until(arguments: list[str], kill_at: int, events: Path) -> None:
    """Run a command, by SIGKILL only as far as its n-th event; or to its end, with n = 0.

    An event is the start or end of a Lightning hook, of a row's or of a file's writing. How many
    there were is written into a file.
    """
    counter = _Counter(kill_at)
    for owner, name in (
        (call, "_call_callback_hooks"),
        (call, "_call_lightning_module_hook"),
        (MetricsTable, "append"),
        (os, "replace"),
    ):
        counter.watch(owner, name)
    main(arguments)
    events.write_text(str(counter.events))


class _Counter:
    """Counts calls and returns of functions; at the n-th it kills its process."""

    def __init__(self, kill_at: int) -> None:
        self.events, self.kill_at = 0, kill_at

    def watch(self, owner: Any, name: str) -> None:
        function = getattr(owner, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            self._event()
            result = function(*args, **kwargs)
            self._event()
            return result

        setattr(owner, name, watched)

    def _event(self) -> None:
        self.events += 1
        if self.events == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
