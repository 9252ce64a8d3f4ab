"""Tagging from training to the report: one small tagger in every command."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from pytorch_lightning.callbacks import ModelCheckpoint

from robustparse.cli.main import main
from robustparse.data.datamodule import Batches
from robustparse.data.sample.treebank import sample_tags
from robustparse.data.tags.datamodule import TagDataModule
from robustparse.data.tags.tagged_sentences import read_tags
from robustparse.defenses import PGD
from robustparse.models import BiLSTMTagger, LSTMEncoder, Optimization
from robustparse.models.load import load
from robustparse.types import Example, TagSequence
from sample_runs import trainer

STEPS = 4
ENTITIES = ("nsubj", "obj", "obl")
RECIPE = """
candidates: {class_path: robustparse.attacks.VocabularyWords, init_args: {sample: 4}}
search: {class_path: robustparse.attacks.Zheng2020}
"""


def tagged(split: str, count: int) -> list[Example]:
    """Sentences of the sample with entities, some arguments, and intents."""
    made = []
    for example in sample_tags(0).split(split)[:count]:
        tags = tuple(f"B-{tag}" if tag in ENTITIES else "O" for tag in example.gold.tags)
        made.append((example, TagSequence(tags, "ab"[len(tags) % 2])))
    return [Example(each.id, each.sentence, gold) for each, gold in made]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tags")
    for split, count in (("train", 80), ("dev", 8), ("test", 8)):
        rows = (
            {"tokens": each.sentence.words, "tags": each.gold.tags, "label": each.gold.label}
            for each in tagged(split, count)
        )
        (folder / f"{split}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


def trained(files: Path, start: Path | None = None, **settings: Any) -> BiLSTMTagger:
    data = TagDataModule(folder=str(files), batches=Batches(words=200), min_count=1)
    encoder = LSTMEncoder(word_dim=8, character_dim=0, hidden=6, layers=1)
    model = BiLSTMTagger(
        encoder, crf=True, optimization=Optimization(1e-2), vocabulary=data.vocabulary
    )
    callbacks = [PGD(epsilon=0.5, steps=2), *settings.pop("callbacks", [])]
    run = trainer(*callbacks, **{"max_steps": STEPS, "max_epochs": -1, **settings})
    run.fit(model, datamodule=data, ckpt_path=start)
    return model


@pytest.fixture(scope="module")
def checkpoint(files: Path) -> Path:
    """The last checkpoint of a run; the one of half of its steps lies beside it."""
    folder = files / "run"
    every = ModelCheckpoint(
        folder,
        "{step}",
        every_n_train_steps=STEPS // 2,
        save_top_k=-1,
        auto_insert_metric_name=False,
    )
    trained(files, callbacks=[every], enable_checkpointing=True)
    return folder / f"{STEPS}.ckpt"


def test_a_resumed_run_ends_as_one_that_was_never_stopped(files: Path, checkpoint: Path) -> None:
    resumed = trained(files, checkpoint.with_name(f"{STEPS // 2}.ckpt")).state_dict()
    whole = load(checkpoint).state_dict()
    assert all(torch.equal(resumed[name], weight) for name, weight in whole.items())


def test_every_command_takes_a_tagger(files: Path, checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    test, out = str(files / "test.jsonl"), str(tmp_path / "out")
    model = ["--checkpoint", str(checkpoint), "--data", test]
    for _ in range(2):  # the second resumes, and changes nothing
        main(["attack", *model, "--attack", str(tmp_path / "recipe.yaml"), "--out", out])
    examples = read_tags(test)
    (adversarial,) = Path(out).glob("adversarial.*")
    changed = read_tags(adversarial)
    assert [each.gold for each in changed] == [each.gold for each in examples]
    kept = 0
    for before, after in zip(examples, changed, strict=True):
        pairs = zip(before.sentence.words, after.sentence.words, before.gold.tags, strict=True)
        assert all(old == new for old, new, tag in pairs if tag != "O")
        kept += before.sentence == after.sentence
    assert kept < len(examples)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["clean"].keys() == {"accuracy", "f1"}
    operation = {
        "class_path": "robustparse.perturbations.EntityReplacement",
        "init_args": {"training": str(files / "train.jsonl")},
    }
    scores = str(tmp_path / "scores")
    main(["evaluate", *model, "--perturbed", json.dumps([operation]), "--out", scores])
    record = json.loads((tmp_path / "scores" / "scores.json").read_text())
    assert 0 <= record["label_accuracy"] <= 100
    assert next(iter(record["perturbed"].values()))["changed_sentences"] > 0
    main(["predict", *model, "--out", str(tmp_path / "answers.jsonl")])
    answers = load(checkpoint).predict([each.sentence for each in examples])
    assert [each.gold for each in read_tags(tmp_path / "answers.jsonl")] == answers
    main(["report", out, scores, "--out", str(tmp_path / "report.html")])
    assert "F1" in (tmp_path / "report.html").read_text()
