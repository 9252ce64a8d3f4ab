"""The memory bench runs, and prints what it promises."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sample_runs import save_checkpoint, trained_parser

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_resident_memory_over_a_short_run(tmp_path):
    checkpoint = save_checkpoint(trained_parser().float(), tmp_path / "tiny.ckpt")
    command = [sys.executable, str(ROOT / "bench" / "memory.py"), "--checkpoint", str(checkpoint)]
    output = subprocess.run(
        [*command, "--sentences", "200", "--json"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    figures = json.loads(output.splitlines()[-1])
    assert figures["sentences"] == list(range(10, 201, 10))
    assert len(figures["rss_mib"]) == len(figures["word_forms"]) == 20
    assert figures["word_forms"] == sorted(figures["word_forms"])
    assert abs(figures["growth_second_half_mib"]) < 50
