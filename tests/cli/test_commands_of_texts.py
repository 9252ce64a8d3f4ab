"""Every command on text classification, as a user would give it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from command_runs import mistake
from exact_runs import fault
from tiny_runs import differences, fit, write_config

from robustparse.cli.main import main
from robustparse.data.read_options import ReadOptions
from robustparse.data.sample.reviews import review_lexicon
from robustparse.data.text_files import read_texts
from robustparse.evaluation.example_records import read_records
from robustparse.models.load import load
from robustparse.tracking.examples import example_rows
from sample_runs import SPEED, save_checkpoint
from sample_texts import texts, trained_classifier, write_texts

STEPS = 30


def attack_in(folder: Path) -> dict[str, Any]:
    """A recipe that takes words of the sample's lexicon, from a file in the folder."""
    table = folder / "lexicon.json"
    table.write_text(json.dumps(review_lexicon(0)))
    lexicon = {"class_path": "robustparse.attacks.Lexicon", "init_args": {"table": str(table)}}
    return {"candidates": lexicon, "search": {"class_path": "robustparse.attacks.Zheng2020"}}


def callback(name: str, **settings: Any) -> dict[str, Any]:
    return {"class_path": f"robustparse.defenses.{name}", "init_args": settings}


def config(path: Path, *callbacks: dict[str, Any], **data: Any) -> Path:
    """A configuration of a tiny classifier with defenses, 17 batches an epoch."""
    search = {"class_path": "robustparse.attacks.RandomSubstitution", "init_args": {"gamma": 0.3}}
    recipe = attack_in(path.parent)
    attack = {"class_path": "robustparse.attacks.Attack", "init_args": recipe}
    online = {**attack, "init_args": {**recipe, "search": search}}
    every = [
        callback("FGM", epsilon=1.0),
        callback("SubstitutionAdversary", attack=online, fraction=0.2),
        callback("RobustnessEvaluation", attack=attack, sentences=8),
        *callbacks,
    ]
    content = yaml.safe_load(write_config(path, every, max_steps=STEPS).read_text())
    encoder = {"class_path": "robustparse.models.WordEmbeddings", "init_args": {"word_dim": 8}}
    content["model"] = {
        "class_path": "robustparse.models.WordCNN",
        "init_args": {"encoder": encoder, "filters": 4},
    }
    data = {"folder": "sample", "batches": {"words": 800}, **data}
    content["data"] = {"class_path": "robustparse.data.TextDataModule", "init_args": data}
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a checkpoint, texts, a recipe, and the attack by one process."""
    folder = tmp_path_factory.mktemp("texts")
    save_checkpoint(trained_classifier().float(), folder / "tiny.ckpt")
    write_texts(folder / "test.tsv", texts(24, "test"))
    (folder / "words.yaml").write_text(yaml.safe_dump({**attack_in(folder), "live": 2}))
    main(command("attack", folder, "--out", folder / "whole"))
    return folder


def command(name: str, made: Path, *more: object) -> list[str]:
    given = {"--checkpoint": made / "tiny.ckpt", "--data": made / "test.tsv", "--device": "cpu"}
    if name != "evaluate":
        given["--attack"] = made / "words.yaml"
    if "--data" in more:
        del given["--data"]
    return [name, *(str(part) for pair in given.items() for part in pair), *map(str, more)]


@pytest.mark.slow
def test_a_defended_run_that_is_killed_resumes_to_the_same_end(tmp_path, capsys):
    """In the second epoch, after copies and robust scores of the first."""
    main(fit(config(tmp_path / "run.yaml"), tmp_path / "whole"))
    with pytest.raises(SystemExit) as end:
        main(fit(config(tmp_path / "crash.yaml", fault("Crash", steps=[23])), tmp_path / "run"))
    assert end.value.code == 2
    assert "RuntimeError: crashed" in capsys.readouterr().err
    main(fit(tmp_path / "run.yaml", tmp_path / "run"))
    found = differences(tmp_path / "run", tmp_path / "whole")
    assert found == []
    names = {line.split(",")[1] for line in (tmp_path / "run/metrics.csv").read_text().split()}
    assert {"val/accuracy", "robust/accuracy", "clean/accuracy", "substitution/changed"} <= names


@pytest.mark.slow
def test_trained_on_named_columns_and_copies_it_predicts_in_the_files_format(made, tmp_path):
    rows = [
        {"stars": one.gold, "review": " ".join(one.sentence.words), "id": one.id}
        for one in texts(60)
    ]
    lines = [json.dumps(row) for row in rows]
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.jsonl").write_text("\n".join(lines))
    named = {"folder": str(tmp_path), "columns": ["review", "stars"]}
    columns = ("--columns", "[review, stars]")
    data = tmp_path / "train.jsonl"
    copies = tmp_path / "copies.jsonl"
    main(command("augment", made, "--data", data, "--out", copies, *columns))
    kept = read_texts(copies, ReadOptions(named["columns"]))
    assert 20 < len(kept) <= 60
    run = config(tmp_path / "run.yaml", augmentation={"files": [str(copies)]}, **named)
    short = ["--trainer.max_steps", "3", "--trainer.default_root_dir", str(tmp_path / "out")]
    main(["fit", "--config", str(run), "--trust", "faults", *short])
    where = ["--config", str(run), "--ckpt_path", str(tmp_path / "out/last.ckpt"), *short[2:]]
    for name in ("validate", "test"):
        main([name, *where])
    out = ["--out", f"{tmp_path}/out/predictions.jsonl"]  # the checkpoint knows the columns
    last = ["--checkpoint", f"{tmp_path}/out/last.ckpt", "--data", f"{tmp_path}/test.jsonl"]
    main(["predict", *last, *out])
    written = (tmp_path / "out/predictions.jsonl").read_text()
    predicted = [json.loads(line) for line in written.splitlines()]
    model = load(tmp_path / "out/last.ckpt")
    assert [row["stars"] for row in predicted] == model.predict(
        [row["review"].split() for row in rows]
    )
    assert [(row["review"], row["id"]) for row in predicted] == [
        (r["review"], r["id"]) for r in rows
    ]


def test_scores_of_the_attack_are_those_of_the_texts_it_wrote(made, tmp_path, capsys):
    main(command("evaluate", made, "--data", made / "whole/adversarial.tsv", "--out", tmp_path))
    summary = json.loads((made / "whole/summary.json").read_text())
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert scores["task"] == summary["task"] == "classification"
    assert scores["accuracy"] == pytest.approx(summary["attacked"]["accuracy"])
    assert summary["attacked"]["accuracy"] < summary["clean"]["accuracy"] - 20
    assert f"{scores['accuracy']:.2f}" in capsys.readouterr().out
    predicted = read_texts(tmp_path / "predictions.tsv")
    lines = list(read_records(made / "whole/examples.jsonl"))
    assert [one.gold for one in predicted] == [line["attacked"]["label"] for line in lines]
    for line, original in zip(lines, texts(24, "test"), strict=True):
        assert line["gold"] == {"label": original.gold}
        assert line["success"] == (line["attacked"]["label"] != original.gold) or line["skipped"]
        assert sum(line["clean"]["probabilities"].values()) == pytest.approx(1.0, abs=2e-4)


def test_the_report_shows_both_texts_and_the_table_for_wandb_has_accuracies(made, tmp_path):
    main(["report", str(made / "whole"), "--out", str(tmp_path / "report.html")])
    page = (tmp_path / "report.html").read_text()
    lines = [one for one in read_records(made / "whole/examples.jsonl") if one["success"]]
    text = " ".join(re.sub("<[^>]*>", "", page).split())
    assert "Accuracy: texts with the right label" in text
    assert any(" ".join(line["adversarial_tokens"]) in text for line in lines)
    assert "changed its answer." in text
    assert "(gold)" in text
    task = trained_classifier().task
    names, rows = example_rows(task, lines, [task.pictures.draw(line) for line in lines])
    before, after = names.index("Accuracy before"), names.index("Accuracy after")
    assert {(row[before], row[after]) for row in rows} == {(100.0, 0.0)}


@pytest.mark.slow
@pytest.mark.usefixtures("_forks")
def test_two_processes_write_the_files_of_one(made, tmp_path):
    main(command("attack", made, "--out", tmp_path / "out", "--devices", "2"))
    for name in ("examples.jsonl", "adversarial.tsv", "run.json"):
        assert (tmp_path / "out" / name).read_bytes() == (made / "whole" / name).read_bytes(), name
    one, two = (
        json.loads((at / "summary.json").read_text()) for at in (made / "whole", tmp_path / "out")
    )
    assert {k: v for k, v in one.items() if k not in SPEED} == {
        k: v for k, v in two.items() if k not in SPEED
    }


def test_what_texts_do_not_have_is_named(made, tmp_path, capsys):
    unknown = tmp_path / "unknown.tsv"
    unknown.write_text("We liked the room .\tpositive\nWe liked it .\tgreat\n")
    main(command("evaluate", made, "--data", unknown))
    captured = capsys.readouterr()
    assert f"{unknown}:2: label 'great'" in captured.err
    assert "50.00" in captured.out
    (tmp_path / "a.conllu").touch()
    for more, found in (
        (["--decoder", "mst"], "has one way to decode"),
        (["--columns", "[a, b]"], "no column 'a'"),
        (["--punctuation", "penn"], "punctuation: got penn"),
        (["--data", tmp_path / "no.tsv"], "no such file"),
        (
            ["--data", tmp_path / "a.conllu"],
            "the model's task is classification, and files ending in .conllu belong to",
        ),
    ):
        assert found in mistake(capsys, *command("evaluate", made, *more))
    tags = tmp_path / "tags.yaml"
    parts = [{"class_path": "robustparse.attacks.AttackableTags"}]
    tags.write_text(yaml.safe_dump({**attack_in(tmp_path), "constraints": parts}))
    arguments = command("attack", made, "--out", tmp_path / "out", "--attack", tags)
    error = mistake(capsys, *arguments)
    assert f"{made / 'test.tsv'}:1: " in error
    assert "no tag for every word, which AttackableTags needs" in error
    assert "texts have no tags: give attack or augment --tagger, or set" in error
    assert "column" not in error


def test_every_member_of_an_ensemble_of_classifiers_answers(made, tmp_path):
    other = trained_classifier().float()
    with torch.no_grad():
        other.output.weight.add_(0.1 * torch.randn(other.output.weight.shape))
    save_checkpoint(other, tmp_path / "other.ckpt")
    both = ["--checkpoint", str(made / "tiny.ckpt"), str(tmp_path / "other.ckpt")]
    main(["evaluate", *both, "--data", str(made / "test.tsv"), "--out", str(tmp_path / "out")])
    assert len(read_texts(tmp_path / "out/predictions.tsv")) == 24
