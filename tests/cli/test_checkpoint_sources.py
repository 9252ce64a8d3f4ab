"""No checkpoint is read but by the verified reader, and none that the command does not name."""

import json
import pickle
from pathlib import Path

import pytest
import torch
import yaml
from tiny_runs import write_config

from robustparse.cli.main import main
from robustparse.errors import InputError
from robustparse.files.checkpoints import checkpoint_file
from robustparse.models.load import load

IO = "pytorch_lightning.plugins"
OTHER_READERS = {
    "AsyncCheckpointIO": {"plugins": [{"class_path": f"{IO}.AsyncCheckpointIO"}]},
    "TorchCheckpointIO": {"plugins": [{"class_path": f"{IO}.TorchCheckpointIO"}]},
    "of a strategy": {
        "strategy": {
            "class_path": "SingleDeviceStrategy",
            "init_args": {
                "device": "cpu",
                "checkpoint_io": {"class_path": f"{IO}.TorchCheckpointIO"},
            },
        }
    },
}


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, ("pwned", "w")


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_config(tmp_path / "run.yaml", max_steps=1, limit_val_batches=0)


@pytest.mark.parametrize("name", OTHER_READERS)
@pytest.mark.parametrize("trusted", [[], ["--trust", "pytorch_lightning,lightning_fabric"]])
def test_other_readers_are_refused(
    name: str, trusted: list[str], config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the user trusts all of Lightning's classes."""
    content = yaml.safe_load(config.read_text())
    content["trainer"] |= OTHER_READERS[name]
    config.write_text(yaml.safe_dump(content))
    with pytest.raises(SystemExit, match="2"):
        main(["fit", "--config", str(config), *trusted])
    error = capsys.readouterr().err
    assert "CheckpointIO" in error
    if trusted:
        assert ("trainer.strategy" if name == "of a strategy" else "trainer.plugins") in error


@pytest.mark.parametrize("content", ["pickled", "a checkpoint"])
def test_a_job_of_slurm_resumes_from_nothing_else(
    content: str, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lightning would read ``hpc_ckpt_1.ckpt``, which may come from anybody."""
    Path("runs").mkdir()
    path = Path("runs/hpc_ckpt_1.ckpt")
    if content == "pickled":
        path.write_bytes(pickle.dumps(Evil()))
    else:
        torch.save({"global_step": 7, "state_dict": {}}, path)
    held = path.read_bytes()
    for name, value in (("NTASKS", "1"), ("JOB_NAME", "job"), ("JOB_ID", "1"), ("PROCID", "0")):
        monkeypatch.setenv(f"SLURM_{name}", value)
    monkeypatch.setenv("SLURM_LOCALID", "0")
    monkeypatch.setenv("SLURM_NODEID", "0")
    main(["fit", "--config", str(config)])
    assert not Path("pwned").exists()
    assert path.read_bytes() == held
    assert torch.load("runs/last.ckpt", weights_only=True)["global_step"] == 1


def test_the_folder_of_a_run_is_a_checkpoint(config: Path, tmp_path: Path) -> None:
    """Its best one, or else its last one, in every command."""
    fit = ["fit", "--config", str(config), "--trainer.default_root_dir"]
    main([*fit, "first"])
    assert checkpoint_file("first") == Path("first/last.ckpt")
    main([*fit, "second", "--model.init_from", "first", "--trainer.max_steps", "2"])
    assert main([*fit, "third", "--ckpt_path", "first", "--trainer.max_steps", "2"]) is None
    assert torch.load("third/last.ckpt", weights_only=True)["global_step"] == 2
    main(["evaluate", "--checkpoint", "first", "--data", "sample", "--limit", "3", "--out", "out"])
    assert json.loads(Path("out/scores.json").read_text())["checkpoints"] == ["first/last.ckpt"]
    assert load("first").checkpoint == "first/last.ckpt"
    Path("first/best.ckpt").write_bytes(Path("second/last.ckpt").read_bytes())
    assert checkpoint_file("first") == Path("first/best.ckpt")
    with pytest.raises(InputError) as error:
        checkpoint_file(tmp_path)
    with pytest.raises(InputError, match="no such checkpoint"):
        checkpoint_file("x" * 300)  # too long for a name
    assert error.value.path == str(tmp_path)


def test_the_folder_of_a_shared_model_is_a_checkpoint(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In every command, but not the state of a run, which --ckpt_path asks for."""
    fit = ["fit", "--config", str(config), "--trainer.default_root_dir"]
    main([*fit, "first"])
    load("first").save_pretrained("shared")
    main(["evaluate", "--checkpoint", "shared", "--data", "sample", "--limit", "3", "--out", "out"])
    main(["evaluate", "--checkpoint", "first", "--data", "sample", "--limit", "3", "--out", "own"])
    found, own = (json.loads(Path(out, "scores.json").read_text()) for out in ("out", "own"))
    assert found["checkpoints"] == ["shared/model.safetensors"]
    assert {**found, "checkpoints": own["checkpoints"]} == own
    main([*fit, "second", "--model.init_from", "shared"])
    for command in (["test", "--config", str(config)], [*fit, "third"]):
        with pytest.raises(SystemExit, match="2"):
            main([*command, "--ckpt_path", "shared"])
        error = capsys.readouterr().err
        assert "shared/model.safetensors" in error
        assert "--model.init_from" in error
