"""Running our own commands, in this process or in others, and the files they must refuse."""

import os
import pickle
import socket
import subprocess
import sys
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from robustparse.attacks.constraints.grammar import GrammarChecker
from robustparse.attacks.problem import Problem
from robustparse.attacks.search.requests import Answer, Outcome, Request, Search
from robustparse.cli import job
from robustparse.cli.main import main
from robustparse.evaluation.tally import Tally
from sample_runs import save_checkpoint, trained_parser

HERE = Path(__file__).parent
RECIPE = """
goal: {class_path: robustparse.attacks.goals.AttachmentDrop}
candidates:
  class_path: robustparse.attacks.candidates.training_words.TrainingWords
  init_args: {sample: 5}
constraints:
  - class_path: robustparse.attacks.constraints.tags.AttackableTags
search: {class_path: robustparse.attacks.search.zheng2020.Zheng2020}
"""


# The other kinds of attack. Batches of one round as one another, whatever process they are in.
WHITE_BOX = RECIPE.replace(
    "search: {class_path: robustparse.attacks.search.zheng2020.Zheng2020}",
    """search:
  class_path: robustparse.attacks.search.zheng2020_whitebox.Zheng2020WhiteBox
  init_args: {gamma: 0.5, trials: 4}
batch_queries: 1""",
)
PHRASES = """
goal: {class_path: robustparse.attacks.phrases.PhraseDrop, init_args: {shortest: 2}}
candidates:
  class_path: robustparse.attacks.candidates.vocabulary.VocabularyWords
  init_args: {sample: 12}
search:
  class_path: robustparse.attacks.search.zheng2020_phrase.PhraseBlackBox
  init_args: {trials: 24}
"""
FILTERED = RECIPE.replace(
    "search:",
    """  - class_path: robustparse.attacks.constraints.grammar.GrammarErrors
    init_args: {checker: {class_path: command_runs.Checker}}
search:""",
)


# The other black-box searches, one after the other from sentence to sentence.
BY_TURNS = """
goal: {class_path: robustparse.attacks.goals.AttachmentDrop, init_args: {least: 3}}
candidates:
  class_path: robustparse.attacks.candidates.training_words.TrainingWords
  init_args: {sample: 5}
constraints:
  - class_path: robustparse.attacks.constraints.tags.AttackableTags
search:
  class_path: command_runs.ByTurns
  init_args:
    searches:
      - class_path: robustparse.attacks.search.beam.Beam
        init_args: {width: 2}
      - class_path: robustparse.attacks.search.importance.GreedyByImportance
        init_args: {ranking: {class_path: robustparse.attacks.search.rankings.UnknownWord}}
      - class_path: robustparse.attacks.search.importance.WeightedSaliencySearch
      - class_path: robustparse.attacks.search.genetic.Genetic
        init_args: {population: 4, generations: 3}
      - class_path: robustparse.attacks.search.pso.ParticleSwarm
        init_args: {population: 4, iterations: 3}
      - class_path: robustparse.attacks.search.wang2021.Wang2021
        init_args: {gamma: 0.5}
"""


class ByTurns(Search):
    """Leaves a sentence to the search whose turn it is by the sentence's id."""

    def __init__(self, searches: list[Search]) -> None:
        self.searches = searches

    def run(
        self, problem: Problem, clean: Answer, rng: np.random.Generator
    ) -> Generator[Request, Answer, Outcome]:
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
    rows = [line.split("│")[1:-1] for line in output.splitlines() if line.startswith("│")]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}


def checkpoint(folder: Path) -> Path:
    """A small parser for the sample's sentences, in float32."""
    return save_checkpoint(trained_parser().float(), folder / "tiny.ckpt")


def stop_after(count: int, calls: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The next attack is interrupted once so many sentences are finished.

    Args:
        count: how many.
        calls: gets the number of sentences finished, whenever one is, also after that.
        monkeypatch: takes the place of the progress bar.
    """

    @contextmanager
    def progress(total: int, name: str) -> Iterator[Callable[[Tally], None]]:
        def update(tally: Tally) -> None:
            calls.append(tally.sums["sentences"])
            if len(calls) == count:
                raise KeyboardInterrupt

        yield update

    monkeypatch.setattr(job, "attack_progress", progress)


def started(*program: str, **environment: str) -> subprocess.Popen[str]:
    """A program in a process of its own; a script's path, or ``-c`` and code, then arguments."""
    path = os.pathsep.join([str(HERE), *sys.path])
    return subprocess.Popen(
        [sys.executable, *program],
        env={**os.environ, "PYTHONPATH": path, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def held(gate: Path, at: int, options: Sequence[str], **environment: str) -> subprocess.Popen[str]:
    """Our program, held behind so many sentences until the gate is opened, which is deleted."""
    gate.touch()
    where = {"GATE": str(gate), "HELD_AT": str(at)}
    return started(str(HERE / "held_attack.py"), *options, **where, **environment)


def free_port() -> int:
    """Below those that the system gives away, lest it do so before rank 0 has taken the port."""
    for port in range(20000 + os.getpid() % 10000, 32000):
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no free port")


def ranks(
    options: Sequence[str], count: int, gate: Path | None = None
) -> list[subprocess.Popen[str]]:
    """Our program as torchrun would start it; held behind three sentences of each rank."""
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    common |= {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
    places = [{**common, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(count)]
    if gate is not None:
        return [held(gate, 3, options, **place) for place in places]
    plain = ("-c", "from robustparse.cli.main import main; main()", *options)
    return [started(*plain, **place) for place in places]


def row(number: int, word: str, head: int | str, label: str, columns: str = "\t_\t_\n") -> str:
    return f"{number}\t{word}\t_\tNOUN\tNN\t_\t{head}\t{label}{columns}"


GOOD = row(1, "a", 2, "nsubj") + row(2, "b", 0, "root") + "\n"

# Content, and what the message must say after the file's name.
TREEBANKS: dict[str, tuple[bytes, str]] = {
    "nine": ((GOOD + row(1, "a", 0, "root", "\t_\n")).encode(), ":4: 9 columns, expected 10"),
    "range": ((row(1, "a", 0, "root") + row(2, "b", 7, "root")).encode(), ":2: head '7'"),
    "cycle": ((row(1, "a", 2, "root") + row(2, "b", 1, "root")).encode(), ":1: following the"),
    "head": ((GOOD + row(1, "a", "x", "root")).encode(), ":4: head 'x'"),
    "ids": (row(2, "a", 0, "root").encode(), ":1: word id '2', expected 1"),
    "self": (row(1, "a", 1, "root").encode(), ":1: following the heads"),
    "roots": ((row(1, "a", 0, "root") + row(2, "b", 0, "root")).encode(), ":2: a second root"),
    "empty": (b"", ": the file is empty"),
    "blank": (b"\n\n\n", ": the file is empty"),
    "comments": (b"# text = a\n\n", ":1: a sentence without words"),
    "latin": (GOOD.encode() + b"1\t\xff\xfe\t_\tX\tX\t_\t0\troot\t_\t_\n\n", ":4: not UTF-8"),
    "noise": (bytes(range(256)), ":"),
    "label": ((GOOD + row(1, "a", 0, "weird")).encode(), ":4: dependency label 'weird'"),
    "long": (("".join(row(i, "a", i - 1, "root") for i in range(1, 252))).encode(), ":1: the se"),
}


class Evil:
    """Unpickled, it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


def broken_checkpoints(folder: Path, good: Path) -> dict[str, str]:
    """Write them; what each message must say, by the file's name."""
    (folder / "noise.ckpt").write_bytes(bytes(range(256)))
    (folder / "cut.ckpt").write_bytes(good.read_bytes()[:2000])
    (folder / "empty.ckpt").write_bytes(b"")
    (folder / "evil.ckpt").write_bytes(pickle.dumps(Evil(folder / "pwned")))
    torch.save({"state_dict": Evil(folder / "pwned")}, folder / "evil2.ckpt")
    torch.save({"state_dict": {}}, folder / "foreign.ckpt")
    content = torch.load(good, weights_only=True)
    for name, change in {
        "format": {"format": 99},
        "class": {"parser": {"class_path": "os.system", "init_args": {}}},
        "module": {"parser": {"class_path": "robustparse.parsers.gone.Parser", "init_args": {}}},
        "encoder": {"parser": specification_of("robustparse.parsers.encoders.LSTMEncoder")},
        "arguments": {"parser": specification_of("robustparse.parsers.biaffine.BiaffineParser")},
        "vocabulary": {"vocabulary": {"words": []}},
        "numbers": {"vocabulary": dict.fromkeys(content["robustparse"]["vocabulary"], 5)},
        "small": {"vocabulary": {**content["robustparse"]["vocabulary"], "labels": ["root"]}},
    }.items():
        described = {**content["robustparse"], **change}
        torch.save({**content, "robustparse": described}, folder / f"{name}.ckpt")
    (folder / "folder.ckpt").mkdir()
    return {
        **dict.fromkeys(("noise", "cut", "empty", "evil", "evil2"), "not a readable checkpoint"),
        "foreign": "not one that robustparse wrote",
        "format": "checkpoint format 99",
        "class": "only classes of robustparse.parsers are loaded",
        "module": "robustparse.parsers.gone",
        "encoder": "robustparse.parsers.encoders.LSTMEncoder",
        "arguments": "no_such_argument",
        "vocabulary": "a vocabulary holds",
        "numbers": "'int' object",
        "small": "its weights do not fit",
        "folder": "no such checkpoint",
        "missing": "no such checkpoint",
    }


def specification_of(class_path: str) -> dict[str, Any]:
    argument = "no_such_argument" if class_path.endswith("Parser") else "layers"
    return {"class_path": class_path, "init_args": {argument: 1}}
