"""Scores against a count by hand, sharding, and the three punctuation policies."""

import copy
import doctest
import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.pyplot import close
from torch import Tensor
from torchmetrics import MetricCollection
from torchmetrics.classification import MulticlassAccuracy

from robustparse import metrics
from robustparse.errors import InputError
from robustparse.grammars import exact_match
from robustparse.metrics import (
    AttachmentScore,
    ExactMatch,
    RobustAccuracy,
    counted_words,
    percent,
    tree_sums,
    unmatched_punctuation,
)
from robustparse.types import DependencyTree, Example, Sentence

Trees = tuple[Tensor, Tensor]


def random_answers(seed: int, sentences: int = 40) -> tuple[Trees, Trees, Tensor]:
    """Predicted and gold heads and labels, ``(sentences, 8)``, and the words that count."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, sentences)
    inside = np.arange(8) < lengths[:, None]
    gold = [rng.integers(0, most, (sentences, 8)) for most in (9, 5)]
    # Mostly right, so that whole sentences are; labels may be right where heads are not.
    preds = [np.where(rng.random((sentences, 8)) < 0.85, each, each + 1) for each in gold]
    counted = inside & (rng.random((sentences, 8)) < 0.9)
    counted[::9] = False  # punctuation only
    first, second = (tuple(map(torch.from_numpy, each)) for each in (preds, gold))
    return first, second, torch.from_numpy(counted)


def rows(answers: tuple[Trees, Trees, Tensor], chosen: Any) -> tuple[Trees, Trees, Tensor]:
    preds, target, counted = answers
    return (
        (preds[0][chosen], preds[1][chosen]),
        (target[0][chosen], target[1][chosen]),
        counted[chosen],
    )


def as_trees(trees: Trees, lengths: list[int]) -> list[DependencyTree]:
    return [
        DependencyTree(tuple(heads[:length]), tuple(map(str, labels[:length])))
        for heads, labels, length in zip(*(part.tolist() for part in trees), lengths, strict=True)
    ]


def naive(preds: Trees, target: Trees, counted: Tensor) -> dict[str, float]:
    words = sentences = right_heads = right_labels = complete_heads = complete_labels = 0
    for sentence in range(len(counted)):
        all_heads = all_labels = True
        for word in range(counted.shape[1]):
            if not counted[sentence, word]:
                continue
            words += 1
            head, label = (
                bool(preds[k][sentence, word] == target[k][sentence, word]) for k in (0, 1)
            )
            both = head and label
            right_heads += head
            right_labels += both
            all_heads &= head
            all_labels &= both
        if counted[sentence].any():
            sentences += 1
            complete_heads += all_heads
            complete_labels += all_labels
    return {
        "uas": 100 * right_heads / words,
        "las": 100 * right_labels / words,
        "ucm": 100 * complete_heads / sentences,
        "lcm": 100 * complete_labels / sentences,
    }


@pytest.mark.parametrize("seed", range(5))
def test_scores_equal_a_naive_count(seed):
    """Of tensors in batches of any size and order, of lists of trees, and one score at a time."""
    answers = random_answers(seed)
    expected = naive(*answers)
    assert 0 < expected["lcm"] < expected["ucm"] < 100
    order = torch.from_numpy(np.random.default_rng(seed).permutation(40))
    for size in (1, 7, 40):
        score = AttachmentScore()
        for start in range(0, 40, size):
            score.update(*rows(answers, order[start : start + size]))
        assert score.compute() == pytest.approx(expected, rel=1e-6)
    preds, target, counted = answers
    trees = [as_trees(each, [8] * 40) for each in (preds, target)]
    of_trees = AttachmentScore()
    of_trees.update(*trees, mask=counted)
    assert of_trees.compute() == score.compute()
    for name, value in score.compute().items():
        alone = AttachmentScore(name)
        assert alone(*answers) == value
        if name in ("uas", "ucm"):
            heads = AttachmentScore(name)
            heads.update(preds[0], target[0], counted)
            assert heads.compute() == value


def test_without_a_mask_all_words_with_a_gold_head_count():
    preds, target, _ = random_answers(2)
    lengths = [1 + row % 8 for row in range(40)]
    heads = target[0].clone()
    for row, length in enumerate(lengths):
        heads[row, length:] = -1
    tensors, trees = AttachmentScore(), AttachmentScore()
    tensors.update(preds, (heads, target[1]))
    trees.update(as_trees(preds, lengths), as_trees(target, lengths))
    assert tensors.compute() == trees.compute()
    assert int(tensors.counted) == sum(lengths)


def test_a_sentence_in_which_no_word_counts_is_neither_right_nor_wrong():
    score = AttachmentScore()
    nothing = torch.zeros(3, 2, dtype=torch.bool)
    zeros = torch.zeros(3, 2, dtype=torch.int64)
    score.update((zeros, zeros), (zeros, zeros), nothing)
    assert all(math.isnan(value) for value in score.compute().values())
    gold = torch.tensor([[1, 1], [0, 1]])
    score.update((torch.ones_like(gold), gold), (gold, gold))
    assert score.compute() == {"uas": 75.0, "las": 75.0, "ucm": 50.0, "lcm": 50.0}
    match = ExactMatch()
    match.update(zeros, zeros + torch.tensor([0, 1]), nothing)
    assert math.isnan(match.compute())


@pytest.mark.parametrize("cut", [0, 1, 13, 40])
def test_two_shards_summed_equal_the_whole(cut):
    answers = random_answers(7)
    versions = answers[0][0], answers[1][0][:, 0]
    for kind, given in (
        (AttachmentScore, lambda chosen: rows(answers, chosen)),
        (ExactMatch, lambda chosen: (answers[0][0][chosen], answers[1][0][chosen])),
        (RobustAccuracy, lambda chosen: [each[chosen] for each in versions]),
    ):
        whole, first, second = kind(), kind(), kind()
        whole.update(*given(slice(None)))
        first.update(*given(slice(cut)))
        second.update(*given(slice(cut, None)))
        # merge_state applies each state's own reduction, as gathering over processes does.
        first.merge_state(second)
        assert first.compute() == whole.compute()
        assert (kind.higher_is_better, kind.full_state_update) == (True, False)


def test_wide_padding_changes_nothing():
    preds, target, counted = random_answers(3)
    narrow, wide = AttachmentScore(), AttachmentScore()
    narrow.update(preds, target, counted)
    padded = [[torch.nn.functional.pad(part, (0, 5)) for part in each] for each in (preds, target)]
    wide.update(*map(tuple, padded), torch.nn.functional.pad(counted, (0, 5)))
    assert wide.compute() == narrow.compute()


def test_exact_match_and_robust_accuracy_equal_a_naive_count():
    rng = np.random.default_rng(0)
    gold = torch.from_numpy(rng.integers(0, 3, (30, 5)))
    preds = torch.where(torch.from_numpy(rng.random((30, 5)) < 0.8), gold, 2 - gold)
    mask = torch.from_numpy(rng.random((30, 5)) < 0.7)
    mask[:, 0] = True

    def scores_of(labels: Tensor) -> Tensor:
        return torch.nn.functional.one_hot(labels, 3).double().mT  # of classes, (30, 3, 5)

    def score_of(metric, *given):
        metric.update(*given)
        return float(metric.compute())

    def share(right: list[bool]) -> float:
        return pytest.approx(100 * sum(right) / len(right), rel=1e-6)

    whole = [row == other for row, other in zip(preds.tolist(), gold.tolist(), strict=True)]
    assert 0 < sum(whole) < 30
    masked = [
        all(p == g for p, g, m in zip(*row, strict=True) if m)
        for row in zip(preds.tolist(), gold.tolist(), mask.tolist(), strict=True)
    ]
    assert sum(masked) > sum(whole)
    for given in ((preds, gold), (scores_of(preds), gold), (preds.tolist(), gold.tolist())):
        assert score_of(ExactMatch(), *given) == share(whole)
    assert score_of(ExactMatch(), preds, gold, mask) == share(masked)
    accuracy = score_of(ExactMatch(), scores_of(preds)[..., 0], gold[:, 0])
    assert accuracy == share((preds[:, 0] == gold[:, 0]).tolist())
    labels = (preds[:, 1], gold[:, 1], mask[:, 1])
    assert score_of(ExactMatch(), *labels) == share((labels[0] == labels[1])[labels[2]].tolist())
    assert torch.isnan(ExactMatch()(preds[:0], gold[:0]))
    # The columns are versions of a text.
    label = gold[:, 0]
    preds = torch.where(preds == gold, label[:, None], 2 - label[:, None])
    robust = [set(row) == {own} for row, own in zip(preds.tolist(), label.tolist(), strict=True)]
    some = [
        [p for p, m in zip(*row, strict=True) if m]
        for row in zip(preds.tolist(), mask.tolist(), strict=True)
    ]
    fewer = [set(row) == {own} for row, own in zip(some, label.tolist(), strict=True)]
    assert 0 < sum(robust) < sum(fewer)
    for given in ((preds, label), (scores_of(preds), label), (preds.tolist(), label.tolist())):
        assert score_of(RobustAccuracy(), *given) == share(robust)
    assert score_of(RobustAccuracy(), preds, label, mask) == share(fewer)
    assert score_of(RobustAccuracy(), some, label.tolist()) == share(fewer)


def test_forms_that_mean_the_same_match():
    forms = (
        "( lambda $0 e ( and ( a:t $0 ) ( b:t $0 ) ) )",
        "( lambda $1 e ( and ( b:t $1 ) ( a:t $1 ) ) )",
    )
    equal = partial(exact_match, language="lambda")
    for kind, preds in ((ExactMatch, [forms[0], "( broken"]), (RobustAccuracy, [forms, ["("]])):
        score = kind(equal=equal)
        score.update(preds, [forms[1]] * 2)
        assert score.compute() == 50.0


@pytest.mark.parametrize("size", [3, 40])
def test_metrics_in_a_collection_are_drawn(size):
    preds, target, counted = random_answers(1)
    parses = MetricCollection({name: AttachmentScore(name) for name in ("uas", "las", "lcm")})
    answers = MetricCollection([ExactMatch(), MulticlassAccuracy(9, average="micro")])
    logits = torch.rand(40, 9, generator=torch.Generator().manual_seed(0))
    for start in range(0, 40, size):
        chosen = slice(start, start + size)
        parses.update(*rows((preds, target, counted), chosen))
        answers.update(logits[chosen], target[0][chosen, 0])
    expected = naive(preds, target, counted)
    assert parses.compute() == {name: pytest.approx(expected[name], rel=1e-6) for name in parses}
    values = answers.compute()
    assert 0 < values["ExactMatch"] == pytest.approx(100 * float(values["MulticlassAccuracy"]))
    clone = copy.deepcopy(parses)
    clone.reset()
    assert not clone["las"].counted
    for metric, values in ((parses["las"], None), (answers["ExactMatch"], [torch.tensor(9.0)] * 3)):
        figure, axes = metric.plot(values)
        assert isinstance(figure, Figure)
        assert axes.lines
        close(figure)
    every = AttachmentScore()
    every.update(preds, target, counted)
    assert len(every.plot(ax=axes)[1].lines) > 4


@pytest.mark.parametrize(
    ("metric", "preds", "target", "mask"),
    [
        (AttachmentScore(), torch.ones(2, 3), torch.ones(2, 3), None),  # LAS without labels
        (AttachmentScore("uas"), torch.ones(2, 3), torch.ones(2, 4), None),
        (AttachmentScore("uas"), torch.ones(2, 3), torch.ones(2, 3), torch.ones(3, 2)),
        (AttachmentScore(), [DependencyTree((0,), ("root",))], [], None),
        (AttachmentScore(), *([DependencyTree((0,) * n, ("a",) * n)] for n in (1, 2)), None),
        (AttachmentScore(), *[(np.ones((1, 2), np.int64), np.ones((1, 2), np.int64))] * 2, None),
        (AttachmentScore("uas"), [[2, 0]], [[2, 0]], None),
        (ExactMatch(), torch.ones(3, dtype=torch.int64), torch.ones(2), None),
        (ExactMatch(), ["a"], ["a", "b"], None),
        (ExactMatch(), "positive", "positive", None),
        (ExactMatch(), ["a", "b"], torch.ones(2), None),
        (RobustAccuracy(), torch.ones(3, 2, dtype=torch.int64), torch.ones(2), None),
        (RobustAccuracy(), [["a"]], ["a", "b"], None),
        (RobustAccuracy(), [["a"], []], ["a", "b"], None),
        (AttachmentScore("uas"), *[torch.ones(3, dtype=torch.int64)] * 2, None),
        (ExactMatch(), torch.rand(3), torch.ones(3, dtype=torch.int64), None),
        (ExactMatch(), ["a"], ["a"], [True]),
        (RobustAccuracy(), torch.rand(3, 2), torch.ones(3, dtype=torch.int64), None),
        (RobustAccuracy(), ["aa"], ["a"], None),
    ],
)
def test_answers_that_do_not_fit_are_refused(metric, preds, target, mask):
    with pytest.raises(InputError):
        metric.update(preds, target, mask)
    with pytest.raises(InputError) as error:
        AttachmentScore("f1")
    assert error.value.key == "AttachmentScore: score"


def test_a_part_of_nothing_is_not_a_number():
    assert math.isnan(percent(0, 0))
    assert percent(1, 8) == 12.5


def test_a_label_counts_only_with_its_head():
    gold = DependencyTree((2, 0, 2, 2), ("det", "root", "obj", "punct"))
    predicted = DependencyTree((2, 0, 1, 2), ("amod", "root", "obj", "punct"))
    empty = DependencyTree((), ())
    for tree, counted, expected in (
        (predicted, (1, 1, 1, 1), (4, 3, 2, 1, 0, 0)),
        (predicted, (1, 1, 1, 0), (3, 2, 1, 1, 0, 0)),
        (predicted, (1, 1, 0, 1), (3, 3, 2, 1, 1, 0)),
        (gold, (1, 1, 1, 1), (4, 4, 4, 1, 1, 1)),
        (gold, (0, 0, 0, 0), (0, 0, 0, 0, 0, 0)),
    ):
        sums = tree_sums(tree, gold, np.array(counted, dtype=np.bool_))
        assert tuple(sums.values()) == expected
    assert not any(tree_sums(empty, empty, np.zeros(0, dtype=np.bool_)).values())


# Form, Penn tag, counted under penn, counted under unicode.
TRAPS = [
    ("word", "NN", True, True),
    ("``", "``", False, True),  # two back-ticks are modifier symbols (Sk), no punctuation
    ("''", "''", False, False),
    ("$", "$", True, True),  # a currency symbol (Sc)
    ("%", "NN", True, False),
    ("&", "CC", True, False),
    ("#", "#", True, False),
    ("...", ":", False, False),
    ("--", ":", False, False),
    (",", ",", False, False),
    ("?!", ".", False, False),
    ("(", "-LRB-", True, False),
    ("-LRB-", "-LRB-", True, True),
    ("'s", "POS", True, True),
    ("*", "SYM", True, False),
    ("+", "SYM", True, True),
    (".com", "NN", True, True),
    ("«", "``", False, False),
    ("¿", ".", False, False),
]


def trap_sentence() -> Sentence:
    return Sentence(tuple(row[0] for row in TRAPS), (), tuple(row[1] for row in TRAPS))


def test_none_counts_every_word():
    assert counted_words(trap_sentence(), "none").tolist() == [True] * len(TRAPS)
    assert counted_words(trap_sentence()).all()


@pytest.mark.parametrize("row", TRAPS, ids=lambda row: row[0])
def test_penn_goes_by_tag_and_unicode_by_form(row):
    form, tag, penn, unicode = row
    sentence = Sentence((form, "x"), (), (tag, "NN"))
    assert counted_words(sentence, "penn").tolist() == [penn, True]
    assert counted_words(sentence, "unicode").tolist() == [unicode, True]


def test_unicode_needs_no_tags_and_penn_does():
    untagged = Sentence(("Hello", "!"))
    assert counted_words(untagged, "unicode").tolist() == [True, False]
    with pytest.raises(InputError, match="'Hello !' has none") as error:
        counted_words(untagged, "penn")
    assert error.value.remedy == "use 'unicode' or 'none'"


def test_tags_that_tell_no_punctuation_are_said():
    def remark(policy, *tags):
        words = ("No", ",", "never", "!")
        examples = [Example(0, Sentence(words, (), tags), DependencyTree((0,) * 4, ("",) * 4))]
        return unmatched_punctuation(examples, policy)

    universal = ("INTJ", "PUNCT", "ADV", "PUNCT")
    assert "leaves out no word, though 2 words of these sentences" in remark("penn", *universal)
    assert remark("penn", "UH", ",", "RB", "PUNCT") == ""
    assert remark("unicode", *universal) == remark("none", *universal) == ""
    words, tags = (
        ("R", "&", "D", "(", "9", "%", ")"),
        ("NN", "CC", "NN", "-LRB-", "CD", "NN", "-RRB-"),
    )
    plain = Example(0, Sentence(words, (), tags), DependencyTree((0,) * 7, ("",) * 7))
    assert unmatched_punctuation([plain], "penn") == unmatched_punctuation([], "penn") == ""


def test_unknown_policy_names_the_known_ones():
    with pytest.raises(InputError, match="none, penn, unicode, upos, got 'ptb'") as error:
        counted_words(Sentence(("a",)), "ptb")
    assert error.value.key == "punctuation"


def test_the_example_in_the_docstring_holds():
    outcome = doctest.testmod(metrics)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_universal_tags_tell_punctuation():
    words, upos = ("L'", "%", "(", "mer"), ("DET", "SYM", "PUNCT", "NOUN")
    assert counted_words(Sentence(words, upos), "upos").tolist() == [True, True, False, True]
    with pytest.raises(InputError) as error:
        counted_words(Sentence(words, upos), "penn")
    assert error.value.remedy == "use 'upos', 'unicode' or 'none'"
    with pytest.raises(InputError) as error:
        counted_words(Sentence(words, (), ("DT", "NN", "-LRB-", "NN")), "upos")
    assert error.value.remedy == "use 'unicode' or 'none'"
    unmatched = Example(0, Sentence((";",), ("PU",)), DependencyTree((0,), ("root",)))
    assert "none of the universal tags in column 4" in unmatched_punctuation([unmatched], "upos")
