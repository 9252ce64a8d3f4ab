"""The study of semantic parsers: what its rows give to commands, and its table."""

import json
import subprocess
from argparse import Namespace
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

import operation_examples
import semantic_study
import study
from robustparse.cli.common.operations import with_operations
from semantic_study import METHODS, OPERATIONS, operation, train
from semantic_tables import Row, tables


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
    given = json.dumps([operation(name, options)])
    (found,) = with_operations(["--operations", given])[-1:]
    (part,) = json.loads(found.removeprefix("--operations="))
    kind = "".join(word.capitalize() for word in name.split("_"))
    assert part["class_path"].rpartition(".")[2] == kind
    assert type(operation_examples.operation_of(name, options)).__name__ == kind


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that are run; `augment` writes 9 copies, a fifth of the texts."""
    found: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        found.append(command[2:])
        if command[2] == "augment":
            Path(command[command.index("--out") + 1]).write_text("a\t( b )\n" * 9)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(semantic_study.subprocess, "run", run)
    return found


@pytest.mark.parametrize("method", METHODS)
def test_what_is_trained(method: str, options: Namespace, asked: list[list[str]]) -> None:
    options.home.mkdir()
    train(row(options, method), options)
    *augmented, fitted = asked
    # Other defenses and the control take as many passes as training on all copies, which have to
    # be there. 45 texts and 6 times 9 copies make 10 batches of 10 in each of 200 epochs.
    steps = {"control": 2000, "fgm": 1000, "pgd": 500, "online": 750}.get(method)
    copied = 6 if method == "mda" or steps else int(method in OPERATIONS)
    assert [command[0] for command in asked] == ["augment"] * copied + ["fit"]
    seeds = [command[command.index("--seed") + 1] for command in augmented]
    assert len({*seeds}) == copied
    given = dict(pairwise(fitted))
    redrawn = method.startswith("mda_online")
    data = options.raw if redrawn or method == "online" else options.forms
    assert given["--data.init_args.folder"] == str(data / "jobs")
    # With 6 * 20 % more copies, 5 originals make a batch of 11.
    small = "5" if method == "mda_online_small" else None
    assert given.get("--data.init_args.batch_texts") == small
    assert any(part.endswith("redrawn.yaml") for part in fitted) == redrawn
    assert given.get("--trainer.max_steps") == (str(steps) if steps else None)
    assert given.get("--trainer.max_epochs") == ("-1" if steps else None)
    # Clean training takes 5 batches an epoch, 20 epochs of them at a constant rate.
    optimization = "--model.init_args.optimization"
    if steps:
        assert float(given[f"{optimization}.decay"]) == pytest.approx(0.985 ** (1000 / steps))
        assert given[f"{optimization}.constant_epochs"] == str(20 * steps // 1000)
    else:
        assert f"{optimization}.decay" not in given
    names = json.loads(given.get("--data.init_args.augmented_files", "[]"))
    assert len(names) == (0 if steps else copied)
    assert any("defense/" in part for part in fitted) == (method in ("fgm", "pgd"))
    found = any(part.endswith("substitution_neighbours.yaml") for part in fitted)
    assert found == (method == "online")


def test_online_substitution_has_the_vectors_the_seed_and_slots(options: Namespace) -> None:
    one = row(options, "online", seed=7)
    content = yaml.safe_load(semantic_study.online(one, options).read_text())
    (adversary,) = content["trainer"]["callbacks+"]
    assert adversary["init_args"]["seed"] == 7
    attack = adversary["init_args"]["attack"]["init_args"]
    assert attack["constraints"][0] == {"class_path": "robustparse.attacks.Slots"}
    assert json.dumps(attack).count('"v.txt"') == 2
    assert "counter-fitted" not in json.dumps(attack)


def test_redrawn_copies_are_as_many_of_each_operation(options: Namespace) -> None:
    one = row(options, "mda_online", seed=2)
    content = yaml.safe_load(semantic_study.redrawn(one, options).read_text())
    parts = [adversary["init_args"] for adversary in content["trainer"]["callbacks+"]]
    assert [part["operations"] for part in parts] == [[operation(n, options)] for n in OPERATIONS]
    assert [part["seed"] for part in parts] == [*range(200, 206)]
    assert {part["fraction"] for part in parts} == {0.2}


def test_the_studies_lead_here(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[list[str]] = []
    monkeypatch.setattr(semantic_study, "main", given.append)
    monkeypatch.setattr("sys.argv", ["study.py", "--forms", "f", "--study", "huang2021", "--table"])
    study.main()
    assert given == [["--forms", "f", "--table"]]


def test_means_and_deviations_over_seeds(options: Namespace) -> None:
    scores = {"perturbation_accuracy": 60.0, "robust_accuracy": 80.0, "blackbox_success_rate": 9.0}
    low = {**scores, "perturbation_accuracy": 50.0, "robust_accuracy": None}
    files = {"insertion": scores, "deletion": low, "micro": scores, "macro": scores}
    for method, seed, exact in (("none", 0, 80.0), ("none", 1, 90.0), ("mda", 0, 85.0)):
        one = row(options, method, seed)
        one.scores.parent.mkdir(parents=True)
        one.scores.write_text(json.dumps({"exact_match": exact, "perturbed_files": files}))
        one.seconds.write_text("90")
    rows = [row(options, method, seed) for method in ("none", "mda") for seed in (0, 1, 2)]
    parts = tables(rows).split("\n\n")
    found = {title: text.splitlines() for title, text in zip(parts[::2], parts[1::2], strict=True)}
    for lines in found.values():
        assert len({line.count("|") for line in lines}) == 1
    assert found["All rows"][2] == (
        "| JOBS | seq2seq | none | 2 | 85.00 ± 7.07 | 60.00 ± 0.00 | 60.00 ± 0.00 | 80.00 ± 0.00 "
        "| 80.00 ± 0.00 | 9.00 ± 0.00 | 1.50 ± 0.00 |"
    )
    head, _, _, augmented = found["Table 2: perturbation accuracy"]
    assert head.endswith("| insertion | deletion | micro | macro |")
    assert augmented == "| JOBS | seq2seq | mda | 1 | 60.00 | 50.00 | 60.00 | 60.00 |"
    assert found["Table 3: robust accuracy"][3].endswith("| 1 | 80.00 | - | 80.00 | 80.00 |")
    assert found["Table 5: standard accuracy"] == [
        "| training | JOBS seq2seq |",
        "|---|---|",
        "| none | 85.00 ± 7.07 |",
        "| mda | 85.00 |",
    ]
    assert found["Macro perturbation accuracy"][3] == "| mda | 60.00 |"
