"""A thin run of everything on each kind of device: training in bf16, FGM, resumption, attack."""

import json

import pytest
import torch
import yaml
from command_runs import RECIPE, mistake
from tiny_runs import fit, metrics, write_config

from robustparse.cli.main import main
from robustparse.models.load import load

WITHOUT = "needs a GPU, and ROBUSTPARSE_GPU=1"
GPU = pytest.param("gpu", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason=WITHOUT))


@pytest.mark.slow
@pytest.mark.parametrize("accelerator", ["cpu", GPU])
def test_train_resume_evaluate_and_attack(accelerator, tmp_path, capsys):
    adversary = {
        "class_path": "robustparse.defenses.FGM",
        "init_args": {"epsilon": 1.0},
    }
    config = write_config(
        tmp_path / "config.yaml",
        [adversary],
        accelerator=accelerator,
        precision="bf16-mixed",
        max_steps=20,
    )
    run, recipe = tmp_path / "run", tmp_path / "recipe.yaml"
    main(fit(config, run, "--trainer.max_steps", "10"))
    assert torch.load(run / "last.ckpt", weights_only=True)["global_step"] == 10
    figures = (run / "metrics.csv").read_text()
    capsys.readouterr()
    main(fit(config, run))
    assert f"resuming from {run / 'last.ckpt'}" in capsys.readouterr().err
    # A run that starts anew ends at step 20 as well, but learns at rates that fall more slowly.
    assert (run / "metrics.csv").read_text().startswith(figures)
    losses = [row[0] for row in metrics(run) if row[1] == "train/loss"]
    assert sorted(losses, key=int) == [str(step) for step in range(20)]
    state = torch.load(run / "last.ckpt", weights_only=True)
    assert state["global_step"] == 20
    weights = state["state_dict"].values()
    assert all(bool(torch.isfinite(weight).all()) for weight in weights)
    assert all(weight.dtype != torch.bfloat16 for weight in weights)

    recipe.write_text(yaml.safe_dump(yaml.safe_load(RECIPE)))
    device = "cuda" if accelerator == "gpu" else "cpu"
    common = ("--checkpoint", str(run / "last.ckpt"), "--data", "sample", "--limit", "30")
    common = (*common, "--device", device)
    main(["evaluate", *common, "--out", str(tmp_path / "scores")])
    main(["attack", "--attack", str(recipe), *common, "--out", str(tmp_path / "attacked")])
    scores = json.loads((tmp_path / "scores" / "scores.json").read_text())
    summary = json.loads((tmp_path / "attacked" / "summary.json").read_text())
    assert summary["clean"]["las"] == pytest.approx(scores["las"])
    assert summary["n_sentences"] == 30
    assert summary["edits_per_sentence"] > 0


def test_a_device_that_is_not_there_is_refused(tmp_path, capsys):
    (tmp_path / "no.ckpt").touch()
    for device in ("cuda:99", "tpu"):
        options = ("--checkpoint", tmp_path / "no.ckpt", "--data", "sample", "--device", device)
        message = mistake(capsys, "evaluate", *options)
        assert f"--device {device}: " in message
        assert "expected auto, cpu or cuda" in message


def test_loading_stays_on_the_cpu(tmp_path, parser):
    from sample_runs import save_checkpoint

    path = save_checkpoint(parser.float(), tmp_path / "tiny.ckpt")
    assert next(load(path).parameters()).device.type == "cpu"
