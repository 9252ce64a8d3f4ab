"""The law: killed at any moment and resumed, a run ends as if it had never stopped, bit for bit."""

import random
import re
import signal
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
import yaml
from tiny_runs import Settings, differences, fit, metrics, run_until, same, write_config

from forks import Forked
from robustparse.cli.main import main
from sample_runs import sentences, write_table

DEFENSES = Path(__file__).parents[2] / "configs" / "defense"

PGD: Settings = {
    "class_path": "robustparse.defenses.PGD",
    "init_args": {"epsilon": 3.0, "random_start": True, "start_step": 4, "every": 3},
}
FREELB: Settings = {
    "class_path": "robustparse.defenses.FreeLB",
    "init_args": {"epsilon": 3.0, "norm": "l2", "epsilon_warmup_steps": 40},
}
ASCC: Settings = {
    "class_path": "robustparse.defenses.ASCC",
    "init_args": {"table": "substitutes.jsonl", "steps": 2, "most": 3, "every": 2},
}
ATTACK: Settings = {
    "class_path": "robustparse.attacks.Attack",
    "init_args": {
        "goal": {"class_path": "robustparse.attacks.AttachmentDrop"},
        "candidates": {"class_path": "robustparse.attacks.TrainingWords"},
        "constraints": [{"class_path": "robustparse.attacks.AttackableTags"}],
        "search": {
            "class_path": "robustparse.attacks.Zheng2020",
            "init_args": {"gamma": 0.15, "ranking": "random"},
        },
    },
}
SUBSTITUTION: Settings = {
    "class_path": "robustparse.defenses.SubstitutionAdversary",
    "init_args": {"fraction": 0.5, "budget": 12, "attack": ATTACK},
}
# As they are shipped.
(REPLACEMENT,), (NOISE,), (AGREEMENT,) = (
    yaml.safe_load((DEFENSES / f"{name}.yaml").read_text())["trainer"]["callbacks+"]
    for name in ("substitution", "noise", "substitution_agreement")
)
MONITOR: Settings = {
    "class_path": "robustparse.defenses.RobustnessEvaluation",
    "init_args": {"attack": ATTACK, "sentences": 10},
}

# No score is so much better than the first: it stops the run at its fourth validation, after step
# 24, if it remembers that one.
STOPPING: Settings = {
    "class_path": "pytorch_lightning.callbacks.EarlyStopping",
    "init_args": {"monitor": "val/las", "mode": "max", "min_delta": 100.0, "patience": 3},
}

SCHEDULED: Settings = {
    "class_path": "pytorch_lightning.callbacks.GradientAccumulationScheduler",
    "init_args": {"scheduling": {1: 2, 2: 3}},
}

STOPPED = "early stopping"
SHORT = {"max_steps": 18, "limit_train_batches": 14, "limit_val_batches": 2}
# Each kind of run that is resumed: callbacks and settings of write_config over those of SHORT.
RUNS: dict[str, dict[str, Any]] = {
    "surface noise, accumulation by epoch": {
        "callbacks": [NOISE, SCHEDULED],
        "max_steps": -1,
        "max_epochs": 5,
        "limit_train_batches": 8,
    },
    "PGD, validation across epochs": {
        "callbacks": [PGD],
        "val_check_interval": 9,
        "check_val_every_n_epoch": None,
    },
    "substitution adversaries": {"callbacks": [REPLACEMENT, SUBSTITUTION, MONITOR]},
    "stack-pointer": {"parser": "StackPointerParser", "callbacks": [FREELB]},
    "ASCC": {"callbacks": [ASCC]},
    "substitution with agreement": {"callbacks": [AGREEMENT]},
    STOPPED: {"callbacks": [STOPPING], "val_check_interval": 5, "max_steps": 40},
}


def run(arguments: list[str], kill_at: int = 0) -> tuple[int | None, int]:
    """Run a command as `run_until` does, in a process of its own; its status and its events."""
    with TemporaryDirectory() as folder:
        events = Path(folder) / "events"
        process = Forked(run_until, arguments, kill_at, events)
        _, errors = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), errors
        return process.returncode, int(events.read_text()) if events.exists() else 0


def _position(checkpoint: Path) -> int:
    """Batches of its epoch that a checkpoint has done."""
    loops = torch.load(checkpoint, weights_only=True)["loops"]
    return int(loops["fit_loop"]["state_dict"]["combined_loader"][0]["position"])


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_killed_at_a_random_event(name: str, tmp_path: Path) -> None:
    config = write_config(tmp_path / "run.yaml", **{**SHORT, **RUNS[name]})
    table = write_table(tmp_path / "table.jsonl", sentences(300))
    config.write_text(re.sub(r"\w+\.jsonl", str(table), config.read_text()))
    status, events = run(fit(config, tmp_path / "whole"))
    assert status == 0
    # Late enough to leave a checkpoint, early enough to have something left to do.
    kill_at = random.Random(name).randrange(int(0.3 * events), int(0.42 * events))
    killed, _ = run(fit(config, tmp_path / "killed"), kill_at)
    assert killed == -signal.SIGKILL
    assert _position(tmp_path / "killed" / "last.ckpt"), "no resume from within an epoch"
    assert run(fit(config, tmp_path / "killed"))[0] == 0
    assert differences(tmp_path / "killed", tmp_path / "whole") == []


@pytest.mark.slow
def test_killed_between_two_hooks(tmp_path: Path) -> None:
    """At the end of an epoch: validation, the best checkpoint, its logging, the next epoch."""
    short = {"limit_train_batches": 8, "limit_val_batches": 2}
    config = write_config(tmp_path / "run.yaml", max_steps=10, **short)
    _, events = run(fit(config, tmp_path / "whole"))
    for kill_at in range(events * 3 // 4, events * 3 // 4 + 36, 9):
        run(fit(config, tmp_path / "killed"), kill_at)
        assert run(fit(config, tmp_path / "killed"))[0] == 0
        assert differences(tmp_path / "killed", tmp_path / "whole") == []
        for path in (tmp_path / "killed").iterdir():
            path.unlink()


@pytest.mark.slow
def test_a_longer_run_resumes_from_the_end_of_a_shorter(tmp_path: Path) -> None:
    """From within an epoch and from its end."""
    config = write_config(tmp_path / "run.yaml", schedule="constant", **SHORT)
    run(fit(config, tmp_path / "whole"))
    for steps in ("8", "14", "18"):
        status, _ = run(fit(config, tmp_path / "longer", "--trainer.max_steps", steps))
        assert status == 0
    assert differences(tmp_path / "longer", tmp_path / "whole") == []


@pytest.mark.slow
def test_a_run_that_was_stopped_early_is_at_its_end(tmp_path: Path) -> None:
    """Started again it trains no further, unless the callback is taken out."""
    folder = tmp_path / "run"
    config = write_config(tmp_path / "run.yaml", **{**SHORT, **RUNS[STOPPED]})
    run(fit(config, folder))
    ended, last = metrics(folder), (folder / "last.ckpt").read_bytes()
    assert run(fit(config, folder))[0] == 0
    assert metrics(folder) == ended
    assert (folder / "last.ckpt").read_bytes() == last
    run(fit(write_config(tmp_path / "on.yaml", **{**SHORT, "max_steps": 30}), folder))
    assert torch.load(folder / "last.ckpt", weights_only=True)["global_step"] == 30


@pytest.mark.slow
def test_any_checkpoint_is_a_place_to_resume_from(tmp_path: Path) -> None:
    """Also those that Lightning's own callback writes, at its own moments."""
    every = {
        "class_path": "pytorch_lightning.callbacks.ModelCheckpoint",
        "init_args": {
            "dirpath": str(tmp_path / "kept"),
            "every_n_train_steps": 4,
            "save_top_k": -1,
            "filename": "{step}",
        },
    }
    whole = write_config(tmp_path / "whole.yaml", callbacks=[every], **SHORT)
    plain = write_config(tmp_path / "plain.yaml", **SHORT)
    run(fit(whole, tmp_path / "whole"))
    run(fit(plain, tmp_path / "plain"))
    kept = sorted((tmp_path / "kept").glob("*.ckpt"))
    assert len(kept) == 4
    for path in (kept[1], tmp_path / "plain" / "best.ckpt"):
        run([*fit(plain, tmp_path / "again"), "--ckpt_path", str(path)])
        ends = [
            torch.load(tmp_path / name / "last.ckpt", weights_only=True)
            for name in ("plain", "again")
        ]
        assert same(ends[0]["state_dict"], ends[1]["state_dict"]), path.name


def _kill_at_step(arguments: list[str], metrics_file: Path, step: int) -> None:
    """Run a command until it has logged a step, then SIGKILL it."""
    process = Forked(main, arguments)
    while process.poll() is None:
        if metrics_file.exists() and f"\n{step},train/loss" in metrics_file.read_text():
            process.kill()
        time.sleep(0.05)
    _, errors = process.communicate()
    assert process.returncode == -signal.SIGKILL, errors


@pytest.mark.slow
def test_killed_from_outside(tmp_path: Path) -> None:
    """Once in its second epoch; the others are killed more often."""
    config, killed = write_config(tmp_path / "run.yaml", **SHORT), tmp_path / "killed"
    assert run(fit(config, tmp_path / "whole"))[0] == 0
    _kill_at_step(fit(config, killed), killed / "metrics.csv", 15)
    assert run(fit(config, killed))[0] == 0
    assert len(metrics(killed)) == len(set(metrics(killed)))
    assert differences(killed, tmp_path / "whole") == []
