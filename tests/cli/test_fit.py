"""What a run leaves in its folder, and what the other commands make of it."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
import yaml
from pytorch_lightning.callbacks import ModelCheckpoint
from tiny_runs import contents, differences, fit, metrics, write_config

from robustparse import load
from robustparse.cli.main import main
from robustparse.cli.training_run import callbacks
from robustparse.data.datamodule import Batches
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.tracking.last_checkpoint import LastCheckpoint

OUTPUTS = {"best.ckpt", "config.yaml", "last.ckpt", "metrics.csv"}


def test_a_run_leaves_its_files_and_nothing_else(
    tmp_path: Path, monkeypatch: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    config = write_config(tmp_path / "run.yaml", max_steps=3, val_check_interval=2)
    main(["fit", "--config", str(config), "--trainer.default_root_dir", str(tmp_path / "run")])
    assert set(os.listdir(tmp_path / "run")) == OUTPUTS
    assert os.listdir(".") == []
    output = capfd.readouterr()
    assert output.out == ""
    assert re.fullmatch(
        rf"robustparse: trained 3 steps; {tmp_path}/run has last.ckpt and best.ckpt "
        r"\(val/las \d+\.\d\d\)\n",
        output.err,
    )


def test_a_run_that_is_never_validated_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path / "run.yaml", max_steps=2, val_check_interval=20)
    main(fit(config, tmp_path / "run"))
    said = capsys.readouterr().err
    assert "trained 2 steps" in said
    assert "but no best.ckpt: nothing was validated" in said
    main(fit(config, tmp_path / "none", "--trainer.max_steps", "0"))
    assert capsys.readouterr().err.splitlines()[-1].endswith("none has no checkpoint")


@pytest.mark.parametrize("setting", ["--trainer.default_root_dir=~/run", "in a file"])
def test_a_tilde_is_the_home_folder(setting: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    config = write_config(tmp_path / "run.yaml", max_steps=1, default_root_dir="~/run")
    main(["fit", "--config", str(config), *([setting] if setting.startswith("-") else [])])
    assert set(os.listdir()) == {"home", "run.yaml"}
    assert {"config.yaml", "last.ckpt"} <= set(os.listdir("home/run"))


@pytest.mark.parametrize(("key", "told"), [("callbacks", True), ("callbacks+", False)])
def test_a_callback_that_a_later_list_replaces_is_told(
    key: str, told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path / "run.yaml", [{"class_path": "FGM"}], max_steps=1)
    (tmp_path / "more.yaml").write_text(
        f"trainer: {{{key}: [{{class_path: LearningRateMonitor}}]}}\n"
    )
    main([*fit(config, tmp_path / "run"), "--config", str(tmp_path / "more.yaml")])
    position = next(i for i, line in enumerate(config.read_text().splitlines(), 1) if "FGM" in line)
    assert (f"{config}:{position}: FGM is left out" in capsys.readouterr().err) is told
    written = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert len(written["trainer"]["callbacks"]) == 2 - told


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("model.encoder.vectors", "vectors.txt"),
        ("model.init_args.encoder.init_args.max_vectors", "3"),
        ("data.batches.texts", "3"),
        ("data.augmentation.files", "[copies.conllu]"),
        ("data.train_file", "train.conllu"),
        ("trainer.max_time", "00:01:00:00"),
    ],
)
def test_null_on_the_command_line_takes_a_value_away(
    option: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path / "run.yaml")
    printed = []
    for values in ((value, "null"), ("null",)):
        given = [token for each in values for token in (f"--{option}", each)]
        with pytest.raises(SystemExit):
            main(["fit", "--config", str(config), *given, "--print_config"])
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert f"{option.rpartition('.')[2]}: null" in printed[0]


def test_its_configuration_makes_the_same_run(finished: tuple[Path, Path], tmp_path: Path) -> None:
    _, run = finished
    again = tmp_path / "again"
    saved = run / "config.yaml"
    assert yaml.safe_load(saved.read_text())["ckpt_path"] is None
    main(["fit", "--config", str(saved), "--trainer.default_root_dir", str(again)])
    assert metrics(again) == metrics(run)


def test_last_starts_afresh_where_there_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path / "run.yaml", max_steps=2)
    main(fit(config, tmp_path / "run"))
    assert "training from the start" in capsys.readouterr().err
    main(fit(config, tmp_path / "run", "--trainer.max_steps", "4"))
    said = capsys.readouterr().err
    assert "resuming from" in said
    assert "nothing was left to train" not in said
    main(fit(config, tmp_path / "run", "--trainer.max_steps", "4"))
    assert "nothing was left to train" in capsys.readouterr().err
    assert [row[0] for row in metrics(tmp_path / "run") if row[1] == "train/loss"] == list("0123")


@pytest.mark.parametrize("precision", ["64-true", "bf16-mixed"])
def test_a_resumed_run_keeps_its_precision(precision: str, tmp_path: Path) -> None:
    config = write_config(tmp_path / "run.yaml", schedule="constant", precision=precision)
    for folder, steps in (("run", "4"), ("run", "8"), ("whole", "8")):
        main(fit(config, tmp_path / folder, "--trainer.max_steps", steps))
    assert differences(tmp_path / "run", tmp_path / "whole") == []


def test_a_new_run_cannot_be_resumed_from_the_one_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path / "run.yaml", max_steps=3)
    afresh = ["fit", "--config", str(config), "--trainer.default_root_dir", str(tmp_path / "run")]
    main(afresh)
    first = (tmp_path / "run" / "last.ckpt").read_bytes()
    main(afresh)
    assert "earlier/1" in capsys.readouterr().err
    assert (tmp_path / "run" / "earlier" / "1" / "last.ckpt").read_bytes() == first
    assert len(metrics(tmp_path / "run")) == 1 + 3 * 2


def test_a_run_that_goes_back_loses_what_came_after(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another checkpoint than the folder's last one: as if the run had ended there."""
    config, run = write_config(tmp_path / "run.yaml", schedule="constant"), tmp_path / "run"
    examples = run / "adversarial_examples"
    main(fit(config, run, "--trainer.max_steps", "4"))
    (run / "last.ckpt").rename(run / "at4.ckpt")
    examples.mkdir()
    for step in (2, 6):
        (examples / f"step_{step:08}.html").touch()
    main(fit(config, tmp_path / "other", "--trainer.max_steps", "8", "--model.init_args.seed", "3"))
    for name in ("last.ckpt", "metrics.csv"):
        (tmp_path / "other" / name).rename(run / name)
    afresh = (run / "last.ckpt").read_bytes()
    capsys.readouterr()
    back = ["--trainer.max_steps", "8", "--ckpt_path", str(run / "at4.ckpt")]
    main([*fit(config, run)[:-2], *back])
    assert "metrics from step 4 on are dropped" in capsys.readouterr().err
    assert (run / "last.ckpt.old").read_bytes() == afresh
    main([*fit(config, tmp_path / "whole")[:-2], *back])
    (run / "at4.ckpt").unlink()
    assert differences(run, tmp_path / "whole") == ["metrics.csv"]
    rows, others = metrics(run), metrics(tmp_path / "whole")
    assert [row for row in rows[1:] if int(row[0]) >= 4] == others[1:]
    assert {int(row[0]) for row in rows[1:]} == set(range(8))


def test_a_resumed_run_knows_the_scores_of_the_validation_before_it(tmp_path: Path) -> None:
    """Its first epoch ends, for which a callback asks, before it validates itself."""
    stopping = {
        "class_path": "pytorch_lightning.callbacks.EarlyStopping",
        "init_args": {"monitor": "val/las", "mode": "max", "check_on_train_epoch_end": True},
    }
    validated = {"val_check_interval": 4, "check_val_every_n_epoch": None, "limit_val_batches": 1}
    config = write_config(
        tmp_path / "run.yaml", [stopping], "constant", limit_train_batches=6, **validated
    )
    for steps in ("5", "7"):
        main(fit(config, tmp_path / "run", "--trainer.max_steps", steps))
    assert metrics(tmp_path / "run")[-1][0] == "6"


def test_the_run_before_can_be_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From ``last.ckpt.old``, which must not be renamed over while a run resumes from it."""
    config, run = write_config(tmp_path / "run.yaml", schedule="constant"), tmp_path / "run"
    for folder in (run, tmp_path / "whole"):
        main(fit(config, folder, "--trainer.max_steps", "4"))
    old = run / "last.ckpt.old"
    kept = (run / "last.ckpt").read_bytes()
    (run / "last.ckpt").unlink()
    main(fit(config, run, "--trainer.max_steps", "2", "--model.init_args.seed", "3"))
    old.write_bytes(kept)
    capsys.readouterr()
    main([*fit(config, run)[:-2], "--trainer.max_steps", "8", "--ckpt_path", str(old)])
    assert "last.ckpt is given up, metrics from step 4 on are dropped" in capsys.readouterr().err
    assert old.read_bytes() == kept
    main(fit(config, tmp_path / "whole", "--trainer.max_steps", "8"))
    assert differences(run, tmp_path / "whole") == ["metrics.csv"]


def test_a_test_leaves_the_next_fit_alone(finished: tuple[Path, Path]) -> None:
    """What a checkpoint says of its place in the data is for a run that resumes from it."""
    _, run = finished
    data = TreebankDataModule(folder="sample", batches=Batches(words=400))

    def steps(tested: bool) -> int:
        quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
        trainer = pl.Trainer(max_epochs=1, enable_checkpointing=False, accelerator="cpu", **quiet)
        parser = load(run / "last.ckpt")
        if tested:
            trainer.test(parser, datamodule=data, ckpt_path=run / "last.ckpt", verbose=False)
        trainer.fit(parser, datamodule=data)
        return trainer.global_step

    assert steps(tested=True) == steps(tested=False) == 36


def test_a_negative_norm_clips_nothing(tmp_path: Path) -> None:
    """As in Lightning; it must not turn gradients round."""
    config = write_config(tmp_path / "run.yaml", max_steps=3)
    for norm in ("-1", "0"):
        main(fit(config, tmp_path / norm, f"--trainer.gradient_clip_val={norm}"))
    assert differences(tmp_path / "-1", tmp_path / "0") == []


@pytest.mark.parametrize(("command", "split"), [("validate", "val"), ("test", "test")])
def test_scoring_changes_no_file(
    command: str, split: str, finished: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    config, run = finished
    before = contents(run)
    options = ["--config", str(config), "--trainer.default_root_dir", str(run)]
    main([command, *options, "--ckpt_path", "last"])
    assert contents(run) == before
    assert f"{split}/las" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--data.init_args.min_count", "1"], "another vocabulary"),
        (["--data.init_args.batches.words", "300"], "batch_words"),
        (["--data.init_args.seed", "1"], "another vocabulary"),
        (["--model.init_args.arc_dim", "9"], "was trained with: --model.init_args.arc_dim "),
    ],
)
def test_another_run_cannot_be_resumed(
    options: list[str],
    says: str,
    finished: tuple[Path, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config, run = finished
    elsewhere = ["--trainer.default_root_dir", str(tmp_path / "run"), "--trainer.max_steps", "99"]
    checkpoint = ["--ckpt_path", str(run / "last.ckpt")]
    with pytest.raises(SystemExit) as end:
        main([*fit(config, run), *elsewhere, *checkpoint, *options])
    error = capsys.readouterr().err
    assert end.value.code == 2
    assert says in error
    assert "Traceback" not in error


def test_weights_without_a_run_cannot_be_resumed(
    finished: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, run = finished
    content = torch.load(run / "last.ckpt", weights_only=True)
    del content["optimizer_states"]
    torch.save(content, tmp_path / "bare.ckpt")
    with pytest.raises(SystemExit) as end:
        main([*fit(config, tmp_path / "run"), "--ckpt_path", str(tmp_path / "bare.ckpt")])
    assert end.value.code == 2
    assert "bare.ckpt: holds only weights" in capsys.readouterr().err


def test_a_checkpoint_callback_of_the_users_replaces_the_best(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"dirpath": str(tmp_path / "own"), "filename": "mine", "monitor": "val/uas"}
    own = {
        "class_path": "pytorch_lightning.callbacks.ModelCheckpoint",
        "init_args": settings,
    }
    config = write_config(tmp_path / "a.yaml", [own], max_steps=3, val_check_interval=2)
    main(fit(config, tmp_path / "run"))
    assert f"{tmp_path}/own/mine.ckpt" in capsys.readouterr().err  # not in the run's folder
    assert os.listdir(tmp_path / "own") == ["mine.ckpt"]
    assert set(os.listdir(tmp_path / "run")) == OUTPUTS - {"best.ckpt"}


@pytest.mark.parametrize(("own", "found"), [({}, "run"), ({"dirpath": "own"}, "own")])
def test_a_checkpoint_callback_without_a_folder_gets_the_runs(
    own: dict[str, str], found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    callback = ModelCheckpoint(filename="best", **own)
    lasting = ModelCheckpoint(save_last=True)  # its last.ckpt is not ours
    callbacks([callback, lasting], LastCheckpoint(), tmp_path / "run", "val/las")
    assert callback.dirpath == str(tmp_path / found)
    assert lasting.dirpath is None


def test_without_checkpoints(tmp_path: Path) -> None:
    config = write_config(tmp_path / "run.yaml", max_steps=2, enable_checkpointing=False)
    main(fit(config, tmp_path / "run"))
    assert set(os.listdir(tmp_path / "run")) == {"config.yaml", "metrics.csv"}


def test_fast_dev_run_writes_nothing(tmp_path: Path) -> None:
    config = write_config(tmp_path / "run.yaml", fast_dev_run=True)
    main(fit(config, tmp_path / "run"))
    assert os.listdir(tmp_path / "run") == []
