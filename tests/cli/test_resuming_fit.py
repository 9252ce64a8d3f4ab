"""A run that resumes from elsewhere than where its folder's last run was left, and is killed early.

Whatever happens, ``--ckpt_path last`` resumes one run, whose figures ``metrics.csv`` holds.
"""

import shutil
from pathlib import Path

import pytest
import torch
import yaml
from exact_runs import fault
from tiny_runs import contents, differences, fit, metrics, write_config

from robustparse.cli.main import main
from sample_texts import texts

END = 36  # of the first epoch


def steps(folder: Path) -> int:
    return int(torch.load(folder / "last.ckpt", weights_only=True)["global_step"])


@pytest.fixture(scope="module", params=[4, END], ids=["amid an epoch", "at its end"])
def other(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint, a run that resumes from it, and one of another seed that stops a bit later."""
    folder, step = tmp_path_factory.mktemp("other"), request.param
    config = write_config(folder / "run.yaml", schedule="constant", limit_val_batches=0)
    main(fit(config, folder / "whole", "--trainer.max_steps", str(step)))
    shutil.copy(folder / "whole" / "last.ckpt", folder / "start.ckpt")
    main(fit(config, folder / "whole", "--trainer.max_steps", str(step + 3)))
    seed = ("--model.init_args.seed", "3")
    main(fit(config, folder / "foreign", *seed, "--trainer.max_steps", str(step + 2)))
    return folder


@pytest.mark.parametrize("name", ["start.ckpt", "run/last.ckpt.old"])
def test_killed_before_its_first_checkpoint_it_is_resumed(
    name: str, other: Path, tmp_path: Path
) -> None:
    """Before its first step, or after metrics of its own: either with each kind of checkpoint."""
    run, start = tmp_path / "run", tmp_path / name
    shutil.copytree(other / "foreign", run)
    shutil.copy(other / "start.ckpt", start)
    foreign = (run / "last.ckpt").read_bytes()
    step = steps(other / "whole") - 3
    later = 0 if (step == END) == (name == "start.ckpt") else 2
    crash = fault("Crash", steps=[step + later])
    settings = {"schedule": "constant", "limit_val_batches": 0, "max_steps": step + 3}
    config = write_config(tmp_path / "crash.yaml", [crash], **settings)
    rare = ("--last_checkpoint.every_n_train_steps", "1000")
    with pytest.raises(SystemExit) as end:
        main([*fit(config, run, *rare)[:5], "--ckpt_path", str(start), *rare, "--trust", "faults"])
    assert end.value.code == 2
    assert steps(run) == step
    if name == "start.ckpt":
        assert (run / "earlier" / "1" / "last.ckpt").read_bytes() == foreign
    main(fit(write_config(tmp_path / "run.yaml", **settings), run, *rare))
    shutil.rmtree(run / "earlier", ignore_errors=True)
    assert differences(run, other / "whole") == ["metrics.csv"]
    ends = [[row for row in metrics(f)[1:] if int(row[0]) >= step] for f in (run, other / "whole")]
    assert ends[0] == ends[1] != []
    kept = [row for row in metrics(other / "foreign")[1:] if int(row[0]) < step]
    assert metrics(run)[1 : -len(ends[0])] == ([] if name == "start.ckpt" else kept)


def test_a_refused_run_changes_nothing(
    finished: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither the metrics after the checkpoint's step nor the configuration."""
    config, finished_run = finished
    run, start = tmp_path / "run", tmp_path / "start.ckpt"
    shutil.copytree(finished_run, run)
    main(
        [
            "fit",
            "--config",
            str(config),
            "--trainer.default_root_dir",
            str(tmp_path / "short"),
            "--trainer.max_steps",
            "3",
        ]
    )
    shutil.copy(tmp_path / "short" / "last.ckpt", start)
    before = contents(run)
    refused = ["--ckpt_path", str(start), "--data.init_args.batches.words", "300"]
    with pytest.raises(SystemExit):
        main([*fit(config, run)[:-2], *refused])
    assert "batch_words" in capsys.readouterr().err
    assert contents(run) == before


def test_without_checkpoints_another_run_is_put_aside_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, run = write_config(tmp_path / "run.yaml", schedule="constant"), tmp_path / "run"
    afresh = ["fit", "--config", str(config), "--trainer.default_root_dir", str(run)]
    none = ["--trainer.enable_checkpointing", "false"]
    main([*afresh, "--trainer.max_steps", "2"])
    held = (run / "last.ckpt").read_bytes()
    main([*afresh, *none, "--trainer.max_steps", "3", "--ckpt_path", "last"])
    assert (run / "last.ckpt").read_bytes() == held
    for further in ([], ["--ckpt_path", str(tmp_path / "copy.ckpt")]):
        shutil.copy(run / "last.ckpt", tmp_path / "copy.ckpt")
        main([*afresh, *none, "--trainer.max_steps", "4", *further])
        assert "earlier/1" in capsys.readouterr().err
        assert (run / "earlier" / "1" / "last.ckpt").read_bytes() == held
        assert not (run / "last.ckpt").exists()
        shutil.rmtree(run / "earlier")
        shutil.copy(tmp_path / "copy.ckpt", run / "last.ckpt")
    shutil.copy(tmp_path / "copy.ckpt", run / "last.ckpt.old")
    main([*afresh, *none, "--trainer.max_steps", "4", "--ckpt_path", str(run / "last.ckpt.old")])
    assert (run / "last.ckpt.old").read_bytes() == held
    assert not (run / "last.ckpt").exists()


SMALL = "{class_path: robustparse.models.WordEmbeddings, init_args: {word_dim: 6, dropout: 0.0}}"
PARSER = f"{{encoder: {SMALL}, token_dim: 6, hidden: 8, beam: 1, longest: 20, dropout: 0.0, "
PARSER += "token_dropout: 0.0}"
PAIRS = f"{{encoder: {SMALL}, hidden: 6, layer_dim: 4, dropout: 0.0}}"
# What is read, and the model: both number what they meet as they meet it, dev before train.
NUMBERED = {
    "forms": ("LogicalFormDataModule", "sample", "Seq2Seq", PARSER),
    "pairs": ("TextDataModule", ".", "InferSent", PAIRS),
}


@pytest.mark.parametrize("name", NUMBERED)
def test_data_are_told_by_what_they_say_and_not_by_its_numbers(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that starts validates first, one that resumes does not."""
    monkeypatch.chdir(tmp_path)
    for split in ("train", "dev"):
        rows = [(" ".join(one.sentence.words), one.gold) for one in texts(24, split)]
        lines = (f"{text[::-1]}\t{text}\t{label}\n" for text, label in rows)
        Path(f"{split}.tsv").write_text("".join(lines))
    data, folder, model, settings = NUMBERED[name]
    config = yaml.safe_load(write_config(Path("run.yaml"), val_check_interval=2).read_text())
    config["model"] = {"class_path": f"robustparse.models.{model}"}
    config["model"]["init_args"] = yaml.safe_load(settings)
    config["data"] = {"class_path": f"robustparse.data.{data}"}
    config["data"]["init_args"] = {"folder": folder, "batches": {"texts": 6}}
    Path("run.yaml").write_text(yaml.safe_dump(config))
    main(fit(Path("run.yaml"), Path("whole"), "--trainer.max_steps", "6"))
    for steps in ("3", "6"):
        main(fit(Path("run.yaml"), Path("parts"), "--trainer.max_steps", steps))
    assert differences(Path("parts"), Path("whole")) == []
    if name == "pairs":  # other premises of the same hypotheses
        turned = [line.split("\t") for line in Path("train.tsv").read_text().splitlines()]
        premises = [columns[0] for columns in turned][::-1]
        rows = ("\t".join((one, *row[1:])) for one, row in zip(premises, turned, strict=True))
        Path("train.tsv").write_text("".join(f"{row}\n" for row in rows))
        with pytest.raises(SystemExit, match="2"):
            main(fit(Path("run.yaml"), Path("parts"), "--trainer.max_steps", "8"))
        assert "trained on other texts or tags" in capsys.readouterr().err
