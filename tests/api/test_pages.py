"""The notebook, the page on Python and the README run as they stand, and show what they say."""

import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from matplotlib.pyplot import close

import robustparse as rp
from robustparse.data.sample import generator
from robustparse.data.sample.treebank import sample_treebank
from robustparse.victims import HuggingFaceClassifier
from sample_runs import save_checkpoint, sentences, trained_parser, write_sample
from tiny_models import save_classifier

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "guides"
# Recipes that need models and lexicons; a test makes do with what it has.
RECIPE = """
candidates: {class_path: robustparse.attacks.TrainingWords, init_args: {sample: 4}}
search: {class_path: robustparse.attacks.Zheng2020}
"""


def run(cells: list[str]) -> dict[str, Any]:
    """The names that cells leave; the last line of each may be an expression, which is shown."""
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"pytorch_lightning\..*")  # advice on loaders
        for cell in cells:
            exec(cell, names)
    return names


@pytest.fixture
def _half_the_sample(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(generator, "SPLITS", {"train": 700, "dev": 100, "test": 100})
    sample_treebank.cache_clear()
    yield
    sample_treebank.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("_half_the_sample")
def test_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    cells = json.loads((DOCS / "notebook.ipynb").read_text())["cells"]
    codes = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in codes)
    names = run(["".join(cell["source"]) for cell in codes])
    before, after = (names[name].summary for name in ("results", "defended"))
    assert before["clean"]["las"] > 70
    assert before["attacked"]["las"] < before["clean"]["las"] - 5
    assert after["attacked"]["las"] > before["attacked"]["las"]
    assert [line["adversarial_tokens"] for line in names["black_box"].lines] == [
        line["adversarial_tokens"] for line in names["results"].lines
    ]
    assert "wins back" in names["page"].read_text()


def test_the_page_on_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    Path("words.yaml").write_text(RECIPE)
    Path("runs/ewt_biaffine").mkdir(parents=True)
    save_checkpoint(trained_parser().float(), Path("runs/ewt_biaffine/best.ckpt"))
    Path("UD_English-EWT").mkdir()
    write_sample(Path("UD_English-EWT/en_ewt-ud-test.conllu"), sentences(12, "test"))
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "python.md").read_text(), re.DOTALL)
    first, changed, training, scores, victim, parser = (
        re.sub('"(zheng2020_blackbox|pwws)"', '"words.yaml"', block) for block in blocks
    )
    assert sum(bool(line) for line in training.splitlines()) <= 15
    names = run(
        [
            first + changed + training.replace("max_epochs=3", "max_steps=2"),
            scores,
            victim + parser,
        ]
    )
    assert {name: round(float(score)) for name, score in names["attachment"].items()} == {
        "uas": 100,
        "las": 67,
    }
    assert names["answers"].compute() == 100
    assert names["robust"].compute() == 50
    close(names["figure"])
    assert Path("report.html").exists()
    assert len(names["results"]) == 20
    assert 0 <= names["scores"]["exact_match"] < 100
    assert rp.load("parser.ckpt").predict([["a", "b"]])


def test_the_page_on_own_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its models of three libraries, with few weights, on a handful of texts."""
    spacy = pytest.importorskip("spacy")
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    labels = ["cat", "dog"]
    rows = [(" ".join(("the", label, "saw", "the", label)), label) for label in labels] * 3
    Path("mr").mkdir()
    for split in ("train", "test"):
        Path(f"mr/{split}.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in rows))
    Path("words.yaml").write_text(
        "candidates: {class_path: Lexicon, init_args: {table: {cat: [dog], dog: [cat]}}}\n"
        "search: {class_path: Greedy}\n"
    )
    save_classifier(Path("my-classifier"), labels)
    pipeline = spacy.blank("en")
    textcat = pipeline.add_pipe("textcat")
    for label in labels:
        textcat.add_label(label)
    pipeline.initialize()
    pipeline.to_disk("my_textcat")
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "own_models.md").read_text(), re.DOTALL)
    *blocks, defense = blocks
    assert len(blocks) == 3
    for block in blocks:
        names = run([block.replace('"pwws"', '"words.yaml"')])
        victim, results = names["victim"], names["results"]
        assert len(results) == len(rows)
        shares = victim.answer([text.split() for text, _ in rows])
        assert [str(each.clean) for each in results] == [label for label, _ in shares]
    # The linear model is trained, and a word decides.
    assert (
        run([blocks[1].replace('"pwws"', '"words.yaml"')])["results"].summary["success_rate"] == 100
    )
    module = run([defense])["module"]
    assert module.trainer.global_step == 3
    logged = module.trainer.callback_metrics
    # Two passes with masks of their own.
    assert 0 < float(logged["train/adversarial_loss"]) != float(logged["train_loss"]) > 0
    defended = HuggingFaceClassifier("my-defended-classifier")
    assert len(rp.evaluate(defended, "mr/test.tsv").predictions) == len(rows)


def test_the_lines_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("quickstart/clean").mkdir(parents=True)
    save_checkpoint(trained_parser().float(), Path("quickstart/clean/parser.ckpt"))
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert sum(bool(line) for line in block.splitlines()) <= 5
    names = run([block.replace("limit=100", "limit=10")])
    assert len(names["results"]) == 10
    assert " -> " in capsys.readouterr().out
