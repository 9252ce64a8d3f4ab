"""The comparison with TextAttack: our side of it, the figures, and both sides together."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import nltk
import pytest
from reviews import BAD, GOOD, NEUTRAL, SYNONYMS, corpus

import textattack_problem
import vs_textattack
from parity import RANDOM
from textattack_own import TimedVictim, attack_of_method, measured
from textattack_problem import read_texts, train
from textattack_served import RECIPES
from vs_textattack import METHODS, PEER_HOME, amount, figures_of, peer_is_there

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TimedVictim]:
    """A folder with texts, substitutes and stop words, and a victim that was trained there."""
    folder = corpus(tmp_path_factory.mktemp("problem"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(textattack_problem, "EPOCHS", 12)
        victim = TimedVictim([train(read_texts(folder / "train.tsv"), 0, 16)])
    (folder / "synonyms.json").write_text(json.dumps(SYNONYMS), encoding="utf-8")
    (folder / "stop.txt").write_text("the\nis\n", encoding="utf-8")
    table = {}
    for text in read_texts(folder / "test.tsv"):
        nothing: list[list[str]] = [[] for _ in text.sentence.words]
        synonyms = [SYNONYMS.get(word, []) for word in text.sentence.words]
        table[str(text.id)] = {"replace": synonyms, "insert": nothing, "merge": nothing}
    for recipe in RECIPES:
        (folder / f"{recipe}.json").write_text(json.dumps(table), encoding="utf-8")
    words = {word for synonyms in SYNONYMS.values() for word in synonyms} | {*SYNONYMS}
    vectors = "".join(f"{word} 1.0 0.5\n" for word in sorted(words))
    (folder / "vectors.txt").write_text(vectors, encoding="utf-8")
    return folder, victim


def our_side(problem: tuple[Path, TimedVictim], method: str, seed: int, rounds: int) -> dict:
    folder, victim = problem
    options = argparse.Namespace(
        synonyms=folder / "synonyms.json", stopwords=folder / "stop.txt", seed=seed, rounds=rounds
    )
    texts = read_texts(folder / "test.tsv")
    return measured(attack_of_method(method, options), texts, victim, options)


@pytest.mark.parametrize("method", METHODS)
def test_our_side(problem: tuple[Path, TimedVictim], method: str) -> None:
    found, texts = our_side(problem, method, 0, 2), read_texts(problem[0] / "test.tsv")
    rows, again = found["rounds"]
    assert [row["index"] for row in rows] == [text.id for text in texts]
    assert method in RANDOM or again == rows
    for row, text in zip(rows, texts, strict=True):
        before, after = list(text.sentence.words), row["adversarial"].split()
        assert [place for place, word in enumerate(before) if word != after[place]] == (
            row["changed"]
        )
        for place in row["changed"]:
            assert after[place] in SYNONYMS[before[place]]
        assert row["unique_texts"] <= row["queries"]
        assert (row["kind"] == "success") == (row["score"] > 0.5)
    assert 0 < found["victim_seconds"] < found["seconds"]
    assert found["cpu_seconds"] > 0


def test_every_round_has_a_seed_of_its_own(problem: tuple[Path, TimedVictim]) -> None:
    rounds = our_side(problem, "wir_random", 5, 3)["rounds"]
    alone = [our_side(problem, "wir_random", seed, 1)["rounds"][0] for seed in (5, 6, 7)]
    assert rounds == alone
    assert rounds[0] != rounds[1]


def test_texts_and_rounds_of_a_method() -> None:
    given = {"texts": 40, "population_texts": 50, "rounds": 3, "population_rounds": 2, "seeds": 9}
    options = argparse.Namespace(**given)
    assert amount("greedy", options) == (40, 3)
    assert amount("wir_random", options) == (40, 9)
    assert amount("pso", options) == amount("genetic", options) == (40, 2)
    assert amount("pso", argparse.Namespace(**given | {"population_texts": 30})) == (30, 2)


def test_what_was_measured_in_another_way_is_not_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vs_textattack, "stop_words", lambda texts: ["the"])
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("fine 1 0\nlovely 1 0\n")
    names = ("population_texts", "rounds", "population_rounds", "seeds", "threads")
    given = {"folder": corpus(tmp_path), "vectors": vectors, "texts": 4, "candidates": 3}
    given |= {"size": 2, "arch": "lstm", "seed": 0, "dtype": "float32", "model": None}
    given |= {"masked_lm": None}
    given |= dict.fromkeys(names, 1)

    def folder(**changed: object) -> Path:
        return vs_textattack.prepared(argparse.Namespace(**given | changed), tmp_path / "work")

    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    found = [folder(), folder(threads=2), folder(dtype="float64"), folder(seeds=2)]
    found.append(folder(model=tmp_path / "model"))
    assert folder() == found[0]
    vectors.write_text("fine 1 0\nlovely 1 1\n")
    assert len({*found, folder()}) == 6


def row(index: int, kind: str, queries: int) -> dict:
    return {"index": index, "kind": kind, "queries": queries, "unique_texts": 1, "changed": []}


SPENT = {"seconds": 10.0, "cpu_seconds": 4.0, "victim_seconds": 5.0}
OURS = {"seconds": 2.0, "cpu_seconds": 1.0, "victim_seconds": 1.5}


def test_values_of_one_method() -> None:
    lines = [row(0, "success", 10), row(1, "failed", 10), row(2, "skipped", 5)]
    slow = {name: 5 * seconds for name, seconds in SPENT.items()}
    theirs = [
        {"round": number, **one, **seconds}
        for number, seconds in enumerate((SPENT, slow, SPENT))
        for one in (row(0, "success", 10), row(1, "success", 20), row(2, "skipped", 5))
    ]
    figures = figures_of({**OURS, "rounds": [lines] * 3}, theirs)
    assert figures["speed_ratio"] == 15.0
    assert figures["speed_ratio_cpu"] == 12.0
    assert figures["speed_bound"] == 20.0  # 1.5 of our 2 seconds are the victim's
    # 0.5 seconds for 25 queries against 15 for 35.
    assert figures["overhead_ratio"] == pytest.approx((15 / 35) / (0.5 / 25))
    assert (figures["success_ours"], figures["success_textattack"]) == (50.0, 100.0)
    assert figures["sentences_per_second_ours"] == 1.5
    assert figures["same_outcome_percent"] == pytest.approx(200 / 3)


def test_success_and_queries_are_means_over_the_rounds() -> None:
    rounds = [[row(0, kind, 10 * number)] for number, kind in ((1, "success"), (3, "failed"))]
    theirs = [{"round": number, **row(0, "success", 8), **SPENT} for number in range(2)]
    figures = figures_of({**OURS, "rounds": rounds}, theirs)
    assert (figures["success_ours"], figures["success_textattack"]) == (50.0, 100.0)
    assert (figures["charged_ours"], figures["charged_textattack"]) == (20.0, 8.0)
    # 0.5 seconds for 20 queries against 5 for 8.
    assert figures["overhead_ratio"] == pytest.approx((5 / 8) / (0.5 / 20))
    assert (figures["texts"], figures["rounds"]) == (1, 2)
    assert figures["speed_ratio"] == 5.0


def test_an_environment_of_other_packages_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []
    monkeypatch.setattr(vs_textattack, "PEER_HOME", tmp_path)
    monkeypatch.setattr("subprocess.run", lambda words, check: called.append(str(words[3])))
    made = ["--clear", *["install"] * 3]  # torch, what works together, what pip holds apart
    assert vs_textattack.peer_python(None) == tmp_path / "bin" / "python"
    assert called == made
    vs_textattack.peer_python(None)
    assert called == made
    monkeypatch.setattr(vs_textattack, "IMPORTED", "nltk")
    vs_textattack.peer_python(None)
    assert called == made * 2
    assert vs_textattack.peer_python(tmp_path / "own") == tmp_path / "own"


@pytest.mark.slow
@pytest.mark.skipif(
    not peer_is_there(),
    reason=f"no TextAttack in {PEER_HOME}; `python bench/vs_textattack.py` puts it there",
)
def test_both_sides_agree_and_a_run_resumes(tmp_path: Path) -> None:
    try:
        nltk.data.find("corpora/stopwords")
    except LookupError:
        pytest.skip("NLTK_DATA names no folder with corpora/stopwords")
    vectors = "".join(
        f"{word} {' '.join(str(float(place == other)) for other in range(4))} 0.{number}\n"
        for number, words in enumerate((GOOD, BAD, NEUTRAL[:2], NEUTRAL[2:]), 1)
        for place, word in enumerate(words)
    )
    (tmp_path / "vectors.txt").write_text(vectors, encoding="utf-8")
    command = [sys.executable, str(ROOT / "bench" / "vs_textattack.py"), "--json"]
    command += ["--folder", str(corpus(tmp_path)), "--vectors", str(tmp_path / "vectors.txt")]
    command += ["--work", str(tmp_path / "work"), "--methods", "greedy", "wir_unk", "--texts", "6"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    first, second = (
        json.loads(
            subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            .stdout.strip()
            .split("\n")[-1]
        )
        for _ in range(2)
    )
    for method in ("greedy", "wir_unk"):
        assert first[method]["same_outcome_percent"] == 100
        assert first[method]["success_ours"] == first[method]["success_textattack"]
        # What TextAttack did is not done again.
        assert second[method]["seconds_textattack"] == first[method]["seconds_textattack"]
