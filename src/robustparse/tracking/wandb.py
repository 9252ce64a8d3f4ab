"""Weights & Biases that never kills a run, goes on under one run id, and logs no step twice.

No key, no network, no wandb, a full disk, an error of wandb's: one warning, and the run goes on,
offline where that is possible. The run's id and a ledger of what was logged lie in its folder.
"""

import secrets
import time
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.loggers import WandbLogger as LightningWandbLogger

from robustparse.evaluation.record import RobustnessRecord
from robustparse.files import write_text
from robustparse.tracking.examples import example_media
from robustparse.tracking.guard import Failures, Silence, guarded
from robustparse.tracking.ledger import Ledger
from robustparse.tracking.offline import (
    EPOCH,
    STEP,
    await_point,
    lost_figures,
    read_points,
    segments,
)

ID_FILE = "wandb_id"
LEDGER_FILE = "wandb_ledger.csv"
_FIGURES = "logging"
_CLOSING_SECONDS = 10.0


class WandbLogger(LightningWandbLogger):
    """Lightning's logger, with nothing of wandb's coming through.

    Args:
        project: W&B project.
        name: the run's display name; W&B invents one by default.
        save_dir: the run's folder; the command line gives ``trainer.default_root_dir``.
        offline: do not try the network; ``wandb sync`` uploads later.
        id: the run's id; by default a fresh one, kept in the folder for the runs that resume it.
        resumed: go on with the folder's run; a fresh run gets a fresh id.
        init_timeout: seconds to wait for the network before logging offline.
    """

    _experiment: Any

    def __init__(
        self,
        project: str = "robustparse",
        name: str | None = None,
        save_dir: str | None = None,
        offline: bool = False,
        id: str | None = None,
        resumed: bool = False,
        init_timeout: float = 10.0,
    ) -> None:
        self._folder = None if save_dir is None else Path(save_dir)
        self._resumed, self._init_timeout, self._online = resumed, init_timeout, not offline
        self._given_id = id
        self._ledger: Ledger | None = None
        self._count: int | None = None
        self.failures = Failures("Weights & Biases", vital=_FIGURES)
        self._missing: Exception | None = None
        try:
            super().__init__(name=name, save_dir=save_dir or ".", project=project, id=id)
        except ModuleNotFoundError:
            self._missing = ModuleNotFoundError("wandb is not installed (pip install wandb)")
            self._project, self._id, self._save_dir = project, id, save_dir or "."

    def begin(
        self, folder: str, resumed: bool, before: int | None = None, elsewhere: bool = False
    ) -> None:
        """See ``CsvLogger.begin``; as W&B unlogs nothing, from elsewhere a new run is begun."""
        self._folder = self._folder or Path(folder)
        self._resumed = resumed and not elsewhere

    def failed(self, action: str, error: Exception) -> None:
        """Take note; a run that takes no figures any more is dead, the ledger still takes them."""
        self.failures.add(action, error)
        if action == _FIGURES and self.failures.gave_up(action):
            self._experiment = Silence()
            self.failures.succeeded(action)

    @property
    def experiment(self) -> Any:
        """The W&B run; one that ignores everything where there is none to be had."""
        if getattr(self, "_experiment", None) is None:
            self._start()
            if getattr(self, "_experiment", None) is None:
                self._experiment = Silence()
        return self._experiment

    @guarded("starting", starts=False)
    def _start(self) -> None:
        if self._missing is not None:
            raise self._missing
        folder = self._folder or Path(self._save_dir or ".")
        folder.mkdir(parents=True, exist_ok=True)
        self._wandb_init |= {"id": self._choose_id(folder), "dir": str(folder)}
        # Lightning gives it always; W&B warns of it, and is to take it no more.
        self._wandb_init.pop("anonymous", None)
        self._ledger = Ledger(folder / LEDGER_FILE, keep=self._resumed)
        before = segments(folder, self._wandb_init["id"])
        # W&B names a segment by the second, and would write over one that began in the same.
        while before and time.strftime("%Y%m%d_%H%M%S") in before[-1].parent.name:
            time.sleep(0.05)
        self._open()
        # Beside Lightning's own rule for all figures; the table of runs shows the best score.
        self._experiment.define_metric("clean/*", step_metric=STEP)
        self._experiment.define_metric("robust/*", step_metric=STEP)
        self._experiment.define_metric("robust/las", step_metric=STEP, summary="max")
        self._continue(before, self._ledger)
        self._resumed = True

    def _choose_id(self, folder: Path) -> str:
        path = folder / ID_FILE
        if self._resumed and path.is_file() and (known := path.read_text().strip()):
            return known
        chosen = self._given_id or secrets.token_hex(4)
        write_text(path, chosen + "\n")
        return chosen

    def _open(self) -> None:
        import wandb

        self._wandb_init["settings"] = wandb.Settings(
            init_timeout=self._init_timeout, finish_timeout=60.0
        )
        wished = wandb.setup().settings.mode
        if self._online and wished not in ("offline", "dryrun", "disabled"):
            try:
                if not wandb.login(prompt=False, verify=False):
                    raise RuntimeError("no API key, wandb login stores one; logging offline")
                _ = super().experiment
                return
            except Exception as error:
                self.failed("connecting", error)
                wandb.teardown()  # its service keeps the run's id in use
        # Offline W&B cannot ask for the run's past, and warns where it is told to resume.
        mode = "disabled" if wished == "disabled" else "offline"
        self._wandb_init |= {"mode": mode, "resume": None}
        _ = super().experiment

    def _continue(self, before: list[Path], ledger: Ledger) -> None:
        """Count on from earlier segments, and log again what a killed one did not write."""
        points = [point for path in before for point in read_points(path)]
        run_step = getattr(self._experiment, "step", 0)
        started = run_step if isinstance(run_step, int) else 0
        self._count = max([started, *(point.step + 1 for point in points)])
        if not before or any(path.parent.name.startswith("run-") for path in before):
            return  # of an online run, W&B's server knows more than the disk
        for step, values in lost_figures(ledger, points).items():
            self._send(values, step)

    def _send(self, values: Mapping[str, Any], step: int | None) -> None:
        place = {} if step is None else {STEP: step}
        self.experiment.log({**values, **place}, step=self._count)
        if self._count is not None:
            self._count += 1

    @guarded(_FIGURES, starts=False)
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log what was not logged at this step yet.

        Where W&B has died the ledger still takes it, for a resumed run to log.
        """
        self._log(metrics, step)

    def _log(self, metrics: Mapping[str, Any], step: int | None) -> None:
        _ = self.experiment  # starts the run, and the ledger with it
        if self._ledger is None or step is None:
            self._send(metrics, step)
        elif new := self._ledger.missing(step, metrics):
            self._ledger.append(step, new)
            # Known at this step or not: W&B draws over the epoch what one point holds with it.
            epoch = {EPOCH: metrics[EPOCH]} if EPOCH in metrics else {}
            self._send({**new, **epoch}, step)

    @guarded("logging settings")
    def log_hyperparams(self, params: dict[str, Any] | Namespace) -> None:
        """Add to the run's settings."""
        super().log_hyperparams(params)

    @guarded("logging media")
    def log_table(
        self,
        key: str,
        columns: list[Any] | None = None,
        data: list[list[Any]] | None = None,
        dataframe: Any = None,
        step: int | None = None,
    ) -> None:
        """Return a table, see ``LightningWandbLogger.log_table``."""
        import wandb

        self._log({key: wandb.Table(columns=columns, data=data, dataframe=dataframe)}, step)

    @guarded("logging media")
    def log_image(
        self, /, key: str, images: list[Any], step: int | None = None, **kwargs: Any
    ) -> None:
        """Images, with settings of ``wandb.Image`` as lists, one value an image."""
        import wandb

        shown = [
            wandb.Image(one, **{name: values[at] for name, values in kwargs.items()})
            for at, one in enumerate(images)
        ]
        self._log({key: shown}, step)

    @guarded("logging media")
    def log_html(self, key: str, html: str, step: int | None = None) -> None:
        """Return a page or a fragment of HTML."""
        import wandb

        self._log({key: wandb.Html(html)}, step)

    @guarded("logging media")
    def log_robustness(self, record: RobustnessRecord, step: int) -> None:
        """Log a table of adversarial examples, drawn, and the curve over the budgets."""
        if media := example_media(record, step):
            self._log(media, step)

    @guarded("watching")
    def watch(self, *args: Any, **kwargs: Any) -> None:
        """Gradients, see ``LightningWandbLogger.watch``."""
        super().watch(*args, **kwargs)

    @guarded("logging a checkpoint")
    def after_save_checkpoint(self, checkpoint_callback: ModelCheckpoint) -> None:
        """Upload checkpoints where that is asked for."""
        super().after_save_checkpoint(checkpoint_callback)

    @guarded("finishing", starts=False)
    def finalize(self, status: str) -> None:
        """Write out and close the run; logging more opens it again under the same id."""
        run = getattr(self, "_experiment", None)
        if run is not None and not isinstance(run, Silence):
            super().finalize(status)
            self._experiment = None
            run.finish(exit_code=0 if status == "success" else 1)
            folder, run_id = self._wandb_init.get("dir"), self._wandb_init.get("id")
            if self._wandb_init.get("mode") == "offline" and self._count and folder is not None:
                await_point(Path(folder), str(run_id), self._count - 1, _CLOSING_SECONDS)
