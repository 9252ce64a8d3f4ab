"""The same rows in tables of every kind: every command sees the same texts, labels and counts."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
import yaml

import robustparse as rp
from robustparse.cli.main import main
from robustparse.data.sample.reviews import review_lexicon
from robustparse.data.tables import ending_of, read_table
from robustparse.data.text_datamodule import TextDataModule
from robustparse.data.text_files import read_texts
from robustparse.evaluation.example_records import read_records
from sample_runs import save_checkpoint
from sample_texts import texts, trained_classifier

LABELS = ["mixed", "negative", "positive"]
NOBODY_AGREED = 2  # the row without a label


def rows() -> list[dict[str, Any]]:
    found = []
    for index, example in enumerate(texts(6, "test")):
        text = ' "hm" , '.join([" ".join(example.sentence.words), "é"])
        label = "-" if index == NOBODY_AGREED else example.gold
        found.append({"text": text, "label": label, "number": index})
    return found


def tsv(path: Path) -> None:
    path.write_text("".join(f"{row['text']}\t{row['label']}\n" for row in rows()))


def written(path: Path, **settings: Any) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows()[0]], **settings)
        writer.writeheader()
        writer.writerows(rows())


def data() -> Any:
    features = {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=LABELS)}
    found = [{**row, "label": -1 if row["label"] == "-" else row["label"]} for row in rows()]
    features["number"] = datasets.Value("int64")
    return datasets.Dataset.from_list(found, features=datasets.Features(features))


def named(path: Path) -> None:
    """A folder of files, as the hub has them."""
    path.mkdir()
    written(path / "test.csv")


KINDS: dict[str, Callable[[Path], Any]] = {
    "a.tsv": tsv,
    "quoted.tsv": lambda path: written(path, delimiter="\t", quoting=csv.QUOTE_ALL),
    "a.csv": written,
    "a.jsonl": lambda path: path.write_text("".join(json.dumps(row) + "\n" for row in rows())),
    "a.json": lambda path: path.write_text(json.dumps(rows())),
    "a.parquet": lambda path: data().to_parquet(path),
    "saved": lambda path: data().save_to_disk(path),
    "datasets:named": named,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a classifier and a recipe."""
    folder = tmp_path_factory.mktemp("kinds")
    save_checkpoint(trained_classifier().float(), folder / "tiny.ckpt")
    table = folder / "lexicon.json"
    table.write_text(json.dumps(review_lexicon(0)))
    lexicon = {"class_path": "robustparse.attacks.Lexicon", "init_args": {"table": str(table)}}
    search = {"class_path": "robustparse.attacks.Zheng2020"}
    (folder / "words.yaml").write_text(yaml.safe_dump({"candidates": lexicon, "search": search}))
    return folder


def labels_in(path: Path) -> list[str]:
    table = read_table(path)
    columns = [values.get("label", values.get(1)) for _, values in table.rows]
    return [str(label) for label in columns if label != "label"]


def results(name: str, made: Path, folder: Path) -> dict[str, Any]:
    """What each command makes of a table."""
    path = folder / name.removeprefix("datasets:")
    KINDS[name](path)
    source = f"datasets:{path}:test" if name.startswith("datasets:") else str(path)
    ending = ending_of(source)
    model, on = ["--checkpoint", str(made / "tiny.ckpt")], ["--data", source]

    examples = rp.read(source, "classification")
    kept = [(one.id, one.sentence, one.gold) for one in examples]
    trained = TextDataModule(train_file=source, dev_file=source)
    fit = [[(e.id, e.sentence, e.gold) for e in trained.examples(s)] for s in ("train", "dev")]

    main(["evaluate", *model, *on, "--out", str(folder / "scored")])
    scores = json.loads((folder / "scored/scores.json").read_text())
    counts = {key: scores[key] for key in ("n_sentences", "n_words", "accuracy")}

    main(["predict", *model, *on, "--out", str(folder / f"answers{ending}")])

    recipe = ["--attack", str(made / "words.yaml")]
    main(["attack", *recipe, *model, *on, "--out", str(folder / "attacked")])
    lines = [*read_records(folder / "attacked/examples.jsonl")]
    adversarial = read_texts(folder / f"attacked/adversarial{ending}")
    assert rp.attack(str(made / "tiny.ckpt"), examples, made / "words.yaml").lines == lines

    typos = ["augment", "--task", "classification", "--operations", "typos", "--keep", "all", *on]
    main([*typos, "--out", str(folder / f"copies{ending}")])
    copies = read_texts(folder / f"copies{ending}")

    main(["transfer", str(folder / "attacked"), *model, "--out", str(folder / "transferred")])
    transferred = json.loads((folder / "transferred/transfer.json").read_text())

    # What the commands wrote is read by them again.
    for again in (f"answers{ending}", f"attacked/adversarial{ending}", f"copies{ending}"):
        main(["evaluate", *model, "--data", str(folder / again)])
    return {
        "read": kept,
        "fit": fit,
        "evaluate": (counts, labels_in(folder / f"scored/predictions{ending}")),
        "predict": labels_in(folder / f"answers{ending}"),
        "attack": [{key: line[key] for key in sorted({*line} - {"seconds"})} for line in lines],
        "adversarial": [(one.sentence, one.gold) for one in adversarial],
        "augment": [(one.sentence, one.gold) for one in copies],
        "transfer": (transferred["n_sentences"], transferred["rates"]),
    }


@pytest.fixture(scope="module")
def expected(made: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the commands make of TSV, which is what its lines say."""
    found = results("a.tsv", made, tmp_path_factory.mktemp("tsv"))
    kept = [row for row in rows() if row["label"] != "-"]
    assert [(id_, " ".join(one.words), gold) for id_, one, gold in found["read"]] == [
        (row["number"], row["text"], row["label"]) for row in kept
    ]
    assert found["fit"] == [found["read"]] * 2
    assert found["evaluate"][0]["n_sentences"] == found["transfer"][0] == len(kept)
    assert found["predict"] == trained_classifier().predict([r["text"].split() for r in rows()])
    assert [line["tokens"] for line in found["attack"]] == [r["text"].split() for r in kept]
    assert any(line["edited"] for line in found["attack"])
    assert len(found["augment"]) == len(kept)
    return found


@pytest.mark.parametrize("name", [name for name in KINDS if name != "a.tsv"])
def test_a_table_means_the_same_to_every_command(
    name: str, made: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    found = results(name, made, tmp_path)
    for command in expected:
        assert found[command] == expected[command], command
