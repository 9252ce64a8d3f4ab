"""Means over the sentences that all attacks change with success, by hand."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shared_successes
from example_records import record
from shared_successes import quality

PERPLEXITIES = {"a dog barks": 10.0, "a cat barks": 14.0, "a xylo barks": 1000.0}
SUMMARY = {
    **{"task": "dependency", "attack": "by hand", "n_sentences": 3, "n_words": 9},
    **{"clean": {}, "attacked": {}, "success_rate": None, "edits_per_sentence": None},
    "perplexity": {"clean": None, "attacked": None},
}


class Model:
    """Knows perplexities by heart, and the share of words that two texts have in common."""

    def perplexities(self, texts: Sequence[tuple[str, ...]]) -> Any:
        return np.array([PERPLEXITIES[" ".join(words)] for words in texts])

    def between(self, texts: Sequence[str], others: Sequence[str]) -> Any:
        both = [({*a.split()}, {*b.split()}) for a, b in zip(texts, others, strict=True)]
        return np.array([len(a & b) / len(a) for a, b in both])


def attacked(folder: Path, *successes: tuple[int, str]) -> Path:
    """A folder of an attack on three equal sentences, of which some are changed with success."""
    folder.mkdir()
    after = dict(successes)
    lines = [record(id_, "a dog barks", after.get(id_), success=id_ in after) for id_ in (4, 7, 9)]
    (folder / "examples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "summary.json").write_text(json.dumps(SUMMARY))
    return folder


def test_sentences_that_one_attack_does_not_change_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_successes, "LEAST", 1)
    folders = {
        "greedy": attacked(tmp_path / "greedy", (4, "a cat barks"), (7, "a cat barks")),
        "beam": attacked(tmp_path / "beam", (7, "a xylo barks"), (9, "a cat barks")),
    }
    model: Any = Model()
    of = {"sentences": 1, "changed": 100 / 3, "similarity": 2 / 3}
    found = quality(folders, model, model)
    assert found["greedy"] == {**of, "rise": 100 * (14.0 / 10.0 - 1)}
    assert found["beam"] == {**of, "rise": 100 * (1000.0 / 10.0 - 1)}


def test_no_sentence_is_changed_by_all(tmp_path: Path) -> None:
    folders = {
        "one": attacked(tmp_path / "one", (4, "a cat barks")),
        "no": attacked(tmp_path / "no"),
    }
    model: Any = Model()
    nothing = {"sentences": 0, "changed": None, "similarity": None, "rise": None}
    assert quality(folders, model, model) == {"one": nothing, "no": nothing}
