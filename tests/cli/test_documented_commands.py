"""Every training command that the guides and recipes give is one that the programs accept."""

import re
import shlex
from pathlib import Path

import pytest
import yaml
from torch.distributed.run import get_args_parser

from robustparse.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RECIPES = sorted((ROOT / "configs").rglob("*.yaml"))
FIT = re.compile(r"^.*\b(?:robustparse|train\.py) fit\b.*$", re.MULTILINE)


def commands(text: str) -> list[str]:
    """The lines of code that train, continued lines joined, comments and what follows them off."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    joined = "\n".join(blocks).replace("\\\n", " ")
    return [line.split(" || ")[0] for line in FIT.findall(joined)]


DOCUMENTED = [
    pytest.param(command, id=f"{page.name}-{index}")
    for page in PAGES
    for index, command in enumerate(commands(page.read_text()))
]
IN_RECIPES = [
    pytest.param(line[line.index("robustparse fit") :], id=f"{path.stem}-{index}")
    for path in RECIPES
    for index, line in enumerate(FIT.findall(path.read_text().replace("\\\n#", " ")))
]


def launched(command: str) -> tuple[list[str], list[str]]:
    """What starts the program, and the program's arguments."""
    words = shlex.split(command)
    at = words.index("fit")
    return words[: at - 1], words[at:]


@pytest.mark.parametrize("command", DOCUMENTED + IN_RECIPES)
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
        trainer = config["trainer"]
        assert asked.nproc_per_node == str(trainer["devices"])
        assert asked.nnodes.split(":")[-1] == str(trainer["num_nodes"])
        assert trainer["strategy"] == "ddp"


def test_the_guides_hold_such_commands() -> None:
    starts = [launched(param.values[0])[0][:1] for param in DOCUMENTED]
    assert starts.count(["torchrun"]) >= 2
    assert ["srun"] in starts


def test_a_command_that_is_not_accepted_would_be_found(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = commands("```\nrobustparse fit --config \\\n  missing.yaml || exit\n```")
    assert found == ["robustparse fit --config    missing.yaml"]
    with pytest.raises(SystemExit) as end:
        main([*launched(found[0])[1], "--print_config"])
    assert end.value.code == 2
    capsys.readouterr()
