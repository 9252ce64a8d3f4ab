"""Every command on pairs of texts: the premise goes everywhere, and is never changed."""

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from command_runs import mistake
from datasets import load_dataset
from test_commands_of_texts import attack_in, callback
from tiny_runs import fit, write_config

from robustparse.cli.main import main
from robustparse.data.sample.reviews import sample_reviews
from robustparse.data.text_files import read_texts
from robustparse.evaluation.example_records import read_records
from robustparse.evaluation.pairs import PerturbedPair, pair_outcomes, pair_scores
from robustparse.models import ModelVictim
from robustparse.models.load import load
from robustparse.types import Example, Sentence
from sample_runs import save_checkpoint
from sample_texts import trained_classifier


def premise(example: Example) -> str:
    """Some words of a review, backwards, so that no two tokens of a pair stand in one place."""
    return " ".join(example.sentence.words[2::-1])


def write_pairs(path: Path, examples: list[Example]) -> None:
    rows = (f"{premise(one)}\t{' '.join(one.sentence.words)}\t{one.gold}\n" for one in examples)
    path.write_text("".join(rows))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained InferSent, its pairs and an attack."""
    folder = tmp_path_factory.mktemp("pairs")
    sample = sample_reviews(0)
    for split in ("train", "dev", "test"):
        write_pairs(folder / f"{split}.tsv", getattr(sample, split)[:100])
    recipe = attack_in(folder)
    recipe["search"]["init_args"] = {"gamma": 0.5}
    (folder / "attack.yaml").write_text(yaml.safe_dump(recipe))
    draw = {"class_path": "robustparse.attacks.RandomSubstitution", "init_args": {"gamma": 0.3}}
    online = {"class_path": "robustparse.attacks.Attack", "init_args": {**recipe, "search": draw}}
    every = [
        callback("FGM", epsilon=0.1),
        callback("SubstitutionAdversary", attack=online, fraction=0.02),
        callback("RobustnessEvaluation", attack=online, sentences=8),
    ]
    config = write_config(folder / "config.yaml", every, max_steps=120)
    content: dict[str, Any] = yaml.safe_load(config.read_text())
    encoder = {
        "class_path": "robustparse.models.WordEmbeddings",
        "init_args": {"word_dim": 16, "dropout": 0.0},
    }
    arguments: dict[str, Any] = {"encoder": encoder, "hidden": 12, "layer_dim": 8}
    arguments["optimization"] = {"learning_rate": 0.01, "schedule": "constant"}
    content["model"] = {"class_path": "robustparse.models.InferSent", "init_args": arguments}
    data = {"folder": str(folder), "batches": {"words": 800}}
    content["data"] = {"class_path": "robustparse.data.TextDataModule", "init_args": data}
    config.write_text(yaml.safe_dump(content))
    main(fit(config, folder / "run"))
    return folder


@pytest.fixture(scope="module")
def attacked(folder: Path) -> Path:
    data, checkpoint = str(folder / "test.tsv"), str(folder / "run/last.ckpt")
    attack = ["attack", "--checkpoint", checkpoint, "--data", data]
    main([*attack, "--attack", str(folder / "attack.yaml"), "--out", str(folder / "out")])
    return folder


def test_every_command_takes_pairs(attacked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = attacked
    data, checkpoint = str(folder / "test.tsv"), str(folder / "run/last.ckpt")
    main(["evaluate", "--checkpoint", checkpoint, "--data", data])
    assert "accuracy" in capsys.readouterr().out
    gold, lines = read_texts(data), list(read_records(folder / "out/examples.jsonl"))
    assert sum(line["success"] for line in lines) > 5
    for line, example in zip(lines, gold, strict=True):
        assert line["context"] == list(example.sentence.context)
        assert line["tokens"] == list(example.sentence.words)
    main(["report", str(folder / "out"), "--out", str(folder / "report.html")])
    page = (folder / "report.html").read_text()
    assert any(" ".join(line["context"]) in page for line in lines if line["success"])
    capsys.readouterr()
    # What an attack writes is read as pairs again, and judged as the attack judged it.
    for file, when in ((data, "clean"), (str(folder / "out/adversarial.tsv"), "attacked")):
        out = folder / f"{when}.tsv"
        main(["predict", "--checkpoint", checkpoint, "--data", file, "--out", str(out)])
        answers = read_texts(out)
        assert [one.sentence.context for one in answers] == [one.sentence.context for one in gold]
        assert [one.gold for one in answers] == [line[when]["label"] for line in lines]


def test_perturbed_copies_keep_their_premise(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    augment = ["augment", "--task", "classification", "--data", str(folder / "test.tsv")]
    (folder / "sets").mkdir()
    noise = [
        "--operations",
        "deletion",
        "--keep",
        "pairs",
        "--out",
        str(folder / "sets/deletion.tsv"),
    ]
    main([*augment, *noise])
    originals = {tuple(row[:2]) for row in columns(folder / "test.tsv")}
    made = columns(folder / "sets/deletion.tsv")
    assert len(made) > 50
    for context, copy, original, _ in made:
        assert (context, original) in originals
        assert len(copy.split()) == len(original.split()) - 1
    capsys.readouterr()
    checkpoint = str(folder / "run/last.ckpt")
    data = ["--data", str(folder / "test.tsv"), "--perturbed", str(folder / "sets")]
    main(["evaluate", "--checkpoint", checkpoint, *data])
    assert "deletion" in capsys.readouterr().out.lower()


def test_a_hypothesis_of_two_premises_is_two_texts(folder: Path) -> None:
    model = load(folder / "run/last.ckpt")
    rows = [row[:2] for row in columns(folder / "test.tsv")]
    hypothesis = rows[0][1].split()
    both = [Sentence((*hypothesis,), context=(*premise.split(),)) for premise, _ in rows]
    answers = model.predict(both)
    other = next(at for at, answer in enumerate(answers) if answer != answers[0])
    pairs = [
        PerturbedPair(*[Example(0, text, str(answers[0]))] * 2) for text in (both[0], both[other])
    ]
    scores, worst = pair_scores(pair_outcomes(ModelVictim([model]), {"none": pairs}))
    assert scores["none"].perturbation_accuracy == worst == 50.0


def test_an_attack_on_pairs_is_transferred_measured_and_judged_by_people(
    attacked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = str(attacked / "run/last.ckpt")
    save_checkpoint(load(checkpoint), tmp_path / "same.ckpt")
    lines = [line for line in read_records(attacked / "out/examples.jsonl") if line["success"]]
    main(["transfer", str(attacked / "out"), "--checkpoint", str(tmp_path / "same.ckpt")])
    assert "100.0" in capsys.readouterr().out  # its own successes
    words = {word.lower() for line in lines for word in line["tokens"] + line["adversarial_tokens"]}
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("".join(f"{word} 1 {i}\n" for i, word in enumerate(sorted(words))))
    main(["measure", str(attacked / "out"), "--vectors", str(vectors)])
    main(["annotate", "export", str(attacked / "out"), "--out", str(tmp_path / "pairs.csv")])
    rows = list(csv.DictReader((tmp_path / "pairs.csv").read_text().splitlines()))
    shown = {(row["premise"], row[side]) for row in rows for side in "AB"}
    for line in lines:
        for text in (line["tokens"], line["adversarial_tokens"]):
            assert (" ".join(line["context"]), " ".join(text)) in shown
    key = str(tmp_path / "pairs_key.json")
    write_answers(tmp_path / "pairs.csv", rows)
    main(["annotate", "score", key, str(tmp_path / "pairs.csv")])
    assert f"{len(lines)} pairs, 1 annotator" in capsys.readouterr().out


def write_answers(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "more_fluent": "A", "same_structure": "yes"} for row in rows)


@pytest.mark.parametrize("source", ["file", "standard input"])
def test_raw_pairs_are_answered_as_those_of_a_file(
    source: str,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    predict = ["predict", "--checkpoint", str(folder / "run/last.ckpt")]
    main([*predict, "--data", str(folder / "test.tsv")])
    expected = capsys.readouterr().out
    raw = "\n\n".join("\t".join(row[:2]) for row in columns(folder / "test.tsv"))
    if source == "file":
        (tmp_path / "raw.txt").write_text(raw)
        main([*predict, "--data", str(tmp_path / "raw.txt")])
    else:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw.encode())))
        main(predict)
    assert capsys.readouterr().out == expected


def test_pairs_are_also_a_dataset(folder: Path, tmp_path: Path) -> None:
    data = ["--data", f"{folder}/test.tsv", "--seed", "3"]
    kinds = ["--keep", "pairs", "--format", "dataset", "--license", "cc0-1.0"]
    attack = ["--attack", str(folder / "attack.yaml"), "--limit", "30"]
    runs = {
        "typos": ["--task", "classification", "--operations", "typos"],
        "attack": [*attack, "--checkpoint", str(folder / "run/last.ckpt")],
    }
    digest = hashlib.sha256((folder / "test.tsv").read_bytes()).hexdigest()
    for name, options in runs.items():
        contents = []
        for again in ("a", "b"):
            out = tmp_path / again / f"{name}.tsv"
            out.parent.mkdir(exist_ok=True)
            main(["augment", *options, *data, *kinds, "--out", str(out)])
            files = [path for path in out.with_suffix(".dataset").rglob("*") if path.is_file()]
            contents.append({path.name: path.read_bytes() for path in files})
        assert contents[0] == contents[1]
        assert len(contents[0]) == 2
        rows = load_dataset(str(out.with_suffix(".dataset")), split="test")
        order = ("context", "perturbed", "original", "answer")
        assert [[row[key] for key in order] for row in rows] == columns(out)
        card = contents[0]["README.md"].decode()
        assert yaml.safe_load(card.split("---")[1])["license"] == "cc0-1.0"
        assert all(fact in card for fact in (name, digest, "| seed | 3 |"))
    with pytest.raises(SystemExit):
        main(["augment", *runs["typos"], *data, *kinds[2:], "--out", str(tmp_path / "c.tsv")])
    assert not (tmp_path / "c.tsv").exists()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("a single text", "raw.txt:3: not a pair: 'a single text'"),
        ("a\tb\tlabel", "raw.txt:3: not a pair: 'a"),
        ("a premise\t ", "raw.txt:3: not a pair: 'a premise"),
        ("a " * 300 + "\tb", "raw.txt:3: 300 words"),
    ],
)
def test_raw_text_that_is_no_pair_is_named(
    line: str, says: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "raw.txt").write_text(f"a\tb\n\n{line}\n")
    checkpoint = str(folder / "run/last.ckpt")
    raw = str(tmp_path / "raw.txt")
    assert says in mistake(capsys, "predict", "--checkpoint", checkpoint, "--data", raw)


def test_gradient_defenses_and_offline_copies_take_pairs(folder: Path, tmp_path: Path) -> None:
    copies = tmp_path / "copies.tsv"
    attack = ["--attack", str(folder / "attack.yaml"), "--limit", "30"]
    checkpoint = ["--checkpoint", str(folder / "run/last.ckpt")]
    main(["augment", *attack, *checkpoint, "--data", f"{folder}/train.tsv", "--out", str(copies)])
    originals = {(row[0], row[2]) for row in columns(folder / "train.tsv")}
    assert len(columns(copies)) > 3
    assert {(row[0], row[2]) for row in columns(copies)} <= originals
    content: dict[str, Any] = yaml.safe_load((folder / "config.yaml").read_text())
    content["data"]["init_args"]["augmentation"] = {"files": [str(copies)]}
    content["trainer"]["max_steps"] = 3
    content["trainer"]["limit_val_batches"] = 0
    weights = []
    for name, settings in (("PGD", {"steps": 2}), ("FreeLB", {"steps": 2})):
        content["trainer"]["callbacks"] = [callback(name, epsilon=0.1, **settings)]
        (tmp_path / "config.yaml").write_text(yaml.safe_dump(content))
        main(fit(tmp_path / "config.yaml", tmp_path / name))
        weights.append(load(tmp_path / name / "last.ckpt").state_dict())
    assert any(not torch.equal(one, weights[1][name]) for name, one in weights[0].items())


def columns(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines()]


def test_a_classifier_of_texts_says_that_it_reads_one_of_them(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_checkpoint(trained_classifier().float(), tmp_path / "texts.ckpt")
    arguments = ["--checkpoint", str(tmp_path / "texts.ckpt"), "--data", str(folder / "test.tsv")]
    main(["evaluate", *arguments])
    said = " ".join(capsys.readouterr().err.split())
    assert "test.tsv: pairs of texts, of which WordCNN reads only the second" in said


def test_what_the_hypothesis_tells_is_scored_against_the_model(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_checkpoint(trained_classifier().float(), tmp_path / "texts.ckpt")
    blind, checkpoint = str(tmp_path / "texts.ckpt"), str(folder / "run/last.ckpt")
    data = ["--data", str(folder / "test.tsv"), "--limit", "40"]
    scores = {}
    for name, options in (
        ("blind", ["--checkpoint", blind]),
        ("both", ["--checkpoint", checkpoint, "--hypothesis_only", blind]),
    ):
        main(["evaluate", *options, *data, "--out", str(tmp_path / name)])
        scores[name] = json.loads((tmp_path / name / "scores.json").read_text())
    alone = scores["blind"]["accuracy"]
    assert scores["both"]["hypothesis_only"] == {"checkpoint": blind, "accuracy": alone}
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["hypothesis", "only", f"{alone:.2f}"] in rows
    (tmp_path / "single.tsv").write_text("good food\tpositive\n")
    for model, given, file, says in (
        (checkpoint, checkpoint, folder / "test.tsv", "InferSent reads both texts"),
        (blind, blind, tmp_path / "single.tsv", "the data are not pairs"),
    ):
        options = ["--checkpoint", model, "--hypothesis_only", given, "--data", str(file)]
        assert f"--hypothesis_only: {says}" in mistake(capsys, "evaluate", *options)


def test_single_texts_are_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test.tsv").write_text("good food\tpositive\n")
    checkpoint = str(folder / "run/last.ckpt")
    said = mistake(
        capsys, "evaluate", "--checkpoint", checkpoint, "--data", str(tmp_path / "test.tsv")
    )
    assert "test.tsv:1" in said
    assert "InferSent reads pairs, and this is a single text" in said
