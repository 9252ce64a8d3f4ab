"""A finished run that several files of tests look at."""

from pathlib import Path

import pytest
from tiny_runs import fit, write_config

from robustparse.cli.main import main


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A configuration and the folder of its run; nobody may change it."""
    folder = tmp_path_factory.mktemp("finished")
    config = write_config(folder / "run.yaml", max_steps=40)
    main(fit(config, folder / "run"))
    return config, folder / "run"
