"""``robustparse.ray``: the commands that take ``--engine ray``, from Python."""

import json
from pathlib import Path
from typing import Any

from robustparse.cli.main import run as run_command


def run(command: str, **options: Any) -> None:
    """Run a command on a Ray cluster, or resume it, as the command line does.

    If the program has called ``ray.init``, its cluster is used.

    >>> model = {"checkpoint": "best.ckpt", "data": "test.conllu"}
    >>> run("attack", attack="pwws", **model, out="attacked", blocks=200)  # doctest: +SKIP

    Args:
        command: attack, certify, evaluate, predict or augment.
        options: the options of the command and of the engine (``address``, ``blocks``, ``actors``,
            ``gpus_per_actor``), as on the command line: names, paths, numbers, and lists of them.

    Raises:
        InputError: an option cannot be used, or see the command.
        ProcessDiedError: the actors of a block died again and again.
    """
    given = {"engine": "ray", **options}
    texts = {key: _text(value) for key, value in given.items() if value is not None}
    run_command(command, [f"--{key}={text}" for key, text in texts.items()])


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | Path) else json.dumps(value, default=str)
