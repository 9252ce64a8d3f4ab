"""An attack over several processes of this machine; the one that starts them alone writes files.

A worker sends every finished sentence as a line of JSON through a pipe. If this process dies, the
workers end at their next line; if a worker dies, the others are ended, and what they have sent is
kept. Nothing but JSON comes back, so that nothing is unpickled.
"""

import json
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

import torch

from robustparse.errors import InputError, ProcessDiedError
from robustparse.evaluation.shards import Lines, drain, shard
from robustparse.evaluation.speed import Speed
from robustparse.types import Example

_PATIENCE = 20.0  # seconds for a worker to end in

Worker = Callable[[int, Sequence[int]], Lines]
"""Attacks the sentences with these ids as the process of this rank; it can be pickled."""


def lines_of_processes(worker: Worker, count: int, examples: Sequence[Example]) -> Lines:
    """Attack sentences in several new processes.

    Args:
        worker: what each of them does.
        count: how many; no more than there are sentences are started.
        examples: the sentences.

    Raises:
        InputError: a worker raised one.
        ProcessDiedError: a worker was killed, or ended otherwise before its time.
        RuntimeError: a worker raised anything else; holds its traceback.
    """
    count = min(count, len(examples))
    processes: list[SpawnProcess] = []
    ranks: dict[Connection, int] = {}
    try:
        for rank in range(count):
            ids = [example.id for example in shard(examples, rank, count)]
            process, pipe = _started(worker, rank, count, ids)
            processes.append(process)
            ranks[pipe] = rank
        return (yield from _collected(processes, ranks))
    except BaseException:
        for process in processes:
            process.terminate()
        raise
    finally:
        for process in processes:
            process.join(_PATIENCE)
            process.kill()
            process.join()


def _started(
    worker: Worker, rank: int, count: int, ids: Sequence[int]
) -> tuple[SpawnProcess, Connection]:
    """Return a worker's process, and the pipe in which its messages arrive."""
    context = get_context("spawn")  # a fork of a process with threads or a GPU may hang
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(worker, rank, count, ids, there))
    process.start()
    there.close()  # the worker's end is the only one left: its death ends the pipe
    return process, here


def _collected(processes: Sequence[SpawnProcess], ranks: dict[Connection, int]) -> Lines:
    """All lines, as they come; after a failure, those that were sent before the workers' end."""
    speeds: list[Speed] = []
    failure: Exception | None = None
    while ranks:
        ready = wait(list(ranks))
        for pipe in [one for one in ranks if one in ready]:
            message = _received(pipe)
            if "line" in message:
                yield message["line"]
                continue
            rank = ranks.pop(pipe)
            if "speed" in message:
                speeds.append(Speed(**message["speed"]))
            elif failure is None:
                processes[rank].join()
                failure = _failure(message, rank, len(processes), processes[rank].exitcode)
                for process in processes:
                    process.terminate()
    if failure is not None:
        raise failure
    return Speed.together(speeds)


def _work(worker: Worker, rank: int, count: int, ids: Sequence[int], pipe: Connection) -> None:
    """Return what a worker's process runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started it ends it,
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that checkers it started end too
    torch.set_num_threads(max(1, torch.get_num_threads() // count))
    with suppress(BrokenPipeError):  # nobody is left to tell
        try:
            speed = drain(worker(rank, ids), lambda line: _send(pipe, "line", line))
            _send(pipe, "speed", asdict(speed))
        except InputError as error:
            _send(pipe, "mistake", str(error))
        except BrokenPipeError:
            raise
        except Exception:  # the process that started this one raises it
            _send(pipe, "fault", traceback.format_exc())


def _send(pipe: Connection, kind: str, content: Any) -> None:
    pipe.send_bytes(json.dumps({kind: content}).encode())


def _received(pipe: Connection) -> dict[str, Any]:
    """Return a message, or an empty one where the process has died."""
    try:
        message: dict[str, Any] = json.loads(pipe.recv_bytes())
    except (EOFError, OSError):
        return {}
    return message


def _failure(message: dict[str, Any], rank: int, count: int, code: int | None) -> Exception:
    if "mistake" in message:
        return InputError(message["mistake"])
    if "fault" in message:
        return RuntimeError(f"process {rank} of {count} failed:\n{message['fault']}")
    how = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
    return ProcessDiedError(
        f"process {rank} of {count} was ended {how}, perhaps for lack of memory; the sentences "
        "finished so far are kept, and the same command goes on with the others (with fewer "
        "--devices, if you like)"
    )
