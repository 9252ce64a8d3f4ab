"""No checkpoint is read but by the verified reader, and none that the command does not name."""

import pickle
from pathlib import Path

import pytest
import torch
import yaml
from tiny_runs import write_config

from robustparse.cli.main import main

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
