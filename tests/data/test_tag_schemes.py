"""Schemes of span tags, and spans, against seqeval."""

import warnings

import pytest
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import IOB2, Entities

from random_tags import random_tags
from robustparse.data.tags.schemes import (
    entities,
    in_spans,
    legal,
    may_follow,
    repaired,
    scheme_of,
    spans,
    to_bio,
)
from robustparse.errors import InputError

BIO = "O B-x I-x B-x O B-y"
CASES = {
    "bio": BIO,
    "iob1": "O I-x I-x B-x O I-y",
    "bilou": "O B-x L-x U-x O U-y",
}


@pytest.mark.parametrize("scheme", CASES)
def test_schemes_are_recognised_and_converted(scheme):
    tags = CASES[scheme].split()
    assert scheme_of([tags, ["O"]]) == scheme
    assert " ".join(to_bio(tags, scheme)) == BIO


# The second are parts of speech of PROIEL treebanks.
@pytest.mark.parametrize("tags", [["DET", "NOUN", "_"], ["I-", "I-", "V-", "B-", "S-", "Nb"]])
def test_other_tags_stay_and_are_spans_of_one_word(tags):
    assert scheme_of([tags]) == "words"
    assert to_bio(tags, "words") == repaired(tags) == tuple(tags)
    each = [(position, position + 1, tag) for position, tag in enumerate(tags)]
    assert [*map(tuple, spans(tags))] == [*map(tuple, spans(tags, strict=True))] == each
    assert not entities(tags)
    assert not any(in_spans(tags))
    assert all(may_follow(before, tag) for before in ["O", *tags] for tag in tags)
    assert to_bio(["B-x", *tags], "bilou", repair=True) == ("B-x", *tags)


@pytest.mark.parametrize("tags", ["B-x I-x E-x S-y O", "B-x M-x E-x W-y O"])
def test_other_letters_are_converted(tags):
    assert " ".join(to_bio(tags.split(), scheme_of([tags.split()]))) == "B-x I-x I-x B-y O"


@pytest.mark.parametrize(
    ("tags", "scheme", "word", "mended"),
    [
        ("B-x O I-x", "bio", 2, "B-x O B-x"),
        ("B-x I-y", "bio", 1, "B-x B-y"),
        ("U-x B-x O", "bilou", 2, "B-x B-x O"),
        ("U-x B-x", "bilou", 1, "B-x B-x"),
        ("B-x PER", "bio", 1, None),
    ],
)
def test_a_broken_sequence_is_named_by_its_word_or_repaired(tags, scheme, word, mended):
    with pytest.raises(InputError) as error:
        to_bio(tags.split(), scheme)
    assert error.value.line == word
    if mended:
        assert " ".join(to_bio(tags.split(), scheme, repair=True)) == mended


def test_spans_are_those_of_seqeval_in_both_modes():
    for tags in random_tags(1000):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            default = {(begin, end + 1, kind) for kind, begin, end in get_entities(tags)}
            strict = {
                (each.start, each.end, each.tag) for each in Entities([tags], IOB2).entities[0]
            }
        assert {*map(tuple, spans(tags))} == default
        assert {*map(tuple, spans(tags, strict=True))} == strict
        assert {*map(tuple, spans(repaired(tags), strict=True))} == default
        assert legal(repaired(tags))
