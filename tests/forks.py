"""Functions in processes of their own, forked from one that has imported everything once.

Importing takes longer than most of what such a process does in a test.
"""

import multiprocessing
import os
import runpy
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest
import torch

# It pickles what a process gets, as "spawn" does.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        "robustparse.cli.fit",
        "robustparse.cli.attack",
        "robustparse.cli.augment",
        "robustparse.models.dependency.biaffine",
        "robustparse.data.sample.treebank",
        "torch.distributed.run",
        "pytest",
        "warm",
    ]
)


def fork_context() -> ForkServerContext:
    """The processes of this context are forks of one that has run a command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent / "cli"), prepend=os.pathsep)  # `warm`
        forkserver.ensure_running()
    return _FORKS


class Forked:
    """A process that calls a function, with the methods of ``subprocess.Popen`` that tests need.

    Args:
        work: the function; `SystemExit` is its exit code.
        arguments: its own.
        environment: variables over those of this process.
    """

    def __init__(self, work: Callable[..., None], *arguments: Any, **environment: str) -> None:
        context = fork_context()
        self._ended, end = context.Pipe(duplex=False)
        given = (end, Path.cwd(), work, arguments, {**os.environ, **environment})
        self._process = context.Process(target=_call, args=given)
        self._process.start()
        end.close()  # so that the other end is closed when the process and all its own have ended

    @property
    def returncode(self) -> int | None:
        """Its exit code, -9 if it was killed; none while it runs."""
        return self._process.exitcode

    poll = returncode.fget

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()

    def interrupt(self) -> None:
        """SIGINT, as Ctrl-C sends it."""
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGINT)

    def communicate(self, timeout: float = 600.0) -> tuple[str, str]:
        """Wait for its end, and that of the processes it started; what it printed if not killed."""
        printed = ("", "")
        while True:
            assert self._ended.poll(timeout), "it hangs"
            try:
                printed = self._ended.recv()
            except EOFError:
                break
        self._process.join()
        return printed


def printed_by(script: Path, *options: str) -> str:
    """What a script with these options prints, which must not fail."""
    process = Forked(_script, str(script), options)
    output, errors = process.communicate()
    assert process.returncode == 0, errors[-4000:]
    return output


def _script(path: str, options: tuple[str, ...]) -> None:
    sys.argv = [path, *options]
    runpy.run_path(path, run_name="__main__")


def _call(
    end: Any,
    folder: Path,
    work: Callable[..., None],
    arguments: tuple[Any, ...],
    environment: dict[str, str],
) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    torch.set_num_threads(1)
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        os.dup2(output.fileno(), 1)
        os.dup2(errors.fileno(), 2)
        status = 0
        try:
            work(*arguments)
        except SystemExit as stop:
            status = int(stop.code or 0)
        except BaseException:
            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        sys.stderr.flush()
        output.seek(0)
        errors.seek(0)
        end.send((output.read(), errors.read()))
    os._exit(status)
