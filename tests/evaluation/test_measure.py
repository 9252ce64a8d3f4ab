"""Measures by models: means by hand, written into the folder, kept while its examples stay."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from pair_folders import SENTENCES, write_folder

from robustparse.attacks.constraints.vector_cosine import WordVectorCosine
from robustparse.errors import InputError
from robustparse.evaluation.finished_folders import read_finished
from robustparse.evaluation.measure import measure

PERPLEXITIES = {
    "a dog barks": 10.0,
    "a cat barks": 14.0,
    "the old dogs bark": 20.0,
    "the new cats bark": 50.0,
    "dogs bark": 30.0,
    "bees bark": 33.0,
    "cats sleep": 8.0,
    "a xylo barks": 1000.0,
}


class Model:
    """A language model that knows its perplexities by heart."""

    model, kind = "by heart", "causal"

    def __init__(self) -> None:
        self.read: list[tuple[str, ...]] = []

    def perplexities(self, texts: Sequence[tuple[str, ...]]) -> NDArray[np.float64]:
        self.read += texts
        return np.array([PERPLEXITIES[" ".join(words)] for words in texts])


class Encoder:
    """A sentence encoder: the share of words in common."""

    model, measure = "shares", "cosine"

    def between(self, texts: Sequence[str], others: Sequence[str]) -> NDArray[np.float64]:
        both = ((set(a.split()), set(b.split())) for a, b in zip(texts, others, strict=True))
        return np.array([len(a & b) / len(a) for a, b in both])


@pytest.fixture
def vectors(tmp_path: Path) -> WordVectorCosine:
    table = "dog 1 0\ncat 0.6 0.8\nold 1 0\nnew -1 0\ndogs 3 0\ncats 3 4\nbees 0 1\n"
    (tmp_path / "vectors.txt").write_text(table)
    return WordVectorCosine(str(tmp_path / "vectors.txt"))


def summary(folder: Path) -> dict:
    return json.loads((folder / "summary.json").read_text())


def test_perplexity(tmp_path):
    folder, model = write_folder(tmp_path / "out"), Model()
    seen: list[tuple[int, int]] = []
    found = measure(folder, model, on_texts=lambda *progress: seen.append(progress))
    assert sorted(map(" ".join, model.read)) == sorted(PERPLEXITIES)  # each text once
    assert seen == [(8, 8)]
    assert found["perplexity"] == {
        "model": "by heart",
        "kind": "causal",
        "all": {
            "sentences": 5,
            "clean": {"mean": 78 / 5, "median": 10.0},
            "attacked": {"mean": 1105 / 5, "median": 33.0},
        },
        "changed": {
            "sentences": 4,
            "clean": {"mean": 70 / 4, "median": 15.0},
            "attacked": {"mean": 1097 / 4, "median": 83 / 2},
        },
        "success": {
            "sentences": 2,
            "clean": {"mean": 15.0, "median": 15.0},
            "attacked": {"mean": 32.0, "median": 32.0},
        },
    }
    assert summary(folder)["perplexity"] == {
        "clean": 78 / 5,
        "attacked": 1105 / 5,
        "model": "by heart",
        "kind": "causal",
    }
    assert summary(folder)["task"] == "dependency"
    assert summary(folder)["word_similarity"] is None
    assert json.loads((folder / "quality.json").read_text()) == found


def test_words_alike(tmp_path, vectors):
    folder = write_folder(tmp_path / "out")
    found = measure(folder, vectors=vectors)["word_similarity"]
    # dog cat .6, old new -1, dogs cats .6, dogs bees 0; xylo has no vector.
    assert found["changed"]["words"] == 5
    assert found["changed"]["without_vector"] == 1
    assert found["changed"]["mean"] == pytest.approx(0.05)
    assert found["changed"]["median"] == pytest.approx(0.3)
    assert (found["success"]["words"], found["success"]["without_vector"]) == (3, 0)
    assert found["success"]["mean"] == pytest.approx(0.2 / 3)
    short = summary(folder)["word_similarity"]
    assert short["changed"] == found["changed"]["mean"]
    assert short["vectors"] == vectors.vectors


def test_sentences_alike(tmp_path):
    folder = write_folder(tmp_path / "out")
    found = measure(folder, encoder=Encoder())["sentence_similarity"]
    values = [2 / 3, 2 / 4, 1 / 2, 2 / 3]
    assert found["changed"]["sentences"] == 4
    assert found["changed"]["mean"] == pytest.approx(np.mean(values))
    assert found["success"]["mean"] == pytest.approx(np.mean(values[:2]))
    assert summary(folder)["sentence_similarity"]["model"] == "shares"


def test_measures_of_the_same_examples_stay(tmp_path, vectors):
    folder = write_folder(tmp_path / "out")
    measure(folder, Model())
    found = measure(folder, vectors=vectors)
    assert found["perplexity"]["all"]["sentences"] == 5
    assert summary(folder)["perplexity"]["clean"] == 78 / 5
    assert summary(folder)["word_similarity"] is not None
    write_folder(folder, SENTENCES[:2])  # another attack
    found = measure(folder, vectors=vectors)
    assert "perplexity" not in found
    assert summary(folder)["perplexity"] == {"clean": None, "attacked": None}


def test_a_finished_measure_stays_when_a_later_one_fails(tmp_path, vectors):
    folder, model = write_folder(tmp_path / "out"), Model()
    with pytest.raises(InputError, match="no such file"):
        measure(folder, model, WordVectorCosine(str(tmp_path / "none.txt")), Encoder())
    assert not model.read  # what takes the longest comes last
    assert not (folder / "quality.json").exists()

    def stopped(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(folder, model, vectors, Encoder(), stopped)
    held = json.loads((folder / "quality.json").read_text())
    assert {"word_similarity", "sentence_similarity"} < held.keys()
    assert "perplexity" not in held
    assert summary(folder)["word_similarity"]["changed"] is not None
    assert summary(folder)["perplexity"] == {"clean": None, "attacked": None}


def test_nothing_changed_gives_no_values(tmp_path, vectors):
    folder = write_folder(tmp_path / "out", SENTENCES[3:4])
    found = measure(folder, Model(), vectors, Encoder())
    none = {"mean": None, "median": None}
    assert found["perplexity"]["success"]["attacked"] == none
    assert found["word_similarity"]["changed"] == {"words": 0, "without_vector": 0, **none}
    assert found["sentence_similarity"]["changed"] == {"sentences": 0, **none}


def test_folders_that_are_no_finished_attack(tmp_path):
    def error(folder: Path) -> InputError:
        with pytest.raises(InputError) as raised:
            measure(folder, Model())
        return raised.value

    assert error(tmp_path / "none").found == "no such folder"
    folder = write_folder(tmp_path / "out")
    (folder / "quality.json").write_text("[]")
    found = error(folder)
    assert (found.path, found.remedy) == (str(folder / "quality.json"), "delete the file")
    digest = hashlib.sha256((folder / "examples.jsonl").read_bytes()).hexdigest()
    for held in ({"perplexity": {"model": "m"}}, {"word_similarity": [1]}, {"perplexity": "p"}):
        (folder / "quality.json").write_text(json.dumps({"examples": digest, **held}))
        assert error(folder).found.startswith("not what `measure` writes: ")
    (folder / "summary.json").write_text("{\n nothing")
    found = error(folder)
    assert (found.path, found.line) == (str(folder / "summary.json"), 2)
    (folder / "summary.json").write_text("3")
    found = error(folder)
    assert (found.path, found.line) == (str(folder / "summary.json"), None)
    for name in ("summary.json", "examples.jsonl"):
        folder = write_folder(tmp_path / name)
        (folder / name).unlink()
        found = error(folder)
        assert (found.path, found.found) == (str(folder / name), "no such file")


@pytest.mark.parametrize(
    ("files", "command"),
    [
        (("summary.json", "certificates.jsonl"), "certify"),
        (("transfer.json",), "transfer"),
        (("scores.json",), "evaluate"),
        (("config.yaml",), "fit"),
        (("summary.json", "examples.jsonl", "config.yaml", "scores.json"), None),
    ],
)
def test_a_folder_of_another_command_is_named_by_it(tmp_path, files, command):
    folder = write_folder(tmp_path)
    for name in ("summary.json", "examples.jsonl"):
        if name not in files:
            (folder / name).unlink()
    for name in files:
        (folder / name).touch()
    if command is None:
        assert read_finished(folder)[1]
    else:
        with pytest.raises(InputError) as error:
            read_finished(folder)
        assert (error.value.path, error.value.line) == (str(folder), None)
        assert command in error.value.found


@pytest.mark.parametrize(
    "change",
    [
        {"tokens": "a dog"},
        {"tokens": ["a", 3]},
        {"adversarial_tokens": ["a"]},
        {"adversarial_tokens": None},
        {"edited": [0]},
        {"success": "yes"},
    ],
)
def test_lines_that_are_not_an_attacks(tmp_path, change):
    folder = write_folder(tmp_path)
    lines = (folder / "examples.jsonl").read_text().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), **change})
    (folder / "examples.jsonl").write_text("\n".join(lines) + "\n")
    path = folder / "examples.jsonl"
    with pytest.raises(InputError) as error:
        read_finished(folder)
    assert (error.value.path, error.value.line) == (str(path), 2)
