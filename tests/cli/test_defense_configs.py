"""The shipped defenses, each behind the shipped fine-tuning configurations."""

from itertools import product
from pathlib import Path

import pytest
import yaml

from robustparse.cli.main import main

CONFIGS = Path(__file__).parents[2] / "configs"
EXPERIMENTS = sorted((CONFIGS / "experiment").glob("*_finetuning.yaml"))
DEFENSES = sorted((CONFIGS / "defense").glob("*.yaml"))


@pytest.mark.parametrize(
    ("experiment", "defense"), product(EXPERIMENTS, DEFENSES), ids=lambda path: path.stem
)
def test_a_defense_joins_an_experiment(
    experiment: Path, defense: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ("--config", str(experiment), "--config", str(defense))
    with pytest.raises(SystemExit) as end:
        main(["fit", *files, "--data.init_args.folder", "sample", "--print_config"])
    assert end.value.code == 0
    merged = yaml.safe_load(capsys.readouterr().out)
    own = yaml.safe_load(experiment.read_text())
    assert merged["trainer"]["max_steps"] == own["trainer"]["max_steps"]
    assert merged["model"]["init_args"]["init_from"] == own["model"]["init_args"]["init_from"]
    given = yaml.safe_load(defense.read_text())
    copies = given.get("data", {}).get("init_args", {}).get("augmented_files")
    assert merged["data"]["init_args"]["augmented_files"] == copies
    assert merged["data"]["init_args"]["seed"] == own["data"]["init_args"]["seed"]
    callbacks = given.get("trainer", {}).get("callbacks", [])
    assert copies or callbacks
    assert [one["class_path"] for one in merged["trainer"]["callbacks"] or []] == [
        one["class_path"] for one in callbacks
    ]
