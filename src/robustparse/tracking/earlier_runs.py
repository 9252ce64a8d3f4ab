"""Move the files of an earlier run to ``earlier/1`` when a new run starts in its folder.

The next run moves them to ``earlier/2``, and so on. All files of a run move together, and no other
files: files with names that are the same in every run, and files that the run listed in
``.run_files`` because their names depend on its settings.

Files are first moved to ``earlier/.part``, which is renamed to its number when it is complete. If a
run finds ``earlier/.part``, it moves the files back: the run that moved them had not yet written
anything.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback

from robustparse.errors import InputError, say
from robustparse.files.writing import writing
from robustparse.reports.training import CONTROL
from robustparse.reports.training import FILE as METRICS
from robustparse.tracking.examples import FOLDER as EXAMPLES
from robustparse.tracking.last_checkpoint import FILE as LAST
from robustparse.tracking.last_checkpoint import OLD
from robustparse.tracking.wandb import ID_FILE

EARLIER = "earlier"
BEST, CONFIG = "best.ckpt", "config.yaml"
_LIST = ".run_files"
_NAMES = (BEST, LAST, OLD, METRICS, CONFIG, CONTROL, EXAMPLES, ID_FILE, _LIST)
_PART = ".part"


class SetAside(Callback):
    """Moves the files of an earlier run when training starts, in the first process only.

    It must be the first callback, before any that writes into the folder. Files do not move
    earlier, because a run that is refused before training must not change the folder.

    Args:
        folder: the folder of the run.
        files: the files of the earlier run, relative to the folder, see `files_of_run`.
    """

    def __init__(self, folder: Path, files: Sequence[Path]) -> None:
        self.folder, self.files = folder, files

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Move the files; list the folders into which loggers write."""
        if trainer.is_global_zero:
            if self.files:
                moved = set_aside(self.folder, self.files)
                say(
                    f"moved the earlier run in {self.folder} to {moved} (to continue it: "
                    f"--trainer.default_root_dir {moved} --ckpt_path last)"
                )
            for logger in trainer.loggers:
                if isinstance(folder := getattr(logger, "log_dir", None), str):
                    list_file(self.folder, Path(folder))
        trainer.strategy.barrier("the files of an earlier run are set aside")


def files_of_run(folder: Path) -> list[Path]:
    """Return the files and folders that the last run wrote, relative to its folder."""
    named = [Path(name) for name in (*_NAMES, *_listed(folder))]
    if (folder / ID_FILE).is_file() and (run_id := (folder / ID_FILE).read_text().strip()):
        runs = (folder / "wandb").glob("*run-*")
        named += [path.relative_to(folder) for path in runs if path.name.endswith(f"-{run_id}")]
    present = [name for name in dict.fromkeys(named) if (folder / name).exists()]
    return [name for name in present if not any(outer in name.parents for outer in present)]


def list_file(folder: Path, path: Path) -> None:
    """Add a file or folder with a variable name to the list of a run's files.

    Files outside of the run's folder are not added.

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
    """Move files into the next folder ``earlier/N``: all of them, or none if it is killed.

    Returns:
        The folder ``earlier/N``.

    Raises:
        InputError: they cannot be moved.
    """
    earlier = folder / EARLIER
    with writing(earlier, "the files stay where they are"):
        for name in files:
            (earlier / _PART / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).rename(earlier / _PART / name)
        numbers = [int(path.name) for path in earlier.iterdir() if path.name.isdecimal()]
        target = earlier / str(max(numbers, default=0) + 1)
        (earlier / _PART).rename(target)
    return target


def restore(folder: Path) -> None:
    """Move files back if a process was killed while it moved them away.

    Raises:
        InputError: a file cannot be moved, or another file has its name.
    """
    part = folder / EARLIER / _PART
    if part.is_dir():
        with writing(folder, "the files of an earlier run are not complete"):
            _merge(part, folder)


def check_unused(
    folder: Path, files: Sequence[Path], settings: Mapping[str, Any], option: str
) -> None:
    """Check that no setting names a file that would be moved.

    Args:
        folder: the folder of the run.
        files: see `SetAside`.
        settings: nested settings, some of whose values may be file names.
        option: the option that sets the folder.

    Raises:
        InputError: a setting names such a file; the error names the setting.
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
    """Return the listed names that stay inside the folder."""
    path = folder / _LIST
    lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
    safe = [name for name in lines if name and not {"..", EARLIER} & set(Path(name).parts)]
    return [name for name in safe if folder.resolve() in (folder / name).resolve().parents]


def _merge(source: Path, target: Path) -> None:
    """Move the content of a folder into another one, and remove the empty folder."""
    for path in sorted(source.iterdir()):
        moved = target / path.name
        if path.is_dir() and moved.is_dir():
            _merge(path, moved)
        elif moved.exists():
            raise InputError(
                f"exists twice, also as {path}: a run was killed while it moved files",
                path=moved,
                remedy="remove one of them",
            )
        else:
            path.rename(moved)
    source.rmdir()


def _texts(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """Yield key and value of all nested settings that may be file names."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _texts(item, f"{key}.{name}".removeprefix("."))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _texts(item, f"{key}[{index}]")
    elif isinstance(value, str) and "\0" not in value and len(value) < _LONGEST:
        yield key, value


_LONGEST = 4096  # characters of the longest file name
