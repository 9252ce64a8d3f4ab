"""``metrics.csv``: all metrics that a run logs, in one tidy file that a resumed run continues.

With it, pages of adversarial examples where a robustness evaluation gives some. Lightning's own
CSVLogger deletes the old file when it starts and rewrites it when a column is added; this one only
appends.
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
from robustparse.evaluation.tally import RobustnessRecord
from robustparse.files import write_text
from robustparse.reports.training import FILE, HEADER
from robustparse.tracking.examples import ExamplePages

Row = tuple[int, str, str]

log = logging.getLogger(__name__)


class CsvLogger(Logger):
    """Logs to ``metrics.csv``, each (step, name) once.

    A row that cannot be written (disk full) costs one warning, never the run.

    Args:
        save_dir: the run's folder.
        resumed: keep the file of the run that is resumed; a fresh run starts it over.
    """

    def __init__(self, save_dir: str, resumed: bool = False) -> None:
        super().__init__()
        self._save_dir, self._resumed = save_dir, resumed
        self._before: int | None = None
        self._table: MetricsTable | None = None
        self._pages: ExamplePages | None = None
        self._warned: set[str] = set()

    @rank_zero_only
    def begin(
        self, folder: str, resumed: bool, before: int | None = None, elsewhere: bool = False
    ) -> None:
        """Prepare for a run; the command line calls this.

        Args:
            folder: the run's.
            resumed: whether a run is resumed.
            before: metrics from this step on are logged anew; the old ones are removed when the
                first of them comes.
            elsewhere: the run is resumed from another place than where the folder's last run ended.

        Raises:
            InputError: the file to be continued is not a table of metrics.
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
        """Append what is not there yet."""
        with self._warning("metrics", Path(self._save_dir) / FILE):
            self._open().append(step or 0, metrics)

    @rank_zero_only
    def log_robustness(self, record: RobustnessRecord, step: int) -> None:
        """Write the adversarial examples as a page; the scores are logged as metrics."""
        if not record.examples:
            return
        if self._pages is None:
            self._pages = ExamplePages(Path(self._save_dir), self._resumed, self._before)
        with self._warning("examples", self._pages.folder):
            self._pages.write(record, step)

    @contextmanager
    def _warning(self, what: str, place: Path) -> Iterator[None]:
        try:
            yield
        except (InputError, OSError) as error:
            if what not in self._warned:
                log.warning("%s: %s are being lost: %s", place, what, error)
            self._warned.add(what)

    @rank_zero_only
    def log_hyperparams(self, params: dict[str, Any] | Namespace, *_: Any, **__: Any) -> None:
        """Do nothing: ``config.yaml`` has them."""

    @property
    def name(self) -> str:
        """No name: the folder is the name."""
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

    One row per value, so a new metric needs no new column and nothing written is rewritten. A row
    reaches the operating system in one write: a killed process leaves at most one torn last line,
    which the next one cuts off. A resumed run repeats the steps after its checkpoint; their rows
    are there already. What another program has deleted of the file is written again.

    Args:
        path: the file.
        keep: continue what it holds; otherwise it is started over at the first row.
        before: continue only rows of earlier steps than this; the first new row removes the others.

    Raises:
        InputError: ``keep`` is set and the file is not such a table.
    """

    def __init__(self, path: Path, keep: bool, before: int | None = None) -> None:
        self.path = path
        found, self._length = read_table(path) if keep and path.exists() else ([], 0)
        self.rows = [row for row in found if before is None or row[0] < before]
        self._to_cut = len(self.rows) < len(found)
        self._logged = {(step, name) for step, name, _ in self.rows}

    def append(self, step: int, values: Mapping[str, float]) -> None:
        """Write the values that are not there yet; they are on disk when this returns.

        Raises:
            InputError, OSError: they cannot be written; the next call cuts off a half-written row.
        """
        added = [
            (step, name, repr(float(value)))
            for name, value in values.items()
            if (step, name) not in self._logged
        ]
        if not added:
            return
        there = self.path.stat().st_size if self.path.exists() else 0
        if self._to_cut or there < self._length:  # by somebody who deleted or truncated the file
            write_text(self.path, _as_text(self.rows, header=True))
            self._to_cut, self._length = False, self.path.stat().st_size
        content = _as_text(added, header=not self._length).encode()
        with self.path.open("ab", buffering=0) as file:
            if os.fstat(file.fileno()).st_size > self._length:  # never longer, which would add NULs
                file.truncate(self._length)
            written = file.write(content)
        if written < len(content):
            raise OSError(f"{written} of {len(content)} bytes written")
        self._length += len(content)
        self.rows += added
        self._logged |= {(step, name) for step, name, _ in added}


def read_table(path: Path) -> tuple[list[Row], int]:
    """Read the rows of a file without the lines at its end that are none, and how long it then is.

    Raises:
        InputError: it has another header.
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
