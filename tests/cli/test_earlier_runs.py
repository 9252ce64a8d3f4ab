"""A folder holds one run: a second ``fit`` moves the first run's files to ``earlier/1``."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_runs import fit, write_config

from forks import Forked
from robustparse.cli.main import main

SAVER = {
    "class_path": "pytorch_lightning.callbacks.ModelCheckpoint",
    "init_args": {"monitor": "val/las", "mode": "max", "filename": "mine-{step}"},
}


def held(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_config(tmp_path / "run.yaml", val_check_interval=2, limit_val_batches=1)


def afresh(config: Path, *options: str) -> list[str]:
    """A training run that does not resume, in the folder that runs have by default."""
    return ["fit", "--config", str(config), *options]


def aside(folder: Path, number: int) -> dict[str, bytes]:
    return held(folder / "earlier" / str(number))


def ended_at_rename(count: int, arguments: list[str]) -> None:
    """Run a command that ends, as if killed, instead of renaming one file more than some."""
    rename, calls = os.rename, []

    def counted(*names: Any) -> None:
        calls.append(names)
        if len(calls) > count:
            os._exit(9)
        rename(*names)

    os.rename = counted  # type: ignore[assignment]
    main(arguments)


def test_a_second_run_moves_the_first_and_a_resumed_one_moves_nothing(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second run is shorter than its first validation."""
    runs = Path("runs")
    content = yaml.safe_load(config.read_text())
    content["trainer"]["callbacks"] = [SAVER]
    config.write_text(yaml.safe_dump(content))
    main(afresh(config, "--trainer.max_steps", "3"))
    first = held(runs)
    assert {"mine-step=2.ckpt", "last.ckpt", "metrics.csv", "config.yaml"} < set(first)
    (runs / "notes.txt").write_text("by hand")
    capsys.readouterr()
    main(afresh(config, "--trainer.max_steps", "1", "--model.init_args.seed", "5"))
    said = [line for line in capsys.readouterr().err.splitlines() if "earlier" in line]
    assert len(said) == 1
    assert aside(runs, 1) == first
    second = {name: data for name, data in held(runs).items() if not name.startswith("earlier")}
    assert set(second) == {"config.yaml", "last.ckpt", "metrics.csv", "notes.txt"}
    resumed = ["--trainer.max_steps", "2", "--model.init_args.seed", "5", "--ckpt_path"]
    for checkpoint in ("last", "runs/last.ckpt"):
        main(afresh(config, *resumed, checkpoint))
        assert aside(runs, 1) == first
        assert not (runs / "earlier" / "2").exists()
    second = {name: data for name, data in held(runs).items() if not name.startswith("earlier")}
    main(afresh(config, "--trainer.max_steps", "4", "--ckpt_path", "runs/earlier/1/last.ckpt"))
    assert aside(runs, 1) == first
    del second["notes.txt"]
    assert aside(runs, 2) == second


def test_what_fails_before_training_and_what_is_tried_out_moves_nothing(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = Path("runs")
    main(afresh(config, "--trainer.max_steps", "2"))
    first = held(runs)
    Path("bad.conllu").write_text("1\tword\n\n")
    for options in (
        ["--model.init_args.arc_dim", "-1"],
        ["--trainer.max_steps", "none"],
        ["--data.init_args.dev_file", "bad.conllu"],
        ["--data.init_args.dev_file", "missing.conllu"],
        ["--model.init_args.init_from", "runs/best.ckpt"],
        ["--ckpt_path", "runs/config.yaml"],
        ["--trainer.callbacks+", "ReloadBest", "--trainer.limit_val_batches", "0"],
    ):
        with pytest.raises(SystemExit, match="2"):
            main(afresh(config, *options))
        assert held(runs) == first, options
    assert "runs/best.ckpt" in capsys.readouterr().err
    main(afresh(config, "--trainer.fast_dev_run", "true"))
    assert held(runs) == first


@pytest.mark.parametrize("moved", [1, 4])
def test_killed_while_files_move(moved: int, config: Path) -> None:
    """Amid the move the earlier run is still there, for a resumed run and for another new one."""
    runs = Path("runs")
    main(fit(config, runs, "--trainer.max_steps", "2"))
    first = held(runs)
    assert len(first) == 4
    process = Forked(ended_at_rename, moved, afresh(config, "--trainer.max_steps", "1"))
    process.communicate()
    assert process.returncode == 9
    assert len(list((runs / "earlier" / ".part").iterdir())) == moved
    with pytest.raises(SystemExit, match="2"):
        main(fit(config, runs, "--data.init_args.batches.words", "300"))
    (runs / "earlier").rmdir()
    assert held(runs) == first
    main(afresh(config, "--trainer.max_steps", "1"))
    assert aside(runs, 1) == first
