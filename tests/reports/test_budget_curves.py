"""Attacks on one parser at several budgets become a curve; others do not."""

import json
from pathlib import Path
from typing import Any

import pytest
from report_pages import example, parse, summary, write

from robustparse.errors import InputError
from robustparse.reports.attacked_systems import read_folder
from robustparse.reports.curves import with_budget_curves
from robustparse.reports.page import build_report, saved_of
from robustparse.reports.summary import summarize
from robustparse.reports.tables import MISSING


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
    systems = with_budget_curves([read_folder(f, f.name) for f in folders])
    plots = [plot for system in systems for plot in system.plots]
    return [(curve.name, curve.x, curve.y) for plot in plots for curve in plot.curves]


def summary_of(*folders: Path) -> str:
    """What the page says about the systems, the first of which is compared with the others."""
    return summarize([read_folder(folder, folder.name) for folder in folders])


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
    assert "LAS against edit budget, by attack" in parse(tmp_path / "r.html").text


@pytest.mark.parametrize(
    ("victims", "name"),
    [(["my_parsers.tagger"], "my_parsers.tagger"), ([], "b")],
)
def test_a_victim_that_is_no_file_names_its_curve_else_the_folder_does(
    tmp_path: Path, victims: Any, name: str
) -> None:
    folders = [
        attacked(tmp_path / at, gamma, 60.0, victims=victims)
        for at, gamma in (("a", 0.05), ("b", 0.1))
    ]
    assert [curve[0] for curve in curves(folders)] == [name]


def test_a_lone_budget_and_other_settings_are_no_curve(tmp_path: Path) -> None:
    folders = [
        attacked(tmp_path / "a", 0.05, 80.0),
        attacked(tmp_path / "b", 0.15, 60.0, seed=1),
        attacked(tmp_path / "c", 0.20, None),
    ]
    assert curves(folders) == []


@pytest.mark.parametrize("content", [None, "{}", '{"settings": {}}'])
def test_folders_that_do_not_say_how_they_were_made(tmp_path: Path, content: str | None) -> None:
    folders = [attacked(tmp_path / name, 0.1, 80.0) for name in ("a", "b")]
    for folder in folders:
        (folder / "run.json").unlink()
        if content is not None:
            (folder / "run.json").write_text(content)
    assert curves(folders) == []


@pytest.mark.parametrize("content", ["{", "[]", '{"settings": 5}', '{"settings": null}'])
def test_broken_files_that_say_how_a_folder_was_made(tmp_path: Path, content: str) -> None:
    folder = attacked(tmp_path / "a", 0.1, 80.0)
    (folder / "run.json").write_text(content)
    with pytest.raises(InputError) as error:
        curves([folder])
    assert error.value.path == str(folder / "run.json")


DATA = {"checkpoint": "1f", "data": "2e"}
OTHER = {**DATA, "checkpoint": "5b"}


@pytest.mark.parametrize(
    ("changes", "compared"),
    [
        ({"victims": ["runs/robust/last.ckpt"]}, True),
        ({"decoder": "eisner", "data": "elsewhere/test.conllu"}, True),
        ({"seed": 1}, False),
        ({"limit": 100}, False),
        ({"fraction": 0.5}, False),
        ({"fraction_of": "tokens"}, False),
        ({"settings": {"init_args": {"goal": {"class_path": "AttachmentDrop"}}}}, False),
        ({"sha256": {**OTHER, "data": "3d"}}, False),
        ({"gamma": 0.05}, False),
    ],
    ids=str,
)
def test_only_parsers_under_the_same_attack_are_compared(
    tmp_path: Path, changes: dict[str, Any], compared: bool
) -> None:
    first = attacked(tmp_path / "first", 0.15, 70.0, sha256=DATA)
    run = {"gamma": 0.15, "sha256": OTHER, **changes}
    other = attacked(tmp_path / "other", run.pop("gamma"), 80.0, **run)
    text = summary_of(first, other)
    assert ("“other” wins back 50 % of what “first” loses" in text) == compared
    assert ("so their scores cannot be compared." in text) != compared


def test_a_folder_that_does_not_say_is_compared_by_attack_and_size(tmp_path: Path) -> None:
    folders = [attacked(tmp_path / name, 0.15, las) for name, las in (("a", 70.0), ("b", 80.0))]
    (folders[1] / "run.json").unlink()
    assert "“b” wins back 50 %" in summary_of(*folders)
    better = summary(95.0, 80.0)
    (folders[1] / "summary.json").write_text(json.dumps(better))
    gains = ", its gain on the original sentences included, and loses 15.0 points instead of 20.0."
    assert gains in summary_of(*folders)
    smaller = {**summary(90.0, 80.0), "n_words": 25093}
    (folders[1] / "summary.json").write_text(json.dumps(smaller))
    assert "cannot be compared" in summary_of(*folders)
    # Two that do say, and not the same, cannot be compared next to one that does not.
    (folders[1] / "summary.json").write_text(json.dumps(summary(90.0, 80.0)))
    third = attacked(tmp_path / "c", 0.05, 85.0)
    assert "cannot be compared" in summary_of(*folders, third)


def test_attacks_on_one_model_are_compared_on_the_same_sentences(tmp_path: Path) -> None:
    mild = attacked(tmp_path / "mild", 0.1, 80.0, sha256=DATA)
    strong = attacked(tmp_path / "strong", 0.2, 60.0, seed=1, sha256=DATA)
    said = "Of these attacks “strong” costs the model most."
    assert summary_of(mild, strong).endswith(
        f"{said} On the original sentences “strong” has LAS 90.0, on the perturbed ones 60.0; "
        "45 % of the sentences got worse."
    )
    assert summary_of(strong, mild).endswith(said)
    rows = [read_folder(folder, folder.name) for folder in (mild, strong)]
    assert saved_of(rows) == []  # only one model
    other = read_folder(attacked(tmp_path / "other", 0.1, 85.0, sha256=OTHER), "other")
    assert [cell[:5] for cell in saved_of([rows[0], other])] == [MISSING, "0.0 ["]  # equal answers
    (strong / "examples.jsonl").write_text(json.dumps(example(1)) + "\n")
    assert "cannot be compared" in summary_of(mild, strong)


def test_models_are_counted_not_attacks_on_them(tmp_path: Path) -> None:
    folders = [
        attacked(tmp_path / str(gamma), gamma, 80.0 - gamma, sha256=DATA) for gamma in (0.1, 0.2)
    ]
    assert "One model was attacked" in summary_of(*folders)
    other = attacked(tmp_path / "b", 0.1, 60.0, sha256={**DATA, "checkpoint": "5b"})
    assert "Two models were attacked" in summary_of(*folders, other)
    (other / "run.json").unlink()
    assert "Two models were attacked" in summary_of(*folders, other)


def test_others_that_do_no_better_are_named_by_their_number(tmp_path: Path) -> None:
    folders = [attacked(tmp_path / name, 0.1, las) for name, las in (("a", 70.0), ("b", 60.0))]
    assert "The other one does not do better under attack." in summary_of(*folders)
    third = attacked(tmp_path / "c", 0.1, 65.0)
    assert "None of the others does better under attack." in summary_of(*folders, third)
