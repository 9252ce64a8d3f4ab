"""A folder holds one run: what an earlier one left moves to ``earlier/1`` when another starts.

The next run moves what it finds to ``earlier/2``, and so on. All files of a run move together, and
no others: those that every run writes under the same name, and those that it has listed in
``.run_files`` because their names depend on its settings.

Files are renamed into ``earlier/.part``, which gets its number when all of them are there. A start
that finds ``earlier/.part`` moves its files back, since the run that was about to begin has not
written anything yet.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback

from robustparse.errors import InputError
from robustparse.files import writing
from robustparse.reports.training import FILE as METRICS
from robustparse.tracking.examples import FOLDER as EXAMPLES
from robustparse.tracking.last import FILE as LAST
from robustparse.tracking.last import OLD
from robustparse.tracking.wandb import ID_FILE

EARLIER = "earlier"
BEST, CONFIG = "best.ckpt", "config.yaml"
_LIST = ".run_files"
_NAMES = (BEST, LAST, OLD, METRICS, CONFIG, EXAMPLES, ID_FILE, _LIST)
_PART = ".part"


class SetAside(Callback):
    """Moves the files of an earlier run away, in the first process, when training starts.

    It must come before everything that writes into the folder when training starts. Before that, a
    run may still be refused, and then nothing has changed.

    Args:
        folder: of the run.
        files: of the earlier run, by their names in the folder, see `files_of_run`.
    """

    def __init__(self, folder: Path, files: Sequence[Path]) -> None:
        self.folder, self.files = folder, files

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Move the files; list the folders in which loggers write files of their own."""
        if trainer.is_global_zero:
            if self.files:
                moved = set_aside(self.folder, self.files)
                print(
                    f"robustparse: moved the earlier run in {self.folder} to {moved} (to continue "
                    f"it: --trainer.default_root_dir {moved} --ckpt_path last)",
                    file=sys.stderr,
                )
            for logger in trainer.loggers:
                if isinstance(folder := getattr(logger, "log_dir", None), str):
                    list_file(self.folder, Path(folder))
        trainer.strategy.barrier("the files of an earlier run are set aside")


def files_of_run(folder: Path) -> list[Path]:
    """Return the files and folders that the last run wrote into a folder, by their names in it."""
    named = [Path(name) for name in (*_NAMES, *_listed(folder))]
    if (folder / ID_FILE).is_file() and (run_id := (folder / ID_FILE).read_text().strip()):
        runs = (folder / "wandb").glob("*run-*")
        named += [path.relative_to(folder) for path in runs if path.name.endswith(f"-{run_id}")]
    present = [name for name in dict.fromkeys(named) if (folder / name).exists()]
    return [name for name in present if not any(outer in name.parents for outer in present)]


def list_file(folder: Path, path: Path) -> None:
    """Add a file or a folder that is not always called the same to those of a folder's run.

    What lies outside of the folder is not added.

    Raises:
        InputError: the list cannot be written.
    """
    inside, target = folder.resolve(), path.resolve()
    if inside not in target.parents:
        return
    name = target.relative_to(inside).as_posix()
    if name not in (*_NAMES, *_listed(folder)) and "\n" not in name:
        with writing(folder / _LIST), (folder / _LIST).open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")


def set_aside(folder: Path, files: Sequence[Path]) -> Path:
    """Move files into the next folder ``earlier/N``, all of them or, if killed, none.

    Returns:
        That folder.

    Raises:
        InputError: they cannot be moved.
    """
    earlier = folder / EARLIER
    with writing(earlier, "the files stay where they are"):
        for name in files:
            _move(folder / name, earlier / _PART / name)
        numbers = [int(path.name) for path in earlier.iterdir() if path.name.isdecimal()]
        target = earlier / str(max(numbers, default=0) + 1)
        (earlier / _PART).rename(target)
    return target


def restore(folder: Path) -> None:
    """Move files back where a process was killed while it set them aside.

    Raises:
        InputError: they cannot be moved, or another file has taken the name of one.
    """
    part = folder / EARLIER / _PART
    if part.is_dir():
        with writing(folder, "the files of an earlier run are not complete"):
            _merge(part, folder)


def check_unused(
    folder: Path, files: Sequence[Path], settings: Mapping[str, Any], option: str
) -> None:
    """Refuse settings that name a file which would be moved.

    Args:
        folder: of the run.
        files: see `SetAside`.
        settings: nested, with file names somewhere among their values.
        option: the one that names the folder.

    Raises:
        InputError: names the setting.
    """
    moved = {(folder / name).resolve() for name in files}
    for key, text in _texts(settings, ""):
        path = Path(os.path.realpath(os.path.expanduser(text)))  # noqa: PTH111 - any text is allowed
        if moved & {path, *path.parents}:
            raise InputError(
                f"{text} belongs to the earlier run in {folder}, whose files a new run moves away",
                key=key,
                remedy=f"choose another {option}, or copy the file out of the folder",
            )


def _listed(folder: Path) -> list[str]:
    """Return the names in the list of a run's files that lead nowhere else."""
    path = folder / _LIST
    lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
    safe = [name for name in lines if name and not {"..", EARLIER} & set(Path(name).parts)]
    return [name for name in safe if folder.resolve() in (folder / name).resolve().parents]


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    source.rename(target)


def _merge(source: Path, target: Path) -> None:
    """Move all that is in a folder into another one, and remove the empty folder."""
    for path in sorted(source.iterdir()):
        moved = target / path.name
        if path.is_dir() and moved.is_dir():
            _merge(path, moved)
        elif moved.exists():
            raise InputError(
                f"is there twice, also as {path}: a run was killed while it moved files",
                path=moved,
                remedy="remove one of them",
            )
        else:
            path.rename(moved)
    source.rmdir()


def _texts(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """Yield the texts among nested settings that may be names of files, with their keys."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _texts(item, f"{key}.{name}".removeprefix("."))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _texts(item, f"{key}[{index}]")
    elif isinstance(value, str) and "\0" not in value and len(value) < _LONGEST:
        yield key, value


_LONGEST = 4096  # characters of a file's name
