"""The page from output folders: right figures, telling sentences, self-contained, clear errors."""

import json
import re
from pathlib import Path

import pytest
from report_pages import curves, example, parse, summary, write

from robustparse.errors import InputError
from robustparse.report.folders import changed_elsewhere, most_telling, read_folder
from robustparse.report.merging import merge_plots
from robustparse.report.page import build_report
from robustparse.report.plots import Curve, Plot
from robustparse.report.training import TrainingRun
from robustparse.tasks.tree_drawing import TreePair
from robustparse.types import DependencyTree


def test_page_of_two_systems(tmp_path: Path) -> None:
    lines = [example(i) for i in range(5)] + [example(9, success=False)]
    base = write(tmp_path / "clean", summary(90.0, 70.0), lines, curves("clean"))
    other = write(tmp_path / "robust", summary(89.5, 75.0), lines, [curves("robust")])
    out = tmp_path / "new" / "report.html"
    build_report([base, other], out)
    page = parse(out)
    text = " ".join(page.texts)
    for figure in ("90.0", "70.0", "75.0", "83.2", "45.3", "2,077", "zheng2020_blackbox"):
        assert figure in text
    # (75 - 70) / (90 - 70) of the loss is won back
    assert "“robust” wins back 25 % of what “clean” loses" in text
    assert page.tags.count("table") == 2  # the systems, and the figures of one merged plot
    assert text.count("before") >= 3
    assert text.count("<b>") == 3 * 3  # three sentences: caption, title of the picture, word
    assert "b" not in page.tags
    assert all(address.startswith("#") for address in page.addresses)
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    style = next(t for t in page.texts if "prefers-color-scheme:dark" in t)
    assert not re.search(r"url\(|@import", style)
    assert [p.name for p in out.parent.iterdir()] == ["report.html"]  # nothing left aside


def test_page_without_curves_successes_or_figures(tmp_path: Path) -> None:
    folder = write(tmp_path / "a", summary(90.0, None), [example(0, success=False)])
    build_report([folder], tmp_path / "r.html")
    text = " ".join(parse(tmp_path / "r.html").texts)
    assert "lowered the score of no sentence" in text
    assert "Curves" not in text
    assert not re.search("nan|None", text)
    assert "On the original" not in text  # its sentence needs both scores


def test_curves_of_the_same_axes_share_a_plot(tmp_path: Path) -> None:
    folders = [
        read_folder(write(tmp_path / n, summary(90, 80), [example(0)], curves(c)), n)
        for n, c in [("a", "x"), ("b", "y"), ("c", "x")]
    ]
    (plot,) = merge_plots(folders[:2])
    assert [curve.name for curve in plot.curves] == ["x", "y"]
    assert plot.curves[0].x == (0, 10)  # what was not computed is left out
    (plot,) = merge_plots(folders)
    assert [curve.name for curve in plot.curves] == ["a: x", "b: y", "c: x"]
    many = merge_plots(folders * 3)
    assert [len(plot.curves) for plot in many] == [6, 3]
    assert len({plot.title for plot in many}) == 2


def test_lines_of_a_system_stay_together() -> None:
    def system(name: str, count: int) -> TrainingRun:
        lines = (Curve(f"{budget} %", (0, 1), (80, 70)) for budget in range(count))
        return TrainingRun(name, (Plot("t", "x", "y", tuple(lines)),))

    plots = merge_plots([], [system("a", 2), system("b", 4), system("c", 5), system("d", 8)])
    drawn = [[curve.name[0] for curve in plot.curves] for plot in plots]
    assert drawn == [[*"aabbbb"], [*"ccccc"], [*"dddddd"], [*"dd"]]
    assert [plot.title for plot in plots] == ["t (1)", "t (2)", "t (3)", "t (4)"]


def pair(length: int, edited: tuple[int, ...], changed: tuple[int, ...]) -> TreePair:
    words = tuple(f"w{length}{edited}{changed}{i}" for i in range(length))
    tree = DependencyTree(tuple(range(length)), ("x",) * length)
    labels = tuple("y" if i in changed else "x" for i in range(length))
    return TreePair(words, words, tree, tree, DependencyTree(tree.heads, labels), edited)


def test_the_most_telling_sentences() -> None:
    plain = pair(8, (0,), (0, 1))
    best = pair(14, (0, 3), (1, 2, 3, 4))
    short = pair(6, (0,), (1,))
    too_long = pair(15, (0,), tuple(range(15)))
    too_short = pair(5, (0,), (1, 2, 3, 4))
    too_many = pair(9, (0, 1, 2), (3, 4, 5, 6, 7, 8))
    every = [too_long, plain, too_short, short, too_many, best]
    assert changed_elsewhere(best) == [1, 2, 4]
    assert most_telling(every) == [best, short, plain]  # both change one word, short has 6
    assert most_telling(every + every, 4)[3] == too_long
    assert most_telling([]) == []


def test_edited_words_are_where_the_texts_differ(tmp_path: Path) -> None:
    line = example(0, word="saw\u2028it")  # a line separator inside a word is no new line
    folder = read_folder(write(tmp_path / "a", summary(90, 80), [line]), "a")
    assert folder.pairs[0].edited == (1,)
    assert folder.pairs[0].words_before == ("Dogs", "saw\u2028it", "fish0")


def test_a_sentence_is_told_with_the_parser_and_the_words_changed(tmp_path: Path) -> None:
    two = {**example(1), "adversarial_tokens": ["Cats", "<b>", "fish1"], "edited": [0, 1]}
    for name, line, these in (("one", example(0), "it"), ("two", two, "them")):
        build_report([write(tmp_path / name, summary(90, 80), [line])], tmp_path / "r.html")
        told = " ".join(parse(tmp_path / "r.html").texts)
        assert f". With {these}, the parser “{name}” changed its mind" in told


def test_names_tell_folders_apart(tmp_path: Path) -> None:
    lines = [example(0)]
    folders = [write(tmp_path / x / "attack", summary(90, 80), lines) for x in ("one", "two")]
    build_report(folders, tmp_path / "r.html")
    assert "one/attack, two/attack" in " ".join(parse(tmp_path / "r.html").texts)
    with pytest.raises(InputError, match="twice"):
        build_report([folders[0], folders[0]], tmp_path / "r.html")


@pytest.mark.parametrize(
    ("file", "content", "complaint"),
    [
        ("summary.json", None, r"summary\.json: no such file"),
        ("summary.json", "{", r"summary\.json: not JSON"),
        ("summary.json", "[]", r"summary\.json: expected a JSON object, got list"),
        ("summary.json", json.dumps({**summary(9, 8), "task": "semantic"}), "'semantic'"),
        ("summary.json", json.dumps({**summary(9, 8), "n_words": "x"}), "n_words must be"),
        ("summary.json", json.dumps({**summary(9, 8), "clean": {"uas": 1}}), "clean: las must"),
        ("summary.json", json.dumps(summary(float("nan"), 8)), "las must be a number or null"),
        ("examples.jsonl", None, r"examples\.jsonl: no such file"),
        ("examples.jsonl", json.dumps(example(0)) + "\nx\n", r"examples\.jsonl:2: not JSON"),
        ("examples.jsonl", json.dumps({**example(0), "tokens": ["a"]}), ":1: tokens has 1 words"),
        ("examples.jsonl", json.dumps({**example(0), "success": 1}), ":1: success must be"),
        (
            "examples.jsonl",
            json.dumps({**example(0), "gold": {"heads": [2, 0, 4], "labels": ["a"] * 3}}),
            r":1: gold: expected 3 heads from 0 to 3",
        ),
        ("curves.json", json.dumps({"title": "t"}), r"curves\.json: x_label must be"),
        ("curves.json", json.dumps([3]), r"curves\.json: plot 0: expected an object"),
        (
            "curves.json",
            json.dumps({**curves("a"), "curves": [{"name": "a", "x": [1], "y": []}]}),
            r"a: x and y must be as many numbers",
        ),
        (
            "curves.json",
            json.dumps({**curves("a"), "curves": [{"name": "a", "x": [10**400], "y": [1]}]}),
            r"a: x and y must be as many numbers",
        ),
        ("curves.json", "[" + "1" * 5000 + "]", r"curves\.json: not JSON"),
        ("summary.json", json.dumps(summary(10**400, 8)), "las must be a number or null"),
    ],
)
def test_bad_folders_are_named_and_nothing_is_written(
    tmp_path: Path, file: str, content: str | None, complaint: str
) -> None:
    folder = write(tmp_path / "a", summary(90, 80), [example(0)])
    out = tmp_path / "r.html"
    out.write_text("as it was")
    (folder / file).unlink(missing_ok=True)
    if content is not None:
        (folder / file).write_text(content)
    with pytest.raises(InputError, match=complaint):
        build_report([folder], out)
    assert out.read_text() == "as it was"


def test_missing_folder_and_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        build_report([tmp_path / "nothing"], tmp_path / "r.html")
    with pytest.raises(InputError, match="no folders given"):
        build_report([], tmp_path / "r.html")
