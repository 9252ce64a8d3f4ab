"""Makes what ``tests/contract`` freezes; run by hand, and only before a first release.

    PYTHONPATH=src:tests python tests/contract/make.py

It writes, next to itself:

- ``test.conllu``: twelve sentences of the built-in sample;
- ``tiny.ckpt``: ``last.ckpt`` of a word and character parser that ``robustparse fit`` has trained
  for 240 steps on the sample;
- ``parses.json``: the trees that the parser gives the first ten sentences, and the loss of each;
- ``attacked/``: what ``robustparse attack`` with ``words.yaml`` writes for all twelve;
- ``names.txt``: every recipe and configuration by its bare name, the classes that it names, and the
  arguments that it gives to each.

From a release on, later versions must read these files. A new format gets files of its own next to
them, under another name; only ``names.txt`` may grow. A checkpoint made again has other weights in
the last digits, so that everything else is made again with it.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import yaml

from robustparse import load
from robustparse.cli.main import main
from robustparse.data.conllu import read_treebank
from robustparse.options.installed import CONFIGS
from sample_runs import sentences as sample_sentences
from sample_runs import write_sample

HERE = Path(__file__).parent
ATTACK = ["attack", "--attack", "words.yaml", "--checkpoint", "tiny.ckpt"]
ATTACK += ["--data", "test.conllu", "--device", "cpu"]
PARSED = 10
FIT = {
    "trainer": {
        "max_steps": 240,
        "accelerator": "cpu",
        "devices": 1,
        "limit_val_batches": 0,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    },
    "model": {
        "class_path": "robustparse.models.BiaffineParser",
        "init_args": {
            "encoder": {
                "class_path": "robustparse.models.LSTMEncoder",
                "init_args": {
                    "word_dim": 6,
                    "character_dim": 4,
                    "character_out": 6,
                    "hidden": 8,
                    "layers": 1,
                    "dropout": 0.0,
                },
            },
            "arc_dim": 8,
            "label_dim": 6,
            "dropout": 0.0,
            "optimization": {"learning_rate": 0.02},
        },
    },
    "data": {
        "class_path": "robustparse.data.TreebankDataModule",
        "init_args": {"folder": "sample", "batches": {"words": 400}},
    },
}
# The classes of sections that leave their class to the configuration they are passed after.
USUAL = {"data": "robustparse.data.TreebankDataModule"}


def make_checkpoint() -> None:
    """Train the parser."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "run.yaml"
        config.write_text(yaml.safe_dump(FIT))
        main(["fit", "--config", str(config), "--trainer.default_root_dir", folder])
        shutil.copy(Path(folder) / "last.ckpt", HERE / "tiny.ckpt")


def make_parses() -> None:
    """Parse the first sentences."""
    parser = load(HERE / "tiny.ckpt")
    examples = read_treebank(HERE / "test.conllu")[:PARSED]
    batch = parser.encode(examples).batch(range(PARSED), 1.0)
    with torch.no_grad():
        losses = parser.loss(parser(batch), batch).tolist()
    sentences = [example.sentence for example in examples]
    trees = parser.predict(sentences)
    if trees != parser.double().predict(sentences):
        raise SystemExit("a tree hangs on the last digits: train with another seed")
    lines = [
        json.dumps({"heads": tree.heads, "labels": tree.labels, "loss": loss})
        for tree, loss in zip(trees, losses, strict=True)
    ]
    (HERE / "parses.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


def make_names() -> None:
    """List what recipes and configurations name."""
    lines = []
    for path in sorted(CONFIGS.rglob("*.yaml")):
        content = yaml.safe_load(path.read_text("utf-8"))
        if path.parent.name == "attack":
            content = {"class_path": "robustparse.attacks.Attack", "init_args": content}
        given: dict[str, set[str]] = {}
        for name, arguments in classes(content):
            given.setdefault(name, set()).update(arguments)
        lines.append(str(path.relative_to(CONFIGS).with_suffix("")))
        lines += [" ".join([f"  {name}", *sorted(given[name])]) for name in sorted(given)]
    (HERE / "names.txt").write_text("\n".join(lines) + "\n")


def classes(content: Any, key: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield the path of every class in a file's content, and the arguments given to it."""
    if isinstance(content, list):
        for part in content:
            yield from classes(part)
    elif isinstance(content, dict):
        name = content.get("class_path", USUAL.get(key))
        if name:
            yield name, list(arguments(content.get("init_args", {})))
        for inner, part in content.items():
            yield from classes(part, inner)


def arguments(given: dict[str, Any]) -> Iterator[str]:
    """Yield names of arguments; what is in one that is neither a class nor data, after a dot."""
    for name, value in given.items():
        if isinstance(value, dict) and "class_path" not in value:
            yield from (f"{name}.{inner}" for inner in value)
        else:
            yield name


if __name__ == "__main__":
    os.chdir(HERE)
    torch.set_num_threads(1)
    write_sample(HERE / "test.conllu", sample_sentences(12, "test"))
    make_checkpoint()
    make_parses()
    shutil.rmtree(HERE / "attacked", ignore_errors=True)
    main([*ATTACK, "--out", "attacked"])
    make_names()
