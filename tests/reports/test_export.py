"""Files for a paper: every plot as a picture, every table as LaTeX with the page's values."""

import json
from pathlib import Path
from xml.etree import ElementTree

from report_pages import curves, example, summary, write

from robustparse.reports.export import export, tabular
from robustparse.reports.page import read_contents
from robustparse.reports.tables import Table
from robustparse.reports.transfer_maps import read_heat_maps

CELL = {"rate": {"estimate": 40.0, "lower": 31.0, "upper": 49.5}, "given_success": None}
TRANSFER = {"sources": ["a_1"], "targets": ["a_1", "b"], "rates": {"las": [[CELL, CELL]]}}
ROW = {"sentences": 7, "changed": 9, "success_rate": 24.25, "uas_drop": 2.0, "las_drop": None}


def test_every_plot_and_table_is_a_file(tmp_path: Path) -> None:
    more = {"edits_per_success": 2.5, "by_relation": {"nsubj": ROW}}
    folders = [
        write(tmp_path / name, {**summary(90, after), **more}, [example(0)], curves(name))
        for name, after in (("clean_1", 70), ("robust", 75))
    ]
    (folders[1] / "transfer.json").write_text(json.dumps(TRANSFER))
    contents = read_contents(folders)
    paths = export(contents, tmp_path / "new" / "paper")
    assert {path.name for path in paths} == {
        *("las-against-the-edit-budget.png", "las-against-the-edit-budget.svg"),
        *("las-against-the-edit-budget.tex", "systems.tex", "the-adversarial-examples.tex"),
        *("relations-1.tex", "relations-2.tex"),
        *("transfer-las.tex", "transfer-las.png", "transfer-las.svg"),
    }
    assert {*paths} == {*(tmp_path / "new" / "paper").iterdir()}  # nothing left aside
    files = {path.name: path for path in paths}
    assert files["relations-1.tex"].read_text() == (
        "% Relations: clean_1\n\\begin{tabular}{lrrrrr}\n\\hline\n"
        "Relations & Sentences & Words & Success rate, \\% & UAS lost & LAS lost \\\\\n\\hline\n"
        "nsubj & 7 & 9 & 24.2 & 2.0 & -- \\\\\n\\hline\n\\end{tabular}\n"
    )
    systems = files["systems.tex"].read_text().splitlines()
    assert systems[-4].startswith("clean\\_1 & 92.5 & 83.2 & 90.0 & 70.0 & 100.0 [100.0, 100.0]")
    assert systems[-3].endswith(" & 45.3 & 31.2 & 32.8 & 1.7 & 1 & zheng2020\\_blackbox \\\\")
    columns = systems[1].partition("{tabular}")[2].count("r") + 1
    assert all(line.count(" & ") == columns - 1 for line in (systems[3], *systems[-4:-2]))
    values = files["las-against-the-edit-budget.tex"].read_text()
    assert "clean\\_1 & 0 & 90.00 \\\\" in values
    assert "a\\_1 & 40.0 [31.0, 49.5] (--) & 40.0" in files["transfer-las.tex"].read_text()
    for name in ("las-against-the-edit-budget", "transfer-las"):
        assert files[f"{name}.png"].read_bytes().startswith(b"\x89PNG")
        picture = ElementTree.parse(files[f"{name}.svg"]).getroot()
        assert picture.tag.endswith("svg")
        assert not list(picture.iter("{http://www.w3.org/2000/svg}text"))  # outlines only
    before = [path.read_bytes() for path in paths]
    assert export(contents, tmp_path / "new" / "paper") == paths
    assert [path.read_bytes() for path in paths] == before


def test_sources_and_targets_have_short_names(tmp_path: Path) -> None:
    one, other = "runs/a/best.ckpt", "runs/b/best.ckpt"
    found = {"sources": ["x/a/attacked", "x/b/attacked"], "targets": [one, f"{one},{other}"]}
    rates = {"las": [[CELL, CELL], [CELL, CELL]]}
    (tmp_path / "transfer.json").write_text(json.dumps({**found, "rates": rates}))
    (shown,) = read_heat_maps(tmp_path)
    assert shown.targets == ["a", "a + b"]
    assert [name for name, _ in shown.rows] == ["a", "b"]
    twice = {"sources": ["x/a", "./x/a"], "targets": ["c.ckpt", "d.ckpt"], "rates": rates}
    (tmp_path / "transfer.json").write_text(json.dumps(twice))
    (shown,) = read_heat_maps(tmp_path)
    assert shown.targets == ["c.ckpt", "d.ckpt"]
    assert [name for name, _ in shown.rows] == ["x/a", "./x/a"]


def test_what_latex_reads_as_commands_is_escaped() -> None:
    table = Table("A", ("a\nb", "c%"), [("x_1 & $y$ #{2} \\ ~ ^", ["1 \N{RIGHTWARDS ARROW} <2>"])])
    found = tabular(table).splitlines()
    assert found[3] == "a b & c\\% \\\\"
    assert found[5] == (
        "x\\_1 \\& \\$y\\$ \\#\\{2\\} \\textbackslash{} \\textasciitilde{} \\textasciicircum{}"
        " & 1 $\\to$ \\textless{}2\\textgreater{} \\\\"
    )
