"""The comparison with TextAttack: the problem it sets, our side of it, and the figures."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import nltk
import pytest
import torch
from torch import nn

import textattack_problem
import vs_textattack
from classifier_network import Classifier
from parity import DETERMINISTIC, RANDOM
from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.constraints.words import StopWords
from robustparse.errors import InputError
from textattack_own import TimedVictim, measured
from textattack_problem import kept_texts, read_texts, stop_words, substitutes, train
from vs_textattack import METHODS, PEER_HOME, amount, figures_of, peer_is_there

ROOT = Path(__file__).parents[2]
GOOD, BAD, NEUTRAL = ("fine", "lovely"), ("awful", "dull"), ("film", "plot", "scene", "tale")
SYNONYMS = {
    **{word: ["weak", *sorted(set(GOOD) - {word})] for word in GOOD},
    **{word: ["weak", *sorted(set(BAD) - {word})] for word in BAD},
    "film": ["movie"],
}


def corpus(folder: Path) -> Path:
    """Four-word reviews; every word of them is in both files."""
    lines = [
        f"the {noun} is {word} {word} .\t{label}\n"
        for label, words in (("1", GOOD), ("0", BAD))
        for noun, word in product(NEUTRAL, words)
    ]
    for name, count in (("train.tsv", 8), ("test.tsv", 1)):
        (folder / name).write_text("".join(lines) * count, encoding="utf-8")
    return folder


class Table(CandidateGenerator):
    """Proposes what it is told to."""

    def __init__(self, table: dict[str, list[str]]) -> None:
        self.table = table

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        return [self.table.get(slot.word, []) for slot in slots]

    def fingerprint(self) -> str:
        return str(self.table)

    def draws(self) -> bool:
        return False

    def is_model(self) -> bool:
        return False


def test_texts_have_the_same_words_to_both_sides(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text('"It\'s" well-made -- a 2nd\t(try)! \t1\n\n... !\t0\nbad\t0\n')
    texts = read_texts(tmp_path / "t.tsv")
    assert [text.sentence.words for text in texts] == [
        ("it's", "well-made", "a", "2nd", "try"),
        ("bad",),
    ]
    assert [(text.id, text.gold) for text in texts] == [(0, "1"), (3, "0")]
    assert len(read_texts(tmp_path / "t.tsv", 1)) == 1
    textattack_problem.keep_texts(tmp_path / "kept.jsonl", texts)
    assert kept_texts(tmp_path / "kept.jsonl") == texts


@pytest.mark.parametrize("line", ["no label", "text\tpositive"])
def test_a_line_of_another_form_is_an_error(tmp_path: Path, line: str) -> None:
    (tmp_path / "t.tsv").write_text(f"fine\t1\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"t\.tsv:2: found '"):
        read_texts(tmp_path / "t.tsv")


def test_substitutes_are_single_words_in_the_order_of_the_alphabet(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("a big big dog\t1\n", encoding="utf-8")
    proposed = {
        "big": ["Large", "great big", "big", "huge", "large", "e.g.", "bulky", "vast"],
        "dog": ["dog's-body's", "-"],
        "a": ["BIG", "a", "A"],
        "cat": ["lion"],
    }
    table = substitutes(read_texts(tmp_path / "t.tsv"), Table(proposed), most=3)
    assert table == {"a": ["big"], "big": ["bulky", "huge", "large"], "dog": ["dog's-body's"]}


def test_stop_words_of_the_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stop.txt").write_text("the\nof\n", encoding="utf-8")
    (tmp_path / "t.tsv").write_text("the end the dog\t1\n", encoding="utf-8")
    monkeypatch.setattr(
        textattack_problem, "StopWords", lambda: StopWords(str(tmp_path / "stop.txt"))
    )
    assert stop_words(read_texts(tmp_path / "t.tsv")) == ["the"]


def test_two_passes_are_one_packed_bidirectional_lstm() -> None:
    rng = torch.Generator().manual_seed(0)
    weights = textattack_problem._initial(9, 3, 7, rng)
    network = Classifier(weights, "lstm").double()
    names = network.weights()
    assert set(names) == set(weights)
    assert all(torch.equal(names[name].float(), weights[name]) for name in weights)
    reference = nn.LSTM(7, 7, batch_first=True, bidirectional=True).double()
    reference.load_state_dict({n[4:]: names[n] for n in names if n.startswith("rnn.")})
    ids = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0], [2, 0, 0, 0]])
    lengths = torch.tensor([4, 2, 1])
    packed = nn.utils.rnn.pack_padded_sequence(network.emb(ids), lengths, batch_first=True)
    states, _ = nn.utils.rnn.pad_packed_sequence(
        reference(packed)[0], batch_first=True, padding_value=float("-inf")
    )
    expected = network.out(states.amax(1))
    torch.testing.assert_close(network(network.emb(ids), lengths), expected)


def test_training_learns_and_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textattack_problem, "EPOCHS", 12)
    texts = read_texts(corpus(tmp_path) / "train.tsv")
    (network, vocabulary), (again, _) = train(texts, 0, 16), train(texts, 0, 16)
    weights, others = network.weights(), train(texts, 1, 16)[0].weights()
    assert all(torch.equal(weights[name], value) for name, value in again.weights().items())
    assert not torch.equal(weights["out.weight"], others["out.weight"])
    ids = torch.tensor([[vocabulary[word] for word in text.sentence.words] for text in texts])
    guesses = network(network.emb(ids), torch.full((len(texts),), ids.shape[1])).argmax(-1)
    assert guesses.tolist() == [int(text.gold) for text in texts]


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TimedVictim]:
    """A folder with texts, substitutes and stop words, and a victim that was trained there."""
    folder = corpus(tmp_path_factory.mktemp("problem"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(textattack_problem, "EPOCHS", 12)
        victim = TimedVictim(*train(read_texts(folder / "train.tsv"), 0, 16))
    (folder / "synonyms.json").write_text(json.dumps(SYNONYMS), encoding="utf-8")
    (folder / "stop.txt").write_text("the\nis\n", encoding="utf-8")
    return folder, victim


def our_side(problem: tuple[Path, TimedVictim], method: str, seed: int, rounds: int) -> dict:
    folder, victim = problem
    options = argparse.Namespace(
        synonyms=folder / "synonyms.json", stopwords=folder / "stop.txt", seed=seed, rounds=rounds
    )
    texts = read_texts(folder / "test.tsv")
    return measured({**DETERMINISTIC, **RANDOM}[method], texts, victim, options)


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


def row(index: int, kind: str, queries: int) -> dict:
    return {"index": index, "kind": kind, "queries": queries, "unique_texts": 1, "changed": []}


SPENT = {"seconds": 10.0, "cpu_seconds": 4.0, "victim_seconds": 5.0}
OURS = {"seconds": 2.0, "cpu_seconds": 1.0, "victim_seconds": 1.5}


def test_figures_of_one_method() -> None:
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
def test_both_sides_agree_and_a_run_goes_on(tmp_path: Path) -> None:
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
