"""Robustness curves of a whole run: in W&B's files, in metrics.csv, in pages and in the report."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from tiny_runs import fit, metrics, write_config

from robustparse.cli.main import main
from robustparse.data.sample.treebank import attack_lexicon
from robustparse.tracking.offline import _payloads, read_points, segments

SHIPPED = Path(__file__).parents[2] / "configs" / "experiment" / "ewt_biaffine_early_stopping.yaml"
BATCHES = 36  # of an epoch of the sample treebank
GAMMAS = [0.0, 0.05, 0.1, 0.15, 0.2]
AT = [f"robust/{name}@{100 * gamma:g}" for gamma in GAMMAS for name in ("uas", "las", "success")]
CURVES = [
    *("clean/uas", "clean/las", "robust/uas", "robust/las", "robust/success", "robust/queries"),
    *AT,
]


def attack(folder: Path) -> dict[str, Any]:
    path = folder / "lexicon.json"
    path.write_text(json.dumps(attack_lexicon(0)))
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
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
    main(fit(config, folder / "run"))
    main(fit(config, folder / "run", "--trainer.max_epochs", "3"))
    return folder / "run"


def run_files(run: Path) -> list[Path]:
    return segments(run, (run / "wandb_id").read_text().strip())


def points(run: Path) -> dict[str, dict[int, Any]]:
    """Figure -> step -> value, each there once."""
    found: dict[str, dict[int, Any]] = {}
    for path in run_files(run):
        for point in read_points(path):
            step = int(str(point.values["trainer/global_step"]))
            for name, value in point.values.items():
                of_name = found.setdefault(name, {})
                again = name.startswith("_") or name in ("trainer/global_step", "epoch")
                assert again or step not in of_name, name
                of_name[step] = value
    return found


def test_every_curve_has_a_point_an_epoch_in_wandb_and_in_the_csv(finished: Path) -> None:
    steps = [BATCHES * epoch - 1 for epoch in (1, 2, 3)]
    logged = points(finished)
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


def records(path: Path) -> Iterator[Any]:
    """All that a W&B log holds."""
    from wandb.proto import wandb_internal_pb2 as protocol

    for payload in _payloads(path.read_bytes()):
        record = protocol.Record()
        record.ParseFromString(payload)
        yield record


def test_wandb_draws_them_over_the_training_step(finished: Path) -> None:
    found = [record.metric for record in records(run_files(finished)[0])]
    axes = {metric.name or metric.glob_name: metric for metric in found}
    for name in ("robust/*", "clean/*", "robust/las"):
        assert axes[name].step_metric == "trainer/global_step"
    assert axes["robust/las"].summary.max


def test_wandb_can_draw_them_over_the_epoch(finished: Path) -> None:
    """A panel takes another axis from the figures of the same point alone."""
    rows = [point.values for path in run_files(finished) for point in read_points(path)]
    for name in CURVES:
        assert [row.get("epoch") for row in rows if name in row] == [0, 1, 2], name


def media(run: Path, key: str) -> list[tuple[Path, dict[str, Any]]]:
    """The tables logged under a key, with the folders that their files are relative to."""
    found = []
    for path in run_files(run):
        for point in read_points(path):
            value = {n.removeprefix(f"{key}."): v for n, v in point.values.items()}
            value = value if "path" in value else point.values.get(key)
            if isinstance(value, dict) and "path" in value:
                files = path.parent / "files"
                found.append((files, json.loads((files / str(value["path"])).read_text())))
    return found


def test_the_table_has_the_examples_with_their_edits(finished: Path) -> None:
    tables = media(finished, "robust/examples")
    assert len(tables) == 3
    for _, table in tables:
        assert table["columns"] == [
            *("sentence", "original", "adversarial", "edits", "LAS before", "LAS after", "trees")
        ]
        assert 0 < len(table["data"]) <= 4
        for _, original, adversarial, edits, before, after, _ in table["data"]:
            assert original != adversarial
            assert len(re.findall(r"\[[^ ]+\]", adversarial)) == edits > 0
            assert before >= after


def test_the_trees_are_in_the_tables_artifact_and_on_a_page(finished: Path) -> None:
    """Its cells are pictures, which a run's own copy of a table does not hold."""
    tables = media(finished, "robust/examples")
    artifacts = [
        record.artifact.manifest.contents
        for path in run_files(finished)
        for record in records(path)
        if "robustexamples" in record.artifact.name
    ]
    assert len(artifacts) == 3
    for contents, (_, table) in zip(artifacts, tables, strict=True):
        cells = [Path(e.local_path).read_text() for e in contents if e.path.endswith(".html")]
        assert len(cells) == len(table["data"])
        assert all(cell.count("<svg") == 1 for cell in cells)
        edits = sum(row[3] for row in table["data"])
        assert sum(cell.count("<mark>") for cell in cells) == 2 * edits
    step = 3 * BATCHES - 1
    page = run_files(finished)[-1].parent / "files" / points(finished)["robust/trees.path"][step]
    assert page.read_text().count("<figure") == len(tables[-1][1]["data"])
    written = finished / "adversarial_examples" / f"step_{step:08}.html"
    assert page.read_text() == written.read_text()


def test_the_curve_over_the_budgets_is_drawn(finished: Path) -> None:
    last = points(finished)
    step = 3 * BATCHES - 1
    (_, table) = media(finished, "robust/curve_table")[-1]
    drawn = {(row[1], row[0]): row[2] for row in table["data"]}
    for gamma in GAMMAS:
        for name in ("uas", "las"):
            expected = last[f"robust/{name}@{100 * gamma:g}"][step]
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
    settings = yaml.safe_load(SHIPPED.read_text())
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
