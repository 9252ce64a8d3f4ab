"""Recipes for tests, and running our own commands, in this process or in others."""

import os
import re
import socket
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path

import held_attack
import numpy as np
import pytest

from forks import Forked
from robustparse.api import attack_run
from robustparse.attacks.constraints.grammar import GrammarChecker
from robustparse.attacks.problem import Problem
from robustparse.attacks.search.requests import Answer, Search, Searching
from robustparse.cli.main import main
from robustparse.evaluation.attack_sums import AttackSums
from sample_runs import RECIPE, save_checkpoint, trained_parser

ROOM = "robustparse.attacks"
# The other kinds of attack. Batches of one round as one another, whatever process they are in.
FILTERED_WHITE_BOX = RECIPE.replace(
    "search: {class_path: robustparse.attacks.Zheng2020}",
    """  - class_path: robustparse.attacks.GrammarErrors
    init_args: {checker: {class_path: command_runs.Checker}}
search:
  class_path: robustparse.attacks.Zheng2020WhiteBox
  init_args: {gamma: 0.5, trials: 4}
batch_queries: 1""",
)
PHRASES = """
goal: {class_path: robustparse.attacks.PhraseDrop, init_args: {shortest: 2}}
candidates:
  class_path: robustparse.attacks.VocabularyWords
  init_args: {sample: 12}
search:
  class_path: robustparse.attacks.PhraseBlackBox
  init_args: {trials: 24}
"""
# The other black-box searches, one after the other from sentence to sentence.
BY_TURNS = """
goal: {class_path: robustparse.attacks.AttachmentDrop, init_args: {least: 3}}
candidates:
  class_path: robustparse.attacks.TrainingWords
  init_args: {sample: 5}
constraints:
  - class_path: robustparse.attacks.AttackableTags
search:
  class_path: command_runs.ByTurns
  init_args:
    searches:
      - class_path: robustparse.attacks.Beam
        init_args: {width: 2}
      - class_path: robustparse.attacks.GreedyByImportance
        init_args: {ranking: {class_path: robustparse.attacks.UnknownWord}}
      - class_path: robustparse.attacks.PWWS
      - class_path: robustparse.attacks.Genetic
        init_args: {population: 4, generations: 3}
      - class_path: robustparse.attacks.ParticleSwarm
        init_args: {population: 4, iterations: 3}
      - class_path: robustparse.attacks.Wang2021
        init_args: {gamma: 0.5}
"""


def constrained(name: str, settings: str) -> str:
    """The recipe with another constraint in the place of its own."""
    return RECIPE.replace(f"{ROOM}.AttackableTags", f"{ROOM}.{name}\n    init_args: {settings}")


class ByTurns(Search):
    """Leaves a sentence to the search whose turn it is by the sentence's id."""

    def __init__(self, searches: list[Search]) -> None:
        self.searches = searches

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching:
        """See `Search.run`."""
        search = self.searches[problem.id % len(self.searches)]
        return (yield from search.run(problem, clean, rng))


class Checker(GrammarChecker):
    """Counts errors by a hash of the text."""

    def errors(self, texts: Sequence[str]) -> list[int]:
        return [zlib.crc32(text.encode()) % 3 for text in texts]


def mistake(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a command that must fail by the user's mistake; its one message."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    assert end.value.code == 2, captured.err
    assert captured.err.startswith("robustparse: "), captured.err
    assert captured.err.count("\n") == 1, captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""
    return captured.err


def table(output: str) -> dict[str, list[str]]:
    """The rows of a printed table by their first cell."""
    _, _, body = output.rpartition("─")  # the rule below the headings
    lines = takewhile(bool, (line.strip() for line in body.splitlines()[1:]))
    rows = [re.split(" {2,}", line) for line in lines]
    return {name: cells for name, *cells in rows}


def checkpoint(folder: Path) -> Path:
    """A small parser for the sample's sentences, in float32."""
    return save_checkpoint(trained_parser().float(), folder / "tiny.ckpt")


def attack_arguments(made: Path, out: Path, *more: object, recipe: Path | None = None) -> list[str]:
    """An attack with what the fixture `made` holds, or by another recipe or on other data."""
    given = {"attack": recipe or made / "words.yaml", "checkpoint": made / "tiny.ckpt"}
    given |= {"out": out} if "--data" in more else {"data": made / "test.conllu", "out": out}
    options = [str(part) for key, value in given.items() for part in (f"--{key}", value)]
    return ["attack", "--trust", "command_runs", *options, *map(str, more)]


def attack_by(made: Path, folder: Path, recipe: str, *more: object) -> list[str]:
    """The arguments of an attack by another recipe, which is written next to its output."""
    path = folder / "recipe.yaml"
    path.write_text(recipe)
    return attack_arguments(made, folder / "out", "--device", "cpu", *more, recipe=path)


def stop_after(count: int, calls: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The next attack is interrupted once COUNT sentences are finished.

    Args:
        count: how many.
        calls: gets the number of sentences finished, whenever one is, also after that.
        monkeypatch: takes the place of the progress bar.
    """

    @contextmanager
    def progress(total: int, name: str) -> Iterator[Callable[[AttackSums], None]]:
        def update(tally: AttackSums) -> None:
            calls.append(tally.sums["sentences"])
            if len(calls) == count:
                raise KeyboardInterrupt

        yield update

    monkeypatch.setattr(attack_run, "attack_progress", progress)


def held(gate: Path, at: int, options: Sequence[str], **environment: str) -> Forked:
    """Our program, held after AT sentences until the gate is opened, which is deleted."""
    gate.touch()
    return Forked(held_attack.run, gate, at, options, **environment)


def free_port() -> int:
    """Below those that the system gives away, lest it do so before rank 0 has taken the port."""
    for port in range(20000 + os.getpid() % 10000, 32000):
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no free port")


def ranks(options: Sequence[str], count: int, gate: Path | None = None) -> list[Forked]:
    """Our program as torchrun would start it; held after three sentences of each rank."""
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    common |= {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
    places = [{**common, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(count)]
    if gate is not None:
        return [held(gate, 3, options, **place) for place in places]
    return [Forked(main, options, **place) for place in places]
