"""The recipes of Zheng et al. 2020's other attacks, end to end on parsers of quickstart's size."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_runs import checkpoint, mistake

from robustparse.cli.main import main
from robustparse.data.conllu import read_treebank
from robustparse.evaluation.example_records import read_records
from sample_runs import save_checkpoint, sentences, trained_parser, trained_pointer, write_sample

RECIPES = Path(__file__).parents[2] / "configs" / "attack"
# In place of a masked language model, which is not there.
WORDS = {
    "class_path": "robustparse.attacks.TrainingWords",
    "init_args": {"sample": 40},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A word parser, a character parser, a stack-pointer parser and a data file."""
    folder = tmp_path_factory.mktemp("made")
    checkpoint(folder)
    save_checkpoint(trained_parser(characters=True).float(), folder / "spelling.ckpt")
    save_checkpoint(trained_pointer().float(), folder / "pointer.ckpt")
    write_sample(folder / "test.conllu", sentences(60, "test"))
    for name in ("zheng2020_whitebox", "zheng2020_whitebox_released"):
        recipe = yaml.safe_load((RECIPES / f"{name}.yaml").read_text())
        (folder / f"{name}.yaml").write_text(yaml.safe_dump({**recipe, "candidates": WORDS}))
    return folder


def attacked(made: Path, out: Path, name: str, parser: str, *more: Any) -> tuple[dict, list]:
    recipe = made / f"{name}.yaml"
    given = {"attack": recipe if recipe.exists() else RECIPES / f"{name}.yaml"}
    given |= {"checkpoint": made / f"{parser}.ckpt", "data": made / "test.conllu", "out": out}
    options = [str(part) for key, value in given.items() for part in (f"--{key}", value)]
    main(["attack", *options, *map(str, more)])
    lines = list(read_records(out / "examples.jsonl"))
    return json.loads((out / "summary.json").read_text()), lines


def check(lines: list[dict[str, Any]], gamma: float) -> None:
    for line in lines:
        changed = [a != b for a, b in zip(line["tokens"], line["adversarial_tokens"], strict=True)]
        assert [at for at, one in enumerate(changed) if one] == line["edited"]
        assert len(line["edited"]) <= max(1, int(gamma * len(line["tokens"])))
        fewer = line["attacked"]["correct_heads"] < line["clean"]["correct_heads"]
        assert line["success"] == fewer


@pytest.mark.parametrize("parser", ["tiny", "pointer"])
def test_sentences_white_box(parser, made, tmp_path):
    """The margin is that of arcs or of pointing steps."""
    summary, lines = attacked(made, tmp_path, "zheng2020_whitebox", parser, "--limit", 12)
    check(lines, 0.15)
    assert summary["attack"] == "zheng2020_whitebox"
    assert summary["success_rate"] > 20
    assert summary["targeted"] == {"n_sentences": 12, "success_rate": summary["success_rate"]}
    assert summary["attacked"]["uas"] < summary["clean"]["uas"]


def test_sentences_white_box_with_the_settings_of_the_released_code(made, tmp_path):
    distance = ("--attack.search.init_args.substitution.init_args.distance", "cosine")
    name = "zheng2020_whitebox_released"
    summary, lines = attacked(made, tmp_path, name, "tiny", "--limit", 10, *distance)
    assert summary["success_rate"] > 0
    assert all(line["queries"]["charged"] <= 40 for line in lines)
    # The lowest score met is never above the clean one.
    assert all(line["success"] == bool(line["edited"]) for line in lines)


def test_characters_white_box(made, tmp_path):
    name = "zheng2020_whitebox_character"
    summary, lines = attacked(made, tmp_path, name, "spelling", "--limit", 8)
    check(lines, 0.15)
    assert summary["success_rate"] > 0
    for line in lines:
        for at in line["edited"]:
            old, new = line["tokens"][at], line["adversarial_tokens"][at]
            assert sum(a != b for a, b in zip(old, new, strict=True)) == 1


BLACK, WHITE = "zheng2020_phrase_blackbox", "zheng2020_phrase_whitebox"


@pytest.mark.parametrize(
    ("parser", "names", "limit"), [("tiny", (BLACK, WHITE), 60), ("pointer", (WHITE,), 45)]
)
def test_phrases(parser, names, limit, made, tmp_path):
    gold = {example.id: example for example in read_treebank(made / "test.conllu")}
    for name in names:
        summary, lines = attacked(made, tmp_path / name, name, parser, "--limit", limit)
        targeted = [line for line in lines if line["targeted"]]
        assert 3 < len(targeted) < len(lines) == min(limit, len(gold))
        assert summary["targeted"]["n_sentences"] == len(targeted)
        successes = sum(line["success"] for line in lines)
        assert successes > 0
        assert summary["targeted"]["success_rate"] == 100 * successes / len(targeted)
        for line in lines:
            assert bool(line["edited"]) == line["success"] <= line["targeted"]
            assert len(line["edited"]) <= 3
            assert line["success"] is False or line["edited"][-1] - line["edited"][0] < 12


def test_a_character_attack_on_a_word_parser(made, tmp_path, capsys):
    recipe = RECIPES / "zheng2020_whitebox_character.yaml"
    options = {"attack": recipe, "checkpoint": made / "tiny.ckpt", "data": made / "test.conllu"}
    given = [part for key, value in options.items() for part in (f"--{key}", value)]
    says = mistake(capsys, "attack", *given, "--out", tmp_path)
    assert "a parser that reads words by their characters only" in says


def test_a_phrase_attack_without_phrases(made, tmp_path, capsys):
    recipe = yaml.safe_load((RECIPES / "zheng2020_phrase_blackbox.yaml").read_text())
    goal = {"class_path": "robustparse.attacks.AttachmentDrop"}
    (tmp_path / "wrong.yaml").write_text(yaml.safe_dump({**recipe, "goal": goal}))
    given = ["--attack", tmp_path / "wrong.yaml", "--checkpoint", made / "tiny.ckpt"]
    given += ["--data", made / "test.conllu", "--out", tmp_path / "out"]
    assert "use the goal `robustparse.attacks.PhraseDrop`" in mistake(capsys, "attack", *given)
