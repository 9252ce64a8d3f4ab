"""Columns that a checkpoint remembers, and files that keep the kind of their source."""

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import yaml

import robustparse as rp
from robustparse.cli.main import main
from robustparse.data.conllu import read_treebank
from robustparse.data.sample.reviews import review_lexicon
from robustparse.data.tables import read_table
from robustparse.data.text_datamodule import TextDataModule
from robustparse.evaluation.pairs import read_perturbed_pairs
from robustparse.models.checkpoint import KEY, describe
from robustparse.models.classification.cnn import WordCNN
from robustparse.models.encoders.word_embeddings import WordEmbeddings
from robustparse.tasks.classification import CLASSIFICATION
from sample_runs import lexicon_attack, sentences, trained_parser, trainer
from sample_texts import review_attack, texts, trained_classifier

COLUMNS = ["review", "stars"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier that was trained on columns of other names than usual, texts and a recipe."""
    folder = tmp_path_factory.mktemp("columns")
    model = trained_classifier().float()
    content = describe(model, model.vocabulary, data_columns=COLUMNS)
    torch.save({KEY: content, "state_dict": model.state_dict()}, folder / "tiny.ckpt")
    table = folder / "lexicon.json"
    table.write_text(json.dumps(review_lexicon(0)))
    lexicon = {"class_path": "robustparse.attacks.Lexicon", "init_args": {"table": str(table)}}
    search = {"class_path": "robustparse.attacks.Zheng2020"}
    (folder / "words.yaml").write_text(yaml.safe_dump({"candidates": lexicon, "search": search}))
    rows = [
        # The usual names are those of other things, and label has one class.
        {"stars": one.gold, "id": one.id, "text": "none", "label": "none", "review": words(one)}
        for one in texts(6, "test")
    ]
    (folder / "texts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


def words(example: Any) -> str:
    return " ".join(example.sentence.words)


def test_a_model_in_memory_remembers_the_columns_that_it_was_trained_on(made: Path) -> None:
    data = TextDataModule(train_file=str(made / "texts.jsonl"), columns=COLUMNS)
    model = WordCNN(filters=2, vocabulary=data.vocabulary)
    trainer(max_steps=1).fit(model, datamodule=data)
    scores = rp.evaluate(model, made / "texts.jsonl")
    assert scores == rp.evaluate(model, data.train_examples)
    assert scores["accuracy"]


@pytest.mark.parametrize("numbers", [True, False])
def test_labels_are_written_as_the_training_file_has_them(numbers: bool, tmp_path: Path) -> None:
    """Numbers or texts, into files without labels, and into those with numbers."""
    rows = [
        {"text": words(one), "label": at % 2 + 1 if numbers else str(at % 2 + 1)}
        for at, one in enumerate(texts(8))
    ]
    (tmp_path / "train.json").write_text(json.dumps(rows))
    data = TextDataModule(train_file=str(tmp_path / "train.json"))
    model = WordCNN(WordEmbeddings(4), filters=2, vocabulary=data.vocabulary)
    run = trainer(max_steps=1)
    run.fit(model.float(), datamodule=data)
    run.save_checkpoint(tmp_path / "model.ckpt")
    kind = int if numbers else str
    for name, label, expected in (("none", {}, kind), ("numbers", {"label": 1}, int)):
        unlabelled = [{"text": row["text"], **label} for row in rows]
        (tmp_path / f"{name}.json").write_text(json.dumps(unlabelled))
        model_and_data = ["--checkpoint", str(tmp_path / "model.ckpt")]
        model_and_data += ["--data", str(tmp_path / f"{name}.json")]
        main(["predict", *model_and_data, "--out", str(tmp_path / "out.json")])
        answers = [row["label"] for row in json.loads((tmp_path / "out.json").read_text())]
        assert {type(answer) for answer in answers} == {expected}
        assert {int(answer) for answer in answers} <= {1, 2}


def test_a_checkpoint_remembers_columns_for_every_command(made: Path, tmp_path: Path) -> None:
    assert rp.load(made / "tiny.ckpt").data_columns == COLUMNS
    model, data = ["--checkpoint", str(made / "tiny.ckpt")], ["--data", str(made / "texts.jsonl")]
    before = [values for _, values in read_table(made / "texts.jsonl").rows]
    recipe = ["--attack", str(made / "words.yaml")]

    main(["evaluate", *model, *data, "--out", str(tmp_path / "scored")])
    assert json.loads((tmp_path / "scored/scores.json").read_text())["accuracy"] > 50
    main(["predict", *model, *data, "--out", str(tmp_path / "answers.jsonl")])
    main(["attack", *recipe, *model, *data, "--out", str(tmp_path / "attacked")])
    assert json.loads((tmp_path / "attacked/run.json").read_text())["columns"] == COLUMNS
    main(["augment", *recipe, *model, *data, "--out", str(tmp_path / "copies.jsonl")])
    main(["transfer", str(tmp_path / "attacked"), *model, "--out", str(tmp_path / "transferred")])
    rates = json.loads((tmp_path / "transferred/transfer.json").read_text())["rates"]
    summary = json.loads((tmp_path / "attacked/summary.json").read_text())
    assert rates["accuracy"][0][0]["rate"]["estimate"] == pytest.approx(summary["success_rate"], 1)

    for name, column in (("answers", "stars"), ("attacked/adversarial", "review")):
        after = [values for _, values in read_table(tmp_path / f"{name}.jsonl").rows]
        assert [{**row, column: 0} for row in after] == [{**row, column: 0} for row in before]
        assert [[*row] for row in after] == [[*row] for row in before]
    copies = [values for _, values in read_table(tmp_path / "copies.jsonl").rows]
    assert {row["text"] for row in copies} == {row["label"] for row in copies} == {"none"}


def test_named_columns_win(made: Path, tmp_path: Path) -> None:
    model, data = ["--checkpoint", str(made / "tiny.ckpt")], ["--data", str(made / "texts.jsonl")]
    for text, label, least in (("text", "stars", 1), ("review", "label", 2)):
        out, columns = tmp_path / text, ["--columns", f"[{text}, {label}]"]
        main(["evaluate", *model, *data, *columns, "--out", str(out)])
        rows = [values for _, values in read_table(out / "predictions.jsonl").rows]
        assert (
            min(len({row[label] for row in rows}), 2) == least
        )  # all texts are "none", or none is


def test_a_csv_file_from_standard_input(
    made: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = texts(2, "test")
    content = f'id,review\n1,"{words(one)}"\n2,"{words(two)}"\n'.encode()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    main(["predict", "--checkpoint", str(made / "tiny.ckpt"), "--format", "csv"])
    header, *rows = capsys.readouterr().out.splitlines()
    answers = trained_classifier().predict([one.sentence, two.sentence])
    assert header == "id,review,stars"
    assert [row.rpartition(",")[2] for row in rows] == answers


@pytest.mark.parametrize("ending", [".tsv", ".csv", ".jsonl", ".json"])
def test_pairs_of_perturbed_texts_are_read_in_every_kind(
    ending: str, made: Path, tmp_path: Path
) -> None:
    data, out = tmp_path / f"data{ending}", tmp_path / f"pairs/typos{ending}"
    rows = [{"text": words(one), "label": one.gold} for one in texts(6, "test")]
    lines = {
        ".tsv": "".join(f"{row['text']}\t{row['label']}\n" for row in rows),
        ".csv": "text,label\n" + "".join(f'"{row["text"]}",{row["label"]}\n' for row in rows),
        ".jsonl": "".join(f"{json.dumps(row)}\n" for row in rows),
        ".json": json.dumps(rows),
    }
    data.write_text(lines[ending])
    options = ["--operations", "typos", "--task", "classification", "--keep", "pairs"]
    main(["augment", *options, "--data", str(data), "--out", str(out)])
    summary = out.with_name(f"{out.name}.summary.json")
    assert json.loads(summary.read_text())["n_copies"] == len(rows)
    (pairs,) = read_perturbed_pairs(tmp_path / "pairs", CLASSIFICATION).values()
    assert [words(pair.original) for pair in pairs] == [row["text"] for row in rows]
    assert [pair.original.gold for pair in pairs] == [row["label"] for row in rows]
    model = ["--checkpoint", str(made / "tiny.ckpt"), "--data", str(data)]
    perturbed = ["--perturbed", f"{tmp_path}/pairs/", "--out", str(tmp_path / "scored")]
    main(["evaluate", *model, *perturbed])


def test_what_python_reads_it_writes_in_the_same_kind(tmp_path: Path) -> None:
    rows = [sentence_rows(one) for one in sentences(3, "test")]
    (tmp_path / "a.conllx").write_text("".join(rows))
    examples = rp.read(tmp_path / "a.conllx")
    rp.attack(trained_parser(), examples, lexicon_attack(), out=tmp_path / "trees")
    assert len(read_treebank(tmp_path / "trees/adversarial.conllx")) == 3
    lines = [json.dumps({"n": 1, "text": words(one), "label": one.gold}) for one in texts(3)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    examples = rp.read(tmp_path / "a.jsonl", "classification")
    rp.attack(trained_classifier(), examples, review_attack(), out=tmp_path / "texts")
    again = rp.read(tmp_path / "texts/adversarial.jsonl", "classification")
    assert [one.gold for one in again] == [one.gold for one in examples]


def sentence_rows(example: Any) -> str:
    """Two roots, as only CoNLL-X may have, cannot be told from the lines of CoNLL-U."""
    columns = zip(example.sentence.words, example.sentence.xpos, strict=True)
    lines = [
        f"{at}\t{word}\t_\t{tag}\t{tag}\t_\t0\troot\t_\t_"
        for at, (word, tag) in enumerate(columns, start=1)
    ]
    return "\n".join(lines) + "\n\n"
