"""Every example of docs/guides/own_parts.md runs from the command line."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from command_runs import RECIPE, mistake
from tiny_runs import write_config

from own_parts import MODULE, TITLES, block, write_module
from robustparse.attacks.constraints.tagging.tags import AttackableTags
from robustparse.cli.main import main
from robustparse.data.conllu import read_treebank
from robustparse.evaluation.example_records import read_records
from robustparse.grammars import Derivation, actions_of, language_named
from robustparse.models.checkpoint import KEY, read_checkpoint
from robustparse.trust import trust

PARTS = ("A candidate generator", "A constraint", "A goal")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the module."""
    write_module(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    return tmp_path


def recipe(*titles: str) -> str:
    """A recipe with what the page says of some parts, in place of its own."""
    whole = yaml.safe_load(RECIPE)
    for title in titles:
        for key, part in yaml.safe_load(block(title, "yaml")).items():
            whole[key] = [*whole[key], *part] if isinstance(part, list) else part
    Path("recipe.yaml").write_text(yaml.safe_dump(whole))
    return "recipe.yaml"


def attack(made: Path, name: str, *more: str) -> list[str]:
    """The arguments of an attack by a recipe."""
    given = ["--checkpoint", str(made / "tiny.ckpt"), "--data", str(made / "test.conllu")]
    return ["attack", "--attack", name, *given, "--device", "cpu", "--out", "out", *more]


def attacked(made: Path, *titles: str) -> list[dict[str, Any]]:
    """The lines of an attack with some of the parts."""
    main([*attack(made, recipe(*titles)), "--trust", MODULE])
    return list(read_records(Path("out/examples.jsonl")))


@pytest.mark.parametrize("title", TITLES)
def test_no_example_is_long(title: str) -> None:
    most = 30 if title == "A language" else 20
    assert len([line for line in block(title).splitlines() if line]) <= most


def test_a_search(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("last_words.yaml").write_text(block("A search", "yaml"))
    options = attack(made, "last_words.yaml")
    assert f"--trust {MODULE}" in mistake(capsys, *options)
    main([*options, "--trust", MODULE])
    main([*options, "--trust", MODULE, "--out", "one", "--attack.live", "1"])
    lines = list(read_records(Path("out/examples.jsonl")))
    assert lines == list(read_records(Path("one/examples.jsonl")))
    assert sum(bool(line["edited"]) for line in lines) > 3
    for line, example in zip(lines, read_treebank(made / "test.conllu"), strict=True):
        last = np.flatnonzero(AttackableTags().attackable(example))[-3:].tolist()
        assert set(line["edited"]) <= set(last)


LACKING = """
from robustparse.attacks import CandidateGenerator, Goal

class Free:
    def propose(self, slots, seed):
        return [[] for _ in slots]

class Silent(CandidateGenerator):
    pass

class Blind(Goal):
    pass
"""


@pytest.mark.parametrize(
    ("option", "named", "shown"),
    [
        ("candidates", "Free", "CandidateGenerator"),
        ("candidates", "Silent", "define propose"),
        ("goal", "Blind", "define gold, judge"),
        ("search", "Free", "Search"),
    ],
)
def test_what_a_part_lacks_is_named(
    option: str, named: str, shown: str, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("lacking.py").write_text(LACKING)
    given = [f"--attack.{option}", f"lacking.{named}", "--trust", "lacking"]
    error = mistake(capsys, *attack(made, str(made / "words.yaml"), *given))
    assert error.startswith(f"robustparse: attack.{option}: ")
    assert shown in error


def test_a_candidate_generator(made: Path) -> None:
    edits = [(line, at) for line in attacked(made, PARTS[0]) for at in line["edited"]]
    assert len(edits) > 5
    for line, at in edits:
        assert line["adversarial_tokens"][at].lower() == line["tokens"][at].lower()[::-1]


def test_changed_code_is_another_attack(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    attacked(made, PARTS[0])
    again = [*attack(made, "recipe.yaml"), "--trust", MODULE]
    main(again)
    with Path(f"{MODULE}.py").open("a") as code:
        code.write("# another version\n")
    assert f"the content of {MODULE} has changed" in mistake(capsys, *again)


def test_a_constraint(made: Path) -> None:
    changed = [line for line in attacked(made, PARTS[1]) if line["edited"]]
    assert len(changed) > 2
    for line in changed:
        assert len(" ".join(line["adversarial_tokens"])) <= 40
        lengths = [list(map(len, line[key])) for key in ("tokens", "adversarial_tokens")]
        assert lengths[0] == lengths[1]


def test_a_goal(made: Path) -> None:
    lines = attacked(made, PARTS[2])
    assert 0 < sum(line["success"] for line in lines) < len(lines)
    for line in lines:
        root = line["gold"]["heads"].index(0)
        lost = {key: line[key]["heads"][root] != 0 for key in ("clean", "attacked")}
        assert line["skipped"] == lost["clean"]
        assert line["success"] == (lost["attacked"] and not lost["clean"])


def test_a_victim(made: Path) -> None:
    options = attack(made, recipe(PARTS[0]), "--victim", f"{MODULE}.ToTheLongest")
    at = options.index("--checkpoint")
    options = [*options[:at], *options[at + 2 :], "--trust", MODULE, "--victim.label", "x"]
    main(options)
    lines = list(read_records(Path("out/examples.jsonl")))
    assert {label for line in lines for label in line["clean"]["labels"]} == {"root", "x"}
    for line in lines:
        longest = max(map(len, line["adversarial_tokens"]))
        assert len(line["adversarial_tokens"][line["attacked"]["heads"].index(0)]) == longest


def test_augment_takes_them(made: Path) -> None:
    options = attack(made, recipe("A search", *PARTS), "--trust", MODULE)
    main(["augment", *options[1:], "--out", "copies.conllu", "--keep", "all", "--limit", "4"])
    assert len(read_treebank("copies.conllu")) == 4


def test_an_operation(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["augment", "--operations", f"{MODULE}.Leet", "--data", str(made / "test.conllu")]
    options += ["--out", "copies.conllu", "--keep", "all"]
    assert f"--trust {MODULE}" in mistake(capsys, *options)
    main([*options, "--trust", MODULE])
    copies, originals = read_treebank("copies.conllu"), read_treebank(made / "test.conllu")
    changes = {
        pair
        for copy, original in zip(copies, originals, strict=True)
        for pair in zip(copy.sentence.words, original.sentence.words, strict=True)
        if pair[0] != pair[1]
    }
    assert len(changes) > 5
    assert all(new == old.translate(str.maketrans("aeio", "4310")) for new, old in changes)


def test_a_defense_and_an_encoder(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The checkpoint names the encoder, and is read with trust only."""
    Path("encoder.yaml").write_text(block("An encoder", "yaml"))
    Path("both_sides.yaml").write_text(block("A defense", "yaml"))
    write_config(Path("run.yaml"), max_steps=2, limit_val_batches=0)
    given = [part for name in ("run", "encoder", "both_sides") for part in ("-c", f"{name}.yaml")]
    fit = ["fit", *given, "--trainer.default_root_dir", "run"]
    assert f"--trust {MODULE}" in mistake(capsys, *fit)
    main([*fit, "--trust", MODULE])
    held = read_checkpoint("run/last.ckpt")[KEY]["model"]["init_args"]["encoder"]
    assert held == {"class_path": "my_package.HashedWords", "init_args": {"rows": 500, "dim": 32}}
    assert "train/adversarial_loss" in Path("run/metrics.csv").read_text()
    options = attack(made, recipe(), "--checkpoint", "run/last.ckpt", "--limit", "2")
    sys.modules.pop(MODULE)
    main([*options, "--trust", MODULE])
    assert len(list(read_records(Path("out/examples.jsonl")))) == 2


CALLS = (
    "rivers in c0\tboth ( river , in ( c0 ) )",
    "how many rivers\tcount ( river )",
    "is c0 in c1\tin ( c0 , c1 )",
    "c1\tc1",
)
SMALL = """
trainer: {accelerator: cpu, max_epochs: 60, limit_val_batches: 0, logger: false}
model:
  class_path: robustparse.models.TranX
  init_args:
    encoder:
      class_path: robustparse.models.LSTMEncoder
      init_args: {word_dim: 12, character_dim: 0, hidden: 12, layers: 1, dropout: 0.0}
    action_dim: 12
    hidden: 24
    dropout: 0.0
    smoothing: 0.0
    optimization: {learning_rate: 0.02}
"""


LEXICAL = """
candidates: {class_path: robustparse.attacks.Lexicon, init_args: {table: table.json}}
search: {class_path: robustparse.attacks.PWWS}
"""


def test_a_language(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser learns it, and its checkpoint reads and compares forms with trust only."""
    Path("small.yaml").write_text(SMALL)
    Path("calls.yaml").write_text(block("A language", "yaml"))
    Path("train.tsv").write_text("".join(f"{line}\n" for line in CALLS))
    fit = ["fit", "-c", "small.yaml", "-c", "calls.yaml", "--data.init_args.train_file"]
    fit += ["train.tsv", "--data.init_args.min_count", "1", "--trainer.default_root_dir", "run"]
    assert f"--trust {MODULE}" in mistake(capsys, *fit)
    main([*fit, "--trust", MODULE])
    assert read_checkpoint("run/last.ckpt")[KEY]["vocabulary"]["languages"] == [f"{MODULE}.Calls"]
    # In another order, which the language says is the same.
    again = [CALLS[0].replace("river , in ( c0 )", "in ( c0 ) , river"), *CALLS[1:]]
    Path("test.tsv").write_text("".join(f"{line}\n" for line in again))
    scored = ["evaluate", "--checkpoint", "run/last.ckpt", "--data", "test.tsv", "--out", "scores"]
    monkeypatch.setattr("robustparse.trust._trusted", set())  # as in another process
    assert f"--trust {MODULE}" in mistake(capsys, *scored)
    main([*scored, "--trust", MODULE])
    scores = json.loads(Path("scores/scores.json").read_text())
    assert [scores[name] for name in ("exact_match", "string_match")] == [100.0, 75.0]
    # An attack's copies are read in it, too.
    Path("table.json").write_text(json.dumps({"many": ["few"], "rivers": ["lakes"]}))
    Path("recipe.yaml").write_text(LEXICAL)
    given = ["--attack", "recipe.yaml", *scored[1:5], "--trust", MODULE]
    main(["augment", *given, "--out", "copies.tsv", "--keep", "all"])
    assert [line.split("\t")[1] for line in Path("copies.tsv").read_text().splitlines()] == [
        line.split("\t")[1] for line in again
    ]
    targets = ["--checkpoint", "run/last.ckpt", "--trust", MODULE, "--out", "moved"]
    main(["transfer", "copies.attack", *targets])
    Path("test.tsv").write_text("c0\tin ( c0\n")
    assert "test.tsv:1" in mistake(capsys, *scored, "--trust", MODULE)


@pytest.mark.parametrize("form", [line.split("\t")[1] for line in CALLS])
def test_forms_of_a_language_survive_as_actions(form: str) -> None:
    trust([MODULE])
    calls = language_named(f"{MODULE}.Calls")
    derivation = Derivation(calls.grammar)
    for action in actions_of(calls.to_ast(calls.read(form))):
        derivation = derivation.apply(action)
    assert derivation.tree is not None
    assert calls.print(calls.from_ast(derivation.tree)) == form


# What each part does, and what the message names.
FAILING = {
    "search": [
        ("raise ValueError('no search')\n        yield", "no search"),
        ("return problem.start()", "Part.run"),
        ("yield None", "Part.run"),
        ("yield Propose(np.array([0]))", "Part.run"),
        ("yield Propose(np.array([0]))\n        return problem.start() + 999", "Part.run"),
    ],
    "candidates": [
        ("return {}['x']", "KeyError"),
        *(
            (f"return {value}", "Part.propose")
            for value in (
                *("None", "[['x']]", "'x' * len(slots)", "['word' for _ in slots]"),
                *("[[1, 2] for _ in slots]", "[None for _ in slots]", "[{'a'} for _ in slots]"),
                *("[['two words'] for _ in slots]", "[[''] for _ in slots]"),
            )
        ),
    ],
    "constraints": [
        (f"return {value}", "Part.accept")
        for value in (
            *("None", "[np.array([True])]", "[np.ones(1 + len(each), bool) for each in asked]"),
            "[np.zeros(len(each), int) for each in asked]",
        )
    ],
    "sentences": [
        (f"return {value}", "Part.admits")
        for value in ("None", "[True]", "np.ones(len(edits), int)", "[1 for _ in edits]")
    ],
}
PART = """
import numpy as np
from robustparse.attacks import (
    CandidateGenerator, Constraint, Expand, Propose, Search, SentenceConstraint
)

class Part({base}):
    def {method}:
        {body}
"""
BASES = {
    "search": ("Search", "run(self, problem, clean, rng)"),
    "candidates": ("CandidateGenerator", "propose(self, slots, seed)"),
    "constraints": ("Constraint", "accept(self, slots, asked, victim)"),
    "sentences": ("SentenceConstraint", "admits(self, edits)"),
}


@pytest.mark.parametrize(
    ("part", "body", "says"), [(part, *case) for part, cases in FAILING.items() for case in cases]
)
def test_a_part_that_fails_or_answers_otherwise(part, body, says, made, capsys, monkeypatch):
    """Whole numbers would count as positions in a mask, a text as its letters."""
    base, method = BASES[part]
    Path("failing.py").write_text(PART.format(base=base, method=method, body=body))
    monkeypatch.delitem(sys.modules, "failing", raising=False)
    whole = yaml.safe_load(RECIPE)
    if part in ("constraints", "sentences"):
        whole["constraints"].append({"class_path": "failing.Part"})
    else:
        whole[part] = {"class_path": "failing.Part"}
    Path("recipe.yaml").write_text(yaml.safe_dump(whole))
    arguments = [*attack(made, "recipe.yaml", "--limit", "3"), "--trust", "failing"]
    message = mistake(capsys, *arguments)
    assert says in message
