"""A finished run, and what an attack needs, that several files of tests look at."""

from pathlib import Path

import pytest
from command_runs import RECIPE, checkpoint
from tiny_runs import fit, write_config

from robustparse.cli.main import main
from sample_runs import sentences, write_sample


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A configuration and the folder of its run; nobody may change it."""
    folder = tmp_path_factory.mktemp("finished")
    config = write_config(folder / "run.yaml", max_steps=40)
    main(fit(config, folder / "run"))
    return config, folder / "run"


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a checkpoint, twelve sentences and a recipe; nobody may change it."""
    folder = tmp_path_factory.mktemp("made")
    checkpoint(folder)
    write_sample(folder / "test.conllu", sentences(12, "test"))
    (folder / "words.yaml").write_text(RECIPE)
    return folder
