"""``--engine ray``: work on blocks of the sentences in a Ray cluster, and join their outputs.

A block is a shard with a folder of its own in ``OUT.blocks``, where it resumes. Each actor, a
process on one of the cluster's nodes, makes the objects of the command once, and works on one block
after another. The block of an actor that dies goes to another actor.
"""

import logging
import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

from robustparse.api.data_sources import DataFile
from robustparse.api.inputs import checkpoint_files, digest
from robustparse.api.merge import check_free
from robustparse.api.progress import block_progress
from robustparse.api.victim_sources import victims_stay_open
from robustparse.cli.merge import merge
from robustparse.cli.options import ShardOptions, as_list
from robustparse.data.shard import Shard
from robustparse.errors import (
    InputError,
    ProcessDiedError,
    machine_limit,
    optional_library,
    reason,
)
from robustparse.evaluation.claim import claim
from robustparse.evaluation.records import RUN, versions
from robustparse.evaluation.shards import record_file
from robustparse.files.output_folders import BLOCKS, LOCK, check_no_input, locked, make_folder
from robustparse.options.command import ParsedCommand
from robustparse.options.recipe import without_packing
from robustparse.options.recipe_digests import recipe_digests
from robustparse.trust import allowed_class, failures_of_trusted_code

_DEATHS = 3  # of the actors of one block, after which the run ends
_CHECKPOINTS = ("checkpoint", "hypothesis_only")
_FILES = (*_CHECKPOINTS, "substitutes")  # options that name files, besides data
# Options that may differ when a run is resumed, besides those of objects (`without_packing`).
_LEFT_OUT = {
    *("config", "out", "shard", "engine", "address", "blocks", "actors", "gpus_per_actor"),
    *("device", "devices", "batch_words"),
}
_FIELDS = ("found", "path", "line", "key", "expected", "remedy")  # of an `InputError`


def run_blocks(command: ParsedCommand, parse: Callable[[], ParsedCommand]) -> None:
    """Run a command on a cluster, or resume it; finished blocks are kept.

    Args:
        command: the command.
        parse: returns the command; called in the process of each actor.

    Raises:
        InputError: an option cannot be used, the folder of the blocks holds another run, an input
            has changed meanwhile, or the command raises it.
        ProcessDiedError: the actors of a block died again and again.
    """
    engine = command.group(ShardOptions)
    out, name = _output(command, engine), command.function.__name__
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # before Ray is imported
    ray = optional_library("ray", "--engine", "run `pip install robustparse[ray]`")
    run = _identity(command, engine)
    check_no_input(out, run["sha256"], key="--out")
    folder = make_folder(out.with_name(out.name + BLOCKS))
    with locked(folder, name, "--out"), _removed_if_unused(folder):
        _claim(folder, run)
        blocks = [folder / str(number) / out.name for number in range(1, engine.blocks + 1)]
        if not all(record_file(block).exists() for block in blocks):
            check_free(name, out)
            with _cluster(ray, engine.address), block_progress(name, len(blocks)) as show:
                _finish(ray, parse, engine, blocks, show)
            # Inputs may have changed while actors used the old files.
            _claim(folder, _identity(command, engine))
        merge(str(out), [str(block) for block in blocks])


def _output(command: ParsedCommand, engine: ShardOptions) -> Path:
    """Return the output of a command, after checks of its options."""
    options = command.options
    out, device, victim = options.get("out"), str(options.get("device")), options.get("victim")
    if engine.shard is not None:
        remedy = "leave it out: the blocks are shards"
        raise InputError("does not apply to --engine ray", key="--shard", remedy=remedy)
    if options.get("devices", 1) != 1:
        problem, remedy = "does not apply to --engine ray", "set --actors instead"
        raise InputError(problem, key="--devices", remedy=remedy)
    if device.startswith("cuda") and not engine.gpus_per_actor:
        remedy = "set it, for example to 1"
        raise InputError(f"is 0, but --device is {device}", key="--gpus_per_actor", remedy=remedy)
    one_process = victim and getattr(allowed_class(victim.class_path), "one_process", False)
    if one_process and engine.actors != 1:
        problem = "must be 1: the limits of the victim hold for one process"
        raise InputError(problem, key="--actors")
    if out is None or Path(out).name in ("", "-", ".."):
        problem = "is missing" if out is None else f"got {out!r}"
        raise InputError(problem, key="--out", expected="the name of a file or folder to write")
    return Path(out)


def _identity(command: ParsedCommand, engine: ShardOptions) -> dict[str, Any]:
    """Return what distinguishes a run from others, with the SHA-256 of each of its inputs.

    Raises:
        InputError: an input does not exist, or is standard input.
    """
    options = {key: value for key, value in command.plain_values().items() if key not in _LEFT_OUT}
    data = DataFile(options["data"])
    if data.names == ("-",):
        problem = "cannot be standard input with --engine ray"
        raise InputError(problem, key="--data", remedy="name a file")
    options["data"], digests = data.recorded, data.digests()
    for key in _CHECKPOINTS:
        if options.get(key) is not None:
            options[key] = checkpoint_files(options[key])
    for value in filter(None, map(options.get, _FILES)):
        digests |= {path: digest(path) for path in as_list(value)}
    digests |= recipe_digests(options)
    run = {"command": command.function.__name__, "blocks": engine.blocks, "sha256": digests}
    return run | {"options": without_packing(options), "versions": versions()}


def _claim(folder: Path, run: dict[str, Any]) -> None:
    """Record a run, or check that the blocks belong to it.

    `merge` compares blocks with each other, which cannot detect that all are outdated.
    """
    claim(folder, run, dict[str, Any], RUN, _begun(folder))


def _begun(folder: Path) -> bool:
    return any(path.is_file() for path in folder.glob("[0-9]*/**/*"))


@contextmanager
def _removed_if_unused(folder: Path) -> Iterator[None]:
    """Remove the folder of the blocks at the end if no block was begun; keep files of others."""
    try:
        yield
    finally:
        if not _begun(folder):
            for name in (RUN, LOCK):
                (folder / name).unlink(missing_ok=True)
            with suppress(OSError):  # it is not empty
                for empty in [*folder.glob("[0-9]*"), folder]:
                    empty.rmdir()


@contextmanager
def _cluster(ray: Any, address: str | None) -> Iterator[None]:
    """Connect to a cluster, unless the program has done so; a new cluster ends with the run."""
    if ray.is_initialized() and address is None:
        yield
        return
    try:
        ray.init(address, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        remedy = "name a running cluster, as HOST:PORT, or leave it out"
        raise InputError(reason(error, 200), key="--address", remedy=remedy) from error
    try:
        yield
    finally:
        ray.shutdown()


def _finish(
    ray: Any,
    parse: Callable[[], ParsedCommand],
    engine: ShardOptions,
    blocks: Sequence[Path],
    show: Callable[[int], None],
) -> None:
    """Let actors work on all blocks that are not finished."""
    waiting = deque(n for n, block in enumerate(blocks) if not record_file(block).exists())
    most = engine.actors or _room(ray, engine.gpus_per_actor)
    kind = ray.remote(num_cpus=1, num_gpus=engine.gpus_per_actor)(BlockActor)
    running: dict[Any, tuple[Any, int]] = {}  # actor and number of the block, by call
    free: list[Any] = []
    warned: set[str] = set()
    deaths = Counter[int]()
    try:
        while True:
            show(len(blocks) - len(waiting) - len(running))
            while waiting and len(running) < most:
                actor = free.pop() if free else kind.remote(parse, str(Path.cwd()), engine)
                number = waiting.popleft()
                shard = Shard(number + 1, len(blocks))
                running[actor.finish.remote(str(shard), str(blocks[number]))] = actor, number
            while free:
                ray.kill(free.pop())  # an actor that has not started may wait for its CPU
            if not running:
                return
            (call,), _ = ray.wait([*running])
            actor, number = running.pop(call)
            answer = _answer(ray, call)
            if isinstance(answer, Exception):
                ray.kill(actor)  # it may be alive, but out of reach
                deaths[number] += 1
                if deaths[number] == _DEATHS:
                    raise ProcessDiedError(
                        f"{_DEATHS} actors died while they worked on {blocks[number]}, perhaps for "
                        "lack of memory; finished blocks are kept, and the same command resumes "
                        f"({reason(answer, 400)})"
                    )
                waiting.appendleft(number)
                continue
            free.append(actor)
            mistake, warnings = answer
            for warning in [each for each in warnings if each not in warned]:
                print(warning, file=sys.stderr)
            warned.update(warnings)
            if mistake is not None:
                raise InputError(**mistake)
    finally:
        for actor in (*free, *(actor for actor, _ in running.values())):
            ray.kill(actor)


def _answer(ray: Any, call: Any) -> Any:
    """Return the answer of an actor, or the error if the actor died or is out of reach."""
    try:
        return ray.get(call)
    except ray.exceptions.RayTaskError:  # a fault of ours
        raise
    except ray.exceptions.RayError as error:
        return error


def _room(ray: Any, gpus: float) -> int:
    """Return how many actors the cluster can run at the same time."""
    resources = ray.cluster_resources()
    rooms = [resources.get("CPU", 0)] + ([resources.get("GPU", 0) / gpus] if gpus else [])
    if (room := int(min(rooms))) < 1:
        total = ", ".join(f"{resources.get(each, 0):g} {each}s" for each in ("CPU", "GPU"))
        remedy = "add nodes; or set --actors, if the cluster grows on demand"
        raise InputError(f"the cluster has {total}", key="--gpus_per_actor", remedy=remedy)
    return room


class BlockActor:
    """Works on blocks in a process of the cluster.

    Args:
        parse: returns the command.
        folder: the working folder.
        engine: the options of the engine.
    """

    def __init__(
        self, parse: Callable[[], ParsedCommand], folder: str, engine: ShardOptions
    ) -> None:
        self._parse, self._folder = parse, folder
        self._victims: dict[tuple[str, str], Any] = {}
        if not engine.gpus_per_actor:
            os.environ["CUDA_VISIBLE_DEVICES"] = ""  # Ray leaves all GPUs to such an actor

    def finish(self, shard: str, out: str) -> tuple[dict[str, Any] | None, list[str]]:
        """Work on a block; return the user's mistake, if any, as its fields, and warnings.

        Args:
            shard: such as ``2/4``.
            out: the output of the block.
        """
        mistake: InputError | None = None
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as errors:
            try:
                with failures_of_trusted_code(), victims_stay_open(self._victims):
                    self._call(shard, out)
            except InputError as error:
                mistake = error
            except Exception as error:
                if (mistake := machine_limit(error)) is None:
                    raise
        if mistake is not None and mistake.key == "--shard":
            mistake.key = "--blocks"
        fields = None if mistake is None else {name: getattr(mistake, name) for name in _FIELDS}
        return fields, errors.getvalue().splitlines()

    def _call(self, shard: str, out: str) -> None:
        function, values = self._command
        make_folder(Path(out).parent)
        shared = {
            name: replace(value, shard=shard)
            for name, value in values.items()
            if isinstance(value, ShardOptions)
        }
        function(**{**values, **shared, "out": out})

    @cached_property
    def _command(self) -> tuple[Callable[..., Any], dict[str, Any]]:
        """The function of the command, and its arguments, which are made once."""
        os.chdir(self._folder)
        command = self._parse()
        return command.function, command.values()
