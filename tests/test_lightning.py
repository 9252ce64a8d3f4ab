"""Lightning's private parts are used in versions that the tests ran with, and in no newer ones."""

import tomllib
from pathlib import Path

import pytorch_lightning as pl

from robustparse.lightning import TESTED


def test_no_newer_lightning_is_allowed_than_the_tested_one() -> None:
    settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    wanted = [d for d in settings["project"]["dependencies"] if d.startswith("pytorch-lightning")]
    major, minor = map(int, TESTED.split("."))
    (bound,) = wanted
    assert bound.endswith(f",<{major}.{minor + 1}")
    assert pl.__version__.split(".")[:2] == TESTED.split(".")
