"""``robustparse attack``: every mistake in a recipe, a file or an option is named."""

import json
import re
from pathlib import Path

import pytest
from broken_files import GOOD, TREEBANKS, broken_checkpoints
from command_runs import RECIPE, attack_arguments, mistake

from robustparse.cli.main import main

SHIPPED = Path(__file__).parents[2] / "configs" / "attack" / "zheng2020_blackbox.yaml"


def test_a_model_that_is_not_there_and_then_is_another(made, tmp_path, capsys):
    generator = "--attack.candidates.init_args.generator.init_args.model"
    options = ["--attack", SHIPPED, generator, tmp_path / "no" / "model"]
    options += ["--attack.candidates.init_args.path", tmp_path / "cache.sqlite"]
    error = mistake(capsys, *attack_arguments(made, tmp_path / "out", *options))
    assert str(tmp_path / "no" / "model") in error
    # Nothing was finished in the folder.
    main(attack_arguments(made, tmp_path / "out", "--limit", 2))
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["attack"] == "words"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("init_args: {sample: 5}", "init_args: {sample: 0}"), "sample must be >= 1, got 0"),
        (("{sample: 5}", "{samples: 5}"), "recipe.yaml: .*'samples'"),
        (("{sample: 5}", "{sample: many}"), "recipe.yaml: .*many"),
        (("TrainingWords", "TrainedWords"), "recipe.yaml: .*TrainedWords"),
        (("zheng2020.Zheng2020", "zheng2020.Zheng1999"), "recipe.yaml: .*Zheng1999"),
        (("search: {class_path", "search: {class"), "recipe.yaml: .*search"),
        (("search:", "searches:"), "recipe.yaml: .*searches"),
        (("goal:", "goal: {"), "recipe.yaml"),
        (
            ("robustparse.attacks.AttachmentDrop", "os.system"),
            "recipe.yaml: .*os.system",
        ),
        (("tags.AttackableTags", "tags.AttackableTags, init_args: {tags: []}}"), "recipe.yaml"),
    ],
)
def test_a_wrong_recipe_is_named(made, tmp_path, capsys, change, says):
    assert change[0] in RECIPE
    (tmp_path / "recipe.yaml").write_text(RECIPE.replace(*change))
    options = ["--attack", tmp_path / "recipe.yaml"]
    error = mistake(capsys, *attack_arguments(made, tmp_path / "out", *options))
    assert re.search(says, error), error
    assert not (tmp_path / "out").exists()


def test_mistakes_in_lists_of_a_recipe_are_named(made, tmp_path, capsys):
    wrong = RECIPE.replace(".AttackableTags", ".AttackableTags\n    init_args: {tags: []}")
    (tmp_path / "recipe.yaml").write_text(wrong)
    options = ["--attack", tmp_path / "recipe.yaml"]
    error = mistake(capsys, *attack_arguments(made, tmp_path / "out", *options))
    assert "attackable tags: the list is empty" in error


@pytest.mark.parametrize("name", ["cycle", "latin", "label", "missing"])
def test_a_broken_treebank_is_named(made, tmp_path, capsys, name):
    content, says = TREEBANKS.get(name, (None, ": no such file"))
    path = tmp_path / f"{name}.conllu"
    if content is not None:
        path.write_bytes(content)
    error = mistake(capsys, *attack_arguments(made, tmp_path / "out", "--data", path))
    assert f"{path}{says}" in error
    assert not (tmp_path / "out").exists()


def test_a_broken_checkpoint_is_named_and_never_executed(made, tmp_path, capsys):
    for name, says in broken_checkpoints(tmp_path, made / "tiny.ckpt").items():
        path = tmp_path / f"{name}.ckpt"
        error = mistake(capsys, *attack_arguments(made, tmp_path / "out", "--checkpoint", path))
        assert str(path) in error
        assert says in error
    assert not (tmp_path / "pwned").exists()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("part", ["AttackableTags", "TrainingWords"])
def test_data_without_penn_tags(made, tmp_path, capsys, part):
    path, recipe = tmp_path / "untagged.conllu", tmp_path / "recipe.yaml"
    path.write_text(GOOD + GOOD.replace("\tNN\t", "\t_\t"))
    free = "tags.AttackableTags, init_args: {tags: any}}"
    needy = RECIPE.replace("- class_path", "- {class_path").replace("tags.AttackableTags", free)
    recipe.write_text(needy if part == "TrainingWords" else RECIPE)
    options = ["--attack", recipe, "--data", path]
    error = mistake(capsys, *attack_arguments(made, tmp_path / "out", *options))
    assert f"{path}:4: sentence 2: no Penn tag for every word" in error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--limit", 0], "--limit must be >= 1, got 0"),
        (["--seed", -1], "--seed must be >= 0 and below 2**64, got -1"),
        (["--seed", 1 << 64], "--seed must be >= 0 and below 2**64, got 18446744073709551616"),
        (["--attack.seed", -1], "--seed must be >= 0 and below 2**64, got -1"),
        (["--nonsense", 1], "--nonsense"),
        (["--attack", "no/missing.yaml"], "--attack no/missing.yaml: no such file; give the path"),
        (["--attack", "missing.yaml"], "--attack missing.yaml: no such file; give the path"),
        (["--attack", "zheng2020"], "--attack zheng2020: no such file; give the path of a recipe"),
        (["--attack", "robustparse.attacks.attack.Atack"], "no attribute 'Atack'"),
        (["--attack.live", 0], "live must be >= 1, got 0"),
        (["--attack.budget", 0], "budget must be >= 1, got 0"),
        (["--attack.budgets", 5], "budgets"),
        (["--out", "{made}/test.conllu/out"], "test.conllu/out: the output folder is not writable"),
    ],
)
def test_a_wrong_option_is_named(made, tmp_path, capsys, options, says):
    given = [str(option).format(made=made) for option in options]
    assert says in mistake(capsys, *attack_arguments(made, tmp_path / "out", *given))
