"""An attack's sentences for other programs: TextAttack's columns, and a dataset with a card."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from datasets import load_dataset

import robustparse as rp
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.search.beam import Greedy
from robustparse.errors import InputError
from robustparse.evaluation.attack_log import COLUMNS, write_log
from robustparse.types import DependencyTree, Example, Sentence
from robustparse.victims import FunctionVictim

LABELS = ["neg", "pos"]
LEXICON = {"good": ["bad", "fine"], "dog": ["cat"]}
TEXTS = ("a good dog ran", "the good , good dog", "no word", 'he said " good "')


def share(text: Any) -> float:
    """The share of "pos": a third for each word with a g."""
    words = text[-1] if isinstance(text, tuple) else text
    return min(1.0, sum("g" in word for word in words) / 3)


def classify(texts: list[Any]) -> list[tuple[str, list[float]]]:
    """Label and probabilities."""
    shares = map(share, texts)
    return [(LABELS[each > 0.5], [1 - each, each]) for each in shares]


def attacked(folder: Path, pairs: bool) -> list[Example]:
    context = ("a", "premise") if pairs else ()
    examples = [
        Example(row, Sentence((*text.split(),), context=context), "pos" if row < 2 else "neg")
        for row, text in enumerate(TEXTS)
    ]
    victim = FunctionVictim(classify, "classification", labels=LABELS, pairs=pairs)
    rp.attack(victim, examples, Attack(Lexicon(LEXICON), Greedy()), out=folder)
    return examples


@pytest.mark.parametrize("pairs", [False, True])
def test_the_log_has_the_columns_of_textattack(tmp_path: Path, pairs: bool) -> None:
    """Texts, scores and results follow from the victim and the marked words."""
    examples = attacked(tmp_path, pairs)
    write_log(tmp_path, ["csv"])
    with (tmp_path / "log.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    kinds = set()
    for row, example in zip(rows, examples, strict=True):
        texts = [row["original_text"], row["perturbed_text"]]
        if pairs:
            assert all(text.startswith("Premise: a premise\nHypothesis: ") for text in texts)
            texts = [text.partition("Hypothesis: ")[2] for text in texts]
        plain = [text.replace("[[", "").replace("]]", "").split() for text in texts]
        assert tuple(plain[0]) == example.sentence.words
        changed = [at for at, (old, new) in enumerate(zip(*plain, strict=True)) if old != new]
        for text in texts:
            assert [at for at, word in enumerate(text.split()) if word[:2] == "[["] == changed
        answers = classify(plain)
        for which, (label, shares) in zip(("original", "perturbed"), answers, strict=True):
            assert row[f"{which}_output"] == label
            expected = 1 - shares[LABELS.index(example.gold)]
            assert float(row[f"{which}_score"]) == pytest.approx(expected, abs=1e-4)
        assert row["ground_truth_output"] == example.gold
        (before, _), (after, _) = answers
        skipped, success = before != example.gold, after != example.gold
        kind = "Skipped" if skipped else "Successful" if success else "Failed"
        assert row["result_type"] == kind
        kinds.add(kind)
    assert kinds == {"Successful", "Failed"}


def test_parquet_holds_the_same_rows(tmp_path: Path) -> None:
    attacked(tmp_path, False)
    write_log(tmp_path, ["csv", "parquet"])
    rows = load_dataset("parquet", data_files=str(tmp_path / "log.parquet"), split="train")
    with (tmp_path / "log.csv").open(newline="") as file:
        for row, expected in zip(rows, csv.DictReader(file), strict=True):
            assert {key: str(value) for key, value in row.items()} == expected


def test_the_dataset_loads_and_its_card_names_its_source(tmp_path: Path) -> None:
    examples = attacked(tmp_path / "a", True)
    write_log(tmp_path / "a", ["dataset"], license="cc0-1.0")
    rows = load_dataset(str(tmp_path / "a" / "dataset"), split="test")
    for row, example in zip(rows, examples, strict=True):
        assert row["original"].split() == list(example.sentence.words)
        assert row["context"] == "a premise"
        old, new = row["original"].split(), row["perturbed"].split()
        assert row["edited"] == [at for at in range(len(old)) if old[at] != new[at]]
        assert row["answer_to_perturbed"] == classify([row["perturbed"].split()])[0][0]
    card = (tmp_path / "a" / "dataset" / "README.md").read_text()
    metadata = yaml.safe_load(card.split("---")[1])
    assert metadata["license"] == "cc0-1.0"
    run = json.loads((tmp_path / "a" / "run.json").read_text())
    assert run["sha256"]["data"] in card
    assert json.dumps(run["settings"], indent=2) in card


def test_equal_attacks_give_equal_bytes(tmp_path: Path) -> None:
    contents = []
    for name in ("a", "b"):
        attacked(tmp_path / name, False)
        files = write_log(tmp_path / name, ["csv", "parquet", "dataset"])
        contents.append({file.relative_to(tmp_path / name): file.read_bytes() for file in files})
    assert contents[0] == contents[1]
    assert len(contents[0]) == 4


def test_logs_of_fewer_sentences_do_not_stay(tmp_path: Path) -> None:
    attacked(tmp_path, False)
    lines = (tmp_path / "examples.jsonl").read_text().splitlines(keepends=True)
    files = write_log(tmp_path, ["csv", "parquet", "dataset"])
    (tmp_path / "examples.jsonl").write_text("".join(lines[:-1]))  # one sentence is missing
    attacked(tmp_path, False)
    assert not any(file.exists() for file in files)
    assert len((tmp_path / "examples.jsonl").read_text().splitlines()) == len(lines)


def test_trees_are_json_and_scored_by_their_share(tmp_path: Path) -> None:
    chain = DependencyTree((0, 1), ("root", "obj"))
    flat = DependencyTree((2, 0), ("obj", "root"))
    victim = FunctionVictim(lambda texts: [chain if "good" in t else flat for t in texts])
    example = Example(0, Sentence(("good", "dog")), chain)
    rp.attack(victim, [example], Attack(Lexicon(LEXICON), Greedy()), out=tmp_path)
    write_log(tmp_path, ["csv"])
    with (tmp_path / "log.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert json.loads(row["original_output"]) == {"heads": [0, 1], "labels": ["root", "obj"]}
    assert (float(row["original_score"]), float(row["perturbed_score"])) == (0.0, 1.0)


def test_an_unfinished_attack_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        write_log(tmp_path, ["csv"])
