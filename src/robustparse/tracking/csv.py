"""``metrics.csv``: every figure a run logs, in one tidy file that a resume continues.

Beside it, pages of adversarial examples, where a robustness evaluation gives some.
Lightning's own CSVLogger deletes the old file when it starts and rewrites it when a column comes
in; this one only appends.
"""

import logging
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.utilities import rank_zero_only

from robustparse.errors import InputError
from robustparse.evaluation.record import RobustnessRecord
from robustparse.tracking.examples import ExamplePages
from robustparse.tracking.ledger import Ledger

FILE = "metrics.csv"

log = logging.getLogger(__name__)


class CsvLogger(Logger):
    """Logs to ``metrics.csv``, each (step, name) once.

    A row that cannot be written (disk full) costs one warning, never the run.

    Args:
        save_dir: the run's folder.
        resumed: keep the file of the run that is continued; a fresh run starts it over.
    """

    def __init__(self, save_dir: str, resumed: bool = False) -> None:
        super().__init__()
        self._save_dir, self._resumed = save_dir, resumed
        self._before: int | None = None
        self._ledger: Ledger | None = None
        self._pages: ExamplePages | None = None
        self._warned: set[str] = set()

    @rank_zero_only
    def begin(
        self, folder: str, resumed: bool, before: int | None = None, elsewhere: bool = False
    ) -> None:
        """Said by the command line before a run.

        Args:
            folder: the run's.
            resumed: whether a run is continued.
            before: figures from this step on are logged anew: they go when the first of them comes.
            elsewhere: it is continued from elsewhere than where the folder's last run was left.

        Raises:
            InputError: the file to be continued is none of ours.
        """
        self._resumed, self._before = resumed, before
        self._open()

    def _open(self) -> Ledger:
        if self._ledger is None:
            folder = Path(self._save_dir)
            folder.mkdir(parents=True, exist_ok=True)
            self._ledger = Ledger(folder / FILE, self._resumed, self._before)
        return self._ledger

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Append what is not there yet."""
        try:
            ledger = self._open()
            if new := ledger.missing(step or 0, metrics):
                ledger.append(step or 0, new)
        except OSError as error:
            self._warn("figures", Path(self._save_dir) / FILE, error)

    @rank_zero_only
    def log_robustness(self, record: RobustnessRecord, step: int) -> None:
        """Write the adversarial examples as a page; its figures are logged on their own."""
        if not record.examples:
            return
        if self._pages is None:
            self._pages = ExamplePages(Path(self._save_dir), self._resumed, self._before)
        try:
            self._pages.write(record.examples, step)
        except (InputError, OSError) as error:
            self._warn("examples", self._pages.folder, error)

    def _warn(self, what: str, place: Path, error: Exception) -> None:
        if what not in self._warned:
            log.warning("%s: %s are being lost: %s", place, what, error)
        self._warned.add(what)

    @rank_zero_only
    def log_hyperparams(self, params: dict[str, Any] | Namespace, *_: Any, **__: Any) -> None:
        """Nothing: ``config.yaml`` has them."""

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
