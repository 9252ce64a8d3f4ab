"""The time that a report takes to load is read from a real browser."""

import json
import shutil
import sys
from pathlib import Path

import pytest

import page_load
from robustparse.evaluation.lines import each_line

ATTACKED = Path(__file__).parents[1] / "contract" / "attacked"


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("chromium") or shutil.which("chromium-browser")), reason="no chromium on PATH"
)
def test_a_page_says_when_it_was_loaded(monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["page_load.py", str(ATTACKED), "--rounds", "2", "--json"])
    page_load.main()
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    count = len(list(each_line(ATTACKED / "examples.jsonl")))
    assert found["listed"].startswith(f"{count} of {count} examples")
    assert 0 < found["median_s"] <= found["longest_s"]
    assert found["bytes"] > 10_000


@pytest.mark.skipif(not Path("/bin/echo").exists(), reason="no echo that stands for a browser")
def test_a_browser_that_says_nothing_is_an_error(tmp_path) -> None:
    page = tmp_path / "report.html"
    page_load.probed([ATTACKED], page)
    with pytest.raises(SystemExit, match="did not say"):
        page_load.opened("/bin/echo", page, tmp_path / "profile")
