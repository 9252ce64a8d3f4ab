"""``robustparse quickstart`` from end to end, on few sentences and for few epochs."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from command_runs import mistake, table

from robustparse.api.evaluate import evaluate
from robustparse.cli import quickstart, quickstart_attack
from robustparse.cli.main import main
from robustparse.cli.quickstart_attack import AttackStory
from robustparse.data.sample import generator, questions, reviews
from robustparse.data.sample import treebank as sample
from robustparse.data.utterances.forms import read_forms
from robustparse.evaluation.example_records import read_records
from robustparse.metrics import score_label
from robustparse.models.load import load
from robustparse.reports.tables import MISSING
from sample_grammar import read

OPERATIONS = ["deletion", "function_word_substitution", "insertion", "word_substitution"]
MEASURES = (
    *("standard_accuracy", "perturbation_accuracy", "robust_accuracy", "blackbox_success_rate"),
)
SAMPLES = (
    *(sample.sample_treebank, sample.sample_tags),
    *(reviews.sample_reviews, questions.sample_questions),
)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Samples of few sentences."""
    monkeypatch.setattr(generator, "SPLITS", {"train": 100, "dev": 20, "test": 30})
    attacks = {"epochs": (5, 5, 5), "curve": (0.3,)}
    short = {
        name: one._replace(**attacks)
        if isinstance(one, AttackStory)
        else one._replace(epochs=4, rate=0.01)
        for name, one in quickstart.STORIES.items()
    }
    monkeypatch.setattr(quickstart, "STORIES", short)
    monkeypatch.setattr(quickstart_attack, "CURVE_SENTENCES", 15)
    monkeypatch.setattr(quickstart_attack, "CERTIFIED_SENTENCES", 25)
    for drawn in SAMPLES:
        drawn.cache_clear()
    yield
    for drawn in SAMPLES:
        drawn.cache_clear()


@pytest.mark.slow
def test_every_value_printed_is_in_the_files(tmp_path: Path, capsys):
    main(["quickstart", "--out", str(tmp_path), "--seed", "2"])
    captured = capsys.readouterr()
    assert captured.err == ""
    rows = table(captured.out)
    curves, certified = [], []
    for name in ("clean", "robust"):
        folder = tmp_path / name
        summary = json.loads((folder / "summary.json").read_text())
        figures = [
            summary[which][score] for which in ("clean", "attacked") for score in ("uas", "las")
        ]
        figures += [summary["success_rate"], summary["strict_success_rate"]["uas"]]
        figures.append(summary["edits_per_sentence"])
        figures.append(summary["queries_per_sentence"]["charged"])
        assert rows[name] == [f"{figure:.1f}" for figure in figures]
        assert summary["n_sentences"] == 30
        lines = list(read_records(folder / "examples.jsonl"))
        test = sample.sample_treebank(2).test
        for line in lines:  # the grammar still derives the gold tree of every changed sentence
            tree = read(line["adversarial_tokens"]).tree
            assert [*tree.heads] == line["gold"]["heads"]
            assert [*tree.labels] == line["gold"]["labels"]
        assert [line["tokens"] for line in lines] == [list(e.sentence.words) for e in test]
        las = evaluate(load(folder / "parser.ckpt"), test)["las"]
        assert summary["clean"]["las"] == pytest.approx(las, abs=0.5)
        curves.append(json.loads((folder / "curves.json").read_text()))
        first = [line["attacked"]["correct_labels"] for line in lines[:15]]
        share = 100 * sum(first) / sum(line["counted"] for line in lines[:15])
        curve = curves[-1]["curves"][0]
        assert curve["x"] == [0.0, 15.0, 30.0]
        assert curve["y"][1] == pytest.approx(share)
        assert "robust/las" in (folder / "metrics.csv").read_text()
        certificates = json.loads((folder / "certified/summary.json").read_text())
        assert certificates["n_sentences"] == 25
        assert certificates["inputs"] > certificates["n_changeable"] > 12
        certified.append(certificates["certified"]["all"]["lower"]["las"])
        assert certified[-1] <= certificates["certified"]["1"]["lower"]["las"]
    said = " ".join(captured.out.split("Certified")[1].split("Report")[0].split())
    assert re.findall(r"[\d.]+\d", said)[1:] == [f"{las:.1f}" for las in certified]
    page = (tmp_path / "report.html").read_text()
    assert "<svg" in page
    assert "LAS against edit budget, 15 sentences" in page


@pytest.mark.slow
def test_a_second_run_in_the_same_folder_reports_its_own_parsers(tmp_path, monkeypatch, capsys):
    story = quickstart.STORIES["dependency"]._replace(epochs=(1, 1, 1))
    monkeypatch.setattr(quickstart, "STORIES", {"dependency": story})
    found = []
    for defense in ("substitution", "none"):
        main(["quickstart", "--out", str(tmp_path), "--defense", defense])
        said = " ".join(capsys.readouterr().out.split())
        adversarial = defense == "substitution"
        assert ("training on from there, with an adversary in every batch" in said) == adversarial
        assert ("; adversarial training wins back" in said) == adversarial
        assert ("; training on without an adversary wins back" in said) != adversarial
        parsers = {name: load(tmp_path / name / "parser.ckpt") for name in ("clean", "robust")}
        found.append({name: parser.arc_attn.weight for name, parser in parsers.items()})
        for name, parser in parsers.items():
            summary = json.loads((tmp_path / name / "summary.json").read_text())
            las = evaluate(parser, sample.sample_treebank(0).test)["las"]
            assert summary["clean"]["las"] == pytest.approx(las, abs=0.5)
    assert torch.equal(found[0]["clean"], found[1]["clean"])
    assert not torch.equal(found[0]["robust"], found[1]["robust"])


@pytest.mark.slow
@pytest.mark.parametrize(("task", "model"), [("classification", "classifier"), ("tags", "tagger")])
def test_the_story_of_texts_is_told_too(task, model, tmp_path, monkeypatch, capsys):
    # An attack on a classifier that was trained on fewer texts changes none.
    monkeypatch.setitem(generator.SPLITS, "train", 150)
    main(["quickstart", "--task", task, "--out", str(tmp_path)])
    captured = capsys.readouterr()
    assert captured.err == ""
    for name, row in table(captured.out).items():
        summary = json.loads((tmp_path / name / "summary.json").read_text())
        scores = load(tmp_path / name / f"{model}.ckpt").task.scores
        found = [summary[which][each] for which in ("clean", "attacked") for each in scores.names]
        assert row[: len(found)] == [f"{score:.1f}" for score in found]
        assert summary["task"] == task
        certificates = json.loads((tmp_path / name / "certified/summary.json").read_text())
        assert certificates["n_changeable"] > 12
    title = f"{score_label(scores.headline)} against edit budget"
    assert title in (tmp_path / "report.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("defense", ["augmentation", "none"])
def test_the_story_of_perturbations(defense: str, tmp_path: Path, capsys, monkeypatch):
    other = "augmented"
    if defense == "none":
        other, story = "control", quickstart.STORIES["semantic"]._replace(epochs=1)
        monkeypatch.setattr(quickstart, "STORIES", {"semantic": story})
    main(["quickstart", "--task", "semantic", "--defense", defense, "--out", str(tmp_path)])
    captured = capsys.readouterr()
    assert captured.err == ""
    test, train = (questions.sample_questions(0).test, questions.sample_questions(0).train)
    scores = [
        json.loads((tmp_path / name / "scores.json").read_text()) for name in ("clean", other)
    ]
    out = captured.out.replace(MISSING, "-")
    printed = re.findall(r"^ +(\w[^%]*?)((?: +[-+\d.]+){3}) *$", out, re.MULTILINE)
    operations = [path.stem for path in sorted((tmp_path / "perturbed").iterdir())]
    assert operations == OPERATIONS
    named = [*operations, "micro", "macro"]
    figures = {("all texts", ""): [one["exact_match"] for one in scores]}
    figures |= {
        (name, measure): values
        for measure in MEASURES
        if any(one["perturbed_files"]["macro"][measure] is not None for one in scores)
        for name in named
        for values in [[one["perturbed_files"][name][measure] for one in scores]]
    }
    assert len(figures) >= 1 + 3 * len(named) or defense == "none"
    assert [name.partition(" (")[0] for name, _ in printed] == [name for name, _ in figures]
    for (_, row), (before, after) in zip(printed, figures.values(), strict=True):
        both = None not in (before, after)
        expected = ["-" if value is None else f"{value:.1f}" for value in (before, after)]
        assert row.split() == [*expected, f"{after - before:+.1f}" if both else "-"]
    for name, one in zip(("clean", other), scores, strict=True):
        match = evaluate(load(tmp_path / name / "parser.ckpt"), test)["exact_match"]
        assert one["exact_match"] == pytest.approx(match)
    copies = [read_forms(tmp_path / "copies" / f"{name}.tsv") for name in operations]
    assert all(7 <= len(some) <= 20 for some in copies)  # 20 % of 100, but for those without one
    golds = {example.gold for example in train}
    assert all(copy.gold in golds for some in copies for copy in some)
    known = set(load(tmp_path / other / "parser.ckpt").vocabulary.words)
    new = {word.lower() for some in copies for copy in some for word in copy.sentence.words} - {
        word.lower() for example in train for word in example.sentence.words
    }
    assert new
    assert (new <= known) == (defense == "augmentation")
    page = (tmp_path / "report.html").read_text()
    assert "Perturbation accuracy" in page
    assert " ".join(captured.out.split("On average")[1].split("Report")[0].split()) in page


def test_mistakes_are_named(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for seed in ("-1", str(1 << 64)):
        error = mistake(capsys, "quickstart", "--seed", seed, "--out", tmp_path / "out")
        assert f"--seed must be >= 0 and below 2**64, got {seed}" in error
    error = mistake(capsys, "quickstart", "--out", tmp_path / "file" / "out")
    assert "file/out: the output folder is not writable" in error
    for option in ("--defense", "--task"):
        assert "magic" in mistake(capsys, "quickstart", option, "magic")
    error = mistake(capsys, "quickstart", "--defense", "augmentation")
    assert "--defense (of the task dependency) must be one of substitution, none" in error
