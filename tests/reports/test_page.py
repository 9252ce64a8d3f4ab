"""The page from output folders: right scores, telling sentences, self-contained, clear errors."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from report_pages import Json, curves, example, parse, summary, write

from robustparse.errors import InputError
from robustparse.reports.attacked_systems import (
    AttackedSentence,
    most_telling,
    names_of,
    read_folder,
)
from robustparse.reports.curves import NamedPlots, merge_plots
from robustparse.reports.page import build_report
from robustparse.reports.plots import Curve, Plot


def test_page_of_two_systems(tmp_path: Path) -> None:
    two = {**example(1), "adversarial_tokens": ["Cats", "<b>", "fish1"], "edited": [0, 1]}
    base = write(
        tmp_path / "clean",
        summary(90.0, 70.0),
        [*map(example, range(5)), example(9, success=False)],
        curves("clean"),
    )
    all_right = {**example(2)["clean"], "correct_heads": 4, "correct_labels": 4}
    longer = {**example(2), "counted": 4, "clean": all_right}
    lines = [two, longer, *map(example, range(3, 7))]
    other = write(tmp_path / "robust", summary(89.5, 75.0), lines, curves("robust"))
    out = tmp_path / "new" / "report.html"
    build_report([base, other], out)
    page = parse(out)
    for value in (
        "90.0",
        "70.0",
        "75.0",
        "83.2",
        "45.3",
        "31.2",
        "32.8",
        "zheng2020_blackbox",
    ):
        assert value in page.text
    # (75 - 70) / (90 - 70) of the loss is won back
    won = "“robust” wins back 25 % of what “clean” loses to the attack"
    assert f"{won} and loses 14.5 points instead of 20.0." in page.text
    assert page.text.count("100.0 [100.0, 100.0]") == 2  # all words of all sentences
    assert "Points saved" not in page.text  # not on the same sentences
    assert page.tags.count("table") == 2  # the systems, and the values of one merged plot
    # Three sentences, each with its caption, the title of its picture and its word.
    assert page.text.count("<b>") == 3 * 3
    assert "b" not in page.tags
    caption = "ate became <b> . With it, “clean” changed 2 other arcs (wrong before: 0,"
    assert page.text.count(caption) == 3
    assert all(address.startswith("#") for address in page.addresses)
    assert not {"link", "img", "iframe"} & set(page.tags)
    assert page.tags.count("script") == 2  # the examples, and what lists them
    style = next(t for t in page.texts if "prefers-color-scheme:dark" in t)
    assert not re.search(r"url\(|@import", style)
    assert [p.name for p in out.parent.iterdir()] == ["report.html"]  # nothing left aside
    first = out.read_bytes()
    build_report([write(tmp_path / "alone" / "robust", summary(89.5, 75.0), [two])], out)
    assert "With them, “robust” changed 1 other arc (" in parse(out).text
    build_report([base, other], out)
    assert out.read_bytes() == first


@pytest.mark.parametrize("same", [True, False])
def test_systems_on_the_same_sentences_are_compared_by_what_they_lose(
    same: bool, tmp_path: Path
) -> None:
    """The attack takes 3 of 3 words in all of the first one's sentences, 1 in the other's."""
    lines = [*map(example, range(4))]
    kept = [{**line, "attacked": {**line["attacked"], "correct_labels": 2}} for line in lines]
    other = kept if same else kept[:3]
    folders = [
        write(tmp_path / name, summary(90, 80), found)
        for name, found in (("clean", lines), ("robust", other))
    ]
    build_report(folders, tmp_path / "r.html")
    text = parse(tmp_path / "r.html").text
    assert "33.3 [33.3, 33.3]" in text
    assert ("66.7 [66.7, 66.7]" in text) == same


def test_page_without_curves_successes_or_scores(tmp_path: Path) -> None:
    folder = write(tmp_path / "a", summary(90.0, None), [example(0, success=False)])
    build_report([folder], tmp_path / "r.html")
    text = parse(tmp_path / "r.html").text
    assert "lowered the score of no sentence" in text
    assert "Curves" not in text
    assert not re.search("nan|None", text)
    assert "On the original" not in text.partition("Systems")[0]  # it needs both scores


def test_curves_of_the_same_axes_share_a_plot(tmp_path: Path) -> None:
    folders = [
        read_folder(write(tmp_path / n, summary(90, 80), [example(0)], curves(c)), n)
        for n, c in [("a", "x"), ("b", "y"), ("c", "x")]
    ]
    systems = [(folder.name, folder.plots) for folder in folders]
    (plot,) = merge_plots(systems[:2])
    assert [curve.name for curve in plot.curves] == ["x", "y"]
    assert plot.curves[0].x == (0, 10)  # what was not computed is left out
    (plot,) = merge_plots(systems)
    assert [curve.name for curve in plot.curves] == ["a: x", "b: y", "c: x"]
    many = merge_plots(systems * 3)
    assert [len(plot.curves) for plot in many] == [6, 3]
    assert len({plot.title for plot in many}) == 2


def test_lines_of_a_system_stay_together() -> None:
    def system(name: str, count: int) -> NamedPlots:
        lines = (Curve(f"{budget} %", (0, 1), (80, 70)) for budget in range(count))
        return name, (Plot("t", "x", "y", tuple(lines)),)

    plots = merge_plots([system("a", 2), system("b", 4), system("c", 5), system("d", 8)])
    drawn = [[curve.name[0] for curve in plot.curves] for plot in plots]
    assert drawn == [[*"aabbbb"], [*"ccccc"], [*"dddddd"], [*"dd"]]
    assert [plot.title for plot in plots] == ["t (1)", "t (2)", "t (3)", "t (4)"]


def sentence(length: int, edited: list[int], changed: int) -> AttackedSentence:
    words = [f"w{length}{edited}{changed}{i}" for i in range(length)]
    return AttackedSentence({"tokens": words, "edited": edited}, changed, 0, 0, (None, None))


def test_the_most_telling_sentences() -> None:
    plain = sentence(8, [0], changed=1)
    best = sentence(14, [0, 3], changed=3)
    short = sentence(6, [0], changed=1)
    too_long = sentence(15, [0], changed=14)
    too_short = sentence(5, [0], changed=4)
    too_many = sentence(9, [0, 1, 2], changed=6)
    every = [too_long, plain, too_short, short, too_many, best]
    one = SimpleNamespace(successes=every)
    # Two change one word, and short has 6.
    assert most_telling([one]) == [(one, best), (one, short), (one, plain)]
    assert most_telling([one, SimpleNamespace(successes=every)], 4)[3] == (one, too_long)
    assert most_telling([]) == []


def test_edited_words_are_where_the_texts_differ(tmp_path: Path) -> None:
    line = example(0, word="saw\u2028it")  # U+2028 is no new line
    folder = read_folder(write(tmp_path / "a", summary(90, 80), [line]), "a")
    (found,) = folder.sentences
    assert found.swaps == [("saw\u2028it", "<b>")]
    assert (found.changed, found.wrong_before, found.wrong_after) == (2, 0, 3)


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (["one/attack", "two/attack"], ["one", "two"]),
        (["one/attack", "one/more/attack"], ["one", "more"]),
        (["one/attack", "two/attack", "two/other"], ["one/attack", "two/attack", "two/other"]),
        (["a/x/one/attack", "a/y/one/attack"], ["x", "y"]),
        (["runs/clean", "runs/robust"], ["clean", "robust"]),
        (["runs/clean"], ["clean"]),
    ],
)
def test_names_tell_folders_apart(folders: list[str], names: list[str], tmp_path: Path) -> None:
    written = [write(tmp_path / one, summary(90, 80), [example(0)]) for one in folders]
    assert names_of(written) == names
    build_report(written, tmp_path / "r.html")
    assert ", ".join(names) in parse(tmp_path / "r.html").text
    with pytest.raises(InputError, match="twice"):
        build_report([*written, written[0]], tmp_path / "r.html")


def changed(record: Json, **changes: object) -> str:
    return json.dumps({**record, **changes})


SUMMARY, LINE, PLOT = summary(90, 80), example(0), curves("a")
HUGE = 10**400
WRITTEN = "not as `robustparse attack` writes it"
BAD = [
    ("summary.json", None, "no such file"),
    ("summary.json", "{", "not JSON"),
    ("summary.json", "[]", "Expected `object`"),
    ("summary.json", changed(SUMMARY, task="baking"), "'baking'"),
    ("summary.json", changed(SUMMARY, n_words="x"), "Expected `int`"),
    ("summary.json", changed(SUMMARY, clean={"uas": 1}), WRITTEN),
    ("summary.json", json.dumps(summary(float("nan"), 8)), "not JSON"),
    ("summary.json", json.dumps(summary(HUGE, 8)), "out of range"),
    ("examples.jsonl", None, "no such file"),
    ("examples.jsonl", json.dumps(LINE) + "\nx\n", "not JSON"),
    ("examples.jsonl", "", "has 0 sentences"),
    ("examples.jsonl", f"{json.dumps(LINE)}\n{json.dumps(example(1))}\n", "has 2 sentences"),
    ("examples.jsonl", changed(LINE, tokens=["a"]), WRITTEN),
    ("examples.jsonl", changed(LINE, tokens=[1]), "Expected `str`"),
    ("examples.jsonl", changed(LINE, success=1), "Expected `bool`"),
    ("examples.jsonl", changed(LINE, gold=[]), "Expected `object`"),
    ("examples.jsonl", changed(LINE, edited=[]), WRITTEN),
    ("examples.jsonl", changed(LINE, counted=2), WRITTEN),
    ("examples.jsonl", changed(LINE, counted="3"), "Expected `int`"),
    ("examples.jsonl", changed(LINE, clean={**LINE["clean"], "las": "high"}), WRITTEN),
    ("examples.jsonl", changed(LINE, gold={"heads": [2, 0, 4], "labels": ["a"] * 3}), WRITTEN),
    ("run.json", '{"victims": 5}', "Expected `array`"),
    ("curves.json", json.dumps({"title": "t"}), "missing required field"),
    ("curves.json", json.dumps([3]), "Expected `object`"),
    ("curves.json", changed(PLOT, curves=[3]), "Expected `object`"),
    ("curves.json", changed(PLOT, curves=[{"name": "a", "x": [1], "y": []}]), "not as"),
    ("curves.json", changed(PLOT, curves=[{"name": "a", "x": [1], "y": [None]}]), "not as"),
    ("curves.json", changed(PLOT, curves=[{"name": "a", "x": [HUGE], "y": [1]}]), "out of range"),
    ("curves.json", "[" + "1" * 5000 + "]", "Expected `object`"),
]


@pytest.mark.parametrize(("file", "content", "found"), BAD)
def test_what_cannot_be_read_is_named_and_the_rest_is_shown(
    tmp_path: Path, file: str, content: str | None, found: str
) -> None:
    folder = write(tmp_path / "a", SUMMARY, [LINE])
    out = tmp_path / "r.html"
    out.write_text("as it was")
    (folder / file).unlink(missing_ok=True)
    if content is not None:
        (folder / file).write_text(content + "\n")
    with pytest.raises(InputError) as error:
        read_folder(folder, "a")
    assert error.value.path == str(folder / file)
    assert found in error.value.found
    if file == "summary.json":  # the records are enough, and nothing is not
        unread, partly = build_report([folder], out).unread
        assert unread.startswith(str(folder / file))
        assert "its scores are those of the 1 sentence" in partly
        out.write_text("as it was")
        (folder / "examples.jsonl").unlink()
        with pytest.raises(InputError) as error:
            build_report([folder], out)
        assert error.value.path == str(folder / file)
        assert out.read_text() == "as it was"
    else:
        (unread,) = build_report([folder], out).unread
        assert unread.startswith(str(folder / file))
        text = parse(out).text
        assert str(folder / file) in text
        assert "90.0" in text
        first_read = (content or "").startswith(json.dumps(LINE) + "\n")
        successes = file in ("curves.json", "run.json") or first_read
        assert ("ate became <b>" in text) == successes


def test_a_folder_without_anything_is_left_out(tmp_path: Path) -> None:
    folder = write(tmp_path / "a", SUMMARY, [LINE])
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "transfer.json").write_text("{")
    folders = [folder, tmp_path / "empty", tmp_path / "broken"]
    unread = build_report(folders, tmp_path / "r.html").unread
    assert [line.split(":")[0] for line in unread] == [
        str(tmp_path / "broken" / "transfer.json")
        if name == "broken"
        else str(tmp_path / "empty" / "summary.json")
        for name in ("empty", "broken")
    ]
    page = parse(tmp_path / "r.html")
    assert all(line in page.text for line in unread)
    assert page.tags.count("table") == 1


def test_each_task_has_its_own_tables(tmp_path: Path) -> None:
    trees = write(tmp_path / "trees", SUMMARY, [LINE])
    label = {"label": "good", "correct": 1}
    line = {**LINE, "gold": label, "clean": label, "attacked": {"label": "bad", "correct": 0}}
    scores = {"clean": {"accuracy": 77.0}, "attacked": {"accuracy": 66.0}}
    texts = write(
        tmp_path / "texts",
        {**SUMMARY, **scores, "task": "classification", "strict_success_rate": None},
        [{**line, "counted": 1}],
    )
    build_report([trees, texts], tmp_path / "r.html")
    page = parse(tmp_path / "r.html")
    for heading in ("Systems: dependency", "Systems: classification"):
        assert page.texts.count(heading) == 1
    for value in ("“trees” has LAS 90.0", "“texts” has Accuracy 77.0", "66.0"):
        assert value in page.text
    assert "Points saved" not in page.text  # one system of each task: nothing to compare
    assert page.text.count("wrong labels have another color") == 2  # there and above all examples


def test_missing_folder_and_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        build_report([tmp_path / "nothing"], tmp_path / "r.html")
    with pytest.raises(InputError, match="no folders given"):
        build_report([], tmp_path / "r.html")
