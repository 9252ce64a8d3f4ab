"""W&B: one run id, one warning at most, and a run that continues whatever wandb does.

A stand-in for ``wandb.init`` shows what is logged; wandb itself runs in processes of their own.
"""

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forks import Forked
from robustparse.evaluation.records import RobustnessRecord
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.tracking.wandb import STEP, WandbLogger
from wandb_runs import Run, Runs, wandb_runs


def always(_: Any) -> bool:
    return True


def is_media(values: dict[str, Any]) -> bool:
    return any(not isinstance(value, int | float) for value in values.values())


@pytest.fixture
def runs() -> Iterator[Runs]:
    with wandb_runs() as found:
        yield found


def a_record(**changes: Any) -> RobustnessRecord:
    tree = {"heads": [0], "labels": ["root"], "las": 0.0, "uas": 0.0}
    line = {"id": 0, "tokens": ["a"], "adversarial_tokens": ["b"], "edited": [0]}
    line |= {"gold": tree, "clean": tree, "attacked": tree, **changes}
    curve = {0.0: {"uas": 90.0, "las": 80.0}, 0.15: {"uas": 70.0, "las": 60.0, "success": 50.0}}
    return RobustnessRecord(DEPENDENCY, curve, [line])


def use(logger: WandbLogger) -> None:
    for step in range(5):
        logger.log_metrics({"loss": 1.0, "epoch": 0}, step)
        logger.log_robustness(a_record(), step)
    logger.log_hyperparams({"a": 1})
    logger.finalize("success")


def steps(run: Run, name: str) -> list[int]:
    return [values[STEP] for values in run.logged if name in values]


def test_a_run_is_drawn_over_the_training_step(
    runs: Runs, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    use(WandbLogger(save_dir=str(tmp_path), name="a run", offline=True))
    (run,) = runs
    assert run.given["id"] == (tmp_path / "wandb_id").read_text().strip()
    assert (run.given["project"], run.given["name"]) == ("robustparse", "a run")
    assert (run.given["mode"], run.given.get("resume")) == ("offline", None)
    assert run.logged[0] == {"loss": 1.0, "epoch": 0, STEP: 0}
    assert {"*", "clean/*", "robust/*", "certified/*"} <= set(run.axes)
    assert all(run.axes[name]["step_metric"] == STEP for name in ("*", "clean/*", "robust/*"))
    assert run.axes["robust/las"] == {"step_metric": STEP, "summary": "max"}
    for name in ("loss", "robust/examples", "robust/answers", "robust/curve"):
        assert steps(run, name) == list(range(5))
    assert run.settings == {"a": 1}
    assert run.exit_codes == [0]
    assert caplog.records == []


def test_what_a_record_is_shown_as(runs: Runs, tmp_path: Path) -> None:
    WandbLogger(save_dir=str(tmp_path), offline=True).log_robustness(a_record(), 7)
    (shown,) = runs[0].logged
    table = shown["robust/examples"]
    assert table.columns[1:6] == ["original", "adversarial", "edits", "LAS before", "LAS after"]
    ((*_, picture),) = table.data
    assert table.data[0][:6] == [0, "[a]", "[b]", 1, 0.0, 0.0]
    assert picture.html.count("<svg") == 1
    assert picture.html.count("<mark>") == 2
    assert "<figure" in shown["robust/answers"].html
    drawn = {(row[1], row[0]): row[2] for row in shown["robust/curve"].table.data}
    assert drawn == {("UAS", 0): 90, ("UAS", 15): 70, ("LAS", 0): 80, ("LAS", 15): 60}


def test_a_resumed_run_keeps_its_id(runs: Runs, tmp_path: Path) -> None:
    """Resumed from where it ended: the same; from elsewhere, or started anew: another one."""
    ids = []
    begins = (
        {"resumed": False},
        {"resumed": True},
        {"resumed": True, "elsewhere": True},
        {"resumed": True},
        {"resumed": False},
    )
    for begin in begins:
        logger = WandbLogger(offline=True)
        logger.begin(str(tmp_path), **begin)
        logger.log_metrics({"loss": 1.0}, 0)
        logger.finalize("success")
        logger.log_metrics({"test/las": 1.0}, 0)  # opens the run again
        ids.append(logger.version)
    assert [run.given["id"] for run in runs] == [one for one in ids for _ in range(2)]
    assert ids[0] == ids[1] != ids[2] == ids[3] != ids[4]


@pytest.mark.parametrize("mode", [None, "disabled"])
def test_online_it_asks_for_the_runs_past(
    mode: str | None, runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Setup:
        class settings:  # noqa: N801
            pass

    Setup.settings.mode = mode
    monkeypatch.setattr("wandb.setup", Setup)
    monkeypatch.setattr("wandb.login", lambda **_: True)
    WandbLogger(save_dir=str(tmp_path)).log_metrics({"loss": 1.0}, 0)
    expected = (None, "allow") if mode is None else ("disabled", None)
    assert (runs[0].given.get("mode"), runs[0].given.get("resume")) == expected


@pytest.mark.parametrize(
    ("fails", "steps_of_loss", "steps_of_media"),
    [
        ({"define_metric": always}, [], []),
        ({"log": always}, [], []),
        ({"config": always}, [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]),
        ({"finish": always}, [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]),
        ({"log": is_media}, [0, 1, 2, 3, 4], []),
        ({"log": lambda v: is_media(v) and v[STEP] not in (2, 4)}, [0, 1, 2, 3, 4], [2, 4]),
        ({"log": lambda v: not is_media(v) and v[STEP] % 2}, [0, 2, 4], [0, 1, 2, 3, 4]),
    ],
)
def test_a_failing_run_costs_one_warning(
    fails: dict[str, Any],
    steps_of_loss: list[int],
    steps_of_media: list[int],
    runs: Runs,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    runs.fails = fails
    use(WandbLogger(save_dir=str(tmp_path), offline=True))
    assert steps(runs[0], "loss") == steps_of_loss
    assert steps(runs[0], "robust/examples") == steps_of_media
    assert len(caplog.records) == 1
    assert "the run continues without" in caplog.text
    assert "No space left" in caplog.text


def test_examples_that_cannot_be_drawn_cost_one_warning(
    runs: Runs, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logger = WandbLogger(save_dir=str(tmp_path), offline=True)
    for step in range(5):
        logger.log_robustness(a_record(clean=None), step)
    assert len(caplog.records) == 1
    assert runs[0].logged == []


def test_without_wandb_the_run_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    use(WandbLogger(save_dir=str(tmp_path)))
    assert len(caplog.records) == 1
    assert "wandb" in caplog.text


def test_an_unwritable_folder_costs_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    use(WandbLogger(save_dir=str(tmp_path / "file"), offline=True))
    assert len(caplog.records) == 1


def use_it_itself(folder: str, environment: dict[str, str]) -> None:
    """Without a key, then without a network, in a process that has not imported wandb."""
    os.environ.clear()
    os.environ.update(environment)
    import wandb

    logging.basicConfig(format="WARNED %(message)s", level=logging.WARNING, force=True)
    for name, key in (("no key", None), ("no network", "0" * 40)):
        if key is not None:
            os.environ["WANDB_API_KEY"] = key
        logger = WandbLogger(init_timeout=2)
        logger.begin(os.path.join(folder, name), resumed=True)
        logger.log_metrics({"loss": 1.0, "epoch": 0}, 0)
        logger.log_hyperparams({"a": 1})
        logger.finalize("success")
        wandb.teardown()
        print("continued with", name, flush=True)
        print("continued with", name, file=sys.stderr, flush=True)


@pytest.mark.slow
def test_wandb_itself_logs_offline(tmp_path: Path) -> None:
    """Without key or network there is one warning; wandb has none about what it is given."""
    kept = "WANDB_X_SERVICE_WAIT"
    inherited = {k: v for k, v in os.environ.items() if k == kept or not k.startswith("WANDB_")}
    nowhere = {"WANDB_BASE_URL": "http://127.0.0.1:9", "HOME": str(tmp_path), "NETRC": "/dev/null"}
    # Otherwise it asks again for 15 seconds.
    nowhere |= {f"WANDB_X_GRAPHQL_RETRY_{n}": "1" for n in ("MAX", "WAIT_MAX_SECONDS")}
    done = Forked(use_it_itself, str(tmp_path), {**inherited, **nowhere})
    output, errors = done.communicate()
    assert output.count("continued with") == 2, errors
    without_key, without_network, _ = errors.split("continued with")
    assert "no API key" in without_key
    assert "no API key" not in without_network
    assert "WARNING" not in without_key
    for said in (without_key, without_network):
        assert said.count("WARNED") == 1, errors
    for folder in (tmp_path / "no key", tmp_path / "no network"):
        run_id = (folder / "wandb_id").read_text().strip()
        (log,) = folder.glob(f"wandb/offline-run-*-{run_id}/run-{run_id}.wandb")
        assert log.stat().st_size > 0
