"""Figures beyond the scores: by hand on small lines, None where something is missing."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from robustparse.evaluation.attack_details import AttackDetails
from robustparse.tagsets import class_of
from robustparse.tasks.classification import CLASSIFICATION
from robustparse.tasks.dependency import DEPENDENCY
from robustparse.tasks.task import Task


def breakdown_of(task: Task, lines: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """What the summary of an attack says."""
    details = AttackDetails(task)
    for line in lines:
        details.add(line)
    return details.summary()


def breakdown(lines: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """What the summary of an attack on a parser says."""
    return breakdown_of(DEPENDENCY, lines)


def line(
    id_: int, before: str, after: str, success: bool, clean: int, attacked: int, **more: Any
) -> dict[str, Any]:
    tokens, new = before.split(), after.split()
    tree = {"heads": list(range(len(tokens))), "labels": ["dep"] * len(tokens)}
    return {
        "id": id_,
        "tokens": tokens,
        "adversarial_tokens": new,
        "edited": [i for i, (a, b) in enumerate(zip(tokens, new, strict=True)) if a != b],
        "gold": tree,
        "clean": {**tree, "correct_heads": clean, "correct_labels": clean - 1},
        "attacked": {**tree, "correct_heads": attacked, "correct_labels": 0},
        "counted": len(tokens),
        "success": success,
        "queries": {"charged": 10 * id_, "unique": 9 * id_},
        "skipped": False,
        "targeted": True,
        "edited_tags": [],
        "candidates": {"slots": 0, "sums": {}},
        "unseen": None,
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
    found = breakdown(LINES)
    assert found["edits_per_success"] == 4 / 3
    assert found["perturbed_words"] == pytest.approx(100 * (1 / 3 + 2 / 4 + 1 / 2) / 3)
    assert breakdown(LINES[::-1])["perturbed_words"] == found["perturbed_words"]
    assert found["queries_per_success"] == {"charged": 80 / 3, "unique": 24.0}
    found = breakdown(LINES[2:4])
    assert found["edits_per_success"] is found["perturbed_words"] is None
    assert found["queries_per_success"] == {"charged": None, "unique": None}


def test_success_within_a_number_of_queries_and_the_queries_of_failures():
    skipped = line(9, "of these", "of these", False, 2, 2, skipped=True)
    found = breakdown([*LINES, skipped])  # successes take 10, 20 and 50, failures 30 and 40
    assert found["queries_per_failure"] == {"charged": 35.0, "unique": 31.5}
    assert found["success_within"] == {"10": 20.0, "25": 40.0, "50": 60.0}
    assert found["success_by_class"] is None
    nothing = breakdown([skipped])
    assert nothing["queries_per_failure"] == {"charged": None, "unique": None}
    assert nothing["success_within"] is None
    (many,) = {one["id"]: one for one in [line(30, "a b", "a c", False, 1, 1)]}.values()
    assert breakdown([*LINES, many])["success_within"]["500"] == 50.0


def test_success_by_class():
    def judged(id_: int, gold: str, success: bool, **more: Any) -> dict[str, Any]:
        label = {"label": gold, "correct": 1}
        made = line(id_, "a dog", "a cat", success, 1, 0, **more)
        return {**made, "gold": label, "clean": label, "attacked": label, "counted": 1}

    lines = [judged(1, "b", True), judged(2, "a", False), judged(3, "b", False)]
    lines.append(judged(4, "a", False, skipped=True))
    found = breakdown_of(CLASSIFICATION, lines)["success_by_class"]
    assert found == {
        "a": {"sentences": 1, "success_rate": 0.0},
        "b": {"sentences": 2, "success_rate": 50.0},
    }


def test_strict_success_leaves_out_what_a_changed_word_is_part_of():
    def parsed(id_: int, heads: list[int], labels: str = "dep dep dep", **more: Any) -> dict:
        made = line(id_, "a dog barks", "a cat barks", True, 0, 0, **more)
        return {**made, "attacked": {"heads": heads, "labels": labels.split()} | _SUMS}

    # Gold and clean heads are 0 1 2; the changed word, 2, is an end of the second and third arc.
    lost, kept = parsed(1, [3, 1, 2]), parsed(2, [0, 3, 1])
    moved = parsed(3, [2, 1, 2])  # its head is now the changed word
    label = parsed(4, [0, 1, 2], "x dep dep")
    skipped = parsed(5, [3, 1, 2], skipped=True)
    uncounted = parsed(6, [3, 1, 2], uncounted=[0])
    # The first word's head was the changed word only in gold, or only before the attack.
    gold, before = (
        {**parsed(id_, [3, 1, 2]), which: {"heads": [2, 1, 2], "labels": ["dep"] * 3} | _SUMS}
        for id_, which in ((7, "gold"), (8, "clean"))
    )
    right = {"heads": [0, 1, 2], "labels": ["dep"] * 3} | _SUMS
    gold["clean"] = {**right, "heads": [2, 1, 2]}
    lines = [lost, kept, moved, label, skipped, uncounted, gold, before]
    assert breakdown(lines)["strict_success_rate"] == {"uas": 100 * 1 / 7, "las": 100 * 2 / 7}
    assert breakdown([skipped])["strict_success_rate"] is None


_SUMS = {"correct_heads": 0, "correct_labels": 0}


def test_vetoes_by_class():
    def judged(noun: tuple[int, int, int], verb: tuple[int, int, int]) -> dict:
        stages = ("judged", "PerplexityRise", "ReferenceParsers")
        both = [dict(zip(stages, counts, strict=True)) for counts in (noun, verb)]
        whole = {stage: both[0][stage] + both[1][stage] for stage in stages}
        by_tag = {"NNS": both[0], "MD": both[1]}
        found = {"slots": 2, "sums": {"all": {"proposed": 9, **whole}}, "judged_by_tag": by_tag}
        return line(1, "dogs may bark", "cats may bark", True, 3, 1, candidates=found)

    lines = [judged((8, 4, 1), (2, 0, 0)), judged((4, 2, 2), (0, 0, 0)), LINES[3]]
    assert breakdown(lines)["candidates"]["vetoed"] == {
        "PerplexityRise": {
            "all": {"judged": 14, "percent": 100 * 8 / 14},
            "NN": {"judged": 12, "percent": 50.0},
            "other": {"judged": 2, "percent": 100.0},
        },
        "ReferenceParsers": {
            "all": {"judged": 6, "percent": 50.0},
            "NN": {"judged": 6, "percent": 50.0},
            "other": {"judged": 0, "percent": None},
        },
    }
    assert "vetoed" not in breakdown(LINES)["candidates"]


def with_tags(lines: Iterable[dict[str, Any]], tags: dict[int, tuple[str, ...]]) -> list[dict]:
    """Records with the tags of their changed words, none for a sentence without tags."""
    return [
        {**one, "edited_tags": [tags[one["id"]][at] for at in one["edited"] if tags[one["id"]]]}
        for one in lines
    ]


def test_by_tag():
    tagged = with_tags(LINES, TAGS)
    assert breakdown(tagged)["by_tag"] == {
        "JJ": row(0, 1, None, None, None),
        # Sentences 1 and 3: heads 5 and 3 of 5, labels 3 and 0.
        "NN": row(2, 3, 50.0, 100 * 2 / 5, 100 * 3 / 5),
        "IN": row(1, 1, 100.0, 50.0, 50.0),
        "mixed": row(1, None, 100.0, 25.0, 75.0),
    }
    assert breakdown(tagged[3:4])["by_tag"] == {}
    # An unchanged sentence needs no tags.
    assert breakdown(with_tags(LINES, {**TAGS, 4: ()}))["by_tag"] is not None
    assert breakdown(with_tags(LINES, {**TAGS, 3: ()}))["by_tag"] is None
    assert breakdown([*tagged, LINES[0]])["by_tag"] is None


def test_by_relation():
    labels = {
        1: ["det", "nsubj:pass", "root"],
        2: ["amod", "nsubj", "root", "advmod"],
        3: ["nsubj", "root"],
        4: ["case", "root"],
        5: ["case", "root"],
    }
    lines = [{**one, "gold": {**one["gold"], "labels": labels[one["id"]]}} for one in LINES]
    found = breakdown(lines)["by_relation"]
    assert found == {
        # Sentences 1 and 3, with the subtype and without: heads 5 and 3 of 5, labels 3 and 0.
        "nsubj": row(2, 3, 50.0, 100 * 2 / 5, 100 * 3 / 5),
        "amod": row(0, 1, None, None, None),
        "case": row(1, 1, 100.0, 50.0, 50.0),
        "mixed": row(1, None, 100.0, 25.0, 75.0),
    }
    assert [*found] == ["nsubj", "amod", "case", "mixed"]  # the most frequent first
    answers = {which: {"label": "good", "correct": 1} for which in ("gold", "clean", "attacked")}
    texts = [{**one, **answers, "counted": 1} for one in LINES]
    assert breakdown_of(CLASSIFICATION, texts)["by_relation"] is None


def row(sentences: int, changed: int | None, *rest: float | None) -> dict[str, float | None]:
    names = ("sentences", "changed", "success_rate", "uas_drop", "las_drop")
    return dict(zip(names, (sentences, changed, *rest), strict=True))


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        *(("JJS", "JJ"), ("NNP", "NN"), ("RBR", "RB"), ("VBZ", "VB"), ("IN", "IN"), ("WRB", "")),
        *(("ADJ", "JJ"), ("PROPN", "NN"), ("ADV", "RB"), ("VERB", "VB"), ("ADP", "IN"), ("X", "")),
    ],
)
def test_classes_of_tags(tag, name):
    assert class_of(tag) == name


def test_unseen_words():
    counts = [
        ((0, 1), (1, 1)),
        ((1, 1), (2, 0)),
        ((0, 0), (1, 1)),
        ((0, 0), (0, 0)),
        ((1, 0), (0, 1)),
    ]
    lines = [
        {**one, "unseen": {"oov": list(oov), "oot": list(oot)}}
        for one, (oov, oot) in zip(LINES, counts, strict=True)
    ]
    assert breakdown(lines)["unseen"] == {
        "changed": 5,
        "oov": {"before": 2, "after": 2},
        "oot": {"before": 4, "after": 3},
    }
    # A parser that reads only characters has no vocabulary.
    spelling = [{**one, "unseen": {**one["unseen"], "oov": None}} for one in lines]
    found = breakdown(spelling)["unseen"]
    assert found["oov"] == {"before": None, "after": None}
    assert found["oot"] == {"before": 4, "after": 3}
    assert breakdown([*lines, {**lines[0], "unseen": None}])["unseen"] is None
    assert breakdown([*lines, LINES[0]])["unseen"] is None


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
    assert breakdown(lines)["candidates"] == expected
    assert breakdown(lines[::-1])["candidates"] == expected
    # Zeros are kept; a mean over nothing is none.
    assert breakdown(lines[1:2])["candidates"]["sums"]["all"] == {"proposed": 0, "Tag": 0}
    assert breakdown(lines[1:2])["candidates"]["means"]["all"] == {"proposed": None, "Tag": None}
    assert breakdown([])["candidates"] == {"slots": 0, "sums": {}, "means": {}}


def test_all_of_it_is_json_and_order_does_not_matter():
    counted = [
        {
            **one,
            "candidates": {"slots": 1, "sums": {"all": {"proposed": one["id"]}}},
            "unseen": {"oov": [0, 0], "oot": [one["id"], 0]},
        }
        for one in with_tags(LINES, TAGS)
    ]
    found = breakdown(counted)
    assert set(found) == {
        *("strict_success_rate", "edits_per_success", "queries_per_success"),
        *("perturbed_words",),
        *("queries_per_failure", "success_by_class", "success_within"),
        *("candidates", "unseen", "by_tag", "by_relation"),
        *("perplexity", "word_similarity", "sentence_similarity"),
    }
    json.dumps(found, allow_nan=False)
    assert breakdown(iter(counted[::-1])) == found
    json.dumps(breakdown([]), allow_nan=False)
