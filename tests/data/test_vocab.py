"""Counting a training set: thresholds, ties, independence of reading order."""

import copy
import itertools
import pickle
from dataclasses import replace

import pytest

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.types import DependencyTree, Example, LogicalForm, Sentence


def example(id_: int, words: str, tags: str = "", labels: str | None = None) -> Example:
    forms = tuple(words.split())
    given = tuple((labels or "root " + "dep " * (len(forms) - 1)).split())
    tree = DependencyTree((0, *[1] * (len(forms) - 1)), given)
    return Example(id_, Sentence(forms, (), tuple(tags.split())), tree)


TRAINING = [
    example(0, "The dog saw THE cat", "DT NN VBD DT NN", "det nsubj root det obj"),
    example(1, "Cat saw dog", "NN NN NN", "nsubj root obj"),
    example(2, "a saw cut", "DT NN VBD", "det nsubj root"),
    example(3, "ÉTÉ été", "", "root dep"),
]


def test_words_are_lower_cased_counted_and_ranked():
    vocabulary = Vocabulary.from_examples(TRAINING)
    # Three times saw, twice the rest, in alphabetical order; a, cut once.
    assert vocabulary.words == ("saw", "cat", "dog", "the", "été")
    everything = Vocabulary.from_examples(TRAINING, min_count=1)
    assert everything.words == ("saw", "cat", "dog", "the", "été", "a", "cut")
    assert Vocabulary.from_examples(TRAINING, min_count=3).words == ("saw",)


def test_tags_are_the_most_frequent_of_each_repeated_word():
    vocabulary = Vocabulary.from_examples(TRAINING, min_count=3)
    assert vocabulary.training_tags["xpos"] == {"saw": "NN", "cat": "NN", "dog": "NN", "the": "DT"}
    assert "cut" not in vocabulary.training_tags["xpos"]  # seen once
    assert "été" not in vocabulary.training_tags["xpos"]  # never tagged


def test_training_words_do_without_tags():
    tagged, words = TRAINING[:3], ["saw", "cat", "dog", "the"]
    vocabulary = Vocabulary.from_examples(tagged, min_count=1)
    assert list(vocabulary.training_words) == list(vocabulary.training_tags["xpos"]) == words
    bare = [replace(one, sentence=replace(one.sentence, xpos=())) for one in tagged]
    vocabulary = Vocabulary.from_examples(bare)
    assert not vocabulary.training_tags["xpos"]
    assert list(vocabulary.training_words) == words
    assert Vocabulary.from_lists(vocabulary.to_lists()).training_words == set(words)
    # Where some sentences have tags, the words of the others count too.
    untagged = [example(number, words) for number, words in ((7, "the fox"), (8, "one fox"))]
    mixed = Vocabulary.from_examples([*tagged, *untagged], min_count=1)
    assert list(mixed.training_words) == ["saw", "the", "cat", "dog", "fox"]
    assert sorted(mixed.training_tags["xpos"]) == ["cat", "dog", "saw", "the"]
    assert Vocabulary.from_lists(mixed.to_lists()).training_words == mixed.training_words


def test_a_vocabulary_that_was_used_can_be_copied():
    """A parser is copied with it, and sent to other processes."""
    used = Vocabulary.from_examples(TRAINING, 1)
    asked = (used.training_words, used.training_tags, used.held, used.label_ids)
    assert all(asked)
    for copied in (copy.deepcopy(used), pickle.loads(pickle.dumps(used))):
        assert copied == used
        assert list(copied.training_words) == list(used.training_words)


def test_universal_tags_have_a_dictionary_of_their_own():
    both = [
        replace(one, sentence=replace(one.sentence, upos=tuple(t[:1] for t in one.sentence.xpos)))
        for one in TRAINING
    ]
    vocabulary = Vocabulary.from_examples(both)
    assert vocabulary.training_tags["upos"] == {"saw": "N", "cat": "N", "dog": "N", "the": "D"}
    assert Vocabulary.from_lists(vocabulary.to_lists()) == vocabulary


def test_sketches_are_those_of_the_forms():
    forms = ("( lambda $0 e ( and ( a $0 ) ( b $0 c0 ) ) )", "( a c0 )")
    examples = [
        Example(id_, Sentence(("it",)), LogicalForm(form, "lambda"))
        for id_, form in enumerate(forms)
    ]
    vocabulary = Vocabulary.from_examples(examples)
    assert vocabulary.sketches == ("(and", "(lambda", ")", "a@1", "b@2")
    assert Vocabulary.from_lists(vocabulary.to_lists()) == vocabulary


def test_ties_of_tags_fall_to_the_alphabet():
    tied = [example(0, "saw saw", "VBD NN"), example(1, "Saw", "VB"), example(2, "saw", "NN")]
    assert Vocabulary.from_examples(tied).training_tags["xpos"] == {"saw": "NN"}
    assert Vocabulary.from_examples(tied[:2]).training_tags["xpos"] == {"saw": "NN"}


def test_characters_keep_their_case():
    vocabulary = Vocabulary.from_examples(TRAINING)
    assert set(vocabulary.characters) == set("".join(w for e in TRAINING for w in e.sentence.words))
    assert {"É", "é"} <= set(vocabulary.characters)
    assert vocabulary.characters[0] == "a"


def test_labels_and_tags_are_sorted_by_name():
    vocabulary = Vocabulary.from_examples(TRAINING)
    assert vocabulary.labels == ("dep", "det", "nsubj", "obj", "root")
    assert vocabulary.xpos == ("DT", "NN", "VBD")
    assert vocabulary.label_ids == {"dep": 0, "det": 1, "nsubj": 2, "obj": 3, "root": 4}


def test_reading_order_does_not_matter():
    expected = Vocabulary.from_examples(TRAINING)
    for order in itertools.permutations(TRAINING):
        assert Vocabulary.from_examples(order) == expected


def test_plain_lists_and_back():
    vocabulary = Vocabulary.from_examples(TRAINING)
    lists = vocabulary.to_lists()
    assert all(type(values) is list for values in lists.values())
    assert Vocabulary.from_lists(lists) == vocabulary


@pytest.mark.parametrize("change", [{"words": None}, {"lemmas": []}])
def test_missing_and_unknown_lists_are_refused(change):
    lists = {**Vocabulary.from_examples(TRAINING).to_lists(), **change}
    wrong = {name: values for name, values in lists.items() if values is not None}
    with pytest.raises(InputError) as caught:
        Vocabulary.from_lists(wrong)
    assert caught.value.key == "vocabulary"
