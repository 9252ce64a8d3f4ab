"""The memory bench runs, and prints what it promises."""

import json
from pathlib import Path

import pytest

from forks import printed_by
from sample_runs import save_checkpoint, trained_parser

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_resident_memory_over_a_short_run(tmp_path):
    checkpoint = save_checkpoint(trained_parser().float(), tmp_path / "tiny.ckpt")
    options = ("--checkpoint", str(checkpoint), "--sentences", "200", "--json")
    output = printed_by(ROOT / "bench" / "memory.py", *options)
    figures = json.loads(output.splitlines()[-1])
    assert figures["sentences"] == list(range(10, 201, 10))
    assert len(figures["rss_mib"]) == len(figures["word_forms"]) == 20
    assert figures["word_forms"] == sorted(figures["word_forms"])
    assert abs(figures["growth_second_half_mib"]) < 50
