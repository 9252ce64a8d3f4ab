"""What is installed is listed by the names that options take, and is copied for editing."""

from pathlib import Path

import pytest
import yaml

from robustparse import attacks
from robustparse.cli.copy import copy
from robustparse.cli.list import list as print_installed
from robustparse.cli.main import main
from robustparse.errors import InputError
from robustparse.options.arguments import checked
from robustparse.options.installed import CONFIGS


def listed(capsys, *kinds: str) -> list[str]:
    print_installed(kinds)
    return [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:2] == "  "]


@pytest.mark.parametrize(
    ("kind", "folder", "option"),
    [
        ("attacks", "attack", "--attack"),
        ("defenses", "defense", "--config"),
        ("experiments", "experiment", "--config"),
        ("models", "model", "--config"),
        ("data", "data", "--config"),
    ],
)
def test_every_listed_name_is_a_file_that_its_option_takes(kind, folder, option, capsys):
    names = listed(capsys, kind)
    assert len(names) == len([*(CONFIGS / folder).glob("*.yaml")])
    for name in names:
        (*_, path) = checked([option, name])
        assert Path(path).is_file()


def test_components_are_public_classes(capsys):
    names = listed(capsys, "components")
    assert len(names) == len(set(names)) > 100
    classes = {name for name in dir(attacks) if isinstance(getattr(attacks, name), type)}
    assert {name.rpartition(".")[2] for name in names if ".attacks." in name} == classes


@pytest.mark.parametrize("name", ["pwws", "attack/pwws", "pwws.yaml", "defense/fgm"])
def test_a_copy_is_the_installed_file(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["copy", name])
    path = Path(capsys.readouterr().out.strip())
    (source,) = CONFIGS.rglob(path.name)
    assert yaml.safe_load(path.read_text("utf-8")) == yaml.safe_load(source.read_text("utf-8"))
    path.write_text("edited")
    with pytest.raises(InputError) as error:
        copy(name)
    assert error.value.path == path.name
    assert path.read_text("utf-8") == "edited"


@pytest.mark.parametrize(
    ("arguments", "near"),
    [(["atack"], "attack"), (["copy", "pws"], "pwws"), (["copy", "defense/fmg"], "defense/fgm")],
)
def test_a_mistyped_name_gets_the_nearest_one(arguments, near, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert near in capsys.readouterr().err.rpartition(";")[2].split("?")[0].split()
