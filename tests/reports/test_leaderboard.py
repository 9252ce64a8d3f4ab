"""The leaderboard: entries in order, as text whatever they hold, sorted by a press on a heading."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_pages import parse

from robustparse.errors import InputError
from robustparse.reports.entry import read_entry
from robustparse.reports.leaderboard import build_leaderboard

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SHIPPED = Path(__file__).parents[2] / "bench" / "results" / "entries"
NASTY = "</script><script>document.title='run'</script>"


def attack(name: str, right: list[int]) -> dict[str, Any]:
    run = {"attack": name, "data": "mr.tsv", "seed": 3, "beam": 5, "victim": {"class_path": "A b"}}
    accuracy = 100 * sum(right) / len(right)
    scores = {"attacked": {"accuracy": accuracy}, "success_rate": None, "right": right}
    return {"run": run, "recipe": f"{name}-digest", **scores}


def entry(name: str, *attacks: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """An entry with four texts, three of them right."""
    bounds = {"lower": {"accuracy": 25.0}, "upper": {"accuracy": 50.0}}
    certified = {"1": {**bounds, "undecided": 1, "inputs": 9}}
    return {
        **{"format": 1, "version": "0.1.0", "name": name, "paper": None, "extra_data": None},
        **{"task": "classification", "data": {"name": "mr.tsv", "sha256": "1", "license": None}},
        **{"counted": [1, 1, 1, 1], "clean": {"accuracy": 75.0}, "right": [1, 1, 1, 0]},
        **{"attacks": [*attacks], "worst_of_attacks": None, "right_in_all": None},
        **{"model": None, "commands": []},
        "certified": [{"run": {"substitutes": "t.jsonl"}, "certified": certified}],
        **changes,
    }


WORST = {"worst_of_attacks": {"accuracy": [25.0, 10.0, 40.0]}, "right_in_all": [1, 0, 0, 0]}


def worst(percent: float, right: list[int]) -> Callable[[dict[str, Any]], object]:
    changes = {"worst_of_attacks": {"accuracy": [percent, 0.0, 100.0]}, "right_in_all": right}
    return lambda entry: entry.update(changes)


def bounds(**changes: float) -> Callable[[dict[str, Any]], object]:
    return lambda entry: [
        entry["certified"][0]["certified"]["1"][side].update(accuracy=percent)
        for side, percent in changes.items()
    ]


# What somebody may write into an entry of two attacks to come first.
EDITED: dict[str, Callable[[dict[str, Any]], object]] = {
    "worst score": lambda entry: entry["worst_of_attacks"].update(accuracy=[50.0, 10.0, 60.0]),
    "worst counts": worst(50.0, [1, 1, 0, 0]),
    "fewer sentences": worst(100.0, [1]),
    "no worst": lambda entry: entry.update(worst_of_attacks=None, right_in_all=None),
    "no worst counts": lambda entry: entry.update(right_in_all=None),
    "one attack": lambda entry: entry["attacks"].pop(),
    "no attack": lambda entry: entry["attacks"].clear(),
    "attacked": lambda entry: entry["attacks"][0]["attacked"].update(accuracy=75.0),
    "success rate": lambda entry: entry["attacks"][0].update(success_rate=-1.0),
    "certified above clean": bounds(lower=80.0, upper=90.0),
    "certified above its upper bound": bounds(lower=60.0),
}


def test_the_shipped_entries_are_drawn(tmp_path: Path) -> None:
    build_leaderboard([SHIPPED], tmp_path / "board.html")
    page = (tmp_path / "board.html").read_text("utf-8")
    assert all(path.name in page for path in SHIPPED.iterdir())


@pytest.mark.parametrize("name", EDITED)
def test_an_edited_entry_is_refused(name: str, tmp_path: Path) -> None:
    two = entry("two", attack("pwws", [1, 1, 0, 0]), attack("faster", [1, 0, 0, 1]), **WORST)
    content = json.loads(json.dumps(two))
    (tmp_path / "entry.json").write_text(json.dumps(content))
    assert read_entry(tmp_path)["name"] == "two"
    EDITED[name](content)
    (tmp_path / "entry.json").write_text(json.dumps(content))
    with pytest.raises(InputError) as error:
        read_entry(tmp_path)
    assert error.value.path == str(tmp_path / "entry.json")


@pytest.fixture
def page(tmp_path: Path) -> Path:
    pwws, faster = attack("pwws", [1, 1, 0, 0]), attack("faster", [1, 0, 0, 1])
    entries = [
        entry("two attacks", pwws, faster, **WORST, paper="https://example.org/a"),
        entry(NASTY, attack("pwws", [1, 1, 1, 0]), certified=[], paper="javascript:alert(1)"),
        entry("one attack", pwws, extra_data="silver trees"),
        entry("elsewhere", pwws, data={"name": "sst.tsv", "sha256": "2", "license": None}),
        entry("shorter", pwws, counted=[1, 1, 0, 1], right=[1, 1, 0, 1], clean={"accuracy": 100.0})
        | {"attacks": [attack("pwws", [1, 1, 0]) | {"right": [1, 1, 0, 0]}]},
    ]
    for number, each in enumerate(entries):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}/entry.json").write_text(json.dumps(each))
    build_leaderboard([tmp_path], tmp_path / "board.html")
    return tmp_path / "board.html"


def test_the_most_robust_comes_first_and_nothing_runs(page: Path) -> None:
    read = parse(page)
    assert read.addresses == ["https://example.org/a"]
    assert read.tags.count("table") == 3  # one of each data, or part of them
    places = [read.text.index(name) for name in ("two attacks", NASTY, "one attack", "elsewhere")]
    assert places == sorted(places)
    assert "robustparse attack --attack pwws --data mr.tsv --seed 3 --victim " in read.text
    assert "Worst of attacks pwws faster Certified at 1 edit" in read.text.replace("  ", " ")
    assert re.search(r"script-src 'sha256-[\w+/=]+'", page.read_text())


def test_a_press_on_a_heading_sorts(page: Path) -> None:
    """Missing scores stay last; a second press turns the order round."""
    if CHROMIUM is None:
        pytest.skip("no chromium on PATH, the browser that reads the page")
    html = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
    names = "[...document.querySelectorAll('table')[0].tBodies[0].rows].map((row) => "
    names += "row.cells[0].dataset.value[0])"
    press = "document.querySelectorAll('thead button')[COLUMN].click()"
    script = "const seen = [];"
    for column in (0, 3, 3, 4, 4):
        script += f"{press.replace('COLUMN', str(column))};seen.push({names}.join(''));"
    script += "document.title = seen.join(' ')"
    pressed = page.parent / "pressed.html"
    pressed.write_text(html.replace("</body>", f"<script>{script}</script></body>"))
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    own = f"--user-data-dir={page.parent / 'profile'}"
    command = [CHROMIUM, *options, own, pressed.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    (title,) = re.findall("<title>(.*)</title>", done.stdout)
    # By name, by pwws (75, 50, 50), and by faster, which only "two attacks" has.
    assert title.replace("&lt;", "<").split() == ["<ot", "<ot", "ot<", "to<", "to<"]
