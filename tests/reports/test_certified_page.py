"""Certificates on the page: values as enumeration counts them, drawn trees, damaged folders."""

import json
import re
from functools import cache
from itertools import count, islice
from math import inf
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray
from report_pages import parse, summary, write

import robustparse as rp
from example_records import record as attack_record
from robustparse.api.certify import CertifiedResults
from robustparse.attacks.engine.statistics import Statistics
from robustparse.certificates.exhaustion import Exhaustive
from robustparse.errors import InputError
from robustparse.evaluation.attack_summary import AttackSummary
from robustparse.evaluation.certificate_folder import read_certificates, read_certified_summary
from robustparse.evaluation.certificate_records import certificate_record
from robustparse.evaluation.certified_scores import CertifiedScores
from robustparse.evaluation.record_files import encode_record
from robustparse.reports.browser import browse
from robustparse.reports.export import export
from robustparse.reports.page import build_report, read_contents
from robustparse.types import DependencyTree
from small_victims import EDITS, KINDS, Case, case

NAMES = [str(each) for each in EDITS]


def changed(small: Case) -> tuple[str, ...]:
    """An allowed text with as many changed words as there are."""
    return small.texts("all")[-1]


def drawable(small: Case) -> bool:
    """Whether no word is its own head in the trees that the page draws."""
    words = small.example.sentence.words
    answers = (small.example.gold, small.victim.answer(words), small.victim.answer(changed(small)))
    trees = [answer for answer in answers if isinstance(answer, DependencyTree)]
    return all(head != at for tree in trees for at, head in enumerate(tree.heads, start=1))


CASES = {
    kind: list(islice(filter(drawable, (case(kind, seed) for seed in count())), 16))
    for kind in KINDS
}


@cache
def files(kind: str, cap: int) -> tuple[bytes, str]:
    """The files that `certify` would write for the cases of a kind: lines and summary."""
    scores, lines = CertifiedScores(KINDS[kind], EDITS), []
    for small in CASES[kind]:
        exhaustive = Exhaustive(small.table, EDITS, cap)
        made = exhaustive.certificates([small.example], small.victim, Statistics())
        (certificate,) = made
        lines.append(certificate_record(KINDS[kind], small.victim, certificate, EDITS))
        scores.add(lines[-1])
    return b"".join(map(encode_record, lines)), json.dumps(scores.figures())


def certified(folder: Path, kind: str, cap: int = 10_000) -> Path:
    """A folder with these files."""
    lines, figures = files(kind, cap)
    folder.mkdir()
    (folder / "certificates.jsonl").write_bytes(lines)
    (folder / "summary.json").write_text(figures)
    return folder


def attacked(folder: Path, kind: str) -> Path:
    """The folder of an attack that changes each sentence into `changed`."""
    task, lines = KINDS[kind], []
    for small in CASES[kind]:
        words = small.example.sentence.words
        answers = {
            "clean": small.victim.answer(words),
            "attacked": small.victim.answer(changed(small)),
        }
        counted = task.scores.counted(small.example.sentence, "none")
        lines.append(
            attack_record(
                small.example.id,
                " ".join(words),
                " ".join(changed(small)),
                gold=task.answers.to_record(small.example.gold),
                counted=len(counted),
                **{
                    when: {
                        **task.answers.to_record(answer),
                        **task.scores.correct(answer, small.example, counted),
                    }
                    for when, answer in answers.items()
                },
            )
        )
    figures = AttackSummary(task).over(lines).figures()
    return write(folder, {"attack": "by hand", **figures}, lines)


def means(every: list[NDArray[np.bool_]]) -> dict[str, float]:
    """Scores of which parts are right, `(parts, scores)` for each sentence, in percent."""
    values = 100 * np.concatenate(every).mean(axis=0)
    if len(values) == 1:
        return {"": values[0]}
    whole = 100 * float(np.mean([right[:, 1].all() for right in every]))
    return {"UAS": values[0], "LAS": values[1], "Tree": whole}


def right_within(small: Case, most: float) -> NDArray[np.bool_]:
    """What is right if the attack counts only with at most so many changed words."""
    words, new = small.example.sentence.words, changed(small)
    edits = sum(a != b for a, b in zip(words, new, strict=True))
    return small.right(new if edits <= most else words)


@pytest.mark.parametrize("kind", KINDS)
def test_the_picture_shows_what_enumeration_counts(kind, tmp_path):
    folders = [certified(tmp_path / "proven", kind), attacked(tmp_path / "attack", kind)]
    contents = read_contents(folders)
    assert not contents.unread
    assert [system.name for system in contents.systems] == ["attack"]
    originals = means([small.right(small.example.sentence.words) for small in CASES[kind]])
    proven = [means([small.certified(each) for small in CASES[kind]]) for each in EDITS]
    limits = [0, *(inf if each == "all" else each for each in EDITS)]
    hurt = [means([right_within(small, most) for small in CASES[kind]]) for most in limits]
    plots = [plot for plot in contents.plots if "number of edits" in plot.title]
    assert len(plots) == len(originals)
    build_report(folders, tmp_path / "page.html")
    page = parse(tmp_path / "page.html")
    for plot in plots:
        name = plot.title.removesuffix(" by number of edits")
        name = name if len(originals) > 1 else ""
        line, dashed = plot.curves
        assert plot.ticks == ("0", *NAMES)
        assert line.x == dashed.x == (0, 1, 2, 3)
        assert line.y == pytest.approx([originals[name], *(each[name] for each in proven)])
        assert line.upper == line.y  # nothing is undecided
        assert dashed.y == pytest.approx([each[name] for each in hurt])
        assert not dashed.upper
        assert all(low <= high for low, high in zip(line.y, dashed.y, strict=True))
        for value in line.y:
            assert f"{value:.1f}" in page.text
        for value in line.y + dashed.y:
            assert f"{value:.2f}" in page.text
    assert line.y[0] > line.y[-1]
    paper = {path.name: path for path in export(contents, tmp_path / "paper")}
    title = plots[0].title.lower().replace(" ", "-")
    assert {f"{title}.svg", f"{title}.tex"} <= {*paper}
    rows = paper[f"certified-scores-{KINDS[kind].name}.tex"].read_text()
    for value in plots[0].curves[0].y:
        assert f" {value:.1f} " in rows


def test_undecided_answers_are_a_band(tmp_path):
    folder = certified(tmp_path / "proven", "trees", cap=4)
    bounds = read_certified_summary(folder)["certified"]
    contents = read_contents([folder])
    (las,) = (plot for plot in contents.plots if plot.title.startswith("LAS"))
    (line,) = las.curves
    assert line.y[1:] == tuple(bounds[each]["lower"]["las"] for each in NAMES)
    assert line.upper[1:] == tuple(bounds[each]["upper"]["las"] for each in NAMES)
    assert line.y[0] == line.upper[0]
    assert line.y[-1] < line.upper[-1]
    build_report([folder], tmp_path / "page.html")
    assert f"{line.y[-1]:.1f} to {line.upper[-1]:.1f}" in parse(tmp_path / "page.html").text


def test_systems_that_were_not_scored_on_the_same_sentences_are_said_to_be_so(tmp_path):
    proven = certified(tmp_path / "proven", "trees")
    same, other = attacked(tmp_path / "same", "trees"), tmp_path / "other"
    write(other, summary(90, 70), [])
    notes = [
        {plot.note for plot in read_contents([proven, folder]).plots if plot.ticks}
        for folder in (same, other)
    ]
    assert all(len(note) == 1 for note in notes)
    assert notes[0] != notes[1]
    (las,) = (p for p in read_contents([proven, other]).plots if p.title.startswith("LAS"))
    assert (las.curves[1].x, las.curves[1].y) == ((0, 3), (90, 70))  # no sentence is known
    # Attacks of other tasks are no lines of this picture.
    texts = attacked(tmp_path / "texts", "labels")
    assert all(len(p.curves) == 1 for p in read_contents([proven, texts]).plots if p.ticks)


@pytest.mark.parametrize("cap", [4, 10_000])
def test_trees_are_drawn_with_certified_refuted_and_undecided_arcs(cap, tmp_path):
    contents = read_contents([certified(tmp_path / "proven", "trees", cap)])
    browser = browse([], contents.certified)
    assert browser is not None
    styles = set()
    for small, sentence, entry in zip(
        CASES["trees"], contents.certified[0].sentences, browser.data["examples"], strict=True
    ):
        truth, record = small.certified("all"), sentence.record
        picture = ElementTree.fromstring(sentence.picture)
        groups = [
            group
            for group in picture.iter("{http://www.w3.org/2000/svg}g")
            if group.find("{http://www.w3.org/2000/svg}path") is not None
        ]
        assert len(groups) == len(truth)
        listed = " ".join(" ".join(picture.itertext()).split())
        undecided = "all" in record["undecided"]
        for group, (head, label) in zip(groups, truth.tolist(), strict=True):
            style = group.get("class")
            styles.add(style)
            if not undecided:
                wrong = "right mislabelled" if head else "wrong"
                assert style == ("right" if label else wrong)
            assert head or style != "right"  # what is drawn as certified is certified
            title = group.find("{http://www.w3.org/2000/svg}title")
            assert (title is not None) == ("wrong" in style or "mislabelled" in style)
        for witness in record["witnesses"]:
            for position, new in witness["words"].items():
                assert f"{record['tokens'][int(position)]} → {new}" in listed
        outcome = "certified" if truth[:, 1].all() else "refuted"
        assert entry["outcome"] == ("undecided" if undecided else outcome)
        words = list(record["tokens"])
        for position, new in entry["edits"].items():
            words[int(position)] = new
        assert not entry["edits"] or not small.right(tuple(words)).all()
    expected = {"right", "wrong", "right mislabelled"}
    assert styles >= (expected if cap > 4 else {"right", "wrong", "undecided"})
    assert ("undecided" in styles) == (cap == 4)


@pytest.mark.parametrize("kind", ["labels", "forms"])
def test_texts_and_forms_are_drawn_with_their_witness(kind, tmp_path):
    (system,) = read_contents([certified(tmp_path / "proven", kind)]).certified
    for small, sentence in zip(CASES[kind], system.sentences, strict=True):
        text = " ".join(" ".join(ElementTree.fromstring(sentence.picture).itertext()).split())
        holds = bool(small.certified("all").all())
        assert sentence.outcome == ("certified" if holds else "refuted")
        assert sentence.outcome in text
        for witness in sentence.record["witnesses"]:
            answer = witness["answer"]["label" if kind == "labels" else "form"]
            assert answer in text
            assert all(new in text for new in witness["words"].values())


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("certificates.jsonl", r'"heads":\[\d', '"heads":[77'),
        ("certificates.jsonl", r'"tokens":\["', '"tokens":["x","'),
        ("certificates.jsonl", r'"certified":\{"1":\{"uas"', '"certified":{"1":{"xas"'),
        ("certificates.jsonl", r'"certified":\{"1"', '"certified":{"one"'),
        ("certificates.jsonl", r'"refutes":\{"uas":\[\d', '"refutes":{"uas":[99'),
        ("certificates.jsonl", r"^\{", "{{"),
        ("summary.json", r'"las": [\d.]+', '"las": 1.5'),
        ("summary.json", r'"las"', '"xas"'),
        ("summary.json", r'"task": "dependency"', '"task": "poetry"'),
        ("summary.json", r'"certified": \{"1"', '"certified": {"one"'),
        ("summary.json", r"\{", "{{"),
    ],
)
def test_a_damaged_folder_is_one_error(file, old, new, tmp_path):
    folder = certified(tmp_path / "proven", "trees")
    good = certified(tmp_path / "good", "labels")
    text = (folder / file).read_text()
    damaged = re.sub(old, new, text, count=1)
    assert damaged != text
    (folder / file).write_text(damaged)
    errors = read_contents([folder, good]).unread
    known = [error for error in errors if "certify finished" not in error]
    assert len(known) == 1
    assert str(folder / file) in known[0]


def test_an_unfinished_run_has_the_scores_of_its_lines(tmp_path):
    folder = certified(tmp_path / "proven", "trees")
    whole = read_contents([folder])
    (folder / "summary.json").unlink()
    (folder / "run.json").write_text('{"victims": ["a.ckpt"]}')
    so_far = read_contents([folder])
    assert so_far.plots == whole.plots
    assert len(so_far.unread) == 1
    (folder / "certificates.jsonl").write_text("")
    with (folder / "summary.json").open("w") as file:
        file.write("{}")
    with pytest.raises(InputError) as error:
        read_contents([folder])
    assert error.value.path == str(folder / "summary.json")


def test_results_in_python_are_folders_with_names(tmp_path):
    folder = certified(tmp_path / "proven", "trees")
    hurt = rp.AttackResults(attacked(tmp_path / "attack", "trees"), "parser")
    results = CertifiedResults(
        folder, "parser", read_certified_summary(folder), read_certificates(folder)
    )
    page = parse(rp.report([hurt, results], tmp_path / "page.html"))
    assert "parser, certified" in page.text
    assert f"{results.score('all'):.1f}" in page.text
    assert parse(rp.report(results, tmp_path / "page.html")).text.count("parser, certified,") == 0
