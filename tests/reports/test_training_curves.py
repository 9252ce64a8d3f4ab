"""Curves of training runs on the report's page."""

import json
from pathlib import Path

import pytest
from report_pages import example, parse, summary, write

from robustparse.errors import InputError
from robustparse.reports.curves import merge_plots
from robustparse.reports.page import build_report
from robustparse.reports.training import read_metrics, read_training

ROWS = """step,name,value
9,train/loss,2.5
9,clean/las,80.0
9,robust/las,60.0
9,robust/las@0,80.0
9,robust/las@5,70.0
9,robust/las@15,60.0
9,robust/uas@15,65.0
9,epoch,0.0
19,clean/las,82.0
19,robust/las,66.0
19,robust/las@0,82.0
19,robust/las@5,nan
19,robust/las@15,66.0
29,train/lo"""


def run(folder: Path, rows: str = ROWS) -> Path:
    folder.mkdir(parents=True)
    (folder / "metrics.csv").write_text(rows)
    return folder


def test_curves_by_step_and_by_budget(tmp_path: Path) -> None:
    plots = read_training(run(tmp_path / "a"), "a")
    assert [plot.y_label for plot in plots] == ["LAS, %", "LAS, %", "UAS, %", "LAS, %", "UAS, %"]
    over, by_budget, _, last, last_uas = plots
    lines = [(curve.name, curve.x, curve.y) for curve in over.curves]
    assert lines == [("clean", (9, 19), (80.0, 82.0)), ("attacked", (9, 19), (60.0, 66.0))]
    assert {curve.name: curve.x for curve in by_budget.curves} == {
        "0 %": (9, 19),
        "5 %": (9,),
        "15 %": (9, 19),
    }
    (curve,) = last.curves  # at step 19, where 5 % was not computed
    assert (curve.name, curve.x, curve.y) == ("a", (0.0, 15.0), (82.0, 66.0))
    assert (last_uas.curves[0].x, last_uas.curves[0].y) == ((15.0,), (65.0,))
    # Step 19 has no epoch: curves that stand at it have none at all.
    assert [curve.epochs for curve in (*over.curves, *by_budget.curves)] == [(), (), (), (0,), ()]


METRICS = {"clean/las": 90, "clean/uas": 92, "robust/las": 70, "robust/uas": 75}
METRICS |= {"robust/success": 40, "robust/queries": 11, "robust/las@5": 80, "robust/success@5": 20}


def trained(folder: Path, steps: int, epochs: int = 3) -> Path:
    """A run with this many steps an epoch; metrics rise by one each time."""
    rows = ["step,name,value"]
    for epoch in range(epochs):
        metrics = {name: value + epoch for name, value in METRICS.items()}
        metrics["epoch"] = epoch
        rows += [f"{steps * (epoch + 1) - 1},{name},{value}.0" for name, value in metrics.items()]
    return run(folder, "\n".join(rows) + "\n")


def test_every_measure_is_drawn_with_its_epochs(tmp_path: Path) -> None:
    training = read_training(trained(tmp_path / "a", 10), "a")
    assert [plot.title for plot in training] == [
        *("LAS over training", "UAS over training", "Success rate over training"),
        *("LAS over training, by edit budget", "Success rate over training, by edit budget"),
        "LAS against edit budget, last evaluation in training",
        "Success rate against edit budget, last evaluation in training",
    ]
    (success,) = training[2].curves
    assert (success.name, success.y) == ("attacked", (40.0, 41.0, 42.0))
    over_steps = [curve for plot in training[:5] for curve in plot.curves]
    assert {(curve.x, curve.epochs) for curve in over_steps} == {((9, 19, 29), (0, 1, 2))}
    assert merge_plots([("a", training)]) == list(training)


def test_runs_whose_epochs_end_elsewhere_have_a_plot_over_epochs_too(tmp_path: Path) -> None:
    runs = [
        (name, read_training(trained(tmp_path / name, steps), name))
        for name, steps in (("short", 10), ("again", 10), ("long", 20))
    ]
    alike = merge_plots(runs[:2])
    assert not any("epoch" in plot.title for plot in alike)
    steps, epochs = merge_plots(runs[::2])[4:6]
    assert (steps.title, epochs.title) == (
        *("Success rate over training", "Success rate over training, by epoch"),
    )
    assert [curve.x for curve in steps.curves] == [(9, 19, 29), (19, 39, 59)]
    assert [curve.x for curve in epochs.curves] == [(0, 1, 2), (0, 1, 2)]
    assert [curve.y for curve in epochs.curves] == [curve.y for curve in steps.curves]


def test_values_below_a_plot_have_their_epochs(tmp_path: Path) -> None:
    build_report([trained(tmp_path / "a", 10)], tmp_path / "r.html")
    html = (tmp_path / "r.html").read_text("utf-8")
    head = '<th scope="col">training step</th><th scope="col">epoch, from 0</th>'
    assert html.count(head) == 5
    row = '<th scope="row">attacked</th><td>19</td><td>1</td><td>76.00</td>'
    assert row in html
    assert '<th scope="row">a</th><td>5</td><td>82.00</td>' in html  # against the budget


def test_more_budgets_than_a_plot_has_lines(tmp_path: Path) -> None:
    rows = "".join(f"4,robust/las@{5 * i},{90 - i}\n" for i in range(11))
    by_budget, last = read_training(run(tmp_path / "a", f"step,name,value\n{rows}"), "a")
    names = [curve.name for curve in by_budget.curves]
    assert names == ["0 %", "10 %", "20 %", "30 %", "40 %", "50 %"]
    assert last.curves[0].x == tuple(5.0 * i for i in range(11))


def test_runs_come_on_one_page_with_attacks_or_without(tmp_path: Path) -> None:
    runs = [run(tmp_path / name) for name in ("plain", "robust")]
    build_report(runs, tmp_path / "runs.html")
    text = parse(tmp_path / "runs.html").text
    assert "Robustness report: plain, robust" in text
    assert text.count("LAS against edit budget, last evaluation in training") >= 1
    assert "plain: attacked" in text
    assert "Systems" not in text
    attacked = write(tmp_path / "attacked", summary(90, 80), [example(0)])
    (attacked / "metrics.csv").write_text(ROWS)
    build_report([attacked, *runs], tmp_path / "all.html")
    text = parse(tmp_path / "all.html").text
    assert "Robustness report: attacked, plain, robust" in text
    assert "Systems" in text
    assert "attacked: clean" in text


def test_a_run_without_robust_scores_says_so(tmp_path: Path) -> None:
    build_report([run(tmp_path / "a", "step,name,value\n1,train/loss,2.0\n")], tmp_path / "r.html")
    assert "No robust scores were logged" in parse(tmp_path / "r.html").text
    (tmp_path / "a" / "control.txt").write_text("robustparse fit --trainer.max_steps 9\n")
    build_report([tmp_path / "a"], tmp_path / "r.html")
    assert "robustparse fit --trainer.max_steps 9" in parse(tmp_path / "r.html").text


@pytest.mark.parametrize(
    ("rows", "line", "found"),
    [
        ("", None, "the file is empty"),
        ("epoch,loss\n1,2\n", 1, "expected step,name,value"),
        ("step,name,value\n1,loss\n2,loss,1\n", 2, "expected step, name and value"),
        ("step,name,value\n1,loss,1\nx,loss,1\n", 3, "expected step, name and value"),
    ],
)
def test_another_table_is_refused(tmp_path: Path, rows: str, line: int | None, found: str) -> None:
    folder = run(tmp_path / "a", rows)
    with pytest.raises(InputError, match=r"metrics\.csv") as error:
        read_training(folder, "a")
    assert error.value.line == line
    assert found in str(error.value)


def test_metrics_are_read_back(tmp_path: Path) -> None:
    metrics = read_metrics(run(tmp_path / "a") / "metrics.csv")
    assert metrics["train/loss"] == {9: 2.5}
    assert "robust/las@5" in metrics
    assert json.dumps(metrics["robust/las@5"]) == '{"9": 70.0}'
