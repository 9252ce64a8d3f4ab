"""No file runs a program, or names a function, that the command line does not allow."""

import importlib
import inspect
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from robustparse import trust
from robustparse.cli.main import main
from robustparse.errors import InputError
from robustparse.models.checkpoint import instantiate
from robustparse.options.arguments import checked
from robustparse.options.recipe import Recipe

# Ways to start a program, and libraries that start one.
STARTS = re.compile(
    r"\bsubprocess\b|\bPopen\b|\bos\.(system|popen|exec\w+|spawn\w+|posix_spawn\w*|startfile)\b"
    r"|\bpexpect\b|\bpty\b|\bshutil\.which\b|\basyncio\.create_subprocess|\blanguage_tool_python\b"
)
PUBLIC = trust.public_classes()


def named(class_path: str) -> Any:
    module, _, name = class_path.rpartition(".")
    return getattr(importlib.import_module(module), name)


CLASSES = {name: path for name, path in PUBLIC.items() if isinstance(named(path), type)}


def source(kind: type) -> str:
    """The code of a class and of its base classes in the package."""
    bases = [base for base in kind.__mro__ if base.__module__.startswith("robustparse.")]
    return "\n".join(map(inspect.getsource, bases))


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_that_starts_a_program_says_so(name: str) -> None:
    kind = named(PUBLIC[name])
    starts = STARTS.search(source(kind)) is not None
    assert getattr(kind, "runs_programs", False) == starts, (
        f"{kind} needs runs_programs = True" if starts else f"{kind} starts none"
    )


def test_the_classes_that_start_programs_are_known() -> None:
    names = {name for name, path in CLASSES.items() if getattr(named(path), "runs_programs", 0)}
    assert names == {"LanguageTool", "LinkGrammar", "TranslationCommand"}


def test_no_other_module_starts_programs() -> None:
    """The test of classes would miss functions that a class calls."""
    package = Path(inspect.getsourcefile(trust) or "").parent
    names = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if STARTS.search(path.read_text())
    }
    classes = {"attacks/constraints/grammar.py", "attacks/constraints/link_grammar.py"}
    # The last one starts robustparse itself.
    allowed = {"perturbations/back_translation.py", "trust.py", "cli/ensemble_members.py"}
    assert names == {*classes, *allowed}


def test_listed_classes_of_lightning_start_none_that_a_file_names() -> None:
    for class_path in trust._listed().values():
        if not class_path.startswith("pytorch_lightning."):
            continue  # optimizers
        code = inspect.getsource(named(class_path)).replace("shutil.which", "")  # it only looks
        # Strategies of several processes start the command itself again.
        assert not STARTS.search(code) or "_SubprocessScriptLauncher" in code, class_path


EVIL = "touch pwned; cat"
TRANSLATION = {
    "class_path": "robustparse.perturbations.TranslationCommand",
    "init_args": {"command": ["sh", "-c", EVIL]},
}
BACK = {
    "class_path": "BackTranslation",
    "init_args": {"cache": None, "there": [TRANSLATION], "back": [TRANSLATION]},
}
CHECKER = {"class_path": "LinkGrammar", "init_args": {"command": "./checker.sh"}}
ATTACK = {
    "candidates": {"class_path": "Lexicon", "init_args": {"table": {"the": ["a"]}}},
    "constraints": [{"class_path": "GrammarErrors", "init_args": {"checker": CHECKER}}],
    "search": {"class_path": "RandomSubstitution", "init_args": {"gamma": 0.3, "trials": 2}},
}
ADVERSARY = {"class_path": "SubstitutionAdversary", "init_args": {"attack": {"init_args": ATTACK}}}
ADVERSARY["init_args"]["attack"]["class_path"] = "robustparse.attacks.Attack"  # type: ignore[index]
PERTURBED = {
    "class_path": "robustparse.defenses.PerturbationAdversary",
    "init_args": {"fraction": 0.5, "mode": "replace", "operations": [BACK]},
}


def fit_with(callback: dict[str, Any]) -> list[str]:
    Path("f.yaml").write_text(yaml.safe_dump({"trainer": {"callbacks": [callback]}}))
    return ["fit", "--config", "experiment/mr_cnn", "--config", "f.yaml"]


def config_of(command: str, **options: Any) -> list[str]:
    Path("f.yaml").write_text(yaml.safe_dump(options))
    return [command, "--config", "f.yaml"]


def attack_by(text: str, *more: str) -> list[str]:
    Path("f.yaml").write_text(text)
    return ["attack", "--attack", "f.yaml", "--checkpoint", "c", "--data", "d", "--out", "o", *more]


COMMANDS: dict[str, Callable[[], list[str]]] = {
    "fit, an operation": lambda: fit_with(PERTURBED),
    "fit, an attack": lambda: fit_with(ADVERSARY),
    "validate": lambda: ["validate", *fit_with(PERTURBED)[1:]],
    "augment": lambda: config_of("augment", operations=[BACK], data="d", out="o"),
    "augment by option": lambda: [
        *("augment", "--data", "d", "--out", "o", "--operations", json.dumps([BACK]))
    ],
    "evaluate": lambda: config_of("evaluate", perturbed=[BACK], data="d", checkpoint="c"),
    "attack": lambda: attack_by(yaml.safe_dump(ATTACK)),
    "a merged key": lambda: attack_by(
        yaml.safe_dump({key: ATTACK[key] for key in ("candidates", "search")})
        + "constraints: [{class_path: GrammarErrors, init_args: {checker: {"
        "<<: {class_path: LinkGrammar}, init_args: {command: ./checker.sh}}}}]\n"
    ),
    "a program of an option": lambda: attack_by(
        yaml.safe_dump(ATTACK | {"constraints": []}),
        *("--attack.constraints+", "GrammarErrors", "--attack.constraints.checker", "LinkGrammar"),
        *("--attack.constraints.checker.command", "./checker.sh"),
    ),
    "an installed recipe": lambda: [
        *("attack", "--attack", "wang2021_open", "--checkpoint", "c", "--data", "d", "--out", "o")
    ],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("checker.sh").write_text("#!/bin/sh\ntouch pwned\n")
    Path("checker.sh").chmod(0o755)
    for name in "cd":
        Path(name).write_text("neither a checkpoint nor data")
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_a_program_needs_consent_before_anything_starts(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither the data nor the checkpoint, which are unreadable, are read before."""
    arguments = COMMANDS[name]()
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    error = capsys.readouterr().err
    assert "runs the program" in error, error
    assert "--trust" in error
    if "option" not in name and "f.yaml" in arguments:
        assert error.startswith("robustparse: f.yaml"), error
    assert not Path("pwned").exists()
    for wrong in ("cat", "my_package"):
        with pytest.raises(SystemExit, match="2"):
            main([*arguments, "--trust", wrong])
        assert "runs the program" in capsys.readouterr().err
    for right in ("commands", "sh,./checker.sh"):
        trust._programs.clear()
        with pytest.raises(SystemExit, match="2"):
            main([*arguments, "--trust", right])
        refused = name == "an installed recipe" and right != "commands"
        assert ("runs the program" in capsys.readouterr().err) == refused


def test_a_recipe_in_python(folder: Path) -> None:
    Path("f.yaml").write_text(yaml.safe_dump(ATTACK))
    with pytest.raises(InputError) as error:
        Recipe.read("f.yaml")
    assert error.value.path == "f.yaml"
    assert error.value.line is not None
    assert error.value.key == "attack.init_args.constraints[0].init_args.checker"
    trust.trust(["./checker.sh"])
    assert Recipe.read("f.yaml").attack().constraints[0].checker.command == "./checker.sh"  # type: ignore[attr-defined]


def test_a_class_of_the_users_says_so_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a recipe and in a checkpoint; one that names no ``command`` is named itself."""
    Path("own_programs.py").write_text(
        "from os import system\n"
        "from robustparse.attacks import GrammarChecker\n"
        "class Own(GrammarChecker):\n"
        "    runs_programs = True\n"
        "    def errors(self, texts):\n"
        "        return [0 for _ in texts]\n"
    )
    monkeypatch.syspath_prepend(folder)
    grammar = {"class_path": "GrammarErrors", "init_args": {}}
    grammar["init_args"] = {"checker": {"class_path": "own_programs.Own"}}
    Path("f.yaml").write_text(yaml.safe_dump({**ATTACK, "constraints": [grammar]}))
    trust.trust(["own_programs"])
    with pytest.raises(InputError, match="runs the program Own"):
        Recipe.read("f.yaml")
    with pytest.raises(InputError, match="runs the program Own"):
        instantiate({"class_path": "own_programs.Own", "init_args": {}})
    with pytest.raises(InputError):  # a trusted module also holds what it imports
        instantiate({"class_path": "own_programs.system", "init_args": {"command": "touch pwned"}})
    assert not Path("pwned").exists()
    trust.trust(["Own"])
    Recipe.read("f.yaml")
    instantiate({"class_path": "own_programs.Own", "init_args": {}})


def test_the_name_of_a_program_trusts_no_file_of_the_folder(folder: Path) -> None:
    """A recipe next to a module of that name would otherwise run it."""
    program = "cat"
    Path(f"{program}.py").write_text("open('pwned', 'w')")
    trust.trust([program])
    assert trust.trusted_modules() == []
    with pytest.raises(InputError):
        checked(["--attack.search.class_path", f"{program}.Evil"])
    assert not os.path.exists("pwned")


@pytest.mark.parametrize("function", ["os.system", "robustparse.cli.main.main", "print"])
def test_no_file_and_no_option_names_the_function_of_a_victim(
    function: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = {"class_path": "robustparse.victims.FunctionVictim"}
    named = {**victim, "init_args": {"function": function}}
    options = ["--victim", "FunctionVictim", "--victim.function", function]
    for arguments in (
        config_of("evaluate", victim=named, data="d"),
        ["evaluate", "--data", "d", *options],
        ["attack", "--attack", "pwws", "--data", "d", "--out", "o", *options],
    ):
        with pytest.raises(SystemExit, match="2"):
            main(arguments)
        assert re.search("takes a function|not trusted|import path", capsys.readouterr().err)


SETTINGS = {
    "trainer: [{max_steps: 2}]": ("trainer", 1),
    "seed_everything: false\ntrainer:\n- max_steps: 2": ("trainer", 3),
    "trainer: !!set {max_steps}": (None, 1),
    "trainer: !!omap [max_steps: 2]": (None, 1),
    "trainer:": ("trainer", 1),
    "trainer: 5": ("trainer", 1),
    "data: [sample]": ("data", 1),
    "data: !!set {folder}": (None, 1),
    "data: null": ("data", 1),
    "model: []": ("model", 1),
    "data: {init_args: {batches: 400}}": ("data.init_args.batches", 1),
    "data:\n  init_args:\n    augmentation: [a.tsv]": ("data.init_args.augmentation", 3),
    "last_checkpoint: [every_n_train_steps]": ("last_checkpoint", 1),
    "x: &t {trainer: [max_steps]}\n<<: *t": ("trainer", 1),
    "trainer: {max_steps: 2}\ntrainer: {max_epochs: 1}": (None, 2),
    "trainer: {callbacks: [{class_path: ReloadBest, class_path: SkipNonFinite}]}": (None, 1),
}


@pytest.mark.parametrize("text", SETTINGS)
def test_settings_that_are_no_keys_and_values(
    text: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key, line = SETTINGS[text]
    Path("f.yaml").write_text(text)
    with pytest.raises(SystemExit, match="2"):
        main(["fit", "--config", "experiment/mr_cnn", "--config", "f.yaml"])
    error = capsys.readouterr().err
    assert error.startswith(f"robustparse: f.yaml:{line}: {key or ''}"), error
    if text.startswith("trainer: ["):
        with pytest.raises(SystemExit, match="2"):
            main(["fit", "--config", "experiment/mr_cnn", "--trainer", "[{max_steps: 2}]"])
        assert "--trainer" in capsys.readouterr().err


def test_a_file_cannot_trust(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = config_of("augment", trust=["commands"], operations=[BACK], data="d", out="o")
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert "f.yaml:" in capsys.readouterr().err
    assert trust.trusted() == []
