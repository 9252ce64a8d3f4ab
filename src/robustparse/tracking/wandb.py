"""A Weights & Biases logger that never ends a run, and that resumes under the same run id.

After any failure (no key, no network, wandb not installed, a full disk) there is one warning, and
the run continues; it is logged offline if possible. ``metrics.csv`` is the complete record of a
run: W&B may lack the last values of a killed process, and may hold repeated steps twice.
"""

import logging
import os
import secrets
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lightning_fabric.loggers.logger import rank_zero_experiment
from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.utilities import rank_zero_only

from robustparse.errors import reason
from robustparse.evaluation.records import RobustnessRecord
from robustparse.files.writing import write_text
from robustparse.tracking.examples import example_media

ID_FILE = "wandb_id"
STEP = "trainer/global_step"  # as Lightning's own logger calls it
_ATTEMPTS = 3

log = logging.getLogger(__name__)


class Silence:
    """Replaces an unavailable W&B run: accepts every call and does nothing."""

    def __getattr__(self, name: str) -> "Silence":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: object, **kwargs: object) -> "Silence":
        """Do nothing."""
        return self


class WandbLogger(Logger):
    """Logs to a W&B run; errors of wandb become one warning.

    After three failures in a row the logger gives up.

    Args:
        project: the W&B project.
        name: the run's display name; by default W&B chooses one.
        save_dir: the run's folder; the command line sets it to ``trainer.default_root_dir``.
        offline: do not use the network; ``wandb sync`` uploads later.
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
        """See ``CsvLogger.begin``; a run from another checkpoint is a new W&B run."""
        self._save_dir = self._save_dir or folder
        self._resumed = resumed and not elsewhere

    @property
    @rank_zero_experiment
    def experiment(self) -> Any:
        """The W&B run, or `Silence`."""
        if self._run is None:
            self._attempt("starting", self._start)
            self._run = self._run or Silence()
        return self._run

    def _attempt(self, action: str, call: Callable[[], None]) -> None:
        try:
            call()
            self._failures = 0
        except Exception as error:  # wandb raises many types of errors
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
        # W&B's default axis counts calls; an asterisk may not match a slash.
        run.define_metric(STEP)
        for names in ("*", "clean/*", "robust/*", "certified/*"):
            run.define_metric(names, step_metric=STEP, step_sync=True)
        self._resumed, self._run = True, run

    def _choose_id(self, path: Path) -> str:
        if self._id is not None:
            return self._id
        # An agent of a sweep chooses the id; W&B would ignore another one.
        if os.environ.get("WANDB_SWEEP_ID") and (chosen := os.environ.get("WANDB_RUN_ID")):
            return chosen
        if self._resumed and path.is_file() and (known := path.read_text().strip()):
            return known
        return secrets.token_hex(4)

    def _keep_id(self) -> None:
        """Write the run id into its file, for a resumed run.

        Before anything is logged, training has not started, and the file may belong to an earlier
        run.
        """
        if self._id_file is not None:
            write_text(self._id_file, f"{self._id}\n")
            self._id_file = None

    def _open(self, folder: Path, run_id: str) -> Any:
        import wandb

        settings = wandb.Settings(init_timeout=self._init_timeout, finish_timeout=60.0)
        arguments: dict[str, Any] = {"project": self._project, "name": self._name, "id": run_id}
        arguments |= {"dir": str(folder), "settings": settings}
        mode = wandb.setup().settings.mode
        if not self._offline and mode not in ("offline", "dryrun", "disabled"):
            try:
                if not wandb.login(prompt=False, verify=False):
                    raise RuntimeError("no API key, wandb login stores one; logging offline")
                return wandb.init(resume="allow", **arguments)
            except Exception as error:
                self._warn("connecting", error)
                wandb.teardown()  # otherwise its service keeps the run id in use
        # Offline, W&B cannot resume, and would warn.
        return wandb.init(mode="disabled" if mode == "disabled" else "offline", **arguments)

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log metrics."""
        axis = {} if step is None else {STEP: step}

        def add() -> None:
            self.experiment.log({**metrics, **axis})
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
        """Log a table of adversarial examples with pictures, and the curve over the budgets."""

        def add() -> None:
            # The table of runs shows the best score.
            best = f"robust/{record.task.scores.headline}"
            self.experiment.define_metric(best, step_metric=STEP, summary="max")
            if media := example_media(record, step):
                self.experiment.log({**media, STEP: step})
            self._keep_id()

        self._attempt("logging media", add)

    @rank_zero_only
    def finalize(self, status: str) -> None:
        """Close the run; further logging opens it again under the same id."""
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
