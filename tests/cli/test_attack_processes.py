"""``attack --devices N`` and under torchrun: the files of one process, also after kills."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from command_runs import (
    BY_TURNS,
    FILTERED_WHITE_BOX,
    PHRASES,
    RECIPE,
    checkpoint,
    held,
    mistake,
    ranks,
)

from forks import Forked
from robustparse.api.attack_run import process_device
from robustparse.cli.main import main
from robustparse.errors import InputError
from robustparse.evaluation.attack_processes import Rank, share_of
from robustparse.evaluation.example_records import all_records, read_records
from robustparse.files.output_folders import locked
from sample_runs import SPEED, save_checkpoint, sentences, trained_parser, write_sample

FILES = ("examples.jsonl", "adversarial.conllu", "run.json")
SENTENCES = 24
LONGEST = 600.0  # seconds, on a busy machine


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a checkpoint, data, a recipe, and the attack by one process."""
    folder = tmp_path_factory.mktemp("made")
    checkpoint(folder)
    write_sample(folder / "test.conllu", sentences(SENTENCES, "test"))
    (folder / "words.yaml").write_text(f"{RECIPE}live: 2\n")
    main(arguments(folder, folder / "whole"))
    return folder


def arguments(made: Path, out: Path, *more: object) -> list[str]:
    given = {"attack": made / "words.yaml", "checkpoint": made / "tiny.ckpt"}
    given |= {"data": made / "test.conllu", "out": out, "device": "cpu"}
    options = [str(part) for key, value in given.items() for part in (f"--{key}", value)]
    return ["attack", "--trust", "command_runs", *options, *map(str, more)]


def same(out: Path, made: Path) -> None:
    for name in FILES:
        assert (out / name).read_bytes() == (made / "whole" / name).read_bytes(), name
    ours, theirs = (
        json.loads((folder / "summary.json").read_text()) for folder in (out, made / "whole")
    )
    assert {**ours, **dict.fromkeys(SPEED)} == {**theirs, **dict.fromkeys(SPEED)}
    assert sorted(path.name for path in out.iterdir()) == sorted([*FILES, "summary.json"])


def until_lines(out: Path, count: int, *processes: Forked) -> None:
    """Wait until N sentences are finished."""
    end = time.monotonic() + LONGEST
    while len(list(all_records(out))) < count:
        for process in processes:
            assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end
        time.sleep(0.02)


def test_two_processes_write_what_one_writes(made, tmp_path, capsys):
    main(arguments(made, tmp_path / "out", "--devices", 2))
    assert "success" in capsys.readouterr().out
    same(tmp_path / "out", made)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["victim_forwards"] > 0
    assert summary["victim_share_of_seconds"] > 0


def by_one_and_by_two(made: Path, folder: Path, recipe: str) -> list[dict[str, Any]]:
    """What a recipe does to each sentence, which is the same by one process and by two."""
    (folder / "recipe.yaml").write_text(recipe)
    for devices in (1, 2):
        options = ["--attack", folder / "recipe.yaml", "--devices", devices]
        main(arguments(made, folder / str(devices), *options))
    for name in FILES:
        one, other = ((folder / run / name).read_bytes() for run in "12")
        assert one == other, name
    return list(read_records(folder / "2" / "examples.jsonl"))


@pytest.mark.slow
@pytest.mark.usefixtures("_forks")
@pytest.mark.parametrize(
    "recipe", [FILTERED_WHITE_BOX, PHRASES], ids=["white, with a checker", "phrase"]
)
def test_two_processes_write_what_one_writes_by_every_kind_of_attack(made, tmp_path, recipe):
    assert any(line["edited"] for line in by_one_and_by_two(made, tmp_path, recipe))


@pytest.mark.slow
@pytest.mark.usefixtures("_forks")
def test_two_processes_write_what_one_writes_by_every_search(made, tmp_path):
    """The searches share a launch; each has sentences in both processes, and changes some."""
    count = len(yaml.safe_load(BY_TURNS)["search"]["init_args"]["searches"])
    for rank in range(2):
        mine = share_of(sentences(SENTENCES, "test"), rank, 2)
        assert {one.id % count for one in mine} == set(range(count))
    lines = by_one_and_by_two(made, tmp_path, BY_TURNS)
    assert {line["id"] % count for line in lines if line["edited"]} == set(range(count))


@pytest.mark.slow
@pytest.mark.usefixtures("_forks")
def test_two_processes_write_what_one_writes_where_references_judge(made, tmp_path):
    other = save_checkpoint(trained_parser(characters=True).float(), tmp_path / "other.ckpt")
    settings = f"init_args: {{checkpoints: [{other}]}}"
    part = f"{{class_path: robustparse.attacks.ReferenceParsers, {settings}}}"
    lines = by_one_and_by_two(made, tmp_path, RECIPE.replace("search:", f"  - {part}\nsearch:"))
    assert any(line["edited"] for line in lines)
    vetoed = json.loads((tmp_path / "2" / "summary.json").read_text())["candidates"]["vetoed"]
    assert 0 < vetoed["ReferenceParsers"]["all"]["percent"] < 100
    assert len(vetoed["ReferenceParsers"]) > 1
    run = json.loads((tmp_path / "2" / "run.json").read_text())
    assert list(run["sha256"]["recipe"]) == [str(other)]


@pytest.mark.slow
def test_killed_again_and_again_and_resumed_by_any_number(made, tmp_path):
    out, kept = tmp_path / "out", 0
    for devices, more in ((1, 2), (2, 3)):
        kept += more
        process = held(tmp_path / "gate", kept, arguments(made, out, "--devices", devices))
        until_lines(out, kept, process)
        process.kill()
        process.communicate(timeout=LONGEST)  # its workers too, which share its pipes
        assert not (out / "summary.json").exists()
        found = [stored.record["id"] for stored in all_records(out)]
        assert len(set(found)) == len(found) >= kept  # the others finish their sentence
        kept = len(found)
    main(arguments(made, out, "--devices", 1))
    same(out, made)


@pytest.mark.slow
def test_a_second_attack_on_a_folder_in_use_is_refused(made, tmp_path, capsys):
    out, gate = tmp_path / "out", tmp_path / "gate"
    process = held(gate, 1, arguments(made, out, "--devices", 2))
    until_lines(out, 1, process)
    for devices in (1, 2):
        error = mistake(capsys, *arguments(made, out, "--devices", devices))
        assert f"{out}: another process is writing into this folder" in error
    gate.unlink()
    _, errors = process.communicate(timeout=LONGEST)
    assert process.returncode == 0, errors
    same(out, made)


def test_a_folder_in_use_is_refused_by_several_processes_too(made, tmp_path, capsys):
    with locked(tmp_path, "attack", "--out"):
        error = mistake(capsys, *arguments(made, tmp_path, "--devices", 2))
    assert "another process is writing into this folder" in error
    assert os.listdir(tmp_path) == []


@pytest.mark.usefixtures("_forks")
def test_a_mistake_of_a_process_is_the_commands(made, tmp_path, capsys):
    model = tmp_path / "no" / "model"
    recipe = RECIPE.replace("TrainingWords", "MaskedLM")
    recipe = recipe.replace("{sample: 5}", f"{{model: {model}}}")
    (tmp_path / "recipe.yaml").write_text(recipe)
    options = ["--attack", tmp_path / "recipe.yaml", "--devices", 2]
    assert str(model) in mistake(capsys, *arguments(made, tmp_path / "out", *options))


@pytest.mark.slow
def test_ranks_of_a_launcher_write_what_one_process_writes(made, tmp_path):
    out = tmp_path / "out"
    killed = ranks(arguments(made, out), 2, tmp_path / "gate")
    until_lines(out, 6, *killed)
    for process in killed:
        process.kill()
        process.communicate()
    assert not (out / "summary.json").exists()
    assert len(list(all_records(out))) == 6
    processes = ranks(arguments(made, out), 3)
    outputs = [(one.communicate(timeout=LONGEST), one) for one in processes]
    assert [process.returncode for _, process in outputs] == [0, 0, 0], outputs
    assert ["success" in printed for (printed, _), _ in outputs] == [True, False, False]
    assert [error for (_, error), _ in outputs] == ["", "", ""]
    same(out, made)
    main(arguments(made, out))  # nothing is left
    same(out, made)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"RANK": "0", "WORLD_SIZE": "two"}, "whole numbers, as torchrun sets them"),
        ({"RANK": "2", "WORLD_SIZE": "2"}, "ranks from 0, below the number of processes"),
        ({"RANK": "-1", "WORLD_SIZE": "2"}, "ranks from 0, below the number of processes"),
    ],
)
def test_what_a_launcher_sets_is_checked(monkeypatch, environment, expected):
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    with pytest.raises(InputError) as error:
        Rank.launched()
    assert all(f"{name}={value}" in error.value.found for name, value in environment.items())
    assert error.value.expected == expected


def test_ranks_without_an_address_and_with_other_devices(made, tmp_path, monkeypatch, capsys):
    for key in (
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
    ):
        monkeypatch.delenv(key, raising=False)
    assert Rank.launched() is None
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert Rank.launched() == Rank(0, 2, 0, 2)
    error = mistake(capsys, *arguments(made, tmp_path / "out"))
    assert "start the ranks with torchrun" in error
    error = mistake(capsys, *arguments(made, tmp_path / "out", "--devices", 3))
    assert "--devices: 3, but the launcher has started 2 processes" in error


def test_devices_of_processes(monkeypatch):
    assert process_device("cuda:7", 0, 1) == "cuda:7"
    assert [process_device("cpu", rank, 2) for rank in range(2)] == ["cpu", "cpu"]
    for device, count, key in (("cpu", 0, "--devices"), ("cuda:1", 2, "--device")):
        with pytest.raises(InputError) as error:
            process_device(device, 0, count)
        assert error.value.key == key
    for gpus, expected in ((0, ["auto", "auto"]), (2, ["cuda:0", "cuda:1"])):
        monkeypatch.setattr(torch.cuda, "is_available", lambda gpus=gpus: gpus > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda gpus=gpus: gpus)
        assert [process_device("auto", rank, 2) for rank in range(2)] == expected
        for device in ("auto", "cuda"):
            if device == "cuda" or gpus:
                with pytest.raises(InputError) as error:
                    process_device(device, 0, 3)
                assert error.value.key == "--devices"
                assert f"has {gpus} GPUs" in error.value.found
