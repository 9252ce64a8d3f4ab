"""Every command that the guides and recipes give is one that the programs accept."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from guide_commands import ABSENT, COMMAND, GUIDES, NAMES, PAGES, ROOT, START, commands, launched
from torch.distributed.run import get_args_parser

from robustparse.cli.main import LIGHTNING, OWN, main

RECIPES = sorted((ROOT / "configs").rglob("*.yaml"))


def commands_of_recipe(text: str) -> list[str]:
    """Those of a recipe's comments, from the program's name on."""
    lines = COMMAND.findall(text.replace("\\\n#", " "))
    return [line[re.search(START, line).start() :] for line in lines]  # type: ignore[union-attr]


# Options whose values are names of files, folders or models, any of which is accepted.
NAMED = (
    *("--data", "--data.folder", "--checkpoint", "--out"),
    *("--trainer.default_root_dir", "--model.encoder.model"),
)

DOCUMENTED = [
    pytest.param(command, id=f"{page.name}-{index}")
    for page in PAGES
    for index, command in enumerate(commands(page.read_text()))
]
IN_RECIPES = [
    pytest.param(command, id=f"{path.stem}-{index}")
    for path in RECIPES
    for index, command in enumerate(commands_of_recipe(path.read_text()))
]


def distinct(params: list[Any]) -> list[Any]:
    """Those whose commands differ in more than the names of files, folders and models."""
    found = {}
    for param in params:
        launcher, arguments = launched(*param.values)
        pairs = zip(["", *arguments], arguments, strict=False)
        key = (*launcher, *("" if before in NAMED else word for before, word in pairs))
        found.setdefault(key, param)
    return list(found.values())


# `test_pages_run.py` runs the others as they stand.
RUN = {one for guide in GUIDES.values() for one in guide if not any(name in one for name in ABSENT)}
ACCEPTED = [param for param in DOCUMENTED + IN_RECIPES if param.values[0] not in RUN]


@pytest.mark.parametrize("command", distinct(ACCEPTED))
def test_a_documented_command_is_accepted(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    launcher, arguments = launched(command)
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--print_config"])
    captured = capsys.readouterr()
    assert end.value.code == 0, captured.err
    config = yaml.safe_load(captured.out)
    if launcher and launcher[0] == "torchrun":
        asked = get_args_parser().parse_args([*launcher[1:], "train.py"])
        if arguments[0] in LIGHTNING:
            trainer = config["trainer"]
            assert asked.nproc_per_node == str(trainer["devices"])
            assert asked.nnodes.split(":")[-1] == str(trainer["num_nodes"])
            assert trainer["strategy"] == "ddp"


BENCHES = [
    pytest.param(name, options.split(), id=f"{page.name}-{index}")
    for page in PAGES
    for index, (name, options) in enumerate(
        re.findall(r"python (bench/\w+\.py)((?:\s[^`\n]*)?)", page.read_text())
    )
]


def code_of(bench: Path) -> str:
    """That of a bench, and of the benches that it takes options from."""
    own = bench.read_text()
    others = [
        bench.with_name(f"{name}.py") for name in re.findall(r"^(?:from|import) (\w+)", own, re.M)
    ]
    return "\n".join([own, *(other.read_text() for other in others if other.exists())])


@pytest.mark.parametrize(("name", "words"), BENCHES)
def test_a_documented_bench_has_its_options(name: str, words: list[str]) -> None:
    code = code_of(ROOT / name)
    for option in (word for word in words if word.startswith("--")):
        # As an option, or as a parameter of the function whose parameters are the options.
        assert f'add_argument("{option}"' in code or f"\n    {option[2:]}: " in code, option


def test_the_guides_hold_such_commands() -> None:
    found = [launched(param.values[0]) for param in DOCUMENTED]
    starts = [launcher[:1] for launcher, _ in found]
    assert starts.count(["torchrun"]) >= 3
    assert ["srun"] in starts
    # What has no line of its own is in the text, or made by `make`.
    assert {arguments[0] for _, arguments in found} >= {*OWN, "fit", "predict"} - {"quickstart"}
    assert len(BENCHES) >= 10


@pytest.mark.parametrize(("status", "requeued"), [(0, False), (1, False), (2, False), (143, True)])
def test_the_slurm_script_keeps_the_status_and_requeues_what_was_stopped(
    status: int, requeued: bool, tmp_path: Path
) -> None:
    guide = (ROOT / "docs" / "guides" / "several_gpus.md").read_text()
    (script,) = re.findall(r"^```\n(#!/bin/bash\n.*?)^```", guide, re.MULTILINE | re.DOTALL)
    for name, does in (("srun", f"exit {status}"), ("scontrol", 'echo "$@" >requeued')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_ID": "17"}
    end = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, check=False)
    assert end.returncode == status
    asked = tmp_path / "requeued"
    assert (asked.read_text() if asked.exists() else "") == ("requeue 17\n" if requeued else "")


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_option_would_be_found(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = commands(f"```\nrobustparse {name} … --nonsense \\\n  1  # so\n```")
    _, arguments = launched(command)
    assert arguments == [name, "--nonsense", "1"]
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--print_config"])
    assert end.value.code == 2
    assert "nonsense" in capsys.readouterr().err


def test_a_command_that_is_not_accepted_would_be_found(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = commands("```\nrobustparse fit --config \\\n  missing.yaml || exit\n```")
    assert found == ["robustparse fit --config    missing.yaml"]
    with pytest.raises(SystemExit) as end:
        main([*launched(found[0])[1], "--print_config"])
    assert end.value.code == 2
    capsys.readouterr()
