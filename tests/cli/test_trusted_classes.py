"""Every class and name that a configuration may give the Trainer works or is one clear mistake."""

from pathlib import Path

import pytest
import pytorch_lightning as pl
from tiny_runs import fit, write_config

from robustparse import trust
from robustparse.cli.main import main

# What a class needs, as options of its own.
NEEDED = {
    "CSVLogger": {"save_dir": "logs"},
    "TensorBoardLogger": {"save_dir": "logs"},
    "EarlyStopping": {"monitor": "val/las"},
    "GradientAccumulationScheduler": {"scheduling": "{0: 2}"},
    "OnExceptionCheckpoint": {"dirpath": "kept"},
}
SETTINGS = {
    "pytorch_lightning.callbacks": "callbacks",
    "pytorch_lightning.loggers": "logger",
    "pytorch_lightning.plugins": "plugins",
    "pytorch_lightning.plugins.environments": "plugins",
    "pytorch_lightning.profilers": "profiler",
    "pytorch_lightning.strategies": "strategy",
}
NAMES = {
    "strategy": ("ddp_spawn", "ddp_fork", "ddp_notebook", "fsdp", "deepspeed", "xla", "single_xla"),
    "accelerator": ("cuda", "tpu", "mps", "hpu", "abacus"),
    "devices": ("-1", "0", "x", "[5]"),
    "precision": ("transformer-engine", "8"),
    "profiler": ("xla", "nothing"),
}


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_config(tmp_path_factory.mktemp("config") / "run.yaml", max_steps=1)


def status(config: Path, options: list[str], folder: Path, capsys) -> int:
    """Make all that a run needs, without training; return the exit status."""
    capsys.readouterr()
    try:
        main([*fit(config, folder), "--trainer.limit_val_batches", "0", *options])
    except SystemExit as end:
        error = capsys.readouterr().err
        assert error.splitlines()[-1].startswith("robustparse: "), error
        return int(end.code or 0)
    return 0


@pytest.fixture(autouse=True)
def _untrained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pl.Trainer, "fit", lambda *_, **__: None)


def options_of(setting: str, class_path: str) -> list[str]:
    needed = NEEDED.get(class_path.rpartition(".")[2], {})
    given = [f"--trainer.{setting}.init_args.{name}={value}" for name, value in needed.items()]
    return [f"--trainer.{setting}.class_path={class_path}", *given]


@pytest.mark.slow
def test_every_listed_class_is_made_or_refused(config, tmp_path, capsys):
    for class_path in trust._listed().values():
        setting = SETTINGS.get(class_path.rpartition(".")[0])
        if setting is not None:
            options = options_of(setting, class_path)
            assert status(config, options, tmp_path / "run", capsys) in (0, 2), class_path


@pytest.mark.slow
def test_every_name_is_refused_on_a_bare_machine(config, tmp_path, capsys):
    for setting, names in NAMES.items():
        for name in names:
            options = [f"--trainer.{setting}={name}"]
            assert status(config, options, tmp_path / "run", capsys) in (0, 2), (setting, name)


STRATEGIES = "pytorch_lightning.strategies"
REFUSED = {
    "started by copying": ["--trainer.strategy=ddp_spawn"],
    "library is missing": ["--trainer.accelerator=tpu"],
    "no number": ["--trainer.devices=x"],
    "no such device": [
        *options_of("strategy", f"{STRATEGIES}.SingleDeviceStrategy"),
        "--trainer.strategy.init_args.device=nothing",
    ],
    "argument of another type": [
        *options_of("strategy", f"{STRATEGIES}.ModelParallelStrategy"),
        "--trainer.strategy.init_args.data_parallel_size=x.y",
    ],
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_a_mistake(name, config, tmp_path, capsys):
    assert status(config, REFUSED[name], tmp_path / "run", capsys) == 2
