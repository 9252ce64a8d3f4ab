"""Runs of TextAttack for ``parity.py``, with something in its place that writes what it would."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import parity_runs
from parity import read_runs

INPUTS = {
    "victim": "weights",
    "texts": "a b\t1\nb c\t0\na a\t1\n",
    "synonyms": '{"a": ["c"]}',
    "stopwords": "b\n",
}


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The script's arguments; its runs have 100 queries a seed and one more a text."""
    monkeypatch.setattr(parity_runs, "run", written)
    monkeypatch.setattr(parity_runs, "peer_python", lambda given: given)
    arguments = ["parity_runs.py", "--limit", "2", "--work", str(tmp_path / "work")]
    for name, content in INPUTS.items():
        (tmp_path / name).write_text(content)
        arguments += [f"--{name}", str(tmp_path / name)]
    return [*arguments, "--out", str(tmp_path / "runs.jsonl")]


def written(
    python: Path, side: str, folder: Path, methods: list[str], size: tuple[int, int], options: Any
) -> Path:
    """Stands for TextAttack's side, which continues with the lines that are there."""
    assert (side, options.dtype, options.threads, options.seed) == ("peer", "float32", 1, 0)
    texts = [json.loads(line) for line in (folder / "texts.jsonl").read_text().splitlines()]
    assert len(texts) == size[0]
    for method in methods:
        path = folder / f"{method}.jsonl"
        there = len(path.read_text().splitlines()) // len(texts) if path.exists() else 0
        with path.open("a") as file:
            for number in range(there, size[1]):
                for text in reversed(texts):
                    queries = 100 * number + text["index"]
                    row = {"round": number, "index": text["index"], "queries": queries}
                    file.write(json.dumps(row) + "\n")
    return folder


def made(command: list[str], *options: str) -> dict[str, list[list[int]]]:
    """By method and run the queries of each text, as ``parity.py`` reads them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [*command, *options])
        parity_runs.main()
    runs = read_runs(Path(command[-1]))
    return {name: [[line["queries"] for line in one] for one in of] for name, of in runs.items()}


def test_random_methods_have_a_run_a_seed(command: list[str]) -> None:
    three = [[0, 1], [100, 101], [200, 201]]
    some = ("--methods", "greedy", "wir_random", "pso")
    found = made(command, "--seeds", "3", *some)
    assert found == {"greedy": three[:1], "wir_random": three, "pso": three}
    # Seeds that are done are not made again, and those not asked for are left out.
    assert made(command, "--seeds", "4", "--methods", "pso") == {"pso": [*three, [300, 301]]}
    assert made(command, "--seeds", "2", "--methods", "pso") == {"pso": three[:2]}
    assert len(made(command)) == 10


def test_a_problem_has_a_folder_of_its_own(tmp_path: Path, command: list[str]) -> None:
    given: dict[str, Any] = {name: tmp_path / name for name in INPUTS}
    options = argparse.Namespace(limit=2, work=tmp_path / "work", **given)
    folder = parity_runs.laid_out(options)
    rows = [json.loads(line) for line in (folder / "texts.jsonl").read_text().splitlines()]
    assert rows == [
        {"index": 0, "premise": "", "text": "a b", "label": "1"},
        {"index": 1, "premise": "", "text": "b c", "label": "0"},
    ]
    assert (folder / "victim.pt").read_text() == "weights"
    assert (folder / "synonyms.json").read_text() == INPUTS["synonyms"]
    assert (folder / "stopwords.txt").read_text() == "b\n"
    assert parity_runs.laid_out(options) == folder
    (tmp_path / "synonyms").write_text("{}")
    assert parity_runs.laid_out(options) != folder
