"""What goes wrong in a run, its remedy, and that nothing is lost; in one process."""

import errno
import math
import os
import signal
from pathlib import Path

import pytest
import torch
from exact_runs import fault
from tiny_runs import differences, fit, metrics, write_config

from forks import Forked
from robustparse.cli.main import main
from robustparse.data.sampler import TrainingLoader
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.tracking import checkpoint_io
from robustparse.tracking.skip_nonfinite import SkipNonFinite

FGM = {
    "class_path": "robustparse.defenses.FGM",
    "init_args": {"epsilon": 3.0},
}


def status(arguments: list[str]) -> int:
    """The exit status of a command."""
    try:
        main(arguments)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def column(folder: Path, name: str) -> list[tuple[int, float]]:
    return [(int(step), float(value)) for step, n, value in metrics(folder) if n == name]


def test_ctrl_c_ends_a_run_with_a_word_on_how_to_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stop = fault("Signal", steps=[7], mark=str(tmp_path / "mark"), name="SIGINT")
    config = write_config(tmp_path / "run.yaml", [stop], max_steps=9, limit_val_batches=0)
    # A shell that starts the tests in its background has them ignore it.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert status(fit(config, tmp_path / "run")) == 130
    finally:  # Lightning ignores any further one
        signal.signal(signal.SIGINT, handler)
    error = capsys.readouterr().err
    assert "robustparse: interrupted; --ckpt_path last resumes from its last checkpoint" in error
    assert "Traceback" not in error
    assert torch.load(tmp_path / "run" / "last.ckpt", weights_only=True)["global_step"] == 5
    assert status(fit(config, tmp_path / "run")) == 0


ACCUMULATED = {"accumulate_grad_batches": 3, "max_steps": 10, "limit_val_batches": 0}
RARE = ("--last_checkpoint.every_n_train_steps", "1000")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that accumulates gradients; nobody may change it."""
    folder = tmp_path_factory.mktemp("whole")
    plain = write_config(folder / "plain.yaml", [FGM], **ACCUMULATED)
    assert status(fit(plain, folder / "run", *RARE)) == 0
    return folder / "run"


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGUSR1", 138)])
def test_a_signal_ends_a_run_after_a_checkpoint(
    name: str, code: int, whole: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The signal comes between two steps that no checkpoint follows, and amid accumulation."""
    stop = fault("Signal", steps=[7], mark=str(tmp_path / "mark"), name=name)
    config = write_config(tmp_path / "run.yaml", [stop, FGM], **ACCUMULATED)
    assert status(fit(config, tmp_path / "run", *RARE)) == code
    assert f"stopped by {name} after 8 steps" in caplog.text
    last = torch.load(tmp_path / "run" / "last.ckpt", weights_only=True)
    assert last["global_step"] == 8
    assert status(fit(config, tmp_path / "run", *RARE)) == 0
    assert differences(tmp_path / "run", whole) == []


def test_a_signal_while_the_data_are_read_is_not_taken_for_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a validation no hook of ours runs before."""
    read = TreebankDataModule.train_dataloader

    def interrupted(data: TreebankDataModule) -> TrainingLoader:
        os.kill(os.getpid(), signal.SIGTERM)
        return read(data)

    monkeypatch.setattr(TreebankDataModule, "train_dataloader", interrupted)
    config = write_config(tmp_path / "run.yaml", max_steps=2, limit_val_batches=0)
    assert status(fit(config, tmp_path / "run")) == 143


def test_a_run_that_ends_amid_a_step_resumes_with_the_whole_step(tmp_path: Path) -> None:
    """No checkpoint holds the gradients that await more batches."""
    settings = {"accumulate_grad_batches": 3, "max_steps": 4, "limit_val_batches": 0}
    whole = write_config(tmp_path / "whole.yaml", [FGM], **settings)
    ending = write_config(tmp_path / "run.yaml", [FGM, fault("TimeIsUp", batch=5)], **settings)
    assert status(fit(whole, tmp_path / "whole")) == 0
    assert status(fit(ending, tmp_path / "run")) == 0
    last = torch.load(tmp_path / "run" / "last.ckpt", weights_only=True)
    assert last["global_step"] == 1
    assert status(fit(whole, tmp_path / "run")) == 0
    assert differences(tmp_path / "run", tmp_path / "whole") == []


def test_signals_are_left_as_they_were_found(tmp_path: Path) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1)]
    main(fit(write_config(tmp_path / "run.yaml", max_steps=2), tmp_path / "run"))
    assert [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGUSR1)] == before


def test_a_step_without_a_gradient_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Weights and moments stay; the run is one without that step, but for its count."""
    bad = fault("NoNumber", steps=[3, 4, 8], loss=math.nan)
    config = write_config(tmp_path / "run.yaml", [bad, FGM], schedule="constant", max_steps=3)
    ends = []
    for steps in (3, 5, 9, 10):
        main(fit(config, tmp_path / "run", "--trainer.max_steps", str(steps)))
        ends.append(torch.load(tmp_path / "run" / "last.ckpt", weights_only=True))
    three, five, nine, ten = ends
    for name, weight in three["state_dict"].items():
        assert torch.equal(weight, five["state_dict"][name])
        assert torch.isfinite(ten["state_dict"][name]).all()
    assert not torch.equal(
        five["state_dict"]["arc_attn.weight"], nine["state_dict"]["arc_attn.weight"]
    )
    moments = [end["optimizer_states"][0]["state"][0]["exp_avg"] for end in (three, five)]
    assert torch.equal(*moments)
    assert [end["global_step"] for end in ends] == [3, 5, 9, 10]
    counts = [1.0, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0]
    assert column(tmp_path / "run", "train/skipped_steps") == list(enumerate(counts, start=3))
    assert caplog.text.count("is left out") == 1  # of three


@pytest.mark.parametrize("added", [0.0, math.inf, math.nan])
def test_an_infinite_loss_leaves_no_finite_gradient(added: float) -> None:
    weight = torch.ones(3, requires_grad=True)
    loss = weight.sum() + added
    SkipNonFinite().on_before_backward(None, None, loss)
    loss.backward()
    assert torch.isfinite(weight.grad).all() == math.isfinite(added)


def test_without_a_gradient_for_long_a_run_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = fault("NoNumber", steps=[2, *range(4, 90)])
    config = write_config(tmp_path / "run.yaml", [bad], max_steps=90)
    options = ("--skip_non_finite.max_consecutive", "6")
    assert status(fit(config, tmp_path / "run", *options)) == 2
    assert "6 steps in a row" in capsys.readouterr().err
    assert column(tmp_path / "run", "train/skipped_steps")[-1] == (8, 6.0)
    last = torch.load(tmp_path / "run" / "last.ckpt", weights_only=True)
    assert all(torch.isfinite(weight).all() for weight in last["state_dict"].values())
    # Resumed it does not begin to count anew: step 5 was the second in a row.
    assert last["global_step"] == 5
    again = ("--skip_non_finite.max_consecutive", "2")
    assert status(fit(config, tmp_path / "run", *again)) == 2
    assert "the last of them step 5" in capsys.readouterr().err


def test_a_full_disk_ends_a_run_that_can_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path / "run.yaml", [FGM], max_steps=23, limit_val_batches=0)
    main(fit(config, tmp_path / "whole"))
    written: list[Path] = []
    verify = checkpoint_io._verify

    def fills_up(path: Path) -> None:
        written.append(path)
        if len(written) == 3:
            path.write_bytes(path.read_bytes()[:5000])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        verify(path)

    monkeypatch.setattr(checkpoint_io, "_verify", fills_up)
    assert status(fit(config, tmp_path / "run")) == 2
    message = capsys.readouterr().err
    assert "No space left on device" in message
    assert "resume with --ckpt_path last" in message
    assert torch.load(tmp_path / "run" / "last.ckpt", weights_only=True)["global_step"] == 10
    assert not list((tmp_path / "run").glob(".*.part"))
    assert status(fit(config, tmp_path / "run")) == 0
    assert differences(tmp_path / "run", tmp_path / "whole") == []


def with_its_own_service(arguments: list[str]) -> None:
    """The program, with another W&B service than that of the tests that shared this process.

    W&B hands the address of a service that runs already to child processes.
    """
    os.environ.pop("WANDB_SERVICE", None)
    main(arguments)


@pytest.mark.slow
def test_wandb_may_die(tmp_path: Path) -> None:
    """Its service is killed amid a run, which continues; the next resumes the same W&B run."""
    mark = tmp_path / "mark"
    logger = {
        "class_path": "robustparse.tracking.WandbLogger",
        "init_args": {"offline": True, "init_timeout": 120.0},
    }
    dies = fault("KillService", steps=[12], mark=str(mark))
    config = write_config(tmp_path / "run.yaml", [dies], logger=logger, max_steps=30)
    first = Forked(with_its_own_service, fit(config, tmp_path / "run"))
    _, errors = first.communicate()
    assert first.returncode == 0, errors[-4000:]
    assert "wandb" in mark.read_text()
    assert errors.count("Weights & Biases") == 1, errors[-4000:]
    run_id = (tmp_path / "run" / "wandb_id").read_text()
    losses = [step for step, _ in column(tmp_path / "run", "train/loss")]
    assert losses == list(range(30))
    main(fit(config, tmp_path / "run", "--trainer.max_steps", "40"))
    assert (tmp_path / "run" / "wandb_id").read_text() == run_id
    losses = [step for step, _ in column(tmp_path / "run", "train/loss")]
    assert losses == list(range(40))
