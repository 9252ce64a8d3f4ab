"""Weights & Biases that never ends a run and resumes under one run id.

No key, no network, no wandb, a full disk, an error of wandb's: one warning, and the run continues,
logged offline where that is possible. ``metrics.csv`` is the record of a run: what a killed process
logged to W&B last may be missing there, and what a resumed run repeats may be there twice.
"""

import logging
import secrets
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lightning_fabric.loggers.logger import rank_zero_experiment
from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.utilities import rank_zero_only

from robustparse.errors import reason
from robustparse.evaluation.tally import RobustnessRecord
from robustparse.files import write_text
from robustparse.tracking.examples import example_media

ID_FILE = "wandb_id"
STEP = "trainer/global_step"  # as Lightning's own logger calls it
_ATTEMPTS = 3

log = logging.getLogger(__name__)


class Silence:
    """Stands for a W&B run that cannot be had: accepts every call and does nothing."""

    def __getattr__(self, name: str) -> "Silence":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: object, **kwargs: object) -> "Silence":
        """Do nothing."""
        return self


class WandbLogger(Logger):
    """Logs to a W&B run; nothing that wandb raises comes through, but for one warning.

    A run that has failed three times in a row is not tried again.

    Args:
        project: W&B project.
        name: the run's display name; W&B invents one by default.
        save_dir: the run's folder; the command line gives ``trainer.default_root_dir``.
        offline: do not try the network; ``wandb sync`` uploads later.
        init_timeout: seconds to wait for the network before logging offline.
    """

    def __init__(
        self,
        project: str = "robustparse",
        name: str | None = None,
        save_dir: str | None = None,
        offline: bool = False,
        init_timeout: float = 10.0,
    ) -> None:
        super().__init__()
        self._project, self._name, self._save_dir = project, name, save_dir
        self._offline, self._init_timeout = offline, init_timeout
        self._resumed = False
        self._run: Any = None
        self._id: str | None = None
        self._id_file: Path | None = None
        self._failures, self._warned = 0, False

    def begin(
        self, folder: str, resumed: bool, before: int | None = None, elsewhere: bool = False
    ) -> None:
        """See ``CsvLogger.begin``; as W&B removes nothing, from elsewhere a new run is started."""
        self._save_dir = self._save_dir or folder
        self._resumed = resumed and not elsewhere

    @property
    @rank_zero_experiment
    def experiment(self) -> Any:
        """The W&B run; one that ignores every call where none can be had."""
        if self._run is None:
            self._attempt("starting", self._start)
            self._run = self._run or Silence()
        return self._run

    def _attempt(self, action: str, call: Callable[[], None]) -> None:
        try:
            call()
            self._failures = 0
        except Exception as error:  # wandb's own errors share no base with what it lets through
            self._warn(action, error)
            self._failures += 1
            if self._failures == _ATTEMPTS:
                self._run = Silence()

    def _warn(self, action: str, error: Exception) -> None:
        if not self._warned:
            message = "Weights & Biases: %s failed, the run continues without: %s"
            log.warning(message, action, reason(error, 200))
        self._warned = True

    def _start(self) -> None:
        folder = Path(self._save_dir or ".")
        folder.mkdir(parents=True, exist_ok=True)
        self._id = self._choose_id(folder / ID_FILE)
        run = self._open(folder, self._id)
        self._id_file = folder / ID_FILE
        # W&B's own axis counts calls; an asterisk may stop at a slash.
        run.define_metric(STEP)
        for names in ("*", "clean/*", "robust/*"):
            run.define_metric(names, step_metric=STEP, step_sync=True)
        self._resumed, self._run = True, run

    def _choose_id(self, path: Path) -> str:
        if self._id is not None:
            return self._id
        if self._resumed and path.is_file() and (known := path.read_text().strip()):
            return known
        return secrets.token_hex(4)

    def _keep_id(self) -> None:
        """Write the id for a run that resumes this one, once something is logged.

        Before, training has not started, and the file is that of an earlier run.
        """
        if self._id_file is not None:
            write_text(self._id_file, f"{self._id}\n")
            self._id_file = None

    def _open(self, folder: Path, run_id: str) -> Any:
        import wandb

        settings = wandb.Settings(init_timeout=self._init_timeout, finish_timeout=60.0)
        given: dict[str, Any] = {"project": self._project, "name": self._name, "id": run_id}
        given |= {"dir": str(folder), "settings": settings}
        mode = wandb.setup().settings.mode
        if not self._offline and mode not in ("offline", "dryrun", "disabled"):
            try:
                if not wandb.login(prompt=False, verify=False):
                    raise RuntimeError("no API key, wandb login stores one; logging offline")
                return wandb.init(resume="allow", **given)
            except Exception as error:
                self._warn("connecting", error)
                wandb.teardown()  # its service keeps the run's id in use
        # Offline, W&B cannot ask for the run's past, and warns where it is told to resume.
        return wandb.init(mode="disabled" if mode == "disabled" else "offline", **given)

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log metrics."""
        place = {} if step is None else {STEP: step}

        def add() -> None:
            self.experiment.log({**metrics, **place})
            self._keep_id()

        self._attempt("logging", add)

    @rank_zero_only
    def log_hyperparams(self, params: dict[str, Any] | Namespace, *_: Any, **__: Any) -> None:
        """Add to the run's settings."""
        settings = vars(params) if isinstance(params, Namespace) else params
        self._attempt(
            "logging settings",
            lambda: self.experiment.config.update(settings, allow_val_change=True),
        )

    @rank_zero_only
    def log_robustness(self, record: RobustnessRecord, step: int) -> None:
        """Log a table of adversarial examples, drawn, and the curve over the budgets."""

        def add() -> None:
            # The table of runs then shows the best score.
            best = f"robust/{record.task.headline}"
            self.experiment.define_metric(best, step_metric=STEP, summary="max")
            if media := example_media(record, step):
                self.experiment.log({**media, STEP: step})
            self._keep_id()

        self._attempt("logging media", add)

    @rank_zero_only
    def finalize(self, status: str) -> None:
        """Write out and close the run; logging more opens it again under the same id."""
        run, self._run = self._run, None
        if isinstance(run, Silence):
            self._run = run
        elif run is not None:
            code = 0 if status == "success" else 1
            self._attempt("finishing", lambda: run.finish(exit_code=code))

    @property
    def name(self) -> str:
        """The project."""
        return self._project

    @property
    def version(self) -> str | None:
        """The run's id, once it has started."""
        return self._id

    @property
    def save_dir(self) -> str | None:
        """The run's folder."""
        return self._save_dir
