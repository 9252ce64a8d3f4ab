"""Tables of differences and of seeds, worked out by hand from made-up figures."""

import json
import math
from pathlib import Path

import pytest

import study_significance
import study_transfer
from robustparse.evaluation.significance import Interval
from study_figures import result
from study_rows import Row, Study
from study_significance import mean_over_seeds

COUNTS = {
    "parser": ([9, 9, 9], [5, 5, 5]),
    "parser_seed_2": ([8, 8, 8], [5, 5, 5]),
    "other": ([9, 9, 9], [9, 9, 9]),
}


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """Three rows of 3 sentences of 10 words, and one that is not finished."""
    rows = [Row(name, name, home=tmp_path) for name in ("parser", "other", "unfinished")]
    rows.insert(1, Row("parser_seed_2", "parser, seed 2", seed=2, home=tmp_path))
    made = Study(tuple(rows))
    made.results.mkdir()
    for row in rows[:3]:
        clean, attacked = COUNTS[row.name]
        counts = {"words": [10] * 3, "clean": clean, "attacked": attacked}
        figures = {"title": row.title, "attack": row.attack, "gamma": 0.15, "counts": counts}
        result("made_up", made, row, 0.15).write_text(json.dumps(figures))
    monkeypatch.setitem(study_significance.STUDIES, "made_up", made)
    return made


def cells(table: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


@pytest.mark.usefixtures("study")
def test_differences_and_means(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All sentences are alike: no draw differs, and of 8 exchanges 2 are as far as three alike."""
    monkeypatch.setattr("sys.argv", ["study_significance.py", "--study", "made_up"])
    study_significance.main()
    compared, seeds = map(cells, capsys.readouterr().out.split("\n\n"))
    assert [row[:4] for row in compared] == [
        [name, "parser", "zheng2020_blackbox", "15"] for name in ("parser, seed 2", "other")
    ]
    points = [[one.split(" (p ")[0] for one in row[4:]] for row in compared]
    assert points[0] == ["-10.0 [-10.0, -10.0]", "+0.0 [0.0, 0.0]"] * 2
    assert points[1][1:] == [
        "+40.0 [40.0, 40.0]",
        "-40.0 [-40.0, -40.0]",
        "-100.0 [-100.0, -100.0]",
    ]
    # Eight differences of 1 / 4 or 1: after Holm's correction all of them are 1.
    assert {one.split(" (p ")[1] for row in compared for one in row[4:]} == {"1.0000)"}
    both = ["90.0, 80.0", "50.0, 50.0", "40.0, 30.0", "100.0, 100.0"]
    assert seeds == [["parser", "zheng2020_blackbox", "15", "2", *both]]


def test_seeds_in_other_folders_count_too(
    study: Study,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    places = [str(tmp_path), str(tmp_path)]
    monkeypatch.setattr(
        "sys.argv", ["study_significance.py", "--study", "made_up", "--home", *places]
    )
    study_significance.main()
    _, seeds = map(cells, capsys.readouterr().out.split("\n\n"))
    assert [(row[0], row[3]) for row in seeds] == [("parser", "4"), ("other", "2")]


def test_transfer_is_between_the_models_of_finished_attacks(
    study: Study, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["study_transfer.py", "--study", "made_up"]
    monkeypatch.setattr("sys.argv", given)
    with pytest.raises(SystemExit):
        study_transfer.main()
    assert "no attack of made_up is finished" in capsys.readouterr().err
    rows = (study.rows[0], study.rows[2])
    folders = [study.attacked(row, 0.15) for row in rows]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "summary.json").write_text("{}")
    commands = []

    def run(command: list[str]) -> None:
        commands.append(command)
        rate = {"estimate": 45.25, "lower": 40.0, "upper": 50.0}
        found = [[{"rate": rate, "given_success": given} for given in (None, 65.0)]] * 2
        out = Path(command[-1])
        out.mkdir(exist_ok=True)
        las = [[{"rate": {**rate, "estimate": 47.0}, "given_success": 70.0}] * 2] * 2
        (out / "transfer.json").write_text(json.dumps({"rates": {"uas": found, "las": las}}))

    monkeypatch.setattr(study_transfer, "run", run)
    study_transfer.main()
    targets = [str(row.folder / "last.ckpt") for row in rows]
    out = ["--out", str(study.home / "transfer")]
    assert commands == [["transfer", *map(str, folders), "--checkpoint", *targets, *out]]
    cell = "45.2 [40.0, 50.0]"
    assert cells(capsys.readouterr().out) == [
        [row.title, f"{cell} (-)", f"{cell} (65)"] for row in rows
    ]
    monkeypatch.setattr("sys.argv", [*given, "--score", "las"])
    study_transfer.main()
    cell = "47.0 [40.0, 50.0] (70)"
    assert cells(capsys.readouterr().out) == [[row.title, cell, cell] for row in rows]
    monkeypatch.setattr("sys.argv", [*given, "--score", "ucm"])
    with pytest.raises(SystemExit):
        study_transfer.main()
    assert "no score ucm: choose from uas, las" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("count", "level", "quantile"),
    [
        (2, 0.95, 12.7062),
        (3, 0.95, 4.3027),
        (4, 0.99, 5.8409),
        (5, 0.95, 2.7764),
        (6, 0.90, 2.0150),
        (31, 0.95, 2.0423),
    ],
)
def test_seeds_by_the_printed_quantiles_of_students_distribution(
    count: int, level: float, quantile: float
) -> None:
    values = [80.0 + seed**2 / count for seed in range(count)]
    mean = sum(values) / count
    variance = sum((value - mean) ** 2 for value in values) / (count - 1)
    found = mean_over_seeds(values, level=level)
    assert found.estimate == pytest.approx(mean)
    assert found.upper - mean == pytest.approx(quantile * math.sqrt(variance / count), rel=1e-4)
    assert mean - found.lower == pytest.approx(found.upper - mean)
    assert mean_over_seeds([7.0] * count, level=level) == Interval(7.0, 7.0, 7.0)


@pytest.mark.parametrize(("values", "level"), [([], 0.95), ([80.0], 0.95), ([80.0, 81.0], 1.0)])
def test_one_seed_has_no_interval(values: list[float], level: float) -> None:
    with pytest.raises(ValueError, match="two seeds"):
        mean_over_seeds(values, level=level)
