"""The table of the worst of attacks: columns, marks, its file for a paper, and the lead."""

from pathlib import Path
from typing import Any

from report_pages import Page, example, summary, write

from robustparse.evaluation.significance import Interval
from robustparse.evaluation.worst_of_attacks import AttackScores, Seen, WorstOfAttacks
from robustparse.reports.export import export
from robustparse.reports.page import read_contents, render_report
from robustparse.reports.worst_of_attacks import worst_table
from robustparse.tasks.dependency import DEPENDENCY


def attacked(folder: str, name: str, las: float, seen: Seen = "unknown", seed: int = 0) -> Any:
    run: Any = {"attack": name, "settings": {"seed": seed}}
    return AttackScores(Path(folder), run, {"uas": 99.0, "las": las}, seen)


def system(name: str, worst: float, *attacks: AttackScores) -> WorstOfAttacks:
    interval = Interval(worst, worst - 2, worst + 2.5)
    scores = {"uas": 99.0, "las": 90.0}
    return WorstOfAttacks(name, DEPENDENCY, 500, scores, attacks, dict.fromkeys(scores, interval))


PLAIN = system(
    *("plain", 60.25),
    *(attacked("plain/pwws", "pwws", 71.0, "unseen"), attacked("plain/faster", "zheng", 72.0)),
)
ROBUST = system(
    *("robust", 65.5),
    attacked("robust/faster", "zheng", 75.0, "candidates seen"),
    attacked("robust/again", "zheng", 75.5, "candidates seen", seed=1),
    attacked("robust/pwws", "pwws", 80.0, "seen"),
)


def test_a_column_for_each_attack_with_the_same_settings() -> None:
    table = worst_table([PLAIN, ROBUST])
    assert table.heads[2:5] == ("pwws", "faster", "again")  # two of one name: by their folders
    dash = "\N{EN DASH}"
    assert table.rows == [
        ("plain", ["90.0", "71.0 (unseen)", "72.0", dash, "60.2 [58.2, 62.8]", "2"]),
        (
            "robust",
            [
                *("90.0", "80.0 (seen)", "75.0 (candidates seen)", "75.5 (candidates seen)"),
                *("65.5 [63.5, 68.0]", "3"),
            ],
        ),
    ]


def test_attacks_that_nothing_else_tells_apart_are_numbered() -> None:
    same = [attacked("a/x", "pwws", 70.0), attacked("b/x", "pwws", 71.0)]
    seeds = [attacked("a/x", "pwws", 70.0, seed=1), attacked("b/y", "pwws", 71.0, seed=1)]
    assert worst_table([system("s", 60.0, *same)]).heads[2:4] == ("x (1)", "x (2)")
    twice = [system("s", 60.0, same[0], seeds[0]), system("t", 60.0, same[1], seeds[1])]
    assert worst_table(twice).heads[2:4] == ("x", "pwws")


def test_the_table_is_on_the_page_and_among_the_files_for_a_paper(tmp_path: Path) -> None:
    folders = [
        write(tmp_path / name, summary(90, score), [example(0)])
        for name, score in (("one", 70), ("two", 75))
    ]
    contents = read_contents(folders, worst=[PLAIN, ROBUST])
    page = Page(render_report(contents))
    assert "75.0 (candidates seen)" in page.text
    assert page.texts.count("Worst of attacks") == 1
    export(contents, tmp_path / "paper")
    rows = (tmp_path / "paper" / "worst-of-attacks.tex").read_text().splitlines()
    assert rows[-4] == "plain & 90.0 & 71.0 (unseen) & 72.0 & -- & 60.2 [58.2, 62.8] & 2 \\\\"
    lead = "Under all of its 2 attacks, “plain” keeps LAS 60.2 of 90.0. Under all of its 3 attacks"
    several = [{**summary(90, 70), "attack": name} for name in ("pwws", "zheng")]
    others = [write(tmp_path / each["attack"], each, [example(0)]) for each in several]
    assert lead in Page(render_report(read_contents(others, worst=[PLAIN, ROBUST]))).text
    without = Page(render_report(read_contents(folders)))
    assert "Worst of attacks" not in without.text
