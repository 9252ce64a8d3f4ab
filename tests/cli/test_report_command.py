"""``robustparse report``: a page from the folders of attacks, and mistakes named."""

import json
import re
import shutil
from pathlib import Path

import pytest
from command_runs import mistake

import robustparse
from robustparse.cli.main import main
from robustparse.evaluation.attack_folder import attack_into
from robustparse.evaluation.example_records import read_records
from robustparse.models.victim import ModelVictim
from robustparse.tasks.dependency import DEPENDENCY
from sample_runs import lexicon_attack, sentences, trained_parser


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two finished attacks, a weak one and a strong one."""
    made = tmp_path_factory.mktemp("attacks")
    for name, gamma in (("weak", 0.05), ("strong", 0.5)):
        run = {"attack": "zheng2020", "victims": [name], "seed": 0}
        victim = ModelVictim([trained_parser()])
        attack_into(
            made / name,
            DEPENDENCY,
            lexicon_attack({"gamma": gamma}),
            sentences(15, "test"),
            victim,
            run,
        )
    return made / "weak", made / "strong"


def test_the_page_shows_the_values_of_every_folder(folders, tmp_path, capsys):
    out = tmp_path / "new" / "page.html"
    main(["report", *map(str, folders), "--out", str(out)])
    assert capsys.readouterr().out.strip() == str(out)
    page = out.read_text()
    assert "<svg" in page
    for folder in folders:
        assert folder.name in page
        summary = json.loads((folder / "summary.json").read_text())
        for which in ("clean", "attacked"):
            assert f"{summary[which]['las']:.1f}" in page


def test_plots_and_tables_are_exported(folders, tmp_path, capsys):
    out = ["--out", str(tmp_path / "page.html"), "--export", str(tmp_path / "paper")]
    main(["report", *map(str, folders), *out])
    systems = (tmp_path / "paper" / "systems.tex").read_text()
    for folder in folders:
        summary = json.loads((folder / "summary.json").read_text())
        assert f"\n{folder.name} & " in systems
        assert f" & {summary['attacked']['las']:.1f} & " in systems
    (tmp_path / "file").write_text("")
    out[-1] = str(tmp_path / "file" / "paper")
    assert "not writable" in mistake(capsys, "report", folders[0], *out)


def test_the_page_has_a_usual_name(folders, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["report", str(folders[0])])
    assert (tmp_path / "report.html").exists()
    assert capsys.readouterr().out == "report.html\n"


def test_a_wrong_folder_is_named(folders, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    out = ["--out", tmp_path / "page.html"]
    for given, says in (
        ([folders[0], tmp_path / "missing"], "missing: no such folder"),
        ([folders[0], tmp_path / "file"], "file: a file, not a folder"),
        (
            [tmp_path / "empty"],
            "summary.json: no such file; expected the output folder of an attack; give a",
        ),
        ([folders[0].parent], f"{folders[1]}, {folders[0]}"),
    ):
        assert says in mistake(capsys, "report", *given, *out)
    assert not (tmp_path / "page.html").exists()


def test_what_a_killed_attack_wrote_is_shown_and_the_rest_is_named(folders, tmp_path, capsys):
    killed = Path(shutil.copytree(folders[1], tmp_path / "killed"))
    lines = (killed / "examples.jsonl").read_text().splitlines(keepends=True)
    (killed / "examples.jsonl").write_text("".join(lines[:6]) + lines[6][:50])
    (killed / "examples.1.jsonl").write_text(lines[7])  # of another process
    (killed / "summary.json").write_text("{")
    (killed / "run.json").unlink()
    out = tmp_path / "page.html"
    main(["report", str(folders[0]), str(killed), "--out", str(out)])
    told = capsys.readouterr()
    assert told.out == f"{out}\n"
    warnings = told.err.splitlines()
    assert [line.split(";")[0] for line in warnings] == [
        f"robustparse: warning: {killed}/summary.json:1: not JSON (Input data was truncated)",
        f"robustparse: warning: {killed}: its scores are those of the 7 sentences that the attack "
        "finished",
    ]
    page = out.read_text()
    assert all(line.removeprefix("robustparse: warning: ") in page for line in warnings)
    found = [json.loads(line) for line in [*lines[:6], lines[7]]]
    for when in ("clean", "attacked"):
        right, all_of = (sum(part) for part in zip(*counts(found, when), strict=True))
        assert f">{100 * right / all_of:.1f}</td>" in page


def counts(lines, when):
    return [(line[when]["correct_labels"], line["counted"]) for line in lines]


def test_a_page_that_cannot_be_written_and_no_folder_at_all(folders, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    error = mistake(capsys, "report", folders[0], "--out", tmp_path / "file" / "page.html")
    assert f"{tmp_path / 'file'}: the output folder is not writable" in error
    error = mistake(capsys, "report", folders[0], "--out", tmp_path)
    assert f"{tmp_path}: a folder; expected the name of a file" in error
    assert "folders" in mistake(capsys, "report")
    assert "--nonsense" in mistake(capsys, "report", folders[0], "--nonsense", "1")


def one(measure, score, lines):
    """A measure of a system, in percent."""
    part = {"uas": "correct_heads", "las": "correct_labels"}[score]
    right = {when: [line[when][part] for line in lines] for when in ("clean", "attacked")}
    pairs = [*zip(right["clean"], right["attacked"], strict=True)]
    if measure == "fooled":
        return 100 * sum(attacked < clean for clean, attacked in pairs) / len(pairs)
    right["lost"] = [clean - attacked for clean, attacked in pairs]
    return 100 * sum(right[measure]) / sum(line["counted"] for line in lines)


def test_differences_are_told_with_how_sure_they_are(folders, tmp_path, capsys):
    page = tmp_path / "page.html"
    main(["report", "--compare", *map(str, folders), "--out", str(page)])
    shown = " ".join(capsys.readouterr().out.split())
    rows = re.findall(r"(\w+) (UAS|LAS) ([-+][\d.]+) \S+ to \S+ ([\d.]+) ([\d.]+)", shown)
    assert [row[:2] for row in rows] == [
        (measure, score)
        for score in ("UAS", "LAS")
        for measure in ("clean", "attacked", "lost", "fooled")
    ]
    both = [list(read_records(folder / "examples.jsonl")) for folder in folders]
    for measure, score, points, p, adjusted in rows:
        values = [one(measure, score.lower(), lines) for lines in both]
        assert float(points) == pytest.approx(values[1] - values[0], abs=0.011)
        assert float(p) <= float(adjusted)
    clean = [row[3] for row in rows if row[0] == "clean"]
    assert clean == ["1.0000", "1.0000"]  # one parser
    assert f"Differences from {folders[0].name}" in page.read_text()


def test_another_system_than_the_first_is_compared_with(folders, tmp_path, capsys):
    page = tmp_path / "page.html"
    with_second = ["--compare_with", folders[1].name, "--out", str(page)]
    main(["report", *map(str, folders), *with_second])
    text = " ".join(page.read_text().split())
    assert f"fewer than “{folders[1].name}” a system loses" in text
    main(["report", "--compare", *map(str, folders), *with_second])
    assert f"Differences from {folders[1].name}" in page.read_text()
    error = mistake(capsys, "report", *folders, "--compare_with", "nobody", "--out", page)
    assert "--compare_with" in error
    assert folders[1].name in error


def test_what_cannot_be_compared(folders, tmp_path, capsys):
    out = ["--out", str(tmp_path / "page.html")]
    assert "1 folder; expected two or more" in mistake(
        capsys, "report", "--compare", str(folders[0]), *out
    )
    assert "no folders given" in mistake(capsys, "report", *out)
    other = Path(shutil.copytree(folders[1], tmp_path / "other"))
    lines = (other / "examples.jsonl").read_text().splitlines(keepends=True)
    line = json.loads(lines[0])
    line["tokens"][0] = line["adversarial_tokens"][0] = "Zebras"
    (other / "examples.jsonl").write_text("".join([json.dumps(line) + "\n", *lines[1:]]))
    found = mistake(capsys, "report", "--compare", str(folders[0]), "nowhere", *out)
    assert "nowhere: --compare: no such folder" in found
    found = mistake(capsys, "report", "--compare", str(folders[0]), str(other), *out)
    assert "an attack on other sentences" in found
    line = json.loads(lines[0])
    line["gold"]["labels"][0] = "other"
    (other / "examples.jsonl").write_text("".join([json.dumps(line) + "\n", *lines[1:]]))
    found = mistake(capsys, "report", "--compare", str(folders[0]), str(other), *out)
    assert "other gold answers" in found
    line = json.loads(lines[0])
    line["clean"]["correct_heads"] = 99
    (other / "examples.jsonl").write_text("".join([json.dumps(line) + "\n", *lines[1:]]))
    found = mistake(capsys, "report", "--compare", str(folders[0]), str(other), *out)
    assert "99 right parts" in found
    assert not (tmp_path / "page.html").exists()


def test_what_is_right_under_all_attacks_on_one_system(folders, tmp_path, capsys):
    """The two attacks of one checkpoint, and a third one on another checkpoint."""
    copies = []
    for name, digest in (("weak", "first"), ("strong", "first"), ("third", "second")):
        source = folders[name != "weak"]
        copies.append(Path(shutil.copytree(source, tmp_path / name)))
        run = json.loads((source / "run.json").read_text())
        sha256 = {"checkpoint": [digest]}
        run |= {"attack": name, "victims": [f"{digest}.ckpt"], "sha256": sha256}
        (copies[-1] / "run.json").write_text(json.dumps(run))
    page, paper = tmp_path / "page.html", tmp_path / "paper"
    main(["report", "--compare", *map(str, copies), "--out", str(page), "--export", str(paper)])
    shown = " ".join(capsys.readouterr().out.split()).partition("worst of attacks")[2]
    right = counted = 0
    for lines in zip(*(read_records(copy / "examples.jsonl") for copy in copies[:2]), strict=True):
        gold = lines[0]["gold"]
        counted += len(gold["heads"])
        for word in range(len(gold["heads"])):
            right += all(
                line["attacked"][key][word] == gold[key][word]
                for line in lines
                for key in ("heads", "labels")
            )
    worst = f"{100 * right / counted:.1f}"
    assert f" {worst} [" in shown
    assert f" {worst} [" in (paper / "worst-of-attacks.tex").read_text()
    text = page.read_text()
    assert f"<td>{worst} [" in text
    assert "first" in shown
    assert "second" not in shown  # one attack only
    robustparse.report(copies, tmp_path / "same.html", compare=True)
    assert (tmp_path / "same.html").read_text() == text
    main(["report", "--compare", *map(str, copies[1:]), "--out", str(page)])
    assert "worst of attacks" not in capsys.readouterr().out


def test_a_page_replaces_no_file_of_a_run(folders, tmp_path, capsys):
    weak = shutil.copytree(folders[0], tmp_path / "weak")
    records = (weak / "examples.jsonl").read_bytes()
    error = mistake(capsys, "report", weak, "--out", weak / "examples.jsonl")
    assert "examples.jsonl: out: is also an input" in error
    assert (weak / "examples.jsonl").read_bytes() == records
    for _ in range(2):  # a page may replace an earlier page
        main(["report", str(weak), "--out", str(weak / "page.html")])
