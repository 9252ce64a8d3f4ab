"""``robustparse ensemble``: what separate commands give, also resumed; other settings refused."""

import json
import shutil
import signal
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import fsspec
import pytest
import yaml
from command_runs import RECIPE, mistake, table
from tiny_runs import differences, write_config

from robustparse.cli import ensemble_members
from robustparse.cli.ensemble_members import fit
from robustparse.cli.main import main, run
from robustparse.data.conllu import read_treebank
from robustparse.data.sample.treebank import sample_treebank
from robustparse.errors import ProcessDiedError
from robustparse.tracking.last_checkpoint import LastCheckpoint
from sample_runs import SPEED, sentences, write_sample

WHITE_BOX = RECIPE.replace("Zheng2020}", "Zheng2020WhiteBox}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small treebank, a configuration, two of embeddings, and two recipes; nobody changes it."""
    made = tmp_path_factory.mktemp("ensemble")
    (made / "treebank").mkdir()
    for split, count in (("train", 60), ("dev", 8), ("test", 12)):
        write_sample(made / f"treebank/{split}.conllu", sentences(count, split))
    write_config(made / "run.yaml", max_steps=12)
    encoder = "model: {init_args: {encoder: {init_args: {character_dim: %d}}}}\n"
    (made / "words.yaml").write_text(encoder % 0)
    (made / "both.yaml").write_text(encoder % 6)
    vectors = "model: {init_args: {encoder: {init_args: {vectors: none.txt}}}}\n"
    (made / "vectors.yaml").write_text(vectors)
    pointer = "model: {class_path: robustparse.models.StackPointerParser}\n"
    (made / "pointer.yaml").write_text(pointer)
    (made / "attack.yaml").write_text(RECIPE)
    (made / "broken.yaml").write_text(f"{RECIPE}nonsense: 1\n")
    (made / "white.yaml").write_text(WHITE_BOX)
    return made


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members are trained in this process, which has imported everything."""
    monkeypatch.setattr(ensemble_members, "fit", lambda options: run("fit", [*options]))


def ensemble(folder: Path, out: Path, *more: object) -> list[str]:
    data = ["--data.folder", str(folder / "treebank"), "--trainer.precision", "32-true"]
    return ["ensemble", "--config", str(folder / "run.yaml"), *data, "--out", str(out)] + [
        str(each) for each in more
    ]


KEPT = ("best.ckpt", "last.ckpt", "config.yaml", "member.json")
SEEDS = ("--seeds", 1, 2, "--device", "cpu")


@pytest.fixture(scope="module")
def finished(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of an ensemble of two seeds under an attack, and what was printed."""
    out = tmp_path_factory.mktemp("finished")
    attack = ("--attack", folder / "attack.yaml", "--limit", 6)
    with (
        redirect_stdout(StringIO()) as printed,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(ensemble_members, "fit", lambda options: run("fit", [*options]))
        main(ensemble(folder, out, *SEEDS, *attack))
    return out, printed.getvalue()


def test_folders_are_those_of_seven_separate_commands(finished, folder, tmp_path, capsys) -> None:
    out, printed = finished
    test = folder / "treebank/test.conllu"
    for seed in (1, 2):
        where = f"--trainer.default_root_dir={tmp_path}/seed_{seed}"
        seeds = [f"--model.seed={seed}", f"--data.seed={seed}", "--trainer.precision=32-true"]
        data = f"--data.folder={folder}/treebank"
        main(["fit", "--config", str(folder / "run.yaml"), data, *seeds, where])
        assert differences(out / f"members/seed_{seed}", tmp_path / f"seed_{seed}") == []
    result = json.loads((out / "ensemble.json").read_text())
    rows = table(printed)
    for name, members in result["systems"].items():
        checkpoints = [str(tmp_path / member) for member in members]
        options = ["--checkpoint", *checkpoints, "--data", str(test), "--device", "cpu", "--out"]
        main(["evaluate", *options, f"{tmp_path}/evaluated"])
        attack = ["--attack", str(folder / "attack.yaml"), "--limit", "6"]
        main(["attack", *attack, *options, f"{tmp_path}/attacked_{name}"])
        scores = read(tmp_path / "evaluated/scores.json", "checkpoints")
        assert read(out / f"evaluated/{name}/scores.json", "checkpoints") == scores
        summary = read(tmp_path / f"attacked_{name}/summary.json", "victims", *SPEED)
        inside = out / "attacked/attack" / name
        assert read(inside / "summary.json", "victims", *SPEED) == summary
        examples = (tmp_path / f"attacked_{name}/examples.jsonl").read_bytes()
        assert (inside / "examples.jsonl").read_bytes() == examples
        row = [scores[each] for each in ("uas", "las", "ucm", "lcm")]
        row += [summary["attacked"]["las"], summary["success_rate"]]
        assert [*result["scores"][name].values()] == row
        assert rows[name] == [f"{value:.2f}" for value in row]
    assert [*result["systems"]] == ["seed_1", "seed_2", "ensemble_of_2"]
    (means,) = result["means"].values()
    las = [result["scores"][f"seed_{seed}"]["las"] for seed in (1, 2)]
    assert means["las"]["estimate"] == pytest.approx(sum(las) / 2)
    # Student's quantile with one degree of freedom times the deviation over the root of two.
    width = means["las"]["upper"] - means["las"]["estimate"]
    assert width == pytest.approx(12.7062 * abs(las[0] - las[1]) / 2, abs=1e-4)
    main(["report", *map(str, (out / "attacked/attack").iterdir()), "--out", f"{tmp_path}/page"])


def read(path: Path, *left_out: str) -> dict[str, Any]:
    record = json.loads(path.read_text())
    return {key: value for key, value in record.items() if key not in left_out}


def test_a_killed_command_goes_on_and_trains_no_finished_member_again(
    finished, folder, tmp_path, monkeypatch, capsys
) -> None:
    whole, _ = finished
    arguments = ensemble(folder, tmp_path, *SEEDS)

    def killed(callback, trainer, *_: object) -> None:
        if "seed_2" in trainer.default_root_dir and trainer.global_step == 7:
            raise KeyboardInterrupt
        on_batch_end(callback, trainer, *_)

    on_batch_end = LastCheckpoint.on_train_batch_end
    monkeypatch.setattr(LastCheckpoint, "on_train_batch_end", killed)
    with pytest.raises(SystemExit) as end:
        main(arguments)
    monkeypatch.setattr(LastCheckpoint, "on_train_batch_end", on_batch_end)
    assert end.value.code == 130
    members = tmp_path / "members"
    records = [read(members / f"seed_{seed}/member.json") for seed in (1, 2)]
    assert [record["finished"] for record in records] == [True, False]
    before = {path: path.stat().st_mtime_ns for path in (members / "seed_1").iterdir()}
    assert not (tmp_path / "evaluated").exists()
    main(arguments)
    assert {path: path.stat().st_mtime_ns for path in (members / "seed_1").iterdir()} == before
    for name in ("seed_1", "seed_2"):
        assert differences(members / name, whole / "members" / name) == []
    assert f"resuming from {members}/seed_2/last.ckpt" in capsys.readouterr().err


def test_embeddings_with_seeds_and_subsets(folder, tmp_path, capsys) -> None:
    embeddings = ("--embeddings", folder / "words.yaml", folder / "both.yaml")
    subsets = ("--subsets", "words_seed_1,both_seed_1", "words_seed_1,words_seed_2")
    quick = ("--trainer.max_steps", 1, "--trainer.val_check_interval", 1)
    main(ensemble(folder, tmp_path, *embeddings, *SEEDS, *subsets, *quick, "--mean", "logits"))
    names = [f"{name}_seed_{seed}" for name in ("words", "both") for seed in (1, 2)]
    result = json.loads((tmp_path / "ensemble.json").read_text())
    assert [*result["systems"]] == [*names, *subsets[1:], f"ensemble_of_{len(names)}"]
    assert result["systems"][f"ensemble_of_{len(names)}"] == names
    assert [*result["means"]] == ["words mean of 2 seeds", "both mean of 2 seeds"]
    for name in names:
        settings = yaml.safe_load((tmp_path / f"members/{name}/config.yaml").read_text())
        characters = settings["model"]["init_args"]["encoder"]["init_args"]["character_dim"]
        assert characters == (0 if name.startswith("words") else 6)
        seeds = {settings[part]["init_args"]["seed"] for part in ("model", "data")}
        assert seeds == {int(name[-1])}
    subset = json.loads((tmp_path / f"evaluated/{subsets[1]}/scores.json").read_text())
    members = [str(tmp_path / f"members/{name}/best.ckpt") for name in subsets[1].split(",")]
    assert (subset["checkpoints"], subset["mean"]) == (members, "logits")
    assert set(table(capsys.readouterr().out)) >= {*result["systems"]}


def test_the_sample_stays_the_same_for_all_seeds(folder, tmp_path) -> None:
    config = tmp_path / "sample.yaml"
    config.write_text("data: {init_args: {seed: 5, folder: sample}}\n")
    quick = ["--trainer.max_steps", "1", "--trainer.limit_val_batches", "0", "--device", "cpu"]
    configs = ["--config", str(folder / "run.yaml"), "--config", str(config)]
    main(["ensemble", *configs, "--seeds", "1", "2", *quick, "--out", str(tmp_path)])
    for seed in (1, 2):
        settings = yaml.safe_load((tmp_path / f"members/seed_{seed}/config.yaml").read_text())
        assert [settings[part]["init_args"]["seed"] for part in ("model", "data")] == [seed, 5]
    scored = read_treebank(tmp_path / "evaluated/ensemble_of_2/predictions.conllu")
    sample = sample_treebank(5).split("test")
    assert [each.sentence.words for each in scored] == [each.sentence.words for each in sample]


def test_data_and_output_may_be_in_a_bucket(finished, folder, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    memory = fsspec.filesystem("memory")
    memory.put(str(folder / "treebank"), "/corpora/treebank", recursive=True)
    places = ("--data.folder", "memory://corpora/treebank", "--out", "memory://made/ensemble")
    try:
        main(["ensemble", "--config", str(folder / "run.yaml"), *map(str, SEEDS), *places])
        files = memory.find("/made/ensemble")
        result = json.loads(memory.cat_file("/made/ensemble/ensemble.json"))
    finally:
        memory.store.clear()
        memory.pseudo_dirs[:] = [""]
    inside = {name.removeprefix("/made/ensemble/") for name in files}
    assert inside > {f"members/seed_{seed}/{name}" for seed in (1, 2) for name in KEPT}
    expected = read(finished[0] / "ensemble.json")["scores"]
    for name, scores in result["scores"].items():
        assert scores.items() <= expected[name].items()


def test_a_further_model_is_added(folder: Path, tmp_path: Path, capsys) -> None:
    """The smaller ensemble and its attack stay."""
    attack = ("--attack", folder / "attack.yaml", "--limit", 2)
    attack += ("--trainer.max_steps", 1, "--trainer.val_check_interval", 1)
    for seeds in ((1, 2), (1, 2, 3)):
        main(ensemble(folder, tmp_path, "--seeds", *seeds, "--device", "cpu", *attack))
    names = {path.name for path in (tmp_path / "attacked/attack").iterdir()}
    assert names == {*(f"seed_{seed}" for seed in seeds), "ensemble_of_2", "ensemble_of_3"}
    assert [*read(tmp_path / "ensemble.json")["systems"]][-1] == "ensemble_of_3"
    others = ensemble(folder, tmp_path, "--seeds", 3, 2, 1, "--device", "cpu", *attack)
    assert "ensemble_of_3" in mistake(capsys, *others)


def test_other_settings_and_files_are_refused(finished, folder, tmp_path, capsys) -> None:
    out = Path(shutil.copytree(finished[0], tmp_path / "out"))
    rate = ("--model.optimization.learning_rate", 0.5)
    refused = mistake(capsys, *ensemble(folder, out, *SEEDS, *rate))
    assert f"{out}/members/seed_1" in refused
    assert "learning_rate: 0.002 there, 0.5 here" in refused
    # Where it is trained does not decide on the weights; another subset trains nothing.
    before = read(out / "ensemble.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ensemble_members, "fit", lambda _: pytest.fail("a member was trained"))
        more = ("--trainer.devices", "[0]", "--subsets", "seed_2,seed_1")
        main(ensemble(folder, out, *SEEDS, *more))
    after = read(out / "ensemble.json")
    assert [*after["systems"]] == ["seed_1", "seed_2", "seed_2,seed_1", "ensemble_of_2"]
    for name, scores in before["scores"].items():
        assert after["scores"][name].items() <= scores.items()
    record = out / "members/seed_2/member.json"
    stored = read(record)
    (path,) = [name for name in stored["sha256"] if name.endswith("train.conllu")]
    stored["sha256"][path] = "0"
    record.write_text(json.dumps(stored))
    assert "train.conllu has changed" in mistake(capsys, *ensemble(folder, out, *SEEDS))
    record.unlink()
    assert "member.json" in mistake(capsys, *ensemble(folder, out, *SEEDS))


MISTAKES = [
    ((), "--seeds, --embeddings"),
    (("--seeds", 1), "--seeds, --embeddings"),
    (("--seeds", 1, 2, 1), "--seeds"),
    (("--embeddings", "words.yaml", "pointer.yaml"), "--seeds, --embeddings"),
    (("--embeddings", "words.yaml", "vectors.yaml"), "none.txt"),
    (("--seeds", 1, 2, "--subsets", "seed_1,seed_3"), "--subsets"),
    (("--seeds", 1, 2, "--subsets", "seed_1,seed_1"), "--subsets"),
    (("--seeds", 1, 2, "--attack", "white.yaml"), "--attack"),
    (("--seeds", 1, 2, "--attack", "none.yaml"), "--attack"),
    (("--seeds", 1, 2, "--attack", "broken.yaml"), "nonsense"),
    (("--seeds", 1, 2, "--trainer.default_root_dir", "x"), "--trainer.default_root_dir"),
    (("--seeds", 1, 2, "--ckpt_path", "last"), "--ckpt_path"),
    (("--seeds", 1, 2, "--model.init_args.seed", 3), "--model.init_args.seed"),
    (("--seeds", 1, "x"), "seeds"),
    (("--seeds", 1, 2, "--nonsense", 3), "nonsense"),
    (("--seeds", 1, 1 << 64), "--seeds"),
    (("--seeds", 1, 2, "--device", "gpu"), "--device"),
    (("--seeds", 1, 2, "--limit", 0), "--limit"),
    (("--seeds", 1, 2, "--devices", 0), "--devices"),
    (("--seeds", 1, 2, "--data.test_file", "none.conllu"), "none.conllu"),
]


@pytest.mark.parametrize(("more", "key"), MISTAKES)
def test_mistakes_are_found_before_training(
    more, key, folder, tmp_path, capsys, monkeypatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(ensemble_members, "fit", lambda _: pytest.fail("training has begun"))
    assert key in mistake(capsys, *ensemble(folder, tmp_path / "out", *more))
    assert not (tmp_path / "out").exists()


def test_one_process_is_started(folder, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "2 processes" in mistake(capsys, *ensemble(folder, tmp_path, *SEEDS))


@pytest.mark.parametrize(
    ("script", "error", "status"),
    [
        ("exit 0", None, None),
        ("exit 2", SystemExit, 2),
        ("kill -KILL $$", ProcessDiedError, None),
        ("trap 'exit 143' TERM; sleep 1; kill -TERM $PPID; sleep 5 & wait", SystemExit, 143),
    ],
)
def test_fit_runs_in_a_process_that_gets_the_signals(
    script, error, status, tmp_path, monkeypatch
) -> None:
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    handler = signal.getsignal(signal.SIGTERM)
    if error is None:
        fit(["--config", "x"])
    else:
        with pytest.raises(error) as end:
            fit(["--config", "x"])
        assert status is None or end.value.code == status
    assert (tmp_path / "arguments").read_text() == "-m robustparse fit --config x\n"
    assert signal.getsignal(signal.SIGTERM) is handler
