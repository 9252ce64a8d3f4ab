"""The sweep of the guide: what W&B's agent makes of it is a command that trains."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from robustparse.cli.main import main
from sample_runs import sentences, write_sample
from wandb_runs import wandb_runs

GUIDE = Path(__file__).parents[2] / "docs/guides/wandb.md"
QUICK = {
    "trainer": {
        "max_steps": 2,
        "limit_val_batches": 0,
        "precision": "32-true",
        "log_every_n_steps": 1,
    },
    "model.encoder": {"word_dim": 8, "character_dim": 6, "character_out": 8, "hidden": 8},
    "model": {"arc_dim": 8, "label_dim": 6},
}
# What an agent sets, besides those of the user.
VARIABLES = ("WANDB_DIR", "WANDB_RUN_ID", "WANDB_SWEEP_PARAM_PATH", "WANDB_SWEEP_ID")


def trials(parameters: dict[str, Any]) -> list[dict[str, Any]]:
    """The values of two trials: the lowest and the highest of each parameter."""
    ranges = {
        name: settings.get("values") or [settings["min"], settings["max"]]
        for name, settings in parameters.items()
    }
    return [{name: values[at] for name, values in ranges.items()} for at in (0, -1)]


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """W&B's agent in a folder with a treebank, without a server."""
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES:
        monkeypatch.setenv(name, "of the agent")
    monkeypatch.setenv("WANDB_SWEEP_ID", "sweep1")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("RUNS", str(tmp_path / "runs"))
    for split in ("train", "dev"):
        path = tmp_path / f"UD_English-EWT/en_ewt-ud-{split}.conllu"
        path.parent.mkdir(exist_ok=True)
        write_sample(path, sentences(20, split))
    from wandb import wandb_agent

    return wandb_agent.Agent(api=None, queue=None, sweep_id="sweep1")


def test_the_sweep_of_the_guide_trains(
    agent: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (text,) = re.findall(r"^```yaml\n(program: .*?)^```", GUIDE.read_text(), re.M | re.S)
    sweep = yaml.safe_load(text)
    agent._sweep_command = sweep["command"]
    started: list[list[str]] = []

    class Started:
        def __init__(self, command: list[str], env: dict[str, str], **_: Any) -> None:
            started.append(command)

    monkeypatch.setattr("wandb.wandb_agent.AgentProcess", Started)
    for number, values in enumerate(trials(sweep["parameters"])):
        arguments = {name: {"value": value} for name, value in values.items()}
        run = {"run_id": f"trial{number}", "program": sweep["program"], "args": arguments}
        agent._command_run(run)
        assert os.environ["WANDB_RUN_ID"] == run["run_id"]
        env, program, *options = started[-1]
        assert (env, program, options[0]) == ("/usr/bin/env", "robustparse", "fit")
        with wandb_runs() as runs:
            quick = {f"{part}.{key}": each for part in QUICK for key, each in QUICK[part].items()}
            main([*options, *(f"--{key}={each}" for key, each in quick.items())])
        settings = yaml.safe_load((tmp_path / "runs/config.yaml").read_text())
        for name, value in values.items():
            assert at(settings, name.split(".")) == value
        assert runs[0].given["id"] == run["run_id"]
        assert (tmp_path / "runs/wandb_id").read_text().strip() == run["run_id"]
    assert [path.name for path in (tmp_path / "runs/earlier").iterdir()] == ["1"]


def at(settings: Any, keys: list[str]) -> Any:
    """The value of a nested setting, whose objects have their arguments below ``init_args``."""
    for key in keys:
        settings = settings.get("init_args", settings)[key]
    return settings
