"""Outcomes of TextAttack on the same closed problem: of single texts where the data of the bench
are there, of pairs as recorded in ``parity_pairs``; how its runs are read and averaged; a BiLSTM
against one written another way.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from pair_victims import write_victim
from torch import nn

import parity
from robustparse.errors import InputError

ROOT = Path(__file__).parents[2]
PAIRS = Path(__file__).parent / "parity_pairs"
FOLDER = Path(os.environ.get("ROBUSTPARSE_SHARED", "/nowhere")) / "parity" / "textattack"

needs_runs = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="ROBUSTPARSE_SHARED names no folder with parity/textattack"
)


def figures(*options: str) -> dict:
    command = [sys.executable, str(ROOT / "bench" / "parity.py"), "--json"]
    for name, file in (
        ("victim", "victim_bow.pt"),
        ("texts", "test.tsv"),
        ("synonyms", "synonyms_sparse.json"),
        ("stopwords", "stopwords.txt"),
        ("runs", "runs_sparse_bow.jsonl"),
    ):
        command += [f"--{name}", str(FOLDER / file)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    output = subprocess.run(
        [*command, *options], capture_output=True, text=True, check=True, env=environment
    ).stdout
    return json.loads(output.splitlines()[-1])


@needs_runs
@pytest.mark.slow
def test_deterministic_searches_agree_text_by_text() -> None:
    names = ["greedy", "beam4", "beam8", "wir_unk", "wir_delete", "wir_pwws", "wir_gradient"]
    found = figures("--methods", *names, "--dtype", "float64")
    assert {name: one["agreement"] for name, one in found.items()} == dict.fromkeys(names, 1.0)


@needs_runs
@pytest.mark.slow
def test_random_searches_agree_in_distribution() -> None:
    found = figures("--methods", "wir_random", "pso", "genetic", "--seeds", "2")
    for one in found.values():
        assert abs(one["success_difference"]) <= 2.0
        assert abs(one["charged_ratio"] - 1) <= 0.05


@pytest.mark.parametrize("arch", ["infersent", "esim"])
def test_deterministic_searches_agree_on_pairs(
    arch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # `parity_runs.py --dtype float64` made the runs, with these files and this victim.
    pairs, runs = PAIRS / "pairs.tsv", PAIRS / f"runs_{arch}.jsonl"
    write_victim(tmp_path / "victim.pt", arch, parity.read_texts(pairs, None))
    files = {"victim": tmp_path / "victim.pt", "texts": pairs, "runs": runs}
    files |= {"synonyms": PAIRS / "synonyms.json", "stopwords": PAIRS / "stopwords.txt"}
    options = [str(part) for name, path in files.items() for part in (f"--{name}", path)]
    monkeypatch.setattr(sys, "argv", ["parity.py", *options, "--dtype", "float64", "--json"])
    parity.main()
    found = json.loads(capsys.readouterr().out)
    assert list(found) == list(parity.DETERMINISTIC)
    for figures in found.values():
        assert figures["agreement"] == 1.0, figures
        assert 0 < figures["success"] < 100
    for lines in parity.read_runs(runs).values():
        assert {line["kind"] for line in lines[0]} == {"success", "failed", "skipped"}


def run_line(method: str, index: int, kind: str, queries: int, unique: int = 1) -> dict[str, Any]:
    return {
        **{"method": method, "index": index, "kind": kind, "queries": queries},
        **{"unique_texts": unique, "changed": [], "adversarial": ""},
    }


def written(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    return path


TWO_SEEDS = [
    *(run_line("pso", 0, "success", 10, 4), run_line("pso", 1, "failed", 20, 6)),
    *(run_line("greedy", 0, "success", 7), run_line("greedy", 1, "failed", 9)),
    *(run_line("pso", 0, "success", 30, 8), run_line("pso", 1, "success", 40, 2)),
]


def test_runs_of_several_seeds_are_all_kept(tmp_path: Path) -> None:
    runs = parity.read_runs(written(tmp_path / "runs.jsonl", TWO_SEEDS))
    assert [[one["queries"] for one in run] for run in runs["pso"]] == [[10, 20], [30, 40]]
    assert [[one["queries"] for one in run] for run in runs["greedy"]] == [[7, 9]]


def test_a_seed_whose_run_is_not_whole_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "runs.jsonl", [*TWO_SEEDS, run_line("pso", 1, "failed", 5)])
    with pytest.raises(InputError, match=r"pso has 3 lines of text 1 and 2 of text 0"):
        parity.read_runs(path)


def test_distributions_are_means_over_the_seeds_of_both_sides(tmp_path: Path) -> None:
    theirs = parity.read_runs(written(tmp_path / "runs.jsonl", TWO_SEEDS))["pso"]
    ours = [
        [run_line("pso", 0, "success", 10, 5), run_line("pso", 1, "success", 12, 5)],
        [run_line("pso", 0, "failed", 20, 5), run_line("pso", 1, "success", 33, 5)],
        [run_line("pso", 0, "success", 15, 5), run_line("pso", 1, "failed", 30, 5)],
    ]
    assert parity.distribution(ours, theirs) == {
        # Of 3 x 2 pairs of runs with 2 texts each: text 0 as theirs in 4, text 1 in 3 of 6.
        "agreement": round(7 / 12, 4),
        "success": 66.667,  # of 100, 50 and 50
        "charged": 20.0,  # of 11, 26.5 and 22.5
        "unique": 5.0,
        "charged_lowest": 11.0,
        "charged_highest": 26.5,
        "success_difference": round(66.667 - 75.0, 3),  # theirs: of 50 and 100
        "charged_ratio": round(20.0 / 25.0, 4),  # theirs: of 15 and 35
        "seeds": 3,
        "reference_seeds": 2,
    }


class PackedNetwork(nn.Module):
    """The BiLSTM as the data's README has it: packed, maximum over time, linear."""

    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(12, 4, padding_idx=0)
        self.rnn = nn.LSTM(4, 3, batch_first=True, bidirectional=True)
        self.out = nn.Linear(6, 2)

    def wrong(self, ids: list[int], gold: int) -> float:
        """One minus the probability of the gold class."""
        states = self.rnn(self.emb(torch.tensor([ids])))[0]
        return 1 - float(torch.softmax(self.out(states.amax(1)).double(), -1)[0, gold])


WORDS = [f"w{number}" for number in range(10)]
VOCABULARY = {word: number for number, word in enumerate(WORDS, start=2)}
SYNONYMS = {"w0": ["w1", "w2"], "w3": ["w4", "w9"], "w5": ["w6"], "w7": ["w8", "w4"]}
TEXTS = ["w0 w3 w9", "w5 w7 w0 w3", "w9 w9 w3", "w7 w5 w3 w0 w9", "w0 w0 w5"]


def greedily(network: PackedNetwork, text: str, gold: int) -> dict[str, Any]:
    """The best single change of an unchanged word, until the class flips or none is left."""

    def wrong(words: list[str]) -> float:
        return network.wrong([VOCABULARY[word] for word in words], gold)

    original = words = text.split()
    changed: set[int] = set()
    queries, score = 1, wrong(words)
    if score > 0.5:
        return {**run_line("greedy", 0, "skipped", 1), "adversarial": text}
    while score <= 0.5:
        options = [
            (wrong([*words[:at], new, *words[at + 1 :]]), at, new)
            for at, old in enumerate(original)
            if at not in changed
            for new in SYNONYMS.get(old, [])
        ]
        if not options:
            break
        queries += len(options)
        score, at, new = max(options)
        words = [*words[:at], new, *words[at + 1 :]]
        changed.add(at)
    kind = "success" if score > 0.5 else "failed"
    return {
        **run_line("greedy", 0, kind, queries),
        **{"changed": sorted(changed), "adversarial": " ".join(words)},
    }


def test_a_bilstm_goes_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(95)
        network = PackedNetwork()
        lines = []
        for index, text in enumerate(TEXTS):
            gold = index % 2
            lines.append({**greedily(network, text, gold), "index": index})
    assert {one["kind"] for one in lines} == {"success", "failed", "skipped"}
    saved = {"arch": "lstm", "vocab": VOCABULARY, "state_dict": network.state_dict()}
    torch.save(saved, tmp_path / "victim.pt")
    rows = (f"{text}\t{index % 2}\n" for index, text in enumerate(TEXTS))
    (tmp_path / "texts.tsv").write_text("".join(rows))
    (tmp_path / "synonyms.json").write_text(json.dumps(SYNONYMS))
    (tmp_path / "stop.txt").write_text("the\n")
    random = [{**one, "method": "wir_random"} for one in lines]
    written(tmp_path / "runs.jsonl", [*lines, *random, *random])
    files = {"victim": "victim.pt", "texts": "texts.tsv", "synonyms": "synonyms.json"}
    files |= {"stopwords": "stop.txt", "runs": "runs.jsonl"}
    options = [word for name, file in files.items() for word in (f"--{name}", str(tmp_path / file))]
    monkeypatch.setattr(sys, "argv", ["parity.py", *options, "--seeds", "3", "--json"])
    parity.main()
    found = json.loads(capsys.readouterr().out)
    assert found["greedy"]["agreement"] == 1.0, found
    assert (found["wir_random"]["seeds"], found["wir_random"]["reference_seeds"]) == (3, 2)
