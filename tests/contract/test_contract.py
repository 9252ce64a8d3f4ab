"""What the first release wrote is read by every later version; ``make.py`` says how it was made.

A failure here is a broken promise to whoever has such files: mend the code, not the files.
"""

import importlib
import inspect
import json
import re
import shutil
import typing
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path

import pytest
import torch
from jsonargparse import ArgumentParser
from make import ATTACK

from robustparse import load
from robustparse.attacks.attack import Attack
from robustparse.cli.main import main
from robustparse.data.conllu import read_treebank
from robustparse.options.arguments import checked
from robustparse.options.yaml_files import read_yaml
from robustparse.types import DependencyTree

HERE = Path(__file__).parent
FOLDER = HERE / "attacked"
NAMES = (HERE / "names.txt").read_text()
BARE = [line for line in NAMES.splitlines() if not line.startswith(" ")]
ROOT = HERE.parents[1]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The frozen files, in the current folder."""
    shutil.copytree(HERE, tmp_path / "contract")
    monkeypatch.chdir(tmp_path / "contract")
    return tmp_path / "contract"


def test_the_checkpoint_gives_its_parses() -> None:
    parser = load(HERE / "tiny.ckpt")
    frozen = json.loads((HERE / "parses.json").read_text())
    examples = read_treebank(HERE / "test.conllu")[: len(frozen)]
    trees = [DependencyTree(tuple(one["heads"]), tuple(one["labels"])) for one in frozen]
    assert len(trees) == 10
    assert parser.predict([example.sentence for example in examples]) == trees
    batch = parser.encode(examples).batch(range(len(examples)), 1.0)
    with torch.no_grad():
        losses = parser.loss(parser(batch), batch)
    torch.testing.assert_close(
        losses, torch.tensor([one["loss"] for one in frozen]), rtol=1e-3, atol=1e-3
    )


def test_the_attack_is_complete(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([*ATTACK, "--out", "attacked"])
    assert contents(copy / "attacked") == contents(FOLDER)
    summary = json.loads((FOLDER / "summary.json").read_text())
    assert f"{summary['attacked']['las']:.1f}" in capsys.readouterr().out


def test_the_attack_is_made_again(copy: Path) -> None:
    main([*ATTACK, "--out", "again"])
    for name in ("examples.jsonl", "run.json", "adversarial.conllu"):
        assert (copy / "again" / name).read_bytes() == (FOLDER / name).read_bytes(), name
    found, frozen = (
        json.loads((out / "summary.json").read_text()) for out in (copy / "again", FOLDER)
    )
    clock = {"seconds", "sentences_per_second", "victim_share_of_seconds", "versions"}
    clock |= {"victim_forwards", "texts_per_forward"}  # which texts share a pass may change
    for key in set(frozen) - clock:
        assert found[key] == frozen[key], key


def test_the_report_reads_the_folder(copy: Path) -> None:
    main(["report", "attacked", "--out", "report.html"])
    page = (copy / "report.html").read_text()
    text = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    lines = [json.loads(line) for line in (FOLDER / "examples.jsonl").read_text().splitlines()]
    summary = json.loads((FOLDER / "summary.json").read_text())
    for value in (summary["clean"]["las"], summary["attacked"]["las"], summary["success_rate"]):
        assert f"{value:.1f}" in text
    changed = [line for line in lines if line["success"]]
    assert any(line["adversarial_tokens"][line["edited"][0]] in text for line in changed)


def test_every_recipe_is_parsed() -> None:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_argument("--attack", type=Attack)
    for name in BARE:
        if name.startswith("attack/"):
            _, path = checked(["--attack", name.removeprefix("attack/")])
            parser.parse_object({"attack": read_yaml(Path(path))})


def test_every_configuration_is_parsed(capsys: pytest.CaptureFixture[str]) -> None:
    """`test_documented_commands` parses those that a page or a comment names in a command."""
    texts = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "configs").rglob("*.yaml")]
    documented = chain.from_iterable(pairwise(text.read_text().split()) for text in texts)
    named = {name for option, name in documented if option == "--config"}
    names = {name for name in BARE if not name.startswith("attack/")}
    assert len(names & named) > 50
    for name in names - named:
        files = ["--config", "experiment/ewt_biaffine", "--config", name]
        with pytest.raises(SystemExit) as end:
            main(["fit", *files, "--data.folder", "sample", "--print_config"])
        assert end.value.code == 0, capsys.readouterr().err


def parameters(cls: type) -> dict[str, inspect.Parameter]:
    """Those of a class's constructor, and of its bases' where it passes arguments on."""
    found: dict[str, inspect.Parameter] = {}
    for base in cls.__mro__:
        own = inspect.signature(base.__init__).parameters if base is not object else {}
        found = {**own, **found}
        if not any(each.kind is each.VAR_KEYWORD for each in own.values()):
            break
    return found


def gone(class_path: str, arguments: list[str]) -> Iterator[str]:
    """What of a class and its arguments does not exist."""
    module, _, name = class_path.rpartition(".")
    cls = getattr(importlib.import_module(module), name, None)
    if cls is None:
        yield f"there is no class {class_path}"
        return
    for argument in arguments:
        outer, _, inner = argument.partition(".")
        if outer not in parameters(cls):
            yield f"{class_path} has no argument {outer}"
        elif inner:
            kind = parameters(cls)[outer].annotation
            kinds = [kind for kind in (kind, *typing.get_args(kind)) if inspect.isclass(kind)]
            if not any(inner in parameters(each) for each in kinds):
                yield f"{class_path} has no argument {argument}"


def test_every_frozen_name_exists() -> None:
    file, missing = "", set()
    for line in NAMES.splitlines():
        if not line.startswith(" "):
            file = line
            kind, _, name = line.partition("/")
            checked(["--attack", name] if kind == "attack" else ["--config", line])
        else:
            class_path, *arguments = line.split()
            missing |= {f"{file}: {text}" for text in gone(class_path, arguments)}
    assert not missing, "users' files name these, as the first release's do"


@pytest.mark.parametrize(
    ("class_path", "argument", "message"),
    [
        ("robustparse.attacks.Beem", "width", "there is no class robustparse.attacks.Beem"),
        ("robustparse.attacks.Beam", "breadth", "robustparse.attacks.Beam has no argument breadth"),
        (
            "robustparse.models.BiaffineParser",
            "optimization.rate",
            "robustparse.models.BiaffineParser has no argument optimization.rate",
        ),
    ],
)
def test_a_renamed_one_would_be_found(class_path: str, argument: str, message: str) -> None:
    assert list(gone(class_path, [argument])) == [message]
