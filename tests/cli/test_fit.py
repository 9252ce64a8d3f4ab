"""What a run leaves in its folder, and what the other commands make of it."""

import os
from pathlib import Path
from typing import Any

import conllu
import pytest
import pytorch_lightning as pl
import torch
import yaml
from tiny_runs import differences, fit, metrics, write_config

from robustparse import load
from robustparse.cli.main import main
from robustparse.data.conllu import block_of, read_treebank, write_treebank
from robustparse.data.datamodule import TreebankDataModule
from robustparse.data.sample import sample_treebank
from robustparse.tracking.offline import read_points, segments

OUTPUTS = {"best.ckpt", "config.yaml", "last.ckpt", "metrics.csv"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A configuration and the folder of its run; nobody may change it."""
    folder = tmp_path_factory.mktemp("finished")
    config = write_config(folder / "run.yaml", max_steps=40)
    main(fit(config, folder / "run"))
    return config, folder / "run"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_run_leaves_its_files_and_nothing_else(
    tmp_path: Path, monkeypatch: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    config = write_config(tmp_path / "run.yaml", max_steps=37)
    main(["fit", "--config", str(config), "--trainer.default_root_dir", str(tmp_path / "run")])
    assert set(os.listdir(tmp_path / "run")) == OUTPUTS
    assert os.listdir(".") == []
    output = capfd.readouterr()
    assert output.out + output.err == ""


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
    assert "resuming from" in capsys.readouterr().err
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
    assert "last.ckpt.old" in capsys.readouterr().err
    assert (tmp_path / "run" / "last.ckpt.old").read_bytes() == first
    assert len(metrics(tmp_path / "run")) == 1 + 3 * 2


def test_a_run_that_goes_back_loses_what_came_after(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another checkpoint than the folder's last one: as if the run had ended there."""
    config, run = write_config(tmp_path / "run.yaml", schedule="constant"), tmp_path / "run"
    examples = run / "adversarial_examples"
    main(fit(config, run, "--trainer.max_steps", "4"))
    (run / "last.ckpt").rename(tmp_path / "at4.ckpt")
    examples.mkdir()
    for step in (2, 6):
        (examples / f"step_{step:08}.html").touch()
    main(fit(config, tmp_path / "other", "--trainer.max_steps", "8", "--model.init_args.seed", "3"))
    for name in ("last.ckpt", "metrics.csv"):
        (tmp_path / "other" / name).rename(run / name)
    afresh = (run / "last.ckpt").read_bytes()
    capsys.readouterr()
    back = ["--trainer.max_steps", "8", "--ckpt_path", str(tmp_path / "at4.ckpt")]
    main([*fit(config, run)[:-2], *back])
    assert "figures from step 4 on go" in capsys.readouterr().err
    assert (run / "last.ckpt.old").read_bytes() == afresh
    main([*fit(config, tmp_path / "whole")[:-2], *back])
    assert differences(run, tmp_path / "whole") == ["metrics.csv"]
    rows, others = metrics(run), metrics(tmp_path / "whole")
    assert [row for row in rows[1:] if int(row[0]) >= 4] == others[1:]
    assert {int(row[0]) for row in rows[1:]} == set(range(8))


def test_a_test_leaves_the_next_fit_alone(finished: tuple[Path, Path]) -> None:
    """What a checkpoint says of its place in the data is for a run that goes on from it."""
    _, run = finished
    data = TreebankDataModule(folder="sample", batch_words=400)

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


def test_predict_writes_conllu(finished: tuple[Path, Path]) -> None:
    config, run = finished
    before = contents(run)
    options = ["--config", str(config), "--trainer.default_root_dir", str(run)]
    main(["predict", *options, "--ckpt_path", "best"])
    after = contents(run)
    written = conllu.parse(after.pop("predictions.conllu").decode())
    (run / "predictions.conllu").unlink()
    assert after == before
    gold = sample_treebank(0).test
    assert len(written) == len(gold)
    for tokens, example in zip(written, gold, strict=True):
        assert tuple(token["form"] for token in tokens) == example.sentence.words
        assert sum(token["head"] == 0 for token in tokens) == 1
    heads = [[token["head"] for token in tokens] for tokens in written]
    assert heads != [list(example.gold.heads) for example in gold]


def unparsed(block: str) -> str:
    """The lines of a sentence as they stand in text that nobody has parsed."""
    columns = [line.split("\t") for line in block.split("\n")]
    return "\n".join("\t".join([*row[:3], *["_"] * 7]) for row in columns)


def test_predict_parses_text_alone(
    finished: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the training file, and where there is nothing but words, under any policy."""
    config, run = finished
    settings = yaml.safe_load(config.read_text())
    settings["data"]["init_args"] = {"punctuation": "penn"}
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(settings))
    gold = sample_treebank(0).test[:6]
    blocks = [block_of(example.sentence, example.gold) for example in gold]
    write_treebank(tmp_path / "raw.conllu", [*map(unparsed, blocks[:5]), blocks[5]])
    options = ["--config", str(tmp_path / "run.yaml"), "--trainer.default_root_dir", str(tmp_path)]
    data = ["--data.init_args.test_file", str(tmp_path / "raw.conllu")]
    start = ["--model.init_args.init_from", str(run / "best.ckpt")]
    main(["predict", *options, *data, *start])
    parser = load(run / "best.ckpt")
    trees = parser.parse([example.sentence for example in gold])
    written = read_treebank(tmp_path / "predictions.conllu")
    assert [example.gold for example in written] == trees
    assert [example.sentence.words for example in written] == [
        example.sentence.words for example in gold
    ]
    with pytest.raises(SystemExit):  # scores need parses
        main(["test", *options, *data, *start])
    assert "raw.conllu:1: head '_', expected" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["fit", *options])
    assert "no training data to take the vocabulary from" in capsys.readouterr().err


def test_predict_says_how_many_sentences_it_left_out(
    finished: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, run = finished
    options = ["--config", str(config), "--trainer.default_root_dir", str(tmp_path)]
    few = ["--ckpt_path", str(run / "best.ckpt"), "--data.init_args.eval_batch_words", "150"]
    main(["predict", *options, *few, "--trainer.limit_predict_batches", "2"])
    written = read_treebank(tmp_path / "predictions.conllu")
    words = [example.sentence.words for example in sample_treebank(0).test]
    kept = [example.sentence.words for example in written]
    assert 0 < len(kept) < len(words)
    assert kept == [one for one in words if one in kept][: len(kept)]  # in the order of the file
    left_out = f"{len(words) - len(kept)} of {len(words)} sentences were not parsed and are left"
    assert left_out in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        main(["predict", *options, *few, "--trainer.limit_predict_batches", "0"])
    assert end.value.code == 2
    assert "limit_predict_batches is 0" in capsys.readouterr().err


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
        (["--data.init_args.batch_words", "300"], "batch_words"),
        (["--data.init_args.seed", "1"], "another vocabulary"),
        (["--model.init_args.arc_dim", "9"], "do not fit"),
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


def test_weights_alone_cannot_be_resumed(
    finished: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, run = finished
    content = torch.load(run / "last.ckpt", weights_only=True)
    del content["optimizer_states"]
    torch.save(content, tmp_path / "bare.ckpt")
    with pytest.raises(SystemExit) as end:
        main([*fit(config, tmp_path / "run"), "--ckpt_path", str(tmp_path / "bare.ckpt")])
    assert end.value.code == 2
    assert "bare.ckpt: holds weights alone" in capsys.readouterr().err


def test_a_checkpoint_callback_of_the_users_replaces_the_best(tmp_path: Path) -> None:
    own = {
        "class_path": "pytorch_lightning.callbacks.ModelCheckpoint",
        "init_args": {"dirpath": str(tmp_path / "own"), "filename": "mine"},
    }
    main(fit(write_config(tmp_path / "a.yaml", callbacks=[own], max_steps=37), tmp_path / "run"))
    assert os.listdir(tmp_path / "own") == ["mine.ckpt"]
    assert set(os.listdir(tmp_path / "run")) == OUTPUTS - {"best.ckpt"}


def test_without_checkpoints(tmp_path: Path) -> None:
    config = write_config(tmp_path / "run.yaml", max_steps=2, enable_checkpointing=False)
    main(fit(config, tmp_path / "run"))
    assert set(os.listdir(tmp_path / "run")) == {"config.yaml", "metrics.csv"}


def test_fast_dev_run_writes_nothing(tmp_path: Path) -> None:
    config = write_config(tmp_path / "run.yaml", fast_dev_run=True)
    main(fit(config, tmp_path / "run"))
    assert os.listdir(tmp_path / "run") == []


def test_wandb_goes_on_in_the_runs_folder(tmp_path: Path) -> None:
    logger = {"class_path": "robustparse.tracking.wandb.WandbLogger"}
    config = write_config(tmp_path / "run.yaml", logger=logger, max_steps=20)
    main(fit(config, tmp_path / "run"))
    main(fit(config, tmp_path / "run", "--trainer.max_steps", "30"))
    run_id = (tmp_path / "run" / "wandb_id").read_text().strip()
    losses = [
        (str(point.values["trainer/global_step"]), str(float(str(point.values["train/loss"]))))
        for path in segments(tmp_path / "run", run_id)
        for point in read_points(path)
        if "train/loss" in point.values
    ]
    assert losses == [(s, v) for s, name, v in metrics(tmp_path / "run") if name == "train/loss"]
    assert len(losses) == 30
