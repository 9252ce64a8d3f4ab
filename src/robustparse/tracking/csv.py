"""``metrics.csv``: all logged metrics of a run in one table, which a resumed run continues.

The logger also writes pages of adversarial examples. Lightning's CSVLogger deletes the old file at
the start and rewrites it for each new column; this logger only appends.
"""

import csv
import io
import logging
import os
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.utilities import rank_zero_only

from robustparse.errors import InputError
from robustparse.evaluation.records import RobustnessRecord
from robustparse.files.writing import write_text
from robustparse.reports.training import FILE, HEADER
from robustparse.tracking.examples import FOLDER, write_example_page

Row = tuple[int, str, str]

log = logging.getLogger(__name__)


class CsvLogger(Logger):
    """Logs to ``metrics.csv``, each (step, name) once.

    If rows cannot be written, for example on a full disk, there is one warning and the run
    continues.

    Args:
        save_dir: the run's folder.
        resumed: continue the file of the resumed run; otherwise it is replaced.
    """

    def __init__(self, save_dir: str, resumed: bool = False) -> None:
        super().__init__()
        self._save_dir, self._resumed = save_dir, resumed
        self._before: int | None = None
        self._table: MetricsTable | None = None
        self._has_pages = False  # of this run
        self._warned: set[str] = set()

    @rank_zero_only
    def begin(
        self, folder: str, resumed: bool, before: int | None = None, elsewhere: bool = False
    ) -> None:
        """Prepare for a run; the command line calls this.

        Args:
            folder: the folder of the run.
            resumed: whether a run is resumed.
            before: the step from which metrics are logged again; the first new row removes the old
                ones.
            elsewhere: whether the run starts from another checkpoint than the folder's last one.

        Raises:
            InputError: the existing file is not a table of metrics.
        """
        self._resumed, self._before = resumed, before
        self._open()

    def _open(self) -> "MetricsTable":
        if self._table is None:
            folder = Path(self._save_dir)
            folder.mkdir(parents=True, exist_ok=True)
            self._table = MetricsTable(folder / FILE, self._resumed, self._before)
        return self._table

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Append metrics that are not logged yet."""
        with self._warning("metrics", Path(self._save_dir) / FILE):
            self._open().append(step or 0, metrics)

    @rank_zero_only
    def log_robustness(self, record: RobustnessRecord, step: int) -> None:
        """Write the adversarial examples as a page; the scores are logged as metrics.

        The first new page removes those of an earlier run or, if it is resumed, of repeated steps.
        """
        if not record.examples:
            return
        folder = Path(self._save_dir) / FOLDER
        earlier = self._before if self._resumed else 0
        with self._warning("examples", folder):
            write_example_page(folder, record, step, None if self._has_pages else earlier)
            self._has_pages = True

    @contextmanager
    def _warning(self, kind: str, path: Path) -> Iterator[None]:
        try:
            yield
        except (InputError, OSError) as error:
            if kind not in self._warned:
                log.warning("%s: %s are being lost: %s", path, kind, error)
            self._warned.add(kind)

    @rank_zero_only
    def log_hyperparams(self, params: dict[str, Any] | Namespace, *_: Any, **__: Any) -> None:
        """Do nothing: ``config.yaml`` holds the settings."""

    @property
    def name(self) -> str:
        """No name; the folder identifies the run."""
        return ""

    @property
    def version(self) -> str:
        """No version."""
        return ""

    @property
    def save_dir(self) -> str:
        """The run's folder."""
        return self._save_dir


class MetricsTable:
    """An append-only table ``step,name,value`` that holds each (step, name) once.

    A row holds one value, so that a new metric adds no column. Rows are appended by single writes:
    a killed process leaves at most one torn last line, which the next process removes. A resumed
    run repeats the steps after its checkpoint; rows that exist are not written again. If another
    program truncates the file, all rows are written again.

    Args:
        path: the file.
        keep: continue the existing file; otherwise the first row replaces it.
        before: keep only rows of earlier steps; the first new row removes the others.

    Raises:
        InputError: ``keep`` is set and the file is not such a table.
    """

    def __init__(self, path: Path, keep: bool, before: int | None = None) -> None:
        self.path = path
        stored, self._length = read_table(path) if keep and path.exists() else ([], 0)
        self.rows = [row for row in stored if before is None or row[0] < before]
        self._to_cut = len(self.rows) < len(stored)
        self._logged = {(step, name) for step, name, _ in self.rows}

    def append(self, step: int, values: Mapping[str, float]) -> None:
        """Write new values, which are on disk when this returns.

        Raises:
            InputError, OSError: they cannot be written; the next call removes a torn row.
        """
        added = [
            (step, name, repr(float(value)))
            for name, value in values.items()
            if (step, name) not in self._logged
        ]
        if not added:
            return
        size = self.path.stat().st_size if self.path.exists() else 0
        if self._to_cut or size < self._length:  # another program truncated the file
            write_text(self.path, _as_text(self.rows, header=True))
            self._to_cut, self._length = False, self.path.stat().st_size
        content = _as_text(added, header=not self._length).encode()
        with self.path.open("ab", buffering=0) as file:
            if os.fstat(file.fileno()).st_size > self._length:  # a longer length would add NULs
                file.truncate(self._length)
            written = file.write(content)
        if written < len(content):
            raise OSError(f"{written} of {len(content)} bytes written")
        self._length += len(content)
        self.rows += added
        self._logged |= {(step, name) for step, name, _ in added}


def read_table(path: Path) -> tuple[list[Row], int]:
    """Read the complete rows; return them and the file's length without a torn last line.

    Raises:
        InputError: the header is wrong.
    """
    content = path.read_bytes()
    length = content.rfind(b"\n") + 1
    while length:
        start = content.rfind(b"\n", 0, length - 1) + 1
        if start == 0 or _read_row(content[start:length].decode("utf-8", "replace")) is not None:
            break
        length = start
    lines = content[:length].decode("utf-8", "replace").split("\n")
    if content and lines[0] != HEADER:
        if len(content) <= len(HEADER):
            return [], length
        raise InputError(
            "not a table of metrics",
            path=path,
            line=1,
            expected=HEADER,
            remedy="move the file away to continue in this folder",
        )
    return [row for line in lines[1:] if (row := _read_row(line)) is not None], length


def _as_text(rows: Iterable[Row], header: bool) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return (f"{HEADER}\n" if header else "") + text.getvalue()


def _read_row(line: str) -> Row | None:
    try:
        (fields,) = csv.reader([line])
        step, name, value = fields
        return int(step), name, value
    except (ValueError, csv.Error):
        return None
