"""The page's tables about the adversarial examples: what is there is shown, the rest left out."""

import math
from pathlib import Path
from typing import Any

import pytest
from report_pages import Page, summary, write

from robustparse.errors import InputError
from robustparse.evaluation.significance import AttackedCounts
from robustparse.reports.attack_tables import recipes
from robustparse.reports.attacked_systems import AttackedSystem
from robustparse.reports.page import Contents, read_contents, render_report
from robustparse.tasks.registry import named

MORE = {
    "queries_per_sentence": {"charged": 96.25, "unique": 90.0},
    "edits_per_success": 2.5,
    "queries_per_success": {"charged": 71.5, "unique": 70.0},
    "queries_per_failure": {"charged": 133.25, "unique": 130.0},
    "success_within": {"10": 4.5, "25": 11.25, "50": 31.75},
    "success_by_class": {"yes": {"sentences": 42, "success_rate": 61.5}},
    "unseen": {
        "changed": 1812,
        "oov": {"before": 24, "after": 1285},
        "oot": {"before": 25, "after": 1300},
    },
    "by_tag": {
        "NN": {
            "sentences": 700,
            "changed": 911,
            "success_rate": 24.25,
            "uas_drop": 2.06,
            "las_drop": 3.17,
        },
        "mixed": {
            "sentences": 80,
            "changed": 0,
            "success_rate": 44.0,
            "uas_drop": None,
            "las_drop": None,
        },
    },
    "by_relation": {
        "advcl": {
            "sentences": 606,
            "changed": 717,
            "success_rate": 34.25,
            "uas_drop": 4.06,
            "las_drop": 5.17,
        },
    },
    "candidates": {
        "slots": 2215,
        "sums": {},
        "means": {
            "all": {"proposed": 59.5, "Tag<er>": 3.25},
            "MaskedLM": {"proposed": 28.64, "Tag<er>": 0.54},
            "Sememes": {"proposed": 8.57, "Tag<er>": 0.46},
        },
    },
    "perplexity": {"clean": 127.67, "attacked": 139.99, "model": "gpt2", "kind": "causal"},
    "word_similarity": {"changed": 0.812, "success": 0.7},
    "sentence_similarity": None,
}


def page(**summaries: dict[str, Any]) -> Page:
    task = named("dependency")
    systems = [
        AttackedSystem(
            name, task, {**summary(90.0, 70.0), **one}, AttackedCounts((3,), (3,), (0,)), Path(name)
        )
        for name, one in summaries.items()
    ]
    return Page(render_report(Contents(systems)))


def test_all_values_are_on_the_page():
    found = page(one={**summary(90.0, 70.0), **MORE})
    for value in (
        *("1.7", "2.5", "96.2", "71.5", "127.7 → 140.0", "0.81", "1,812", "24 → 1,285"),
        *("25 → 1,300", "700", "911", "24.2", "2.1", "3.2", "2,215 words tried"),
        *("Relations", "advcl", "606", "717", "34.2", "4.1", "5.2"),
        *("Perplexity by gpt2.", "133.2", "4.5", "11.2", "31.8", "yes", "42", "61.5"),
        *("28.64", "0.54", "8.57", "0.46", "59.50", "3.25", "Tag<er>"),
    ):
        assert value in found.text, value
    assert found.tags.count("table") == 7


def test_systems_of_different_budgets_share_a_table():
    other = {**MORE, "success_within": {"10": 5.25, "25": 7.75}}
    # Nothing took the other attack more than 25 queries.
    found = page(one=MORE, other=other)
    assert "one 4.5 11.2 31.8 other 5.2 7.8 7.8" in found.text
    assert found.text.count("Success within a number of queries") == 3  # plot, its title, table


def test_a_single_generator_has_one_row():
    means = {"all": {"proposed": 5.0}, "MaskedLM": {"proposed": 5.0}}
    found = page(one={**MORE, "candidates": {"slots": 3, "means": means}})
    assert "MaskedLM" in found.text
    assert found.text.count("5.00") == 1


def test_what_was_not_computed_is_left_out():
    old = summary(90.0, 70.0)
    nothing = page(old=old)
    assert nothing.tags.count("table") == 1
    bare = {**old, "edits_per_success": None, "by_tag": None, "candidates": None, "unseen": None}
    found = page(bare=bare)
    assert found.tags.count("table") == 2
    assert "Parts of speech" not in found.text
    assert "Candidates" not in found.text
    measured = page(measured={**old, "perplexity": MORE["perplexity"], "word_similarity": None})
    assert "127.7" in measured.text
    assert page(old=old, new=MORE).texts.count("old") == 1  # in the table of systems only


@pytest.mark.parametrize(
    "change",
    [
        {"edits_per_success": "2"},
        {"unseen": {"changed": True}},
        {"by_tag": {"NN": {"sentences": []}}},
        {"by_tag": [3]},
        {"by_tag": {"NN": 3}},
        {"candidates": {"means": {"all": 3}}},
        {"success_within": {"10": None}},
        {"success_within": {"ten": 4.5}},
        {"edits_per_success": 10**400},
        {"unseen": {"changed": math.nan}},
    ],
)
def test_mistakes_are_named(change, tmp_path):
    folder = write(tmp_path / "one", {**summary(90.0, 70.0), **MORE, **change}, [])
    with pytest.raises(InputError) as error:
        render_report(read_contents([folder]))
    assert error.value.path == str(folder / "summary.json")


def attacked(name: str, settings: Any) -> AttackedSystem:
    counts = AttackedCounts((3,), (3,), (0,))
    run = {"settings": settings}
    return AttackedSystem(name, named("dependency"), summary(90.0, 70.0), counts, Path(name), run)


def recipe(minimum: float) -> dict[str, Any]:
    ranking = {"class_path": "a.Ranking", "init_args": {"words": "all", "flip": True}}
    search = {"class_path": "a.Search", "init_args": {"ranking": ranking, "among": [1, None]}}
    near = {"class_path": "a.Near", "init_args": {"model": "folder/<b>", "minimum": minimum}}
    parts = {"search": search, "constraints": [{"class_path": "a.Stop"}, near]}
    return {"class_path": "a.Attack", "init_args": {**parts, "goal": None, "seed": 3}}


def test_what_attacked_is_on_the_page_once_for_equal_settings():
    same = [attacked("one", recipe(0.5)), attacked("two", recipe(0.5))]
    (table,) = recipes(same)
    assert table.rows == [
        ("search", ["Search", "ranking: Ranking (words: all, flip: true), among: [1, null]"]),
        ("constraints", ["Stop", ""]),
        ("constraints", ["Near", "model: folder/<b>, minimum: 0.5"]),
        ("seed", ["3", ""]),
    ]
    assert table.title == ""
    found = Page(render_report(Contents([*same, attacked("three", recipe(0.7))])))
    assert {"one, two", "model: folder/<b>, minimum: 0.7"} <= {*found.texts}
    assert "What attacked" not in page(one=MORE).text


@pytest.mark.parametrize("settings", [3, {"init_args": [1]}, {"init_args": {"a": {"b": 1}}}])
def test_damaged_settings_leave_the_rest_of_the_page(settings):
    found = Page(render_report(Contents([attacked("one", settings), attacked("two", recipe(0.5))])))
    assert {"one", "two", "model: folder/<b>, minimum: 0.5"} <= {*found.texts}
