"""W&B in processes of their own, killed and cut off for real; read back from what they left."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from robustparse.tracking.offline import read_points, segments
from robustparse.tracking.wandb import WandbLogger

STEPS = 400

HEAD = """
import logging, os, signal, sys
from robustparse.tracking.wandb import WandbLogger
logging.basicConfig(format="WARNED %(message)s", level=logging.WARNING)
"""

RUN = """
first, last = int(sys.argv[2]), int(sys.argv[3])
resumed, end = sys.argv[4] == "resumed", sys.argv[5]
logger = WandbLogger(save_dir=sys.argv[1], offline=True, resumed=resumed)
for step in range(first, last):
    logger.log_metrics({"loss": step / 7, "epoch": step // 100}, step)
    if step % 100 == 0:
        logger.log_metrics({"val/las": step / 3, "epoch": step // 100}, step)
if end == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
logger.finalize("success")
"""


def python(code: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = "WANDB_X_SERVICE_WAIT"
    inherited = {k: v for k, v in os.environ.items() if k == kept or not k.startswith("WANDB_")}
    return subprocess.run(
        [sys.executable, "-c", HEAD + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**inherited, "WANDB_SILENT": "true", **environment},
        timeout=900,
        check=False,
    )


def points(folder: Path) -> Counter[tuple[int, str, float]]:
    """How often each (step, name, value) stands in all segments of the folder's run."""
    run_id = (folder / "wandb_id").read_text().strip()
    own = {"trainer/global_step", "epoch", "_step", "_runtime", "_timestamp"}
    return Counter(
        (int(point.values["trainer/global_step"]), name, float(value))
        for path in segments(folder, run_id)
        for point in read_points(path)
        for name, value in point.values.items()
        if name not in own
    )


def expected() -> Counter[tuple[int, str, float]]:
    losses = {(step, "loss", step / 7) for step in range(STEPS)}
    scores = {(step, "val/las", step / 3) for step in range(0, STEPS, 100)}
    return Counter(losses | scores)


@pytest.mark.slow
def test_wandb_warns_of_nothing_that_it_is_given(tmp_path: Path) -> None:
    code = 'WandbLogger(save_dir=sys.argv[1], offline=True).log_metrics({"loss": 1.0}, 0)'
    done = python(code, tmp_path, WANDB_SILENT="false")
    assert done.returncode == 0
    said = done.stdout + done.stderr
    assert "offline-run" in said
    assert "WARNING" not in said


@pytest.mark.slow
def test_killed_and_resumed_every_point_is_there_once(tmp_path: Path) -> None:
    killed = python(RUN, tmp_path, 0, 300, "fresh", "kill")
    assert killed.returncode == -signal.SIGKILL
    first_id = (tmp_path / "wandb_id").read_text()
    again = python(RUN, tmp_path, 250, 360, "resumed", "kill")
    assert again.returncode == -signal.SIGKILL
    last = python(RUN, tmp_path, 350, STEPS, "resumed", "finish")
    assert last.returncode == 0, last.stderr
    assert (tmp_path / "wandb_id").read_text() == first_id
    found = segments(tmp_path, first_id.strip())
    assert len(found) == 3
    assert points(tmp_path) == expected()
    for values in (point.values for path in found for point in read_points(path)):
        assert values["epoch"] == int(str(values["trainer/global_step"])) // 100


def test_segments_of_one_run(tmp_path: Path) -> None:
    """Resumed: the same id, calls counted on; fresh: another id."""
    ids = []
    for steps, resumed in ((range(20), False), (range(15, 40), True), (range(3), False)):
        logger = WandbLogger(save_dir=str(tmp_path), offline=True, resumed=resumed)
        for step in steps:
            logger.log_metrics({"loss": step}, step)
        logger.finalize("success")
        ids.append((tmp_path / "wandb_id").read_text().strip())
    assert ids[0] == ids[1] != ids[2]
    first = [point for path in segments(tmp_path, ids[0]) for point in read_points(path)]
    assert [point.values["loss"] for point in first] == list(range(40))
    assert [point.step for point in first] == list(range(40))


GO_ON = """
logger = WandbLogger(save_dir=sys.argv[1], init_timeout=2)
logger.log_metrics({"loss": 1.0}, 0)
logger.log_table("examples", columns=["a"], data=[["b"]], step=0)
logger.log_html("tree", "<svg></svg>", step=0)
logger.log_hyperparams({"a": 1})
logger.finalize("success")
print("went on")
"""


@pytest.mark.slow
@pytest.mark.parametrize("key", [{}, {"WANDB_API_KEY": "0" * 40}], ids=["no key", "no network"])
def test_without_key_or_network_it_logs_offline(tmp_path: Path, key: dict[str, str]) -> None:
    nowhere = {"WANDB_BASE_URL": "http://127.0.0.1:9", "HOME": str(tmp_path), "NETRC": "/dev/null"}
    done = python(GO_ON, tmp_path, **nowhere, **key)
    assert "went on" in done.stdout, done.stderr
    assert done.stderr.count("WARNED") == 1, done.stderr
    run_id = (tmp_path / "wandb_id").read_text().strip()
    (segment,) = tmp_path.glob(f"wandb/offline-run-*-{run_id}/run-{run_id}.wandb")
    logged = {name for point in read_points(segment) for name in point.values}
    assert {"loss", "examples._type", "tree._type"} <= logged


class Broken:
    """A W&B run whose disk is full."""

    def __init__(self, name: str) -> None:
        self.broken = name

    def __getattr__(self, name: str) -> "Broken":
        if name == self.broken:
            raise OSError(28, "No space left on device")
        return self

    def __call__(self, *args: object, **kwargs: object) -> "Broken":
        return self


def use(logger: WandbLogger) -> None:
    for step in range(5):
        logger.log_metrics({"loss": 1.0}, step)
        logger.log_table("examples", columns=["a"], data=[["b"]], step=step)
    logger.log_hyperparams({"a": 1})
    logger.finalize("success")


@pytest.mark.parametrize("name", ["log", "finish", "config"])
def test_a_failing_run_costs_one_warning(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    logger = WandbLogger(save_dir=str(tmp_path), offline=True)
    monkeypatch.setattr(logger, "_open", lambda: setattr(logger, "_experiment", Broken(name)))
    use(logger)
    assert len(caplog.records) == 1
    assert "No space left" in caplog.text


class FullForMedia(Broken):
    """A W&B run that takes numbers alone, and anything at the steps that ``healthy`` names."""

    def __init__(self, healthy: tuple[int, ...] = ()) -> None:
        super().__init__("nothing")
        self.healthy, self.taken = healthy, list[tuple[int, str]]()

    def log(self, values: dict[str, object], step: int | None = None) -> None:
        at = int(str(values.pop("trainer/global_step")))
        if at not in self.healthy and any(not isinstance(v, float) for v in values.values()):
            raise OSError(28, "No space left on device")
        self.taken += [(at, name) for name in values]


@pytest.mark.parametrize(("healthy", "tables"), [((), []), ((2, 4), [2, 4])])
def test_media_that_fail_end_media_alone(
    healthy: tuple[int, ...],
    tables: list[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    logger, run = WandbLogger(save_dir=str(tmp_path), offline=True), FullForMedia(healthy)
    monkeypatch.setattr(logger, "_open", lambda: setattr(logger, "_experiment", run))
    use(logger)
    assert run.taken.count((0, "loss")) == 1
    assert [step for step, name in run.taken if name == "loss"] == list(range(5))
    assert [step for step, name in run.taken if name == "examples"] == tables
    assert len(caplog.records) == 1
    assert "logging media failed" in caplog.text


def test_figures_that_fail_now_and_then_do_not_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logger, run = WandbLogger(save_dir=str(tmp_path), offline=True), FullForMedia()
    monkeypatch.setattr(logger, "_open", lambda: setattr(logger, "_experiment", run))
    for step in range(9):
        logger.log_metrics({"loss": 1.0 if step % 2 else object()}, step)
    assert [step for step, _ in run.taken] == [1, 3, 5, 7]


def test_without_wandb_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pytorch_lightning.loggers.wandb._WANDB_AVAILABLE", False)
    monkeypatch.setitem(sys.modules, "wandb", None)
    use(WandbLogger(save_dir=str(tmp_path)))
    assert len(caplog.records) == 1
    assert "not installed" in caplog.text


def test_an_unwritable_folder_costs_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    use(WandbLogger(save_dir=str(tmp_path / "file"), offline=True))
    assert len(caplog.records) == 1
