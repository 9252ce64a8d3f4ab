"""Robustness curves of a whole run: in W&B, in metrics.csv, in pages and in the report."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from tiny_runs import fit, metrics, write_config

from robustparse.cli.main import main
from robustparse.data.sample.treebank import treebank_lexicon
from robustparse.tracking.wandb import STEP
from small_runs import configuration
from wandb_runs import Runs, wandb_runs

SHIPPED = "experiment/ewt_biaffine_early_stopping"
BATCHES = 36  # of an epoch of the sample treebank
GAMMAS = [0.0, 0.05, 0.1, 0.15, 0.2]
AT = [f"robust/{name}@{100 * gamma:g}" for gamma in GAMMAS for name in ("uas", "las", "success")]
CURVES = [
    *("clean/uas", "clean/las", "robust/uas", "robust/las", "robust/success", "robust/queries"),
    *AT,
]


def attack(folder: Path) -> dict[str, Any]:
    path = folder / "lexicon.json"
    path.write_text(json.dumps(treebank_lexicon(0)))
    return {
        "class_path": "robustparse.attacks.Attack",
        "init_args": {
            "goal": {"class_path": "robustparse.attacks.AttachmentDrop"},
            "candidates": {
                "class_path": "robustparse.attacks.Lexicon",
                "init_args": {"table": str(path)},
            },
            "search": {"class_path": "robustparse.attacks.Zheng2020"},
        },
    }


def monitor(folder: Path, **settings: Any) -> dict[str, Any]:
    given = {"attack": attack(folder), "sentences": 12, "gammas": GAMMAS, "examples": 4}
    return {
        "class_path": "robustparse.defenses.RobustnessEvaluation",
        "init_args": {**given, **settings},
    }


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Runs]:
    """A run of three epochs, evaluated after each, stopped after the second and resumed."""
    folder = tmp_path_factory.mktemp("curves")
    logger = {"class_path": "robustparse.tracking.WandbLogger"}
    config = write_config(
        *(folder / "run.yaml", [monitor(folder)]),
        **{"logger": logger, "max_steps": -1, "max_epochs": 2, "limit_val_batches": 0},
    )
    settings = yaml.safe_load(config.read_text())
    # Trained well enough after an epoch that an attack can do some harm.
    settings["model"]["init_args"]["optimization"] = {"schedule": "constant", "learning_rate": 0.02}
    config.write_text(yaml.safe_dump(settings))
    with wandb_runs() as runs:
        main(fit(config, folder / "run"))
        main(fit(config, folder / "run", "--trainer.max_epochs", "3"))
    assert {run.given["id"] for run in runs} == {(folder / "run" / "wandb_id").read_text().strip()}
    return folder / "run", runs


@pytest.fixture
def finished(trained: tuple[Path, Runs]) -> Path:
    return trained[0]


@pytest.fixture
def logged(trained: tuple[Path, Runs]) -> dict[str, dict[int, Any]]:
    """Metric -> step -> value, each there once."""
    found: dict[str, dict[int, Any]] = {}
    for values in (values for run in trained[1] for values in run.logged):
        for name, value in values.items():
            assert name in (STEP, "epoch") or values[STEP] not in found.get(name, {}), name
            found.setdefault(name, {})[values[STEP]] = value
    return found


def test_every_curve_has_a_point_an_epoch_in_wandb_and_in_the_csv(
    finished: Path, logged: dict[str, dict[int, Any]]
) -> None:
    steps = [BATCHES * epoch - 1 for epoch in (1, 2, 3)]
    table: dict[str, dict[int, float]] = {}
    for step, name, value in metrics(finished)[1:]:
        table.setdefault(name, {})[int(step)] = float(value)
    for name in CURVES:
        assert list(logged[name]) == steps, name
        assert logged[name] == pytest.approx(table[name])
    assert [logged["epoch"][step] for step in steps] == [0, 1, 2]
    for step in steps:
        assert logged["robust/las@0"][step] == logged["clean/las"][step]
        assert logged["robust/las@15"][step] == logged["robust/las"][step]
        assert logged["robust/las@0"][step] > logged["robust/las@20"][step]
    assert list(logged["train/loss"]) == list(range(3 * BATCHES))


def test_wandb_can_draw_them_over_the_epoch(trained: tuple[Path, Runs]) -> None:
    """A panel can only use another axis whose value is in the same point."""
    rows = [values for run in trained[1] for values in run.logged]
    for name in CURVES:
        assert [row.get("epoch") for row in rows if name in row] == [0, 1, 2], name


def test_the_table_has_the_examples_with_their_edits(
    finished: Path, logged: dict[str, dict[int, Any]]
) -> None:
    assert len(logged["robust/examples"]) == 3
    for step, table in logged["robust/examples"].items():
        assert 0 < len(table.data) <= 4
        for _, original, adversarial, edits, before, after, picture in table.data:
            assert original != adversarial
            assert len(re.findall(r"\[[^ ]+\]", adversarial)) == edits > 0
            assert before >= after
            assert picture.html.count("<svg") == 1
            assert picture.html.count("<mark>") == 2 * edits
        page = logged["robust/answers"][step].html
        assert page.count("<figure") == len(table.data)
        assert page == (finished / "adversarial_examples" / f"step_{step:08}.html").read_text()


def test_the_curve_over_the_budgets_is_drawn(logged: dict[str, dict[int, Any]]) -> None:
    step = 3 * BATCHES - 1
    drawn = {(row[1], row[0]): row[2] for row in logged["robust/curve"][step].table.data}
    for gamma in GAMMAS:
        for name in ("uas", "las"):
            expected = logged[f"robust/{name}@{100 * gamma:g}"][step]
            assert drawn[name.upper(), 100 * gamma] == pytest.approx(expected, abs=1e-4)


def test_pages_and_report_show_them_without_wandb(finished: Path, tmp_path: Path) -> None:
    pages = sorted((finished / "adversarial_examples").iterdir())
    assert [page.name for page in pages] == [
        f"step_{BATCHES * epoch - 1:08}.html" for epoch in (1, 2, 3)
    ]
    assert all("<svg" in page.read_text() for page in pages)
    main(["report", str(finished), "--out", str(tmp_path / "report.html")])
    report = (tmp_path / "report.html").read_text()
    for title in ("LAS over training", "by edit budget", "LAS against edit budget"):
        assert title in report
    assert "<td>107</td>" in report


def edited(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    settings = configuration(SHIPPED)
    change(settings)
    path.write_text(yaml.safe_dump(settings))
    return path


def test_the_shipped_early_stopping_goes_by_the_robust_score(tmp_path: Path) -> None:
    """On the sample treebank, from scratch, without learning: patience ends it."""
    run = tmp_path / "run"

    def small(settings: dict[str, Any]) -> None:
        adversary, evaluation, stop, best = settings["trainer"]["callbacks"]
        assert stop["init_args"]["monitor"] == best["init_args"]["monitor"] == "robust/las"
        adversary["init_args"]["fraction"] = 0.1
        evaluation["init_args"] |= {"attack": attack(tmp_path), "sentences": 5}
        stop["init_args"]["patience"] = 2
        settings["trainer"] |= {"default_root_dir": str(run), "accelerator": "cpu"}
        settings["trainer"] |= {"enable_progress_bar": False, "enable_model_summary": False}
        sizes = {"word_dim": 8, "character_dim": 0, "hidden": 8, "layers": 1}
        settings["model"]["init_args"]["encoder"]["init_args"] = sizes
        settings["model"]["init_args"] |= {"arc_dim": 8, "label_dim": 6, "init_from": None}
        settings["model"]["init_args"]["optimization"] = {"learning_rate": 1e-12}
        settings["data"]["init_args"] |= {"folder": "sample"}

    main(["fit", "--config", str(edited(tmp_path / "c.yaml", small))])
    scores = [float(value) for _, name, value in metrics(run)[1:] if name == "robust/las"]
    best = scores.index(max(scores))
    assert len(scores) == best + 3 < 100
    held = torch.load(run / "best.ckpt", weights_only=True)
    assert held["global_step"] * len(scores) == (best + 1) * last_step(run)
    assert (run / "last.ckpt").exists()


def last_step(run: Path) -> int:
    return int(torch.load(run / "last.ckpt", weights_only=True)["global_step"])
