"""The generated parts of the results: the pages, and a few figures worked out by hand."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import papers
import results
from results import Context, counts, harm_left, heads, joined, key, success, value, within, won_back
from robustparse.evaluation import significance
from robustparse.evaluation.significance import Interval, paired_bootstrap

GENERATED = re.compile(r"<!-- \w+: \w+ -->.*?<!-- end -->|```.*?```", re.DOTALL)
EVERY = results.specs()
PAGES = results.DOCS / "results"


def without_bounds(text: str) -> str:
    return re.sub(r" \[\S+, \S+\]", "", text)


def test_pages_show_what_the_results_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the bounds of intervals, of 10,000 draws each, and pictures: `make docs` compares."""
    monkeypatch.setattr(significance, "paired_bootstrap", partial(paired_bootstrap, draws=1))
    monkeypatch.setattr(results, "_values", {})
    monkeypatch.setattr(results, "picture", lambda spec: "")
    different = [
        path.name
        for path, content in results.files()
        if path.suffix == ".md" and without_bounds(content) != without_bounds(path.read_text())
    ]
    assert different == [], "run python bench/results.py"


def test_the_bounds_of_an_interval_are_on_the_page() -> None:
    spec = EVERY["table"]["universal_english"]
    assert results.table(spec) in (PAGES / "languages.md").read_text()


def test_every_table_picture_and_results_file_is_on_a_page() -> None:
    pages = "".join(page.read_text() for page in results.DOCS.rglob("*.md"))
    for kind in ("table", "picture", "figures", "cells"):
        assert sorted(re.findall(rf"<!-- {kind}: (\w+) -->", pages)) == sorted(EVERY[kind])
    pictures = {path.stem for path in PAGES.glob("*.svg")}
    assert pictures == set(EVERY["picture"])
    studies = {spec["study"] for spec in EVERY["table"].values()}
    kept = {path.stem for path in results.RESULTS.glob("*.jsonl")}
    assert kept == studies


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_a_figure_in_a_sentence_is_in_a_table_of_its_page(page: Path) -> None:
    text = page.read_text()
    prose = GENERATED.sub("", text)
    shown = set(re.findall(r"\d+\.\d+", "".join(GENERATED.findall(text))))
    named = {"0.97", "0.9", "1.1"}  # settings
    assert set(re.findall(r"\d+\.\d+", prose)) <= shown | named


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_a_page_is_a_table_and_few_sentences(page: Path) -> None:
    words = len(GENERATED.sub("", page.read_text()).split())
    assert words <= (500 if page.stem == "index" else 200)


@pytest.mark.parametrize("path", sorted(results.RESULTS.glob("*.jsonl")), ids=lambda one: one.stem)
def test_a_row_says_its_command_and_processor_and_is_there_once(path: Path) -> None:
    rows = results.read(path.stem)
    assert all(row["command"] and row["processor"] for row in rows)
    assert len({key(row) for row in rows}) == len(rows)


def row(clean: int, attacked: int, name: str = "one", attack: str = "a") -> dict[str, Any]:
    """Three sentences of 10 words, all alike, so that every draw gives the same."""
    return {
        "system": name,
        "attack": attack,
        "budget": 0.15,
        "counts": {"words": [10] * 3, "clean": [clean] * 3, "attacked": [attacked] * 3},
        "success_rate": 100.0,
        **{"n_sentences": 4, "n_skipped": 1},
    }


def exact(number: float) -> Interval:
    return Interval(number, number, number)


def test_what_is_won_back_and_what_is_left() -> None:
    """The clean parser loses four of ten words, the control three, the defense none."""
    clean, control, defended = (counts(row(*one)) for one in ((9, 5), (9, 6), (8, 8)))
    assert won_back(control, clean) == exact(25)
    assert won_back(defended, clean) == exact(75)
    assert harm_left(control, clean) == exact(75)
    assert success(row(9, 5)) == exact(100)
    with pytest.raises(ValueError, match="nothing was lost"):
        won_back(clean, defended)


def test_a_row_is_compared_with_its_base(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(9, 5), row(9, 6, "one_control"), row(8, 8, "one_defended")]
    bases = {"clean": {"system": ["_.*", ""]}, "control": {"system": ["_defended", "_control"]}}
    published = {("study", "one_defended a 15", "success"): 42}
    monkeypatch.setattr(papers, "published", lambda *cell: published.get(cell))
    context = Context({key(one): one for one in rows}, bases, {"one": "first"}, "study")
    assert value("lost_beyond clean", rows[2], context) == exact(-40)
    assert value("gained control", rows[2], context) == exact(20)
    assert value("gained control", rows[1], context) is None
    assert value("lost_beyond clean", rows[0], context) is None
    assert value("title", rows[0], context) == "first"
    assert value("paper success", rows[2], context) == 42
    assert results.shown(value("paper success", rows[0], context)) == "-"


def test_a_column_may_show_the_row_under_another_attack() -> None:
    rows = [row(9, 5), {**row(9, 6), "attack": "b"}, {**row(9, 7, "one_control"), "attack": "b"}]
    bases = {"control": {"system": ["$", "_control"]}}
    context = Context({key(one): one for one in rows}, bases, {}, "study")
    assert value("under b lost", rows[0], context) == exact(30)
    assert value("under b gained control", rows[0], context) == exact(-10)
    assert value("under c lost", rows[0], context) is None


def test_the_worst_attack_is_chosen_for_each_sentence() -> None:
    rows = [row(9, 5), {**row(9, 6), "attack": "b"}, row(9, 1, "other")]
    rows[1]["counts"]["attacked"] = [8, 2, 5]
    context = Context({key(one): one for one in rows}, {}, {}, "study")
    assert value("worst", rows[0], context).estimate == pytest.approx(40)
    assert value("worst", rows[2], context) == exact(10)


def test_a_success_with_too_many_changes_is_none_within_a_share() -> None:
    one = row(9, 5)
    one["counts"]["changed"] = [0.1, 0.2, 0.3]
    assert within(one, 0.25).attacked == [5, 5, 9]


def test_heads_are_counted_where_a_row_has_them() -> None:
    one = row(9, 5)
    assert heads(one) is None
    one["counts"]["correct_heads"] = {"clean": [9] * 3, "attacked": [6] * 3}
    assert heads(one).lost() == exact(30)


def test_seeds_are_joined_to_means_and_deviations() -> None:
    rows = [
        {"system": name, "scores": {"exact_match": score, "macro": {"perturbed": 50.0}}}
        for name, score in (("one", 80.0), ("one_seed_1", 84.0), ("two", 70.0))
    ]
    one, two = joined(rows)
    assert results.score(one, "exact_match") == "82.0 ± 2.8"
    assert results.score(one, "macro", "perturbed") == "50.0 ± 0.0"
    assert results.score(two, "exact_match") == 70.0
    assert results.score(two, "nothing") is None


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (Interval(1, 0, 2), (1, 0, 2)),
        ("45.3 [41.0, 49.5] (100)", (45.3, 41.0, 49.5)),
        ("79.6 ± 1.2", (79.6, 78.4, 80.8)),
        (5, (5, 5, 5)),
        ("-", None),
        (None, None),
    ],
)
def test_a_cell_is_drawn_in_any_form(cell: Any, expected: Any) -> None:
    found = results.interval(cell)
    assert found == expected or found == pytest.approx(expected)


def test_a_page_that_differs_is_told_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "docs" / "noise.md"
    page.parent.mkdir()
    page.write_text("before\n<!-- table: noise -->\n|an|old|table|\n<!-- end -->\nafter\n")
    monkeypatch.setattr(results, "DOCS", page.parent)
    monkeypatch.setattr(results, "ROOT", tmp_path)
    codes = []
    for option in (["--check"], [], ["--check"]):
        monkeypatch.setattr("sys.argv", ["results.py", *option])
        with pytest.raises(SystemExit) as end:
            results.main()
        codes.append(end.value.code)
    assert codes == [1, 0, 0]
    assert "noise.md differs" in capsys.readouterr().out
    first, *_, last = page.read_text().splitlines()
    assert (first, last) == ("before", "after")
    assert "neighbouring key" in page.read_text()


def test_a_picture_is_drawn_the_same_twice() -> None:
    spec = EVERY["picture"]["noise"]
    drawn = results.picture(spec)
    assert drawn == results.picture(spec)
    assert results.same(PAGES / "noise.svg", drawn)


def test_a_picture_by_another_matplotlib_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "noise.svg"
    assert not results.same(path, "drawn")
    path.write_text(f"Matplotlib {results.matplotlib.__version__}, other dots")
    assert not results.same(path, "drawn")
    monkeypatch.setattr(results.matplotlib, "__version__", "0.1")
    assert results.same(path, "drawn")


def test_a_results_file_is_one_object_a_line() -> None:
    for path in results.RESULTS.glob("*.jsonl"):
        assert all(isinstance(json.loads(line), dict) for line in path.read_text().splitlines())
