"""Scores against a count by hand, sharding, and the three punctuation policies."""

import doctest
import math

import numpy as np
import pytest
import torch
from torch import Tensor

from robustparse import metrics
from robustparse.errors import InputError
from robustparse.metrics import (
    AttachmentScore,
    counted_words,
    percent,
    tree_sums,
    unmatched_punctuation,
)
from robustparse.types import DependencyTree, Example, Sentence


def random_answers(seed: int, sentences: int = 40) -> tuple[Tensor, Tensor, Tensor]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, sentences)
    inside = np.arange(8) < lengths[:, None]
    # Mostly right, so that whole sentences are; labels may be right where heads are not.
    heads, labels = rng.random((2, sentences, 8)) < 0.85
    counted = inside & (rng.random((sentences, 8)) < 0.9)
    counted[::9] = False  # punctuation only
    return torch.from_numpy(heads), torch.from_numpy(labels), torch.from_numpy(counted)


def naive(heads: Tensor, labels: Tensor, counted: Tensor) -> dict[str, float]:
    words = sentences = right_heads = right_labels = complete_heads = complete_labels = 0
    for sentence in range(len(counted)):
        all_heads = all_labels = True
        for word in range(counted.shape[1]):
            if not counted[sentence, word]:
                continue
            words += 1
            head = bool(heads[sentence, word])
            both = head and bool(labels[sentence, word])
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
    answers = random_answers(seed)
    score = AttachmentScore()
    for start in range(0, 40, 7):
        score.update(*(part[start : start + 7] for part in answers))
    expected = naive(*answers)
    assert 0 < expected["lcm"] < expected["ucm"] < 100
    assert score.compute() == pytest.approx(expected, abs=1e-12)


def test_a_sentence_in_which_no_word_counts_is_neither_right_nor_wrong():
    score = AttachmentScore()
    nothing = torch.zeros(3, 2, dtype=torch.bool)
    score.update(~nothing, ~nothing, nothing)
    assert all(math.isnan(value) for value in score.compute().values())
    right = torch.tensor([[True, True], [False, True]])
    score.update(right, right, ~nothing[:2])
    assert score.compute() == {"uas": 75.0, "las": 75.0, "ucm": 50.0, "lcm": 50.0}


@pytest.mark.parametrize("cut", [0, 1, 13, 40])
def test_two_shards_summed_equal_the_whole(cut):
    answers = random_answers(7)
    whole, first, second = AttachmentScore(), AttachmentScore(), AttachmentScore()
    whole.update(*answers)
    first.update(*(part[:cut] for part in answers))
    second.update(*(part[cut:] for part in answers))
    # merge_state applies each state's own reduction, as gathering over processes does.
    first.merge_state(second)
    assert first.compute() == whole.compute()


def test_wide_padding_changes_nothing():
    answers = random_answers(3)
    narrow, wide = AttachmentScore(), AttachmentScore()
    narrow.update(*answers)
    heads, labels, counted = (torch.nn.functional.pad(part, (0, 5)) for part in answers)
    heads[:, 8:] = True
    wide.update(heads, labels, counted)
    assert wide.compute() == narrow.compute()


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
