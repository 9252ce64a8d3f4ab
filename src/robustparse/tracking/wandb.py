"""Weights & Biases that never ends a run and resumes under one run id.

No key, no network, no wandb, a full disk, an error of wandb's: one warning, and the run continues,
logged offline where that is possible. ``metrics.csv`` is the record of a run: what a killed process
logged to W&B last may be missing there, and what a resumed run repeats may be there twice.
"""

import secrets
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lightning_fabric.loggers.logger import rank_zero_experiment
from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.utilities import rank_zero_only

from robustparse.evaluation.record import RobustnessRecord
from robustparse.files import write_text
from robustparse.tracking.examples import example_media
from robustparse.tracking.guard import Guard, Silence

ID_FILE = "wandb_id"
STEP = "trainer/global_step"  # as Lightning's own logger calls it
_METRICS = "logging"


class WandbLogger(Logger):
    """Logs to a W&B run; nothing that wandb raises comes through.

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
        self._guard = Guard("Weights & Biases")

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
            run = self._guard.attempt("starting", self._start)
            self._run = Silence() if run is None else run
        return self._run

    def _start(self) -> Any:
        folder = Path(self._save_dir or ".")
        folder.mkdir(parents=True, exist_ok=True)
        self._id = self._choose_id(folder / ID_FILE)
        run = self._open(folder, self._id)
        # W&B's own axis counts calls; an asterisk may stop at a slash.
        run.define_metric(STEP)
        for names in ("*", "clean/*", "robust/*"):
            run.define_metric(names, step_metric=STEP, step_sync=True)
        self._resumed = True
        return run

    def _choose_id(self, path: Path) -> str:
        if self._resumed and path.is_file() and (known := path.read_text().strip()):
            return known
        chosen = secrets.token_hex(4)
        write_text(path, chosen + "\n")
        return chosen

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
                self._guard.warn("connecting", error)
                wandb.teardown()  # its service keeps the run's id in use
        # Offline, W&B cannot ask for the run's past, and warns where it is told to resume.
        return wandb.init(mode="disabled" if mode == "disabled" else "offline", **given)

    def _log(self, action: str, values: Mapping[str, Any], step: int | None) -> None:
        place = {} if step is None else {STEP: step}
        self._guard.attempt(action, lambda: self.experiment.log({**values, **place}))

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log metrics; a run that fails to take them three times in a row is left alone."""
        self._log(_METRICS, metrics, step)
        if self._guard.gave_up(_METRICS):
            self._run = Silence()

    @rank_zero_only
    def log_hyperparams(self, params: dict[str, Any] | Namespace, *_: Any, **__: Any) -> None:
        """Add to the run's settings."""
        settings = vars(params) if isinstance(params, Namespace) else params

        def add() -> None:
            self.experiment.config.update(settings, allow_val_change=True)

        self._guard.attempt("logging settings", add)

    @rank_zero_only
    def log_robustness(self, record: RobustnessRecord, step: int) -> None:
        """Log a table of adversarial examples, drawn, and the curve over the budgets."""

        def log() -> None:
            # The table of runs then shows the best score.
            best = f"robust/{record.task.headline}"
            self.experiment.define_metric(best, step_metric=STEP, summary="max")
            if media := example_media(record, step):
                self.experiment.log({**media, STEP: step})

        self._guard.attempt("logging media", log)

    @rank_zero_only
    def finalize(self, status: str) -> None:
        """Write out and close the run; logging more opens it again under the same id."""
        run, self._run = self._run, None
        if isinstance(run, Silence):
            self._run = run
        elif run is not None:
            code = 0 if status == "success" else 1
            self._guard.attempt("finishing", lambda: run.finish(exit_code=code))

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
