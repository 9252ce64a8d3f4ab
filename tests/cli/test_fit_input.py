"""A user's mistake in fit, validate, test, predict: exit code 2 and one message that names it."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_runs import write_config

from robustparse.cli.main import main

Fails = Callable[..., str]


@pytest.fixture
def fails(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: Any) -> Fails:
    """Run a command that must fail; the message on standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> str:
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        error = capsys.readouterr().err
        assert end.value.code == 2, error
        assert error.startswith("robustparse: "), error
        assert error.count("\n") == 1, error
        assert "Traceback" not in error
        return error

    return run


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path / "good.yaml")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("nonsense: [", ["bad.yaml:", "not YAML"]),
        ("trainer:\n  max_epochs: 3\n bad\n", ["bad.yaml:3", "not YAML"]),
        ("trainer: {a: 1\n\tb: 2}\n", ["bad.yaml:2", "not YAML"]),
        ("", ["bad.yaml", "empty"]),
        ("- a\n- b\n", ["bad.yaml", "keys"]),
        ("just text\n", ["bad.yaml", "keys"]),
        ("trainer: {no_such_key: 1}", ["bad.yaml", "trainer.no_such_key"]),
        ("no_such_key: 1", ["bad.yaml", "no_such_key"]),
        ("trainer: {max_epochs: many}", ["trainer.max_epochs", "int", "many"]),
        ("trainer: {max_epochs: 1.5}", ["trainer.max_epochs", "int", "1.5"]),
        ("trainer: {accelerator: abacus}", ["trainer", "abacus"]),
        ("trainer: {precision: 12}", ["trainer.precision", "12"]),
        ("trainer: {devices: 0}", ["devices=0"]),
        ("trainer: {limit_val_batches: -3}", ["limit_val_batches", "-3"]),
        ("trainer: {val_check_interval: 9999}", ["val_check_interval", "9999"]),
        ("trainer: {max_steps: -7}", ["max_steps", "-7"]),
        ("last_checkpoint: {every_n_train_steps: 0}", ["every_n_train_steps", "got 0"]),
        ("last_checkpoint: {every_n_train_steps: often}", ["every_n_train_steps", "often"]),
        ("data: {init_args: {batch_words: -5}}", ["batch_words", "-5"]),
        ("data: {init_args: {batch_words: lots}}", ["batch_words", "lots"]),
        ("data: {init_args: {fodler: x}}", ["fodler"]),
        ("data: {init_args: {folder: nowhere}}", ["nowhere", "no such folder"]),
        ("data: {init_args: {train_file: gone.conllu}}", ["gone.conllu", "no such file"]),
        ("data: {init_args: {batch_words: 3}}", ["batch_words is 3"]),
        ("model: {init_args: {optimization: {learning_rate: -1}}}", ["learning_rate", "-1"]),
        ("model: {init_args: {optimization: {speed: 1}}}", ["optimization", "speed"]),
        ("model: {init_args: {init_from: gone.ckpt}}", ["gone.ckpt", "no such checkpoint"]),
        ("model: {init_args: {dropout: high}}", ["dropout", "high"]),
        ("model: {class_path: robustparse.models.dependency.biaffine.NoSuch}", ["model", "NoSuch"]),
        ("model: {class_path: no.such.module.Parser}", ["model", "no.such.module"]),
        ("model: {class_path: os.system}", ["model", "os.system"]),
        (
            "model: {class_path: robustparse.data.TreebankDataModule}",
            ["model", "TreebankDataModule", "Model"],
        ),
        (
            "trainer: {callbacks: [{class_path: subprocess.Popen, init_args: {args: ls}}]}",
            ["trainer.callbacks", "subprocess.Popen"],
        ),
        (
            "trainer: {callbacks: [{class_path: robustparse.defenses.FGM, "
            "init_args: {epsilon: -1.0}}]}",
            ["epsilon", "-1"],
        ),
        (
            "trainer: {callbacks: [{class_path: EarlyStopping, init_args: {monitor: nothing}}], "
            "max_steps: 40}",
            ["nothing"],
        ),
        ("trainer: {check_val_every_n_epoch: 0}", ["check_val_every_n_epoch must be >= 1, got 0"]),
        ("trainer: {val_check_interval: 0}", ["val_check_interval", "got 0", "limit_val_batches"]),
        (
            "lr_scheduler: {class_path: StepLR, init_args: {step_size: 3}}",
            ["optimization.schedule"],
        ),
    ],
)
def test_a_mistake_in_a_file(content: str, says: list[str], config: Path, fails: Fails) -> None:
    Path("bad.yaml").write_text(content)
    error = fails("fit", "--config", config, "--config", "bad.yaml")
    assert all(part in error for part in says), error


def test_lightnings_own_optimizer_is_told_of(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has neither the schedule of the configuration nor its rate of pretrained weights."""
    short = ("--trainer.max_steps", "1", "--trainer.limit_val_batches", "0")
    run = ("--trainer.default_root_dir", str(tmp_path / "run"), "--optimizer", "AdamW")
    main(["fit", "--config", str(config), *short, *run])
    assert "--optimizer takes the place of model.init_args.optim" in capsys.readouterr().err


def test_a_class_whose_library_is_not_installed(
    config: Path, fails: Fails, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lightning_fabric.loggers.tensorboard._TENSORBOARD_AVAILABLE", False)
    monkeypatch.setattr("lightning_fabric.loggers.tensorboard._TENSORBOARDX_AVAILABLE", False)
    logger = ("--trainer.logger", "TensorBoardLogger", "--trainer.logger.save_dir", "logs")
    assert "pip install" in fails("fit", "--config", config, *logger)


@pytest.mark.parametrize("content", [b"\x00\x01\x02", b"trainer: \xff\xfe"])
def test_a_file_that_is_no_text(content: bytes, config: Path, fails: Fails) -> None:
    Path("bad.yaml").write_bytes(content)
    assert "bad.yaml" in fails("fit", "--config", config, "--config", "bad.yaml")


def test_mistakes_on_the_command_line(config: Path, tmp_path: Path, fails: Fails) -> None:
    assert "missing.yaml" in fails("fit", "--config", "missing.yaml")
    assert "missing.yaml" in fails("fit", "--config=missing.yaml")
    assert str(tmp_path) in fails("fit", "--config", tmp_path)
    assert "--config" in fails("fit", "--config")
    assert "--nonsense" in fails("fit", "--config", config, "--nonsense", "3")
    assert "model" in fails("fit")
    assert "batch_words" in fails("fit", "--config", config, "--data.init_args.batch_words", "x")
    assert "nosuch" in fails("nosuch")
    Path("file").touch()
    assert "file" in fails("fit", "--config", config, "--trainer.default_root_dir", "file/run")


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("data.init_args.seed", "-1", "data: seed must be >= 0 and below 2**64, got -1"),
        ("data.init_args.seed", str(1 << 64), "data: seed must be >= 0 and below 2**64, got 18"),
        ("data.init_args.min_count", "-3", "min_count must be >= 1, got -3"),
        ("data.init_args.max_length", "0", "max_length must be >= 1, got 0"),
        ("model.init_args.seed", "-1", "model: seed must be >= 0 and below 2**64, got -1"),
        ("model.init_args.seed", str(1 << 64), "model: seed must be >= 0 and below 2**64, got 18"),
        ("model.init_args.arc_dim", "0", "arc_dim and label_dim must be >= 1"),
        ("model.init_args.dropout", "1.0", "dropout in [0, 1)"),
        ("model.init_args.optimization.betas", "[1.5, 0.9]", "betas must be in [0, 1)"),
        ("trainer.accumulate_grad_batches", "0", "accumulate_grad_batches must be >= 1, got 0"),
        ("trainer.max_steps", "-1", "set trainer.max_steps or"),
    ],
)
def test_numbers_out_of_range(
    option: str, value: str, says: str, config: Path, fails: Fails
) -> None:
    endless = ["--trainer.max_epochs=-1", "--model.init_args.optimization.schedule=linear"]
    assert says in fails("fit", "--config", config, *endless, f"--{option}={value}")


class Hostile:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch pwned",)


@pytest.mark.parametrize("command", ["fit", "validate", "test", "predict"])
def test_unusable_checkpoints(command: str, config: Path, fails: Fails) -> None:
    torch.save({"state_dict": Hostile()}, "evil.ckpt")
    Path("pickle.ckpt").write_bytes(pickle.dumps(Hostile()))
    Path("cut.ckpt").write_bytes(Path("evil.ckpt").read_bytes()[:200])
    Path("noise.ckpt").write_bytes(os.urandom(64))
    Path("empty.ckpt").touch()
    torch.save({"state_dict": {}}, "other.ckpt")
    for name in ("evil", "pickle", "cut", "noise", "empty", "other", "missing"):
        error = fails(command, "--config", config, "--ckpt_path", f"{name}.ckpt")
        assert f"{name}.ckpt" in error
    assert not Path("pwned").exists()


def test_commands_that_need_a_trained_parser(config: Path, fails: Fails) -> None:
    for command in ("validate", "test", "predict"):
        assert "--ckpt_path" in fails(command, "--config", config)
        assert "best.ckpt" in fails(command, "--config", config, "--ckpt_path", "best")
        assert "last.ckpt" in fails(command, "--config", config, "--ckpt_path", "last")


def test_our_own_faults_keep_their_traceback(config: Path, monkeypatch: Any) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a fault of ours")

    monkeypatch.setattr("robustparse.data.TreebankDataModule.examples", broken)
    with pytest.raises(KeyError, match="a fault of ours"):
        main(["fit", "--config", str(config)])


def test_dropout_goes_on_with_as_many_processes_only(
    config: Path, tmp_path: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless it may draw other masks; without dropout there are none."""
    monkeypatch.chdir(tmp_path)
    for dropout in ("0.0", "0.33"):
        where = ["--trainer.default_root_dir", dropout, "--ckpt_path", "last"]
        rates = [f"--model.init_args.{part}dropout" for part in ("", "encoder.init_args.")]
        fit = ["fit", "--config", str(config), *where]
        fit += [part for rate in rates for part in (rate, dropout)]
        main([*fit, "--trainer.max_steps", "1"])
        path = Path(dropout, "last.ckpt")
        state = torch.load(path, weights_only=True)
        state["loops"]["fit_loop"]["state_dict"]["combined_loader"][0]["world_size"] = 2
        torch.save(state, path)
        resumed = [*fit, "--trainer.max_steps", "2"]
        if dropout != "0.0":
            with pytest.raises(SystemExit):
                main(resumed)
            error = capsys.readouterr().err
            assert "trained with 2 processes, now there are 1" in error
            assert "dropout" in error
            assert "data.init_args.allow_world_size_change true" in error
            resumed += ["--data.init_args.allow_world_size_change", "true"]
        main(resumed)
        assert torch.load(path, weights_only=True)["global_step"] == 2
