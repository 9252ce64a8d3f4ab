"""Recipes and configurations are found by bare names, wherever the package is installed."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from command_runs import mistake

from robustparse.cli.main import main
from robustparse.errors import InputError
from robustparse.options.arguments import checked
from robustparse.options.installed import CONFIGS

ROOT = Path(__file__).parents[2]
FILES = sorted(path.relative_to(ROOT / "configs") for path in (ROOT / "configs").rglob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=str)
def test_every_file_has_a_bare_name(file: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    option, name = ("--attack", file.stem) if file.parts[0] == "attack" else ("--config", file)
    for given in (str(name).removesuffix(".yaml"), f"{str(name).removesuffix('.yaml')}.yaml"):
        assert checked([option, given])[-2:] == [option, str(CONFIGS / file)]


def test_a_file_of_the_users_comes_first(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pwws").write_text("seed: 3")
    assert checked(["--attack", "pwws"]) == ["--attack", "pwws"]
    Path("pwws").unlink()
    Path("pwws.yaml").write_text("seed: 3")
    assert checked(["--attack", "pwws.yaml"]) == ["--attack", "pwws.yaml"]


def test_commands_take_bare_names(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    files = ["--config", "experiment/ewt_biaffine", "--config=defense/fgm"]
    with pytest.raises(SystemExit):
        main(["fit", *files, "--data.init_args.folder", "sample", "--print_config"])
    trainer = yaml.safe_load(capsys.readouterr().out)["trainer"]
    assert trainer["callbacks"][0]["class_path"] == "robustparse.defenses.FGM"
    assert "robustparse list" in mistake(capsys, "attack", "--attack", "none/of/these")
    assert "did you mean defense/fgm?" in mistake(capsys, "fit", "--config", "defense/fgn")


def test_a_configuration_lists_those_that_it_starts_from(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("config: [experiment/mr_cnn, defense/fgm]\ntrainer: {}\n")
    names = ("model/text_cnn", "data/mr", "experiment/mr_cnn", "defense/fgm")
    files = [*(str(CONFIGS / f"{name}.yaml") for name in names), "mine.yaml"]
    assert checked(["--config", "mine.yaml"])[1::2] == files


def test_options_replace_values_of_files_wherever_they_stand(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    files, options = ["--config", "experiment/ud_biaffine"], ["--data.folder", "sample"]
    options += ["--trainer.max_steps", "3"]
    printed = []
    for arguments in ([*files, *options], [*options, *files]):
        with pytest.raises(SystemExit):
            main(["fit", *arguments, "--print_config"])
        printed.append(yaml.safe_load(capsys.readouterr().out))
    assert printed[0] == printed[1]
    assert printed[0]["trainer"]["max_steps"] == 3
    assert checked(["folder", "--out", "a", "--attack", "pwws"])[0] == "folder"


@pytest.mark.parametrize("listed", ["mine.yaml", "[1]", "[mine.yaml]", "[other.yaml]", "[none]"])
def test_a_wrong_list_of_configurations_is_refused(listed, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(f"config: {listed}\n")
    Path("other.yaml").write_text("config: [mine.yaml]\n")
    with pytest.raises(InputError) as error:
        checked(["--config", "mine.yaml"])
    assert str(error.value.key).removeprefix("--") == "config"


@pytest.mark.slow
def test_a_wheel_holds_them(tmp_path: Path) -> None:
    for name in ("src", "configs"):
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    wheel = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q"]
    subprocess.run([*wheel, "-w", "out", "."], cwd=tmp_path, check=True)
    (built,) = (tmp_path / "out").glob("*.whl")
    names = set(zipfile.ZipFile(built).namelist())
    assert {f"robustparse/configs/{file}" for file in FILES} <= names
    assert {"robustparse/attacks/__init__.pyi", "robustparse/py.typed"} <= names
