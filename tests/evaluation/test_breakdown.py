"""Figures beyond the scores: by hand on small lines, None where something is missing."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robustparse.evaluation.breakdown import (
    breakdown,
    by_tag,
    candidates_per_slot,
    means_over_successes,
    tag_class,
    unseen_words,
)
from robustparse.types import DependencyTree, Example, Sentence


class Knowing:
    """A victim that knows words of two lists; of the protocol, tests need no more."""

    unknown = 0
    training_tags: Mapping[str, str] = {}

    def __init__(self, embedded: list[str] | None, seen: list[str]) -> None:
        self._embedded, self._seen = embedded, seen

    def embedded(self, words: list[str]) -> NDArray[np.bool_] | None:
        if self._embedded is None:
            return None
        return np.array([word in self._embedded for word in words], np.bool_)

    def seen_in_training(self, words: list[str]) -> NDArray[np.bool_]:
        return np.array([word in self._seen for word in words], np.bool_)

    def intern(self): ...
    def intern_tags(self): ...
    def label_ids(self): ...
    def label_names(self): ...
    def parse(self): ...
    def evaluating(self): ...


def line(
    id_: int, before: str, after: str, success: bool, clean: int, attacked: int, **more: Any
) -> dict[str, Any]:
    tokens, new = before.split(), after.split()
    return {
        "id": id_,
        "tokens": tokens,
        "adversarial_tokens": new,
        "edited": [i for i, (a, b) in enumerate(zip(tokens, new, strict=True)) if a != b],
        "clean": {"correct_heads": clean, "correct_labels": clean - 1},
        "attacked": {"correct_heads": attacked, "correct_labels": 0},
        "counted": len(tokens),
        "success": success,
        "queries": {"charged": 10 * id_, "unique": 9 * id_},
        **more,
    }


LINES = [
    line(1, "a dog barks", "a cat barks", True, 3, 1),
    line(2, "old dogs bark loudly", "new cats bark loudly", True, 4, 3),
    line(3, "dogs bark", "bees bark", False, 2, 2),
    line(4, "of dogs", "of dogs", False, 1, 1),
    line(5, "of these", "in these", True, 2, 1),
]
TAGS = {
    1: ("DT", "NN", "VBZ"),
    2: ("JJ", "NNS", "VBP", "RB"),
    3: ("NNS", "VBP"),
    4: ("IN", "NNS"),
    5: ("IN", "DT"),
}


def test_means_over_successes():
    assert means_over_successes(LINES) == {
        "edits_per_success": 4 / 3,
        "queries_per_success": {"charged": 80 / 3, "unique": 24.0},
    }
    assert means_over_successes(LINES[2:4]) == {
        "edits_per_success": None,
        "queries_per_success": {"charged": None, "unique": None},
    }


def test_by_tag():
    assert by_tag(LINES, TAGS) == {
        "JJ": row(0, 1, None, None, None),
        # Sentences 1 and 3: heads 5 and 3 of 5, labels 3 and 0.
        "NN": row(2, 3, 50.0, 100 * 2 / 5, 100 * 3 / 5),
        "IN": row(1, 1, 100.0, 50.0, 50.0),
        "mixed": row(1, None, 100.0, 25.0, 75.0),
    }
    assert by_tag(LINES[3:4], TAGS) == {}
    assert by_tag(LINES, {**TAGS, 4: ()}) is not None  # an unchanged sentence needs no tags
    assert by_tag(LINES, {**TAGS, 3: ()}) is None


def row(sentences: int, changed: int | None, *rest: float | None) -> dict[str, float | None]:
    names = ("sentences", "changed", "success_rate", "uas_drop", "las_drop")
    return dict(zip(names, (sentences, changed, *rest), strict=True))


@pytest.mark.parametrize(
    ("tag", "name"),
    [("JJS", "JJ"), ("NNP", "NN"), ("RBR", "RB"), ("VBZ", "VB"), ("IN", "IN"), ("WRB", "other")],
)
def test_classes_of_tags(tag, name):
    assert tag_class(tag) == name


def test_unseen_words():
    # Changed: dog cat, old new, dogs cats, dogs bees, of in.
    victim = Knowing(["dog", "dogs", "old", "of", "in", "cats"], ["dogs", "of", "new"])
    assert unseen_words(LINES, victim) == {
        "changed": 5,
        "oov": {"before": 0, "after": 3},
        "oot": {"before": 2, "after": 4},
    }
    spelling = unseen_words(LINES, Knowing(None, []))
    assert spelling["oov"] == {"before": None, "after": None}
    assert spelling["oot"] == {"before": 5, "after": 5}
    assert unseen_words(LINES, object()) is None


def test_candidates_add_up():
    first = {
        "slots": 2,
        "sums": {"all": {"proposed": 5, "Tag": 1}, "MLM": {"proposed": 5, "Tag": 1}},
    }
    second = {
        "slots": 0,
        "sums": {"all": {"proposed": 0, "Tag": 0}, "MLM": {"proposed": 0, "Tag": 0}},
    }
    third = {
        "slots": 2,
        "sums": {"all": {"proposed": 1, "Tag": 0}, "MLM": {"proposed": 1, "Tag": 0}},
    }
    lines = [{**LINES[0], "candidates": one} for one in (first, second, third)]
    both = {"proposed": 6, "Tag": 1}
    means = {"proposed": 1.5, "Tag": 0.25}
    expected = {
        "slots": 4,
        "sums": {"all": both, "MLM": both},
        "means": {"all": means, "MLM": means},
    }
    assert candidates_per_slot(lines) == expected
    assert candidates_per_slot(lines[::-1]) == expected
    # Zeros are kept; a mean over nothing is none.
    assert candidates_per_slot(lines[1:2])["sums"]["all"] == {"proposed": 0, "Tag": 0}
    assert candidates_per_slot(lines[1:2])["means"]["all"] == {"proposed": None, "Tag": None}
    # Lines of an older version do not say.
    assert candidates_per_slot([*lines, LINES[0]]) is None


def test_all_of_it_is_json_and_order_does_not_matter():
    counted = [
        {**one, "candidates": {"slots": 1, "sums": {"all": {"proposed": one["id"]}}}}
        for one in LINES
    ]
    examples = [
        Example(
            one["id"],
            Sentence(tuple(one["tokens"]), xpos=TAGS[one["id"]]),
            DependencyTree((0,) * len(one["tokens"]), ("dep",) * len(one["tokens"])),
        )
        for one in counted
    ]
    found = breakdown(counted, examples, Knowing(["dog"], ["dog"]))
    assert set(found) == {
        *("edits_per_success", "queries_per_success", "candidates", "unseen", "by_tag"),
        *("perplexity", "word_similarity", "sentence_similarity"),
    }
    json.dumps(found, allow_nan=False)
    assert breakdown(counted[::-1], examples, Knowing(["dog"], ["dog"])) == found
