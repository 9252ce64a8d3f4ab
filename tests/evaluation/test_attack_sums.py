"""Sums over lines: exact by hand, the same however the lines are divided."""

import json
from typing import Any

import numpy as np
import pytest

from robustparse.attacks.results import AttackResult
from robustparse.evaluation.attack_sums import AttackSums
from robustparse.evaluation.example_records import example_record
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.types import DependencyTree, Example, Sentence

TASK = DEPENDENCY

# What the design promises of a line of examples.jsonl, and of the keys that follow from lines.
LINE = {"id", "tokens", "adversarial_tokens", "edited", "clean", "attacked", "success", "queries"}
SCORES = {
    "n_sentences",
    "n_skipped",
    "n_words",
    "clean",
    "attacked",
    "success_rate",
    "targeted",
    "edits_per_sentence",
    "edit_rate",
    "queries_per_sentence",
}


def result(*counted: bool) -> AttackResult:
    example = Example(
        3,
        Sentence(("Ein", "\u2028b", "!"), xpos=("DT", "NN", ".")),
        DependencyTree((2, 0, 2), ("det", "root", "punct")),
        "block",
    )
    return AttackResult(
        example=example,
        text=example.sentence,
        words=("Ein", "ü", "!"),
        read=("Ein", "ü", "!"),
        edited=(1,),
        clean=DependencyTree((2, 0, 1), ("det", "nsubj", "punct")),
        attacked=DependencyTree((2, 1, 1), ("root", "obj", "punct")),
        counted=counted,
        targeted=True,
        skipped=False,
        success=True,
        charged=7,
        unique=5,
        unseen={"oov": None, "oot": [0, 1]},
        candidates={"slots": 2, "sums": {"all": {"proposed": 9}, "Any": {"proposed": 9}}},
    )


def test_a_line_holds_the_sentence_both_parses_and_the_queries():
    line = example_record(TASK, result(True, True, False))
    extra = {
        "gold",
        "counted",
        "uncounted",
        "targeted",
        "skipped",
        "candidates",
        "unseen",
        "edited_tags",
    }
    assert set(line) == LINE | extra
    assert (
        json.loads(json.dumps(line))
        == line
        == {
            "id": 3,
            "tokens": ["Ein", "\u2028b", "!"],
            "adversarial_tokens": ["Ein", "ü", "!"],
            "edited": [1],
            "gold": {"heads": [2, 0, 2], "labels": ["det", "root", "punct"]},
            "clean": {
                "heads": [2, 0, 1],
                "labels": ["det", "nsubj", "punct"],
                "correct_heads": 2,
                "correct_labels": 1,
                "uas": 100.0,
                "las": 50.0,
            },
            "attacked": {
                "heads": [2, 1, 1],
                "labels": ["root", "obj", "punct"],
                "correct_heads": 1,
                "correct_labels": 0,
                "uas": 50.0,
                "las": 0.0,
            },
            "counted": 2,
            "uncounted": [2],
            "targeted": True,
            "skipped": False,
            "success": True,
            "queries": {"charged": 7, "unique": 5},
            "edited_tags": ["NN"],
            "unseen": {"oov": None, "oot": [0, 1]},
            "candidates": {"slots": 2, "sums": {"all": {"proposed": 9}, "Any": {"proposed": 9}}},
        }
    )


@pytest.mark.parametrize(
    ("counted", "scores"),
    [((False, False, False), [None] * 4), ((True, True, True), [66.6667, 33.3333, 33.3333, 0.0])],
)
def test_scores_have_four_decimals_or_are_none_where_no_word_counts(counted, scores):
    line = example_record(TASK, result(*counted))
    assert line["counted"] == sum(counted)
    names = [(which, name) for which in ("clean", "attacked") for name in ("uas", "las")]
    assert [line[which][name] for which, name in names] == scores


def lines(seed: int, count: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    made = []
    for id_ in range(count):
        words = int(rng.integers(1, 20))
        counted = int(rng.integers(0, words + 1))

        def parse(counted: int = counted) -> dict[str, int]:
            heads = int(rng.integers(0, counted + 1))
            return {"correct_heads": heads, "correct_labels": int(rng.integers(0, heads + 1))}

        made.append(
            {
                "id": id_,
                "tokens": ["w"] * words,
                "edited": list(range(int(rng.integers(0, words + 1)))),
                "clean": parse(),
                "attacked": parse(),
                "counted": counted,
                "targeted": True,
                "skipped": False,
                "success": bool(rng.integers(2)),
                "queries": {"charged": int(rng.integers(1, 99)), "unique": int(rng.integers(1, 9))},
            }
        )
    return made


def tally(some: list[dict[str, Any]]) -> AttackSums:
    return AttackSums(TASK).over(some)


def test_scores_by_hand():
    first = example_record(TASK, result(True, True, False))
    second = {**first, "edited": [], "success": False, "counted": 3, "tokens": ["a"] * 5}
    second["clean"] = second["attacked"] = {"correct_heads": 3, "correct_labels": 3}
    second["queries"] = {"charged": 1, "unique": 1}
    assert tally([first, second]).scores() == {
        "n_sentences": 2,
        "n_skipped": 0,
        "n_words": 8,
        "clean": {"uas": 100 * 5 / 5, "las": 100 * 4 / 5},
        "attacked": {"uas": 100 * 4 / 5, "las": 100 * 3 / 5},
        "success_rate": 50.0,
        "targeted": {"n_sentences": 2, "success_rate": 50.0},
        "edits_per_sentence": 0.5,
        "edit_rate": 100 / 8,
        "queries_per_sentence": {"charged": 4.0, "unique": 3.0},
    }


def test_sentences_in_which_the_goal_finds_nothing_are_told_apart():
    some = [
        {**line, "targeted": line["id"] < 4, "success": line["id"] == 1} for line in lines(2, 8)
    ]
    scores = tally(some).scores()
    assert scores["success_rate"] == 12.5
    assert scores["targeted"] == {"n_sentences": 4, "success_rate": 25.0}


def test_skipped_sentences_enter_neither_success_nor_queries():
    success, failure, skipped, untargeted = lines(3, 4)
    success.update(success=True, skipped=False, queries={"charged": 9, "unique": 7}, edited=[0])
    failure.update(success=False, skipped=False, queries={"charged": 4, "unique": 4}, edited=[])
    skipped.update(success=False, skipped=True, queries={"charged": 1, "unique": 1}, edited=[])
    untargeted.update(failure, targeted=False, queries={"charged": 2, "unique": 1})
    scores = tally([success, failure, skipped, untargeted]).scores()
    assert (scores["n_sentences"], scores["n_skipped"]) == (4, 1)
    assert scores["success_rate"] == pytest.approx(100 / 3)
    assert scores["targeted"] == {"n_sentences": 2, "success_rate": 50.0}
    assert scores["queries_per_sentence"] == {"charged": 5.0, "unique": 4.0}
    # Its parses and its words are part of the others.
    attached = tally([success, failure, {**skipped, "skipped": False}, untargeted]).scores()
    for key in ("n_words", "clean", "attacked", "edits_per_sentence", "edit_rate"):
        assert scores[key] == attached[key]


def test_nothing_but_skipped_sentences_gives_no_rates():
    some = [{**line, "skipped": True, "success": False} for line in lines(4, 3)]
    scores = tally(some).scores()
    assert (scores["n_skipped"], scores["success_rate"]) == (3, None)
    assert scores["targeted"] == {"n_sentences": 0, "success_rate": None}
    assert scores["queries_per_sentence"] == {"charged": None, "unique": None}
    json.dumps(scores, allow_nan=False)


@pytest.mark.parametrize("processes", [2, 3, 7])
def test_shards_added_up_equal_the_whole(processes):
    whole = lines(1, 50)
    shards = [tally(whole[rank::processes]) for rank in range(processes)]
    names = AttackSums.names(TASK)
    added = AttackSums(TASK)
    added.sums = {name: sum(shard.sums[name] for shard in shards) for name in names}
    assert added.scores() == tally(whole).scores()
    order = np.random.default_rng(0).permutation(50)
    assert tally([whole[index] for index in order]).scores() == added.scores()


def test_the_keys_are_those_of_the_summary():
    assert set(tally(lines(0, 3)).scores()) == SCORES
    assert set(AttackSums(TASK).scores()) == SCORES


def test_nothing_gives_no_values():
    scores = AttackSums(TASK).scores()
    assert json.loads(json.dumps(scores, allow_nan=False)) == {
        "n_sentences": 0,
        "n_skipped": 0,
        "n_words": 0,
        "clean": {"uas": None, "las": None},
        "attacked": {"uas": None, "las": None},
        "success_rate": None,
        "targeted": {"n_sentences": 0, "success_rate": None},
        "edits_per_sentence": None,
        "edit_rate": None,
        "queries_per_sentence": {"charged": None, "unique": None},
    }


def test_words_that_do_not_count_leave_scores_out_and_rates_in():
    line = {**lines(0, 1)[0], "counted": 0, "success": True}
    line["clean"] = line["attacked"] = {"correct_heads": 0, "correct_labels": 0}
    scores = tally([line]).scores()
    assert scores["clean"] == {"uas": None, "las": None}
    assert scores["success_rate"] == 100.0
    json.dumps(scores, allow_nan=False)
