"""Scores on perturbed texts on the page: a table a measure, differences of as many texts."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from report_pages import Json, curves, example, parse, summary, write

from robustparse.errors import InputError
from robustparse.evaluation.finished_folders import read_scores
from robustparse.evaluation.records import ScoresRecord
from robustparse.reports.evaluation_tables import (
    evaluated_tables,
    pairs_tables,
    summarize_pairs,
)
from robustparse.reports.export import export
from robustparse.reports.page import build_report, read_contents
from robustparse.tasks.registry import named

MEASURES = ("standard_accuracy", "perturbation_accuracy", "robust_accuracy")


def one(rows: int, *values: float | None, black_box: float | None = None) -> Json:
    named = dict(zip(MEASURES, values, strict=True))
    return {"rows": rows, **named, "blackbox_success_rate": black_box}


def scores(whole: float, **files: Json) -> Json:
    return {"task": "semantic", "exact_match": whole, "perturbed_files": files}


THREE = {"exact_match": 1.0, "tranx_match": 1.0, "string_match": 1.0}
TREES = {"task": "dependency", "uas": 92.5, "las": 90.0}
CLEAN = scores(
    90.0,
    deletion=one(10, 80.0, 70.0, 75.0),
    insertion=one(20, 90.0, 60.0, None),
    micro=one(30, 86.5, 63.5, 75.0),
    macro=one(30, 85.0, 65.0, 75.0),
)
OTHER = scores(
    92.5,
    deletion=one(9, 80.0, 75.0, 80.0),
    insertion=one(20, 90.0, 85.25, 90.0),
    micro=one(29, 86.5, 82.5, 85.0),
    macro=one(29, 85.0, 80.5, 85.0),
)


def write_scores(folder: Path, found: Any) -> Path:
    folder.mkdir()
    (folder / "scores.json").write_text(json.dumps(found))
    return folder


def test_rows_of_both_systems_and_what_differs(tmp_path: Path) -> None:
    folders = [write_scores(tmp_path / "a", CLEAN), write_scores(tmp_path / "b", OTHER)]
    systems = [read_scores(folder, folder.name) for folder in folders]
    standard, perturbed, robust = pairs_tables(systems)
    assert [table.title for table in (standard, perturbed, robust)] == [
        *("Standard accuracy", "Perturbation accuracy", "Robust accuracy"),
    ]
    assert perturbed.heads == ("Operation", "a", "b", "Difference")
    # Of as many texts only; the number of texts where it is one.
    assert standard.rows[0] == ("all texts", ["90.0", "92.5", "+2.5"])
    assert perturbed.rows == [
        ("deletion", ["70.0", "75.0", "\N{EN DASH}"]),
        ("insertion (20)", ["60.0", "85.2", "+25.2"]),
        ("micro", ["63.5", "82.5", "\N{EN DASH}"]),
        ("macro", ["65.0", "80.5", "\N{EN DASH}"]),
    ]
    assert robust.rows[1] == ("insertion (20)", ["\N{EN DASH}", "90.0", "\N{EN DASH}"])
    build_report(folders, tmp_path / "r.html")
    page = parse(tmp_path / "r.html")
    assert page.tags.count("table") == 3
    costs = "“a” 20.0 points (85.0 to 65.0), “b” 4.5 points (85.0 to 80.5)."
    assert f"On average over operations, perturbing the texts costs {costs}" in page.text
    names = [path.name for path in export(read_contents(folders), tmp_path / "export")]
    assert names == [
        f"perturbed-texts-{name}-accuracy.tex" for name in ("standard", "perturbation", "robust")
    ]


def test_scores_of_data_as_they_are_and_under_operations(tmp_path: Path) -> None:
    noisy = {"typos": {"uas": 80.25, "las": None, "changed_words": 9.0}}
    parser = write_scores(tmp_path / "parser", {**TREES, "perturbed": noisy})
    other = write_scores(tmp_path / "other", TREES)
    forms = write_scores(tmp_path / "forms", {**CLEAN, **THREE, "perturbed": {}})
    both = write_scores(tmp_path / "both", {**CLEAN, **THREE, "perturbed": {"typos": THREE}})
    contents = build_report([parser, other, forms, both], tmp_path / "r.html")
    assert contents.unread == []
    assert [one.name for one in contents.pairs] == ["forms", "both"]
    trees, of_forms = evaluated_tables(contents.evaluated)
    assert trees.heads == ("Scored", "UAS", "LAS")
    assert trees.rows == [
        ("parser", ["92.5", "90.0"]),
        ("parser, typos", ["80.2", "\N{EN DASH}"]),
        ("other", ["92.5", "90.0"]),
    ]
    assert [name for name, _ in of_forms.rows] == ["both", "both, typos"]
    page = parse(tmp_path / "r.html")
    assert "Evaluations" in page.text
    assert "parser, typos" in page.text
    names = [path.name for path in export(contents, tmp_path / "export")]
    assert names[-2:] == ["scores-dependency.tex", "scores-semantic.tex"]


def test_beside_an_attack(tmp_path: Path) -> None:
    """A folder may hold both, or scores without perturbed texts."""
    both = write(tmp_path / "both", summary(90, 80), [*map(example, range(4))], curves("both"))
    (both / "scores.json").write_text(json.dumps(CLEAN))
    plain = write_scores(tmp_path / "plain", {"task": "semantic", **THREE})
    assert [each.name for each in build_report([both, plain], tmp_path / "r.html").pairs] == [
        "both"
    ]
    text = parse(tmp_path / "r.html").text
    assert "Perturbed texts" in text
    assert "Difference" not in text
    assert "zheng2020_blackbox" in text


@pytest.mark.parametrize(
    "found", [{"task": "semantic", "perturbed_files": {"x": {"rows": 1}}}, scores(1.0, x=[1])]
)
def test_a_malformed_file_is_named(found: Json, tmp_path: Path) -> None:
    folder = write_scores(tmp_path / "a", found)
    with pytest.raises(InputError) as error:
        build_report([folder], tmp_path / "r.html")
    assert error.value.path == str(folder / "scores.json")


@pytest.mark.parametrize(
    ("run", "noted"),
    [
        ({"victims": ["a.ckpt"], "data": "x.tsv"}, False),
        ({"victims": ["a.ckpt"]}, False),
        ({"victims": ["b.ckpt"], "data": "x.tsv"}, True),
        ({"victims": ["a.ckpt"], "data": ["x.tsv", "y.tsv"]}, True),
    ],
)
def test_scores_of_another_system_than_the_attack_are_noted(
    run: Json, noted: bool, tmp_path: Path
) -> None:
    folder = write(tmp_path / "both", summary(90, 80), [example(0)], curves("both"))
    of = {"checkpoints": ["a.ckpt"], "data": "x.tsv"}
    (folder / "scores.json").write_text(json.dumps({**of, **TREES}))
    known = json.loads((folder / "run.json").read_text()) if (folder / "run.json").exists() else {}
    (folder / "run.json").write_text(json.dumps({**known, **run}))
    shown = build_report([folder], tmp_path / "r.html")
    assert [text.partition(":")[0] for text in shown.unread] == [
        str(folder / "scores.json")
    ] * noted
    assert len(shown.scored) == len(shown.systems) == 1


def test_a_damaged_file_has_one_message(tmp_path: Path) -> None:
    """The folder is not also told that it holds no attack."""
    damaged = write_scores(tmp_path / "a", {})
    (damaged / "scores.json").write_text("{")
    attacked = write(tmp_path / "both", summary(90, 80), [example(0)], curves("both"))
    (attacked / "scores.json").write_text("{")
    shown = build_report(
        [write_scores(tmp_path / "b", CLEAN), damaged, attacked], tmp_path / "r.html"
    )
    assert [text.partition(":")[0] for text in shown.unread] == [
        str(folder / "scores.json") for folder in (damaged, attacked)
    ]
    assert [system.name for system in shown.systems] == ["both"]
    (damaged / "scores.json").write_text('{"task": "semantic"}')  # none of its scores
    shown = build_report([attacked, damaged], tmp_path / "r.html")
    assert [text.partition(":")[0] for text in shown.unread] == [
        str(path / "scores.json") for path in (attacked, damaged)
    ]


@pytest.mark.parametrize(
    ("standard", "perturbed", "said"),
    [
        (85.0, 65.0, "perturbing the texts costs “a” 20.0 points (85.0 to 65.0)."),
        (85.0, None, ""),
        (None, 65.0, ""),
    ],
)
def test_what_perturbing_costs_is_said_where_both_scores_are_known(
    standard: float | None, perturbed: float | None, said: str
) -> None:
    files = {"macro": one(30, standard, perturbed, None)}
    system = ScoresRecord(named("semantic"), {"exact_match": 90.0}, {}, files, name="a")
    assert summarize_pairs([system]).removeprefix("On average over operations, ") == said


def write_perturbed(folder: Path, rights: list[tuple[bool, bool]], text: str = "b c") -> Path:
    """Write a folder of `evaluate`, whose answers are right as listed (original, perturbed)."""
    write_scores(folder, CLEAN)
    lines = [
        {
            "operation": "deletion" if number < 4 else "insertion",
            "row": number + 1,
            "tokens": text.split(),
            "right": after,
            "original": {"tokens": ["a", "b", "c"], "right": before},
        }
        for number, (before, after) in enumerate(rights)
    ]
    (folder / "perturbed.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return folder


def test_adversaries_that_all_systems_share(tmp_path: Path) -> None:
    both = [*itertools.product([False, True], repeat=2)]
    pairs = [*itertools.product(both, repeat=2)]  # of two systems, each case once
    folders = [
        write_perturbed(tmp_path / name, [pair[at] for pair in pairs])
        for at, name in enumerate(("a", "b"))
    ]
    contents = build_report(folders, tmp_path / "r.html")
    (section,) = contents.of_evaluated
    (table,) = section.tables
    assert table.heads[2:4] == ("a", "b")
    # Wrong after a right answer is case 2 of the 4: once for a pair of systems, in 7 pairs for any.
    # The first four pairs, where a is wrong on the original, are those of the deletion.
    assert table.rows == [
        ("deletion", ["4", "0", "1", "1", "0", "0.0"]),
        ("insertion", ["12", "4", "3", "6", "1", "100.0"]),
        ("all texts", ["16", "4", "4", "7", "1", "100.0"]),
    ]
    assert "Shared adversaries" in parse(tmp_path / "r.html").text
    other = write_perturbed(tmp_path / "c", [(True, False)] * 16, text="c b")
    contents = build_report([folders[0], other], tmp_path / "s.html")
    assert contents.of_evaluated == []
    assert [each.startswith(f"{other}/perturbed.jsonl") for each in contents.unread] == [True]
    assert build_report(folders[:1], tmp_path / "t.html").of_evaluated == []
    damaged = folders[1] / "perturbed.jsonl"
    damaged.write_text(damaged.read_text() + "{}\n")
    (unread,) = build_report(folders, tmp_path / "u.html").unread
    assert unread.startswith(f"{damaged}:17")
