"""Several processes under torchrun: they train as one does, and faults of one cost nothing."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exact_runs import (
    TOLERANCE,
    Ended,
    exact,
    fault,
    fit,
    largest_difference,
    train,
    train_by_command,
    train_on_two_machines,
)
from tiny_runs import metrics

from robustparse.cli.main import main

pytestmark = pytest.mark.slow

FAULTY = 14  # steps of a run with faults
SKIPPED = ["1.0", *["2.0"] * 10]  # from step 3 on


# Further below two processes take steps of PGD. Only here users' own command starts them.
@pytest.mark.parametrize(
    ("name", "started_by"), [("clean", train_by_command), ("substitution_fgm", train)]
)
def test_two_processes_train_shipped_recipes_as_one(
    name: str, started_by: Callable[..., Ended], tmp_path: Path
) -> None:
    config = exact(tmp_path / "run.yaml", name, 6)
    two = started_by(config, tmp_path / "two", 2)
    assert two.returncode == 0, two.stderr[-4000:]
    main(fit(config, tmp_path / "one"))
    assert largest_difference(tmp_path / "one", tmp_path / "two") <= TOLERANCE
    assert len([row for row in metrics(tmp_path / "two") if row[1] == "train/loss"]) == 6


def faulty(path: Path, rank: int, *others: Any) -> Path:
    """PGD, where the loss of a process is NaN in two steps, and what else goes wrong."""
    return exact(path, "pgd", FAULTY, (fault("NoNumber", steps=[3, 4], rank=rank), *others))


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run in one process."""
    folder = tmp_path_factory.mktemp("one")
    main(fit(faulty(folder / "run.yaml", 0), folder / "run"))
    return folder / "run"


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the same run in two processes, where only the second has faults."""
    folder = tmp_path_factory.mktemp("two")
    done = train(faulty(folder / "run.yaml", 1), folder / "run", 2)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder / "run"


def test_all_processes_leave_out_a_step_that_fails_on_one(one: Path, two: Path) -> None:
    for folder in (one, two):
        counts = [row[2] for row in metrics(folder) if row[1] == "train/skipped_steps"]
        assert counts == SKIPPED
    assert largest_difference(one, two) <= TOLERANCE


def killed(mark: Path, rank: int, step: int) -> Any:
    """SIGKILL for a process in a step."""
    return fault("Signal", steps=[step], mark=str(mark), name="SIGKILL", rank=rank)


def test_killed_processes_are_started_again(two: Path, tmp_path: Path) -> None:
    """From the last checkpoint, and the run ends with the same weights and figures.

    The first, which writes checkpoints and figures, dies after the second. More restarts than the
    two needed: on a busy machine new processes may miss each other.
    """
    deaths = [killed(tmp_path / "second", 1, 8), killed(tmp_path / "first", 0, 12)]
    config = faulty(tmp_path / "run.yaml", 1, *deaths)
    again = train(config, tmp_path / "run", 2, restarts=4)
    assert again.returncode == 0, again.stderr[-4000:]
    assert (tmp_path / "second").exists()
    assert (tmp_path / "first").exists()
    assert again.stderr.count("resuming from") >= 2
    assert largest_difference(tmp_path / "run", two) == 0.0
    assert sorted(metrics(tmp_path / "run")) == sorted(metrics(two))


def test_two_machines_train_as_one_and_start_a_killed_process_again(
    two: Path, tmp_path: Path
) -> None:
    config = faulty(tmp_path / "run.yaml", 1, killed(tmp_path / "mark", 1, 8))
    machines = train_on_two_machines(config, tmp_path / "run", restarts=3)
    for machine in machines:
        assert machine.returncode == 0, machine.stderr[-4000:]
    assert (tmp_path / "mark").exists()
    assert sum(machine.stderr.count("resuming from") for machine in machines) >= 1
    assert largest_difference(tmp_path / "run", two) == 0.0
    assert sorted(metrics(tmp_path / "run")) == sorted(metrics(two))


def test_a_signal_to_one_process_stops_all_and_one_process_resumes(
    one: Path, tmp_path: Path
) -> None:
    stop = fault("Signal", steps=[7], mark=str(tmp_path / "mark"), name="SIGTERM", rank=1)
    config = faulty(tmp_path / "run.yaml", 1, stop)
    rare = ("--last_checkpoint.every_n_train_steps", "1000")
    stopped = train(config, tmp_path / "run", 2, *rare)
    assert stopped.stderr.count("stopped by SIGTERM after 8 steps") == 1, stopped.stderr[-4000:]
    assert stopped.stderr.count("exitcode  : 143") >= 1
    main(fit(config, tmp_path / "run"))
    assert largest_difference(tmp_path / "run", one) <= TOLERANCE


def elsewhere(arguments: list[str]) -> None:
    """The program, whose second process is given another folder."""
    if os.environ["RANK"] == "1":
        folder = Path(arguments[arguments.index("--trainer.default_root_dir") + 1])
        arguments = [*arguments, "--trainer.default_root_dir", str(folder.with_name("other"))]
    main(arguments)


def test_processes_that_see_different_folders_are_refused(tmp_path: Path) -> None:
    """As on two machines without a shared file system, where only the first has a checkpoint."""
    config = exact(tmp_path / "run.yaml", "clean", 4, limit_val_batches=1)
    main(fit(config, tmp_path / "run", "--trainer.max_steps", "2"))
    refused = train(config, tmp_path / "run", 2, program=elsewhere)
    assert refused.returncode == 1
    assert "start from different steps (0, 2)" in refused.stderr
    assert "shared file system" in refused.stderr
