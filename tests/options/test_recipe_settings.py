"""What a recipe's file says is what its attack is made of, in Python and in other processes too."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from robustparse.attacks.attack import Attack
from robustparse.errors import InputError
from robustparse.options.arguments import checked
from robustparse.options.command import parsed_command
from robustparse.options.recipe import Recipe
from robustparse.trust import trust

FILES = sorted((Path(__file__).parents[2] / "configs" / "attack").glob("*.yaml"))


def leaves(value: Any, *path: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every plain value with the keys that lead to it."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in pairs:
            yield from leaves(one, *path, key)
    else:
        yield path, value


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_attack_has_every_setting_of_its_file(file: Path) -> None:
    trust(["commands"])  # some recipes run link-parser or Java
    attack = Recipe.read(file).attack()
    told = [*leaves(yaml.safe_load(file.read_text()))]
    assert len(told) > 3
    for path, value in told:
        part: Any = attack
        if isinstance(value, str):  # paths and names, which parts may expand
            continue
        for key in path:
            if key != "init_args":
                part = part[key] if isinstance(part, list | dict) else getattr(part, key)
        assert part == value, path


def test_a_part_may_be_in_a_file_of_its_own(tmp_path: Path) -> None:
    """Its path is relative to the recipe's folder."""
    search = {"class_path": "robustparse.attacks.Beam", "init_args": {"width": 3}}
    settings = {"candidates": {"class_path": "robustparse.attacks.TrainingWords"}, "search": search}
    (tmp_path / "whole.yaml").write_text(yaml.safe_dump(settings))
    (tmp_path / "part.yaml").write_text(yaml.safe_dump(search))
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump({**settings, "search": "part.yaml"}))
    read = [Recipe.read(tmp_path / name).settings for name in ("recipe.yaml", "whole.yaml")]
    assert read[0] == read[1]
    # One that names itself is no object.
    (tmp_path / "loop.yaml").write_text(yaml.safe_dump({**settings, "search": "loop.yaml"}))
    with pytest.raises(InputError) as error:
        Recipe.read(tmp_path / "loop.yaml")
    assert error.value.path == str(tmp_path / "loop.yaml")


FIRST = """
candidates: {class_path: TrainingWords, init_args: {sample: 7}}
constraints: [{class_path: AttackableTags}]
search: {class_path: Zheng2020, init_args: {psi: 20}}
budget: 33
"""
FILES_OF_SETTINGS = {
    "first.yaml": FIRST,
    "second.yaml": "{candidates: {class_path: TrainingWords}, search: {class_path: Zheng2020}}",
    "inline.yaml": "attack:" + FIRST.replace("\n", "\n  "),
    "named.yaml": "attack: second.yaml",
    "folder/outer.yaml": "{config: [inner.yaml], attack: {budget: 4}}",
    "folder/inner.yaml": "attack: ../first.yaml",
    "search.yaml": "{class_path: Zheng2020, init_args: {gamma: 0.3}}",
}
# Options, and the file of the recipe and the changes to it that give the same settings.
SECONDS = [
    ("--attack first.yaml --attack second.yaml", "second", {}),
    ("--attack zheng2020_universal --attack second.yaml", "second", {}),
    ("--config inline.yaml --attack second.yaml", "second", {}),
    ("--config inline.yaml --config named.yaml", "second", {}),
    ("--attack second.yaml --config inline.yaml --attack second.yaml", "second", {}),
    ("--attack.budget 3 --attack first.yaml --attack second.yaml", "second", {"budget": 3}),
    ("--attack first.yaml --attack.search search.yaml", "first", {"gamma": 0.3, "psi": 50}),
    ("--config folder/outer.yaml", "first", {"budget": 4}),
    ("--attack first.yaml --attack.search.gamma 0.3", "first", {"gamma": 0.3}),
]


@pytest.mark.parametrize(("options", "name", "changes"), SECONDS)
def test_a_file_replaces_the_whole_object(options, name, changes, tmp_path, monkeypatch) -> None:
    """Other options change single values."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    for file, content in FILES_OF_SETTINGS.items():
        Path(file).write_text(content)

    def command(attack: Attack) -> None:
        """Take an attack."""

    parsed = parsed_command(command, checked(options.split()), "command")
    recipe = Recipe.read(f"{name}.yaml")
    arguments = recipe.settings["init_args"]
    for key, value in changes.items():
        (arguments if key == "budget" else arguments["search"]["init_args"])[key] = value
    assert Recipe.parsed(parsed.parser, parsed.options) == recipe


def test_a_null_in_place_of_another_default_is_kept() -> None:
    settings = Recipe.read("zheng2020_blackbox").settings
    generator = settings["init_args"]["candidates"]["init_args"]["generator"]
    assert generator["init_args"]["sample"] is None
    assert "budget" not in settings["init_args"]


def test_an_attack_keeps_its_recipe() -> None:
    """A description of the attack as it is now shows later changes."""
    recipe = Recipe.read("pwws")
    attack = recipe.attack()
    assert attack.recipe == recipe == Recipe.of(attack)
    attack.budget = 7
    assert Recipe.described(attack).settings["init_args"]["budget"] == 7
    attack.recipe = None
    assert Recipe.of(attack) == Recipe.described(attack)
