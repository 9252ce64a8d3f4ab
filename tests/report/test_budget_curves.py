"""Attacks of one parser at several budgets become a curve; others do not."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_page import example, parse, summary, write

from robustparse.report.budgets import with_budget_curves
from robustparse.report.folders import read_folder
from robustparse.report.page import build_report


def attacked(folder: Path, gamma: float, las: float | None, **changes: Any) -> Path:
    search = {"class_path": "Zheng2020", "init_args": {"gamma": gamma, "psi": 50}}
    run = {
        "attack": "zheng2020",
        "victims": ["runs/robust/best.ckpt"],
        "settings": {"init_args": {"search": search}},
        "seed": 0,
        **changes,
    }
    write(folder, summary(90.0, las), [example(0)])
    (folder / "run.json").write_text(json.dumps(run))
    return folder


def curves(folders: list[Path]) -> list[tuple[str, tuple[float, ...], tuple[float, ...]]]:
    systems = with_budget_curves([read_folder(f, f.name) for f in folders], folders)
    plots = [plot for system in systems for plot in system.plots]
    return [(curve.name, curve.x, curve.y) for plot in plots for curve in plot.curves]


def test_budgets_of_one_parser_are_one_curve_from_the_clean_score(tmp_path: Path) -> None:
    folders = [
        attacked(tmp_path / "c", 0.15, 60.0),
        attacked(tmp_path / "a", 0.05, 80.0),
        attacked(tmp_path / "other", 0.05, 85.0, victims=["runs/clean/best.ckpt"]),
        attacked(tmp_path / "b", 0.10, 70.0),
        attacked(tmp_path / "other15", 0.15, 65.0, victims=["runs/clean/best.ckpt"]),
    ]
    assert curves(folders) == [
        ("robust", (0.0, 5.0, 10.0, 15.0), (90.0, 80.0, 70.0, 60.0)),
        ("clean", (0.0, 5.0, 15.0), (90.0, 85.0, 65.0)),
    ]
    build_report(folders, tmp_path / "r.html")
    assert "LAS against edit budget, by attack" in " ".join(parse(tmp_path / "r.html").texts)


def test_a_lone_budget_and_other_settings_are_no_curve(tmp_path: Path) -> None:
    folders = [
        attacked(tmp_path / "a", 0.05, 80.0),
        attacked(tmp_path / "b", 0.15, 60.0, seed=1),
        attacked(tmp_path / "c", 0.20, None),
    ]
    assert curves(folders) == []


@pytest.mark.parametrize("content", [None, "{", "[]", '{"settings": 5}', '{"settings": null}'])
def test_folders_that_do_not_say_how_they_were_made(tmp_path: Path, content: str | None) -> None:
    folders = [attacked(tmp_path / name, 0.1, 80.0) for name in ("a", "b")]
    for folder in folders:
        (folder / "run.json").unlink()
        if content is not None:
            (folder / "run.json").write_text(content)
    assert curves(folders) == []
