"""Outcomes of TextAttack on the same closed problem; needs the data of the bench."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("ROBUSTPARSE_SHARED", "/nowhere")) / "parity" / "textattack"

needs_runs = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="ROBUSTPARSE_SHARED names no folder with parity/textattack"
)


def figures(*options: str) -> dict:
    command = [sys.executable, str(ROOT / "bench" / "parity.py"), "--json"]
    for name, file in (
        ("victim", "victim_bow.pt"),
        ("texts", "test.tsv"),
        ("synonyms", "synonyms_sparse.json"),
        ("stopwords", "stopwords.txt"),
        ("runs", "runs_sparse_bow.jsonl"),
    ):
        command += [f"--{name}", str(FOLDER / file)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    output = subprocess.run(
        [*command, *options], capture_output=True, text=True, check=True, env=environment
    ).stdout
    return json.loads(output.splitlines()[-1])


@needs_runs
@pytest.mark.slow
def test_deterministic_searches_agree_text_by_text() -> None:
    names = ["greedy", "beam4", "beam8", "wir_unk", "wir_delete", "wir_pwws", "wir_gradient"]
    found = figures("--methods", *names)
    assert list(found) == names
    assert all(one["agreement"] >= 0.99 for one in found.values()), found


@needs_runs
@pytest.mark.slow
def test_random_searches_agree_in_distribution() -> None:
    found = figures("--methods", "wir_random", "pso", "genetic", "--seeds", "2")
    for one in found.values():
        assert abs(one["success_difference"]) <= 2.0
        assert abs(one["charged_ratio"] - 1) <= 0.05
