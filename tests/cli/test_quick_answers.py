"""Help and errors about arguments come before torch is imported."""

import subprocess
import sys
from pathlib import Path

import pytest
from command_runs import RECIPE, mistake

from robustparse.cli import completion
from robustparse.cli.completion import whole_parser
from robustparse.cli.main import LIGHTNING, OWN, _full, main

CODE = """
import sys
from robustparse.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    print("status", end.code)
print("torch" in sys.modules)
"""
MODEL = ("--checkpoint", "model.ckpt", "--data", "data.conllu")
# Arguments, exit status, and what is printed.
ANSWERS = [
    (("--help",), 0, "usage: robustparse COMMAND"),
    (("fit", "--help"), 0, "usage: robustparse fit"),
    (("nosuch",), 2, "unknown command 'nosuch'"),
    (("evaluate", "--checkpoint", "none.ckpt", "--data", "data.conllu"), 2, "none.ckpt: no such"),
    (
        ("evaluate", "--checkpoint", "model.ckpt", "--data", "none.conllu"),
        2,
        "none.conllu: no such",
    ),
    (("evaluate", *MODEL, "--checkpoint", "none.ckpt"), 2, "none.ckpt: no such checkpoint"),
    (("transfer", "x", "--checkpoint", "model.ckpt,none.ckpt"), 2, "none.ckpt: no such checkpoint"),
    (("attack", "--attack", "none", *MODEL, "--out", "out"), 2, "none: --attack: no such file"),
    (("attack", "--attack", "evil.yaml", *MODEL, "--out", "out"), 2, "evil.yaml:2: attack.search"),
    (("attack", "--attack", "broken.yaml", *MODEL, "--out", "out"), 2, "broken.yaml:2: not YAML"),
    (("fit", "--config", "none.yaml"), 2, "none.yaml: --config: no such file"),
    (("fit", "--config", "experiment/mr_cnn", "--ckpt_path", "none.ckpt"), 2, "none.ckpt: no such"),
    (("fit", "--config", "experiment/mr_cnn", "--data.folder", "none"), 2, "none: no such folder"),
    (("fit", "--config", "evil.yaml"), 2, "evil.yaml:2: search.class_path"),
]


@pytest.mark.parametrize(("arguments", "status", "shown"), ANSWERS)
def test_an_answer_without_torch(arguments, status, shown, tmp_path: Path) -> None:
    for name in ("model.ckpt", "data.conllu"):
        (tmp_path / name).touch()
    (tmp_path / "evil.yaml").write_text("search:\n  class_path: evil_module.Evil\n")
    (tmp_path / "broken.yaml").write_text("search: [\n")
    run = subprocess.run(
        [sys.executable, "-c", CODE, *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    assert shown in run.stdout + run.stderr, run.stderr
    assert run.stdout.endswith("False\n"), "torch was imported"
    assert f"status {status}\n" in run.stdout


def test_the_objects_of_imports_are_not_searched_for_cycles_at_the_end() -> None:
    """What is registered first runs last."""
    code = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 0))"
    run = subprocess.run(
        [sys.executable, "-c", f"{code}; import robustparse.cli.main"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "True\n"


def test_the_help_of_fit_begins_with_our_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["fit", "--help"])
    text = capsys.readouterr().out
    for shown in ("--data.folder", "--trust", "experiment/ud_biaffine", "defense/substitution"):
        assert shown in text
    assert len(text.splitlines()) < 120
    with pytest.raises(SystemExit, match="0"):
        main(["fit", "--help.all"])
    assert "--trainer.accumulate_grad_batches" in capsys.readouterr().out


def test_completion_knows_every_command_and_option(capsys, monkeypatch) -> None:
    parser = whole_parser()
    monkeypatch.setattr(completion, "whole_parser", lambda: parser)  # slow to make
    commands = parser._subcommands_action.choices
    assert set(commands) == {*OWN, *LIGHTNING} - {"annotate"}
    assert "--checkpoint" in commands["attack"]._option_string_actions
    assert "--data.folder" in commands["fit"]._option_string_actions
    assert "SHELL" in mistake(capsys, "completion", "fish")
    main(["completion", "bash"])
    assert "--checkpoint" in capsys.readouterr().out


def test_the_environment_can_trust(made: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("env_package.py").write_text(
        "from robustparse.attacks import Zheng2020\nclass Mine(Zheng2020):\n    pass\n"
    )
    Path("r.yaml").write_text(RECIPE.replace("robustparse.attacks.Zheng2020", "env_package.Mine"))
    rest = ["--checkpoint", made / "tiny.ckpt", "--data", made / "test.conllu", "--limit", "1"]
    attack = ["attack", "--attack", "r.yaml", *rest, "--out", "out", "--device", "cpu"]
    assert "--trust env_package" in mistake(capsys, *attack)
    monkeypatch.setenv("ROBUSTPARSE_TRUST", "my-package")
    assert "ROBUSTPARSE_TRUST: 'my-package'" in mistake(capsys, *attack)
    monkeypatch.setenv("ROBUSTPARSE_TRUST", "cat,env_package")
    main([*map(str, attack)])
    assert Path("out/summary.json").is_file()


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("--columns", "--data.columns"),
        ("--max_length=9", "--data.max_length=9"),
        ("--data.batch_texts", "--data.batches.texts"),
        ("--data.init_args.batch_words=9", "--data.batches.words=9"),
        ("--data.init_args.folder", "--data.init_args.folder"),
    ],
)
def test_training_options_have_short_names(short: str, full: str) -> None:
    assert _full(short) == full
