"""The shipped defenses, each behind the shipped fine-tuning configurations."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from robustparse.cli.main import main

CONFIGS = Path(__file__).parents[2] / "configs"
EXPERIMENTS = sorted((CONFIGS / "experiment").glob("*_finetuning.yaml"))
CURVES = CONFIGS / "experiment" / "ewt_biaffine_early_stopping.yaml"
DEFENSES = sorted((CONFIGS / "defense").glob("*.yaml"))


def merged(capsys: pytest.CaptureFixture[str], *files: Path) -> dict[str, Any]:
    """What ``fit`` makes of configurations, one behind the other."""
    given = [part for file in files for part in ("--config", str(file))]
    with pytest.raises(SystemExit) as end:
        main(["fit", *given, "--data.init_args.folder", "sample", "--print_config"])
    assert end.value.code == 0
    whole: dict[str, Any] = yaml.safe_load(capsys.readouterr().out)
    return whole


def callbacks(config: dict[str, Any]) -> list[str]:
    """Class paths, in their order."""
    given = config.get("trainer", {})
    return [one["class_path"] for one in given.get("callbacks") or given.get("callbacks+") or ()]


@pytest.mark.parametrize(
    ("experiment", "defense"), product(EXPERIMENTS, DEFENSES), ids=lambda path: path.stem
)
def test_a_defense_joins_an_experiment(
    experiment: Path, defense: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = merged(capsys, experiment, defense)
    own, given = (yaml.safe_load(path.read_text()) for path in (experiment, defense))
    assert both["trainer"]["max_steps"] == own["trainer"]["max_steps"]
    assert both["model"]["init_args"]["init_from"] == own["model"]["init_args"]["init_from"]
    copies = given.get("data", {}).get("init_args", {}).get("augmented_files")
    assert both["data"]["init_args"]["augmented_files"] == copies
    assert both["data"]["init_args"]["seed"] == own["data"]["init_args"]["seed"]
    assert copies or callbacks(given)
    assert callbacks(both) == callbacks(given)


def test_defenses_join_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    """The callbacks of an experiment, and one another's."""
    files = [CONFIGS / "defense" / f"{name}.yaml" for name in ("substitution", "fgm")]
    substitution, fgm = (callbacks(yaml.safe_load(path.read_text())) for path in files)
    assert callbacks(merged(capsys, EXPERIMENTS[0], *files)) == substitution + fgm
    before = callbacks(yaml.safe_load(CURVES.read_text()))
    assert len(before) > 1
    assert callbacks(merged(capsys, CURVES, files[1])) == before + fgm
