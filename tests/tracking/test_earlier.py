"""The files of an earlier run move together, all or none, wherever the process is killed."""

import os
from pathlib import Path
from typing import Any

import pytest

from robustparse.errors import InputError
from robustparse.tracking.earlier_runs import (
    check_unused,
    files_of_run,
    list_file,
    restore,
    set_aside,
)

RUN = {
    "best.ckpt": "1",
    "last.ckpt": "2",
    "metrics.csv": "3",
    "config.yaml": "4",
    "wandb_id": "ab12\n",
    "wandb/offline-run-20260101_000000-ab12/run.wandb": "5",
    "adversarial_examples/step_00000001.html": "6",
    "epoch=0-step=4.ckpt": "7",
    "checkpoints/epoch=0.ckpt": "8",
}
OTHERS = {
    "notes.txt": "a",
    "copies.conllu": "b",
    "pretrained.ckpt": "c",
    "checkpoints/mine.ckpt": "d",
    "wandb/offline-run-20260101_000000-ff00/run.wandb": "e",
}


class KilledError(BaseException):
    """Stands for a process that ends."""


def fill(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def held(folder: Path) -> dict[str, str]:
    """Every file in and below a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder with the files of a run and with others."""
    fill(tmp_path / "run", RUN | OTHERS)
    for name in ("epoch=0-step=4.ckpt", "checkpoints/epoch=0.ckpt", "best.ckpt", "../out.ckpt"):
        list_file(tmp_path / "run", tmp_path / "run" / name)
    return tmp_path / "run"


def test_all_files_of_a_run_move_and_no_others(run: Path) -> None:
    listed = {".run_files": "epoch=0-step=4.ckpt\ncheckpoints/epoch=0.ckpt\n"}
    assert held(run) == RUN | OTHERS | listed
    assert set_aside(run, files_of_run(run)) == run / "earlier" / "1"
    assert held(run / "earlier" / "1") == RUN | listed
    assert held(run) == OTHERS | {
        f"earlier/1/{name}": text for name, text in (RUN | listed).items()
    }
    assert files_of_run(run) == []
    fill(run, {"last.ckpt": "second"})
    fill(run, {"earlier/7/last.ckpt": "moved by hand"})
    assert set_aside(run, files_of_run(run)) == run / "earlier" / "8"
    assert held(run / "earlier" / "8") == {"last.ckpt": "second"}


def test_killed_at_any_moment_the_next_start_restores_all(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each of the renames, and before each of those that move the files back."""
    before, rename = held(run), os.rename
    left = [0]

    def counted(*names: Any) -> None:
        if left[0] == 0:
            raise KilledError
        left[0] -= 1
        rename(*names)

    monkeypatch.setattr(os, "rename", counted)
    files = files_of_run(run)
    for kill in range(len(files) + 1):
        left[0] = kill
        with pytest.raises(KilledError):
            set_aside(run, files)
        assert {name.removeprefix("earlier/.part/"): text for name, text in held(run).items()} == (
            before
        )
        for steps in range(kill):
            left[0] = min(1, steps)
            with pytest.raises(KilledError):
                restore(run)
        left[0] = 100
        restore(run)
        assert held(run) == before
        assert files_of_run(run) == files
    set_aside(run, files)
    assert not (run / "last.ckpt").exists()
    restore(run)
    assert not (run / "last.ckpt").exists()


def test_a_file_that_took_the_name_of_another_is_kept(run: Path) -> None:
    fill(run, {"earlier/.part/last.ckpt": "old"})
    with pytest.raises(InputError) as error:
        restore(run)
    assert error.value.path == str(run / "last.ckpt")
    assert (run / "last.ckpt").read_text() == "2"
    assert (run / "earlier/.part/last.ckpt").read_text() == "old"


def test_a_list_moves_nothing_from_elsewhere(tmp_path: Path) -> None:
    """A folder that somebody else has made may hold any list."""
    run, outside = tmp_path / "run", tmp_path / "outside.txt"
    outside.touch()
    fill(run, {"best.ckpt": "", "link/x": "", "earlier/1/best.ckpt": "", "inside.ckpt": ""})
    (run / "to").symlink_to(tmp_path)
    names = ("../outside.txt", str(outside), "to/outside.txt", "earlier/1", ".", "", "inside.ckpt")
    (run / ".run_files").write_text("\n".join(names))
    assert set(map(str, files_of_run(run))) == {"best.ckpt", ".run_files", "inside.ckpt"}


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"model": {"init_args": {"init_from": "run/best.ckpt"}}}, "model.init_args.init_from"),
        ({"data": {"files": ["x", "run/../run/best.ckpt"]}}, "data.files[1]"),
        ({"pages": "run/adversarial_examples/step_00000001.html"}, "pages"),
        ({"model": {"init_args": {"init_from": "run/pretrained.ckpt"}}}, None),
        ({"a": "run", "b": "best.ckpt", "c": "~nobody/x", "d": "x\0y", "e": 5, "f": None}, None),
    ],
)
def test_a_run_that_reads_what_would_move_is_refused(
    run: Path, settings: dict[str, Any], key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.parent)
    arguments = (Path("run"), files_of_run(Path("run")), settings, "folder")
    if key is None:
        check_unused(*arguments)
    else:
        with pytest.raises(InputError) as error:
            check_unused(*arguments)
        assert error.value.key == key
