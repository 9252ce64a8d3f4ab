"""The study of semantic parsers: what its rows give to commands, and its table."""

import json
import subprocess
from argparse import Namespace
from itertools import pairwise
from pathlib import Path

import pytest

import semantic_study
from robustparse.cli.common.operations import with_operations
from semantic_study import METHODS, OPERATIONS, Row, operation, table, train


@pytest.fixture
def options(tmp_path: Path) -> Namespace:
    (tmp_path / "forms" / "jobs").mkdir(parents=True)
    (tmp_path / "forms" / "jobs" / "train.tsv").write_text("a\t( b )\n" * 45)
    given = {"forms": tmp_path / "forms", "raw": tmp_path / "raw", "home": tmp_path / "home"}
    return Namespace(**given, vectors="v.txt", parser="p.ckpt", perturbed=None)


def row(options: Namespace, method: str, seed: int = 1) -> Row:
    return Row(options.home, "jobs", "seq2seq", method, seed)


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_are_classes(name: str, options: Namespace) -> None:
    (found,) = with_operations(["--operations", operation(name, options)])[-1:]
    (part,) = json.loads(found.removeprefix("--operations="))
    kind = "".join(word.capitalize() for word in name.split("_"))
    assert part["class_path"].rpartition(".")[2] == kind


@pytest.mark.parametrize("method", METHODS)
def test_what_is_trained(method: str, options: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        asked.append(command[2:])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(semantic_study.subprocess, "run", run)
    train(row(options, method), options)
    *augmented, fitted = asked
    copied = {"mda": 6}.get(method, int(method in OPERATIONS))
    assert [command[0] for command in asked] == ["augment"] * copied + ["fit"]
    seeds = [command[command.index("--seed") + 1] for command in augmented]
    assert len({*seeds}) == copied
    given = [*pairwise(fitted)]
    # 3 batches of 20 in each of 100 epochs.
    assert ("--trainer.max_steps", "300") in given or not copied
    assert (("--trainer.max_epochs", "200") in given) == (method == "control")
    assert any("defense/" in part for part in fitted) == (method in ("fgm", "pgd"))


def test_means_and_deviations_over_seeds(options: Namespace) -> None:
    scores = {"perturbation_accuracy": 60.0, "robust_accuracy": 80.0, "blackbox_success_rate": 9.0}
    for seed, exact in ((0, 80.0), (1, 90.0)):
        one = row(options, "none", seed)
        one.scores.parent.mkdir(parents=True)
        files = {"micro": scores, "macro": scores}
        one.scores.write_text(json.dumps({"exact_match": exact, "perturbed_files": files}))
    rows = [row(options, method, seed) for method in ("none", "mda") for seed in (0, 1, 2)]
    head, _, *found = table(rows).splitlines()
    assert head.count("|") == found[0].count("|")
    assert found == [
        "| JOBS | seq2seq | none | 2 | 85.00 ± 7.07 | 60.00 ± 0.00 | 60.00 ± 0.00 | 80.00 ± 0.00 "
        "| 80.00 ± 0.00 | 9.00 ± 0.00 |"
    ]
