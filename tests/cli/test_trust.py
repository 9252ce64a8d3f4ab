"""No recipe and no configuration runs code that is not trusted: nothing is imported for it."""

import copy
import importlib
import itertools
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_runs import RECIPE, mistake
from tiny_runs import write_config

from forks import Forked
from robustparse import trust
from robustparse.cli.main import main
from robustparse.errors import InputError
from robustparse.models.checkpoint import instantiate, specification
from robustparse.options.arguments import checked
from robustparse.options.installed import CONFIGS
from robustparse.options.recipe import check_recipe

EVIL = "evil_module.Evil"
SPECS = {
    EVIL: {"class_path": EVIL},
    "subprocess.Popen": {"class_path": "subprocess.Popen", "init_args": {"args": "touch pwned"}},
}
Place = tuple[str | int, ...]


@pytest.fixture(autouse=True)
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module whose import leaves a file, and that none was left."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in "cd":
        Path(name).write_text("neither a checkpoint nor data")
    (tmp_path / "evil_module.py").write_text(
        "open('pwned', 'w')\nclass Evil:\n    def __init__(self, **_): open('ran', 'w')\n"
    )
    yield
    assert not (tmp_path / "pwned").exists()
    assert not (tmp_path / "ran").exists()
    assert "evil_module" not in sys.modules


def places(content: Any, place: Place = ()) -> Iterator[tuple[Place, bool]]:
    """Every mapping of a file's content, and whether it names a class."""
    if isinstance(content, dict):
        yield place, "class_path" in content
        for key, value in content.items():
            yield from places(value, (*place, key))
    elif isinstance(content, list):
        for index, value in enumerate(content):
            yield from places(value, (*place, index))


def part(content: Any, place: Place) -> Any:
    for key in place:
        content = content[key]
    return content


CASES: dict[str, list[tuple[Place, bool]]] = {
    str(file.relative_to(CONFIGS)): list(places(yaml.safe_load(file.read_text())))
    for file in sorted(CONFIGS.rglob("*.yaml"))
}


def test_there_are_many_places() -> None:
    assert sum(map(len, CASES.values())) >= 200
    assert sum(named for found in CASES.values() for _, named in found) >= 100


def refused(error: InputError, name: str) -> None:
    assert f"the class {name} is not trusted" in error.found
    assert error.remedy is not None
    assert f"--trust {name.partition('.')[0]}" in error.remedy


@pytest.mark.parametrize("name", [name for name, found in CASES.items() if found])
def test_no_place_of_a_file_runs_code(name: str) -> None:
    """Neither the class there, nor one under a further key; the evil classes take turns."""
    content = yaml.safe_load((CONFIGS / name).read_text())
    option = "--attack" if name.startswith("attack") else "--config"
    turns = {names_class: itertools.cycle(SPECS) for names_class in (True, False)}
    for place, names_class in CASES[name]:
        evil = next(turns[names_class])
        changed = copy.deepcopy(content)
        here = part(changed, place)
        if names_class:
            here |= SPECS[evil]
        else:
            here["untyped"] = {"x": [SPECS[evil]]}
        Path("changed.yaml").write_text(yaml.safe_dump(changed))
        with pytest.raises(InputError) as by_file:
            checked([option, "changed.yaml"])
        refused(by_file.value, evil)
        assert by_file.value.path == "changed.yaml"
        assert by_file.value.line is not None
        assert str(by_file.value.key).endswith("class_path")


@pytest.mark.parametrize("evil", SPECS)
def test_no_option_runs_code(evil: str) -> None:
    """Neither that of any place of a file, nor one of a further key."""
    spec = SPECS[evil]
    options = {
        ".".join(str(key) for key in place if isinstance(key, str))
        for found in CASES.values()
        for place, _ in found
    }
    assert len(options) >= 50
    for dotted in sorted(options):
        for tokens in (
            [f"--{dotted}.class_path", evil],
            [f"--{dotted}.class_path={evil}"],
            [f"--{dotted}+={json.dumps(spec)}"],
            [f"--{dotted}.untyped", json.dumps({"x": spec})],
            [f"--{dotted}.untyped", yaml.safe_dump([spec])],
        ):
            with pytest.raises(InputError) as by_option:
                checked(tokens)
            refused(by_option.value, evil)


CALLBACKS = {
    "RichProgressBar": {"console_kwargs": {"x": SPECS["subprocess.Popen"]}},
    "LambdaCallback": {"on_fit_start": "os.system"},
    "pytorch_lightning.callbacks.LambdaCallback": {"on_fit_start": "os.system"},
    "StochasticWeightAveraging": {"swa_lrs": 1e-2, "avg_fn": "os.system"},
    "ModelSummary": {"dict_kwargs": {"x": "os.system"}},
}


@pytest.mark.parametrize("name", CALLBACKS)
def test_lightnings_classes_with_holes(name: str) -> None:
    callback = {"class_path": name, "init_args": CALLBACKS[name]}
    if name == "ModelSummary":
        callback = {"class_path": name, **CALLBACKS[name]}
    Path("run.yaml").write_text(yaml.safe_dump({"trainer": {"callbacks": [callback]}}))
    with pytest.raises(InputError) as error:
        checked(["--config", "run.yaml"])
    assert "trainer.callbacks[0]" in str(error.value.key)
    with pytest.raises(InputError):
        checked(["--trainer.callbacks+", json.dumps(callback)])


@pytest.mark.parametrize(
    "content",
    [
        f"x: !!python/object/apply:os.system ['touch pwned']\ny: {{class_path: {EVIL}}}",
        f"a: &a {{class_path: {EVIL}}}\nb: *a",
        f"a: {{<<: {{class_path: {EVIL}}}}}",
        f"search.class_path: {EVIL}",
        f"search: '{{class_path: {EVIL}}}'",
        f'search: "{{\\"class\\x5fpath\\": {EVIL}}}"',
    ],
)
def test_ways_to_write_a_class(content: str) -> None:
    Path("recipe.yaml").write_text(content)
    with pytest.raises(InputError, match=r"not trusted|not YAML"):
        checked(["--attack", "recipe.yaml"])


def test_a_file_in_a_file_is_looked_at() -> None:
    Path("inner").mkdir()
    Path("inner/search.yaml").write_text(f"\nclass_path: {EVIL}")
    Path("inner/recipe.yaml").write_text(
        RECIPE.replace("{class_path: robustparse", "search.yaml #")
    )
    Path("recipe.yaml").write_text(
        "search: inner/recipe.yaml\nother: {candidates: inner/search.yaml}"
    )
    for file in ("recipe.yaml", "inner/recipe.yaml"):
        with pytest.raises(InputError) as error:
            checked(["--attack", file])
        assert (str(error.value.path), error.value.line) == ("inner/search.yaml", 2)


NAMES = (EVIL, "subprocess.Popen", "os.system", "robustparse.files.paths.os.system")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_imported_for_a_plain_text(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A class may be named by a text only, where its type is asked for; functions never."""
    Path("recipe.yaml").write_text(RECIPE)
    attack = ["attack", "--attack", "recipe.yaml", "--checkpoint", "c", "--data", "d", "--out", "o"]
    fit = ["fit", "--config", write_config(tmp_path / "run.yaml")]
    Path("named.yaml").write_text(
        RECIPE.replace("{class_path: robustparse.attacks.Zheng2020}", name)
    )
    Path("hidden.txt").write_text(f"class_path: {name}")  # a file that is not called YAML
    for command in (
        [*attack, "--attack.search", name],
        [*attack, "--attack.goal", name],
        [*attack, "--attack.constraints+", name],
        [*attack, "--attack.search", "hidden.txt"],
        [*attack, f"--attack.help={name}"],
        [*attack[:2], "named.yaml", *attack[3:]],
        ["attack", "--attack", name, *attack[3:]],
        [*fit, "--model", name],
        [*fit, "--data", name],
        [*fit, "--trainer.callbacks+", name],
        [*fit, "--trainer.logger", name],
        [*fit, "--optimizer", name],
        [*fit, "--lr_scheduler", name],
        [*fit, "--trainer.callbacks+", "hidden.txt"],
    ):
        error = mistake(capsys, *command)
        if not name.startswith("robustparse") and "hidden.txt" not in command:
            assert name in error, command
            assert f"--trust {name.partition('.')[0]}" in error, (command, error)


def test_no_file_hides_arguments_of_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    """An allowed program must not be replaced through arguments that no type declares."""
    Path("checker.py").write_text(
        "from robustparse.attacks import Constraint\nclass Checker(Constraint):\n"
        "    runs_programs, command = True, 'true'\n"
        "    def __init__(self, **kwargs): open('ran', 'w')\n"
    )
    Path("recipe.yaml").write_text(RECIPE)
    Path("checker.json").write_text(
        json.dumps([{"class_path": "checker.Checker", "dict_kwargs": {"command": "touch"}}])
    )
    attack = ["attack", "--attack", "recipe.yaml", "--checkpoint", "c", "--data", "d", "--out", "o"]
    trusted = ["--trust", "checker,true", "--attack.constraints", "checker.json"]
    assert "dict_kwargs" in mistake(capsys, *attack, *trusted)


def test_a_recipe_on_the_command_line_may_be_long() -> None:
    recipe = json.dumps({**yaml.safe_load(RECIPE), "seed": 0, "punctuation": "none" + " " * 300})
    arguments = checked(["--attack", recipe])
    assert arguments == ["--attack", recipe]
    check_recipe(arguments)  # is no file


def test_the_short_option_joined_to_its_file() -> None:
    Path("run.yaml").write_text(f"model: {{class_path: {EVIL}}}")
    with pytest.raises(InputError) as error:
        checked(["-crun.yaml"])
    refused(error.value, EVIL)
    assert error.value.path == "run.yaml"


def test_a_class_of_the_users(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Found in the current folder, in the package that it names or re-exports."""
    Path("my_package").mkdir()
    Path("my_package/__init__.py").write_text("from my_package.parts import Mine\nimport os\n")
    Path("my_package/parts.py").write_text(
        "from robustparse.attacks import Zheng2020\nclass Mine(Zheng2020):\n    pass\n"
    )
    Path("r.yaml").write_text(RECIPE.replace("robustparse.attacks.Zheng2020", "my_package.Mine"))
    rest = ["--checkpoint", made / "tiny.ckpt", "--data", made / "test.conllu", "--limit", 2]
    attack = ["attack", "--attack", "r.yaml", *rest, "--out", "o", "--device", "cpu"]
    assert "--trust my_package" in mistake(capsys, *attack)
    sys.modules.pop("my_package", None)
    main([*map(str, attack), "--trust", "other,my_package"])
    assert json.loads(Path("o/run.json").read_text())["settings"]["init_args"]["search"] == {
        "class_path": "my_package.Mine",
        "init_args": json.loads(Path("o/run.json").read_text())["settings"]["init_args"]["search"][
            "init_args"
        ],
    }
    error = mistake(capsys, *attack, "--trust=my_package", "--attack.goal", "my_package.os.system")
    assert "system" in error
    for wrong in ("my-package", "", "jsonargparse"):
        assert "--trust" in mistake(capsys, *attack, f"--trust={wrong}")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("robustparse.attacks.search.zheng2020.Zheng2020", "robustparse.attacks.Zheng2020"),
        ("robustparse.attacks.search.pso.ParticleSwarm", "robustparse.attacks.ParticleSwarm"),
        ("robustparse.parsers.biaffine.BiaffineParser", "robustparse.models.BiaffineParser"),
        ("robustparse.parsers.encoders.LSTMEncoder", "robustparse.models.LSTMEncoder"),
    ],
)
def test_a_recipe_by_an_older_name(old: str, new: str) -> None:
    Path("old.yaml").write_text(f"search:\n  class_path: {old}\n")
    for arguments in (["--attack", "old.yaml"], ["--attack.search", old]):
        with pytest.raises(InputError) as error:
            checked(arguments)
        assert (error.value.found, error.value.remedy) == (
            f"{old} is an older name",
            f"write {new}",
        )
    assert not trust.allowed(old)
    assert trust.allowed(new)


@pytest.mark.parametrize(
    ("written", "meant"),
    [("Beem", "Beam"), ("robustparse.attacks.Zheng2021", "Zheng2020"), ("EarlyStoping", "Early")],
)
def test_a_class_that_is_spelled_wrong(written: str, meant: str) -> None:
    with pytest.raises(InputError) as error:
        checked(["--attack.search.class_path", written])
    assert error.value.remedy is not None
    assert f"did you mean {meant}" in error.value.remedy
    assert "`robustparse list components`" in error.value.remedy


BOMBS = {
    "a: &a\n  b: *a\n": "refers to a value that contains it",
    "[" * 100_000: "nested more than",
    "{a: " * 100_000: "nested more than",
    "- " * 100_000 + "a": "nested more than",
    "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)): "more than",
    f"a: &a {'x' * 1_000_000}\nb: [{','.join(['*a'] * 20)}]": "more than",
    "goal: {class_path: [\n": "not YAML",
}


@pytest.mark.parametrize("content", BOMBS, ids=lambda text: text[:20])
def test_yaml_without_end(content: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An error within a second, wherever YAML is read."""
    Path("bomb.yaml").write_text(content)
    Path("bomb.txt").write_text(content)
    Path("outer.yaml").write_text("search: bomb.yaml")
    rest = ["--checkpoint", "c", "--data", "d", "--out", "o"]
    mistake(capsys, "attack", *rest)  # imports
    for arguments, path in (
        (["attack", "--attack", "bomb.yaml", *rest], "bomb.yaml"),
        (["attack", "--attack", "outer.yaml", *rest], "bomb.yaml"),
        (["attack", "--attack", "pwws", "--config", "bomb.yaml", *rest], "bomb.yaml"),
        (["attack", "--attack", "pwws", "--attack.search", content, *rest], ""),
        (["attack", "--attack", "pwws", "--attack.search", "bomb.txt", *rest], ""),
        (["fit", "--config", "bomb.yaml"], "bomb.yaml"),
    ):
        before = time.perf_counter()
        error = mistake(capsys, *arguments)
        assert time.perf_counter() - before < 1.0
        assert path in error
        if path:
            assert f"{path}:" in error
            assert BOMBS[content] in error


def test_end_to_end_in_a_process_of_its_own() -> None:
    Path("run.yaml").write_text(
        yaml.safe_dump(
            {"trainer": {"callbacks": [{"class_path": EVIL}, SPECS["subprocess.Popen"]]}}
        )
    )
    process = Forked(main, ["fit", "--config", "run.yaml"])
    _, errors = process.communicate()
    assert process.returncode == 2, errors
    assert errors.startswith("robustparse: run.yaml:3: trainer.callbacks[0].class_path: ")


def test_a_checkpoint_names_only_classes_of_the_package_and_of_trusted_modules() -> None:
    Path("their_package.py").write_text(
        "import os\nfrom robustparse.models import LSTMEncoder\n"
        "class Theirs(LSTMEncoder):\n    pass\n"
    )
    sys.path.append(".")
    try:
        theirs = importlib.import_module("their_package").Theirs(hidden=4)
        named = {"class_path": "their_package.Theirs", "init_args": {"hidden": 4}}
        with pytest.raises(InputError) as error:
            specification(theirs)
        assert error.value.remedy == "add --trust their_package"
        with pytest.raises(InputError) as error:
            instantiate(named)
        assert error.value.remedy == "if you know its code, add --trust their_package"
        trust.trust(["their_package"])
        assert specification(theirs)["class_path"] == "their_package.Theirs"
        assert instantiate(named).hidden == 4
        for wrong in ("their_package.os.system", EVIL, "os.system"):
            with pytest.raises(InputError):
                instantiate({"class_path": wrong, "init_args": {}})
    finally:
        sys.path.remove(".")
        sys.modules.pop("their_package", None)
