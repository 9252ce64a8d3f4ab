"""The tables of the results: one worked out by hand, and what the page shows of all."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import study_cells
from robustparse.evaluation import significance
from robustparse.evaluation.significance import paired_bootstrap
from studies import STUDIES
from study_cells import las_attacked, minutes, relative_speed, success, uas_attacked
from study_figures import copulas, kept, result
from study_origin import without_origin
from study_rows import ROOT, Row, Study
from study_tables import (
    TEXTFOOLER,
    ablations,
    adversarial_training,
    copies,
    defenses,
    markdown,
    table,
)


def test_every_kept_result_belongs_to_a_row() -> None:
    known = {result(name, one, *case) for name, one in STUDIES.items() for case in one.cases}
    assert set((ROOT / "bench" / "results").glob("*.json")) <= known


PAGE = (ROOT / "docs" / "results.md").read_text("utf-8").splitlines()


@pytest.mark.parametrize("name", STUDIES)
def test_the_page_shows_every_finished_row(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the bounds of intervals, of 10,000 draws each: the next test looks at some."""
    for module in (significance, study_cells):
        monkeypatch.setattr(module, "paired_bootstrap", partial(paired_bootstrap, draws=1))
    study = STUDIES[name]
    printed = [without_bounds(row) for row in table(name, study).splitlines()]
    assert len(printed) == 2 + len(kept(name, study))
    page = set(map(without_bounds, PAGE))
    shown = printed if kept(name, study) else []
    assert [row for row in shown if row not in page] == []


def without_bounds(row: str) -> str:
    return re.sub(r" \[\S+, \S+\]", "", row)


def test_the_page_shows_the_bounds_of_intervals() -> None:
    """Those of one defense, compared with the clean parser and the control."""
    rows = kept("defenses_word_character", STUDIES["defenses_word_character"])[::2][:3]
    columns = defenses(rows, rows[0]["row"], rows[1]["row"])
    *_, row = markdown(columns, rows).splitlines()
    assert row.count("[") == 5
    assert row in PAGE


def test_a_run_that_was_stopped_has_no_time() -> None:
    assert minutes({"training_seconds": 90.0}) == "1.5"
    assert minutes({"training_seconds": None}) == "-"


def test_words_a_second_are_steps_a_second_of_the_controls() -> None:
    control, stopped = ({"steps": 12, "training_seconds": seconds} for seconds in (60.0, None))
    slow = {"steps": 5, "training_seconds": 50.0}  # a tenth of a step a second beside a fifth
    assert relative_speed(slow, control) == "0.50"
    assert relative_speed(control, control) == "1.00"
    assert relative_speed(stopped, control) == relative_speed(slow, stopped) == "-"


def test_scores_under_attack_have_intervals_where_their_parts_were_counted() -> None:
    """Five labels and six heads of ten in each sentence, so that every draw gives the same."""
    row = made_up("clean", 9, 5)
    assert (uas_attacked(row), las_attacked(row)) == ("0.00", "50.00 [50.00, 50.00]")
    row["counts"]["correct_heads"] = {"clean": [9] * 3, "attacked": [6] * 3}
    assert uas_attacked(row) == "60.00 [60.00, 60.00]"


def made_up(name: str, clean: int, attacked: int) -> dict[str, Any]:
    """Figures of a row with 3 sentences of 10 words, of which these are right."""
    return {
        "row": name,
        "title": name,
        "attack": "zheng2020_blackbox",
        "counts": {"words": [10] * 3, "clean": [clean] * 3, "attacked": [attacked] * 3},
        "clean": {"uas": 0.0, "las": 10.0 * clean},
        "attacked": {"uas": 0.0, "las": 10.0 * attacked},
        "success_rate": 100.0,
        "n_sentences": 3,
        "edits_per_sentence": 1.5,
        "static": None,
        "steps": 7,
        "training_seconds": 60.0,
    }


def test_a_defense_is_compared_with_what_the_first_row_loses(tmp_path: Path) -> None:
    """All sentences are alike, so that every draw of them gives the same figures."""
    cases = tuple(Row(name, name, home=tmp_path) for name in ("clean", "control", "defended"))
    study = Study(cases)
    study.results.mkdir()
    for row, right in zip(cases, ((9, 5), (9, 6), (8, 8)), strict=True):
        figures = made_up(row.name, *right)
        figures |= {"gamma": 0.15, "training_seconds": 80.0 if row.name == "defended" else 60.0}
        result("made up", study, row, 0.15).write_text(json.dumps(figures))
    rows = [line.strip("| ").split(" | ") for line in table("made up", study).splitlines()[2:]]
    assert [row[5] for row in rows] == ["50.00", "60.00", "80.00"]
    # Of 10 words in each sentence the clean parser loses four, the control three, the defense none.
    assert [row[8:10] for row in rows] == [
        [exact(40), "-"],
        [exact(30), exact(-10)],
        [exact(0), exact(-40)],
    ]
    # The control wins back one of the four, the defense three.
    assert [row[10:12] for row in rows] == [
        ["-", "-"],
        [exact(25), "-"],
        [exact(75), exact(50)],
    ]
    assert [row[12:] for row in rows] == [
        ["-", "-", "-"],
        ["7", "1.0", "1.00"],
        ["7", "1.3", "0.75"],
    ]


def exact(value: float) -> str:
    """What the tables show where every draw of sentences gives the same."""
    return f"{value:.1f} [{value:.1f}, {value:.1f}]"


RIGHT = ((9, 5), (9, 6), (8, 7))


@pytest.mark.parametrize("equal_steps", [True, False])
def test_copies_are_compared_with_clean_training_of_equal_steps(equal_steps: bool) -> None:
    """Rows that are not finished leave the others' comparisons as they are."""
    names = ["clean", "equal", "copied"]
    rows = [made_up(name, *right) for name, right in zip(names, RIGHT, strict=True)]
    rows[2]["static"] = {"uas": 91.25, "las": 90.0}
    for row, right in zip(rows, (6, 7, 8), strict=True):
        row["clean"]["uas"], row["attacked"]["uas"] = 90.0, 10.0 * right
    for row in rows[:2]:  # the last one is of a time when only sums were kept
        heads = round(row["attacked"]["uas"] / 10)
        row["counts"]["correct_heads"] = {"clean": [9] * 3, "attacked": [heads] * 3}
    rows = rows if equal_steps else [rows[0], rows[2]]
    lines = markdown(copies(rows, ["another", "anothers", "its copies", *names]), rows)
    shown = [line.strip("| ").split(" | ")[8:] for line in lines.splitlines()[2:]]
    first = [exact(30), "-", exact(40), "-", "-", "-", "-"]
    second = [exact(20), exact(10), exact(30), exact(-10), exact(10), "-", "-"]
    last = ["10.0", "20.0", exact(10), exact(-30), exact(20)]
    last += [exact(10) if equal_steps else "-", "91.25 / 90.00"]
    assert shown == [first, *([second] if equal_steps else []), last]


def test_the_candidates_shown_are_those_that_the_last_filter_leaves(tmp_path: Path) -> None:
    row = Row("parser", "+ two filters", home=tmp_path)
    study = Study((row,))
    study.results.mkdir()
    figures = {
        **{"row": row.name, "title": row.title, "n_sentences": 500},
        "counts": {"clean": [1] * 500},
        "candidates": {"means": {"all": {"source": 40.0, "one": 9.0, "two": 2.26}}},
        "clean": {"uas": 90.0, "las": 80.0},
        "attacked": {"uas": 70.0, "las": 60.0},
        "success_rate": 50.0,
        "edits_per_sentence": 1.5,
        "queries_per_sentence": {"charged": 33.3, "unique": 30.0},
        "word_similarity": {"mean": 0.625, "median": 0.5},
        "perplexity": {"clean": {"median": 57.6}, "attacked": {"median": 101.2}},
    }
    result("wang2021_filters", study, row, 0.15).write_text(json.dumps(figures))
    shown = table("wang2021_filters", study).splitlines()[2].strip("| ").split(" | ")
    right = ["90.00", "80.00", "70.00", "60.00", "50.0 [45.6, 54.4]", "-"]
    assert shown == [row.title, "2.3", *right, "1.50", "33.30", "0.62", "58, 101"]


def test_harm_left_is_a_share_of_what_the_same_attack_does_without_a_demand(tmp_path: Path) -> None:
    cases = tuple(
        Row("parser", "parser", home=tmp_path, references=references, strict=strict)
        for references, strict in (((), False), (("other",), False), ((), True))
    )
    study = Study(cases)
    study.results.mkdir()
    vetoed = {"all": {"judged": 8, "percent": 25.0}, "NN": {"judged": 8, "percent": 25.0}}
    vetoed["VB"] = {"judged": 0, "percent": None}
    for row, attacked in zip(cases, (4, 7, 6), strict=True):
        figures = {"row": row.name, "title": row.title, "attack": row.attack, "gamma": 0.15}
        figures["counts"] = {"words": [10] * 3, "clean": [8] * 3, "attacked": [attacked] * 3}
        figures |= {"clean": {"uas": 90.0, "las": 80.0}, "edits_per_sentence": 1.5}
        figures |= {"attacked": {"uas": 70.0, "las": 10.0 * attacked}, "success_rate": 100.0}
        figures["n_sentences"] = 3
        figures["strict_success_rate"] = {"uas": 40.0, "las": 45.0}
        figures["candidates"] = {"vetoed": {"ReferenceParsers": vetoed}} if row.references else {}
        result("ewt_references", study, row, 0.15).write_text(json.dumps(figures))
    rows = [line.strip("| ").split(" | ") for line in table("ewt_references", study).splitlines()]
    assert [row[2] for row in rows[2:]] == ["none", "references", "strict"]
    assert [row[9:] for row in rows[2:]] == [
        ["40.0", "40.0 [40.0, 40.0]", "-", "-", "-"],
        ["40.0", "10.0 [10.0, 10.0]", "25.0 [25.0, 25.0]", "25", "NN 25, VB -"],
        ["40.0", "20.0 [20.0, 20.0]", "50.0 [50.0, 50.0]", "-", "-"],
    ]


def test_success_is_an_interval_of_the_sentences() -> None:
    """Of 40 sentences in 100 the bounds of a binomial share are 1.96 deviations of 4.9 away."""
    shown = success({"n_sentences": 100, "success_rate": 40.0})
    estimate, lower, upper = (float(value) for value in re.findall(r"[\d.]+", shown))
    assert estimate == 40.0
    assert abs(lower - 30.4) <= 1
    assert abs(upper - 49.6) <= 1


def test_a_row_says_what_changing_copulas_adds(tmp_path: Path) -> None:
    study = Study(tuple(Row("parser", "parser", home=tmp_path, copulas=on) for on in (False, True)))
    study.results.mkdir()
    verbs = {"edited_tags": ["VBZ"], "edited": [1]}
    lines = [
        {**verbs, "gold": {"labels": ["nsubj", "aux:pass"]}},
        {**verbs, "gold": {"labels": ["nsubj", "root"]}},
        {"edited_tags": ["MD", "NN"], "edited": [0, 1], "gold": {"labels": ["aux", "obj"]}},
        {"edited_tags": [], "edited": [], "gold": {"labels": ["cop", "auxiliary"]}},
    ]
    for row, attacked in zip(study.rows, (7, 5), strict=True):
        figures = {**made_up(row.name, 8, attacked), "attack": row.attack, "gamma": 0.15}
        figures["copulas"] = copulas(lines if row.copulas else lines[1:2])
        result("ewt_relations", study, row, 0.15).write_text(json.dumps(figures))
    rows = [line.strip("| ").split(" | ") for line in table("ewt_relations", study).splitlines()]
    assert [row[1:3] for row in rows[2:]] == [
        ["zheng2020_blackbox", "kept"],
        ["zheng2020_blackbox", "changed too"],
    ]
    assert [row[11:] for row in rows[2:]] == [
        ["-", "none"],
        [exact(20), "all 50, VB 50, other 100"],
    ]


PARSER, OTHER = {"the parser a/best.ckpt": "1" * 64}, {"the parser a/best.ckpt": "2" * 64}
RECIPE = {"the recipe zheng2020_blackbox": "3" * 64}


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [
        (PARSER, PARSER, False),
        (PARSER, OTHER, True),  # one continues from another parser of the same name
        ({**PARSER, **RECIPE}, {**PARSER, "the recipe zheng2020_blackbox": "4" * 64}, True),
        (PARSER, RECIPE, False),  # they share nothing
        (PARSER, None, False),
    ],
)
def test_rows_on_different_parsers_or_recipes_are_refused(
    first: dict[str, str], second: dict[str, str] | None, refused: bool, tmp_path: Path
) -> None:
    """A row that does not say what it rests on is named, and not compared with one that does."""
    cases = tuple(Row(name, f"the {name}", home=tmp_path) for name in ("clean", "defended"))
    study = Study(cases)
    study.results.mkdir()
    rows = []
    for row, right, origin in zip(cases, ((9, 5), (9, 7)), (first, second), strict=True):
        figures = {**made_up(row.name, *right), "title": row.title, "gamma": 0.15}
        figures |= {} if origin is None else {"origin": origin}
        result("made up", study, row, 0.15).write_text(json.dumps(figures))
        rows.append(figures)
    if refused:
        with pytest.raises(SystemExit) as refusal:
            table("made up", study)
        for part in (*(row.title for row in cases), "--home", "move the older", " has "):
            assert part in str(refusal.value)
        return
    line = table("made up", study).splitlines()[-1].strip("| ").split(" | ")
    assert line[9] == ("-" if second is None else exact(-20))
    named = without_origin(rows)
    assert ("the defended (zheng2020_blackbox_15)" in named) == (second is None)
    assert "the clean" not in named


def test_ablations_are_compared_with_the_whole_attack_on_the_same_classifier() -> None:
    def row(name: str, attack: str, right: list[int], changed: list[float]) -> dict[str, Any]:
        counts = {"words": [1] * 4, "clean": [1, 1, 1, 0], "attacked": right, "changed": changed}
        found = {"row": name, "title": name, "attack": attack, "counts": counts}
        found |= {"n_sentences": 4, "n_words": 42, "success_rate": 0.0}
        found |= {"clean": {"accuracy": 75.0}, "attacked": {"accuracy": 25.0 * sum(right)}}
        found |= {"changed_of_successes": 10.0, "queries_per_sentence": {"charged": 5.0}}
        quality = {when: {"median": 30.0} for when in ("clean", "attacked")}
        return {**found, "perplexity": quality, "sentence_similarity": {"mean": 0.9}}

    rows = [
        row("cnn", "textfooler", [0, 0, 1, 0], [0.1, 0.2, 0.5, 0.0]),
        row("lstm", "textfooler", [1, 1, 1, 0], [0.5, 0.5, 0.5, 0.0]),
        row("cnn", "textfooler_random_17", [1, 1, 1, 0], [0.1, 0.1, 0.1, 0.0]),
        row("cnn", "textfooler_random_100", [0, 0, 0, 0], [0.3, 0.2, 0.25, 0.0]),
    ]
    cells = TEXTFOOLER | ablations(rows, 0.2)
    over = [cells["lost, over the whole attack"](one) for one in rows]
    assert over[:2] == ["-", "-"]
    assert over[2].startswith("-50.0 [")
    assert over[3].startswith("25.0 [")
    share = "lost within 20.0 % of the words"
    assert [cells[share](one).split()[0] for one in rows] == ["50.0", "0.0", "0.0", "25.0"]
    beyond = [cells[f"{share}, over the whole attack"](one).split()[0] for one in rows]
    assert beyond == ["-", "-", "-50.0", "-25.0"]
    assert [cells["words a text"](rows[0]), cells["similarity"](rows[0])] == ["10.5", "0.90"]


def test_adversarial_training_is_compared_with_clean_training_and_with_the_control() -> None:
    def row(name: str, right: list[int]) -> dict[str, Any]:
        counts = {"words": [1] * 4, "clean": [1, 1, 1, 0], "attacked": right}
        found = {"row": name, "title": name, "attack": "textfooler", "gamma": None}
        return {**found, "counts": counts, "origin": {}, "n_sentences": 4}

    rows = [row("clean", [0] * 4), row("control", [1, 0, 0, 0]), row("copies", [1, 1, 0, 1])]
    columns = adversarial_training(rows, "clean", "control")
    gained = {
        name: [cell(one).split()[0] for one in rows]
        for name, cell in columns.items()
        if "over" in name
    }
    assert gained == {
        "attacked accuracy, over clean training": ["-", "25.0", "75.0"],
        "attacked accuracy, over control": ["-", "-", "50.0"],
    }
