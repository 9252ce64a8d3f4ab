"""The sample grammar: its rules are sound, and derivations are those worked out by hand."""

import pytest

from robustparse.data.sample.treebank import CONTENT, FUNCTION
from robustparse.errors import InputError
from robustparse.types import DependencyTree
from sample_grammar import lexicon, read, rules


def test_every_rule_has_one_head_and_known_children() -> None:
    classes = {entry.word_class for entries in lexicon().values() for entry in entries}
    for parent, options in rules().items():
        assert parent.isupper()
        for rule in options:
            assert rule.weight > 0
            assert [child.label for child in rule.children].count("") == 1
            assert all(
                child.symbol in rules() or child.symbol in classes for child in rule.children
            )


def test_every_phrase_and_class_is_used() -> None:
    reached, front = {"TOP"}, ["TOP"]
    while front:
        for rule in rules().get(front.pop(), ()):
            for child in rule.children:
                if child.symbol not in reached:
                    reached.add(child.symbol)
                    front.append(child.symbol)
    assert set(rules()) <= reached
    assert {*FUNCTION, *CONTENT} == {symbol.split(".")[0] for symbol in reached - set(rules())}


def test_no_content_word_has_two_classes() -> None:
    words = [word.lower() for _, group in CONTENT.values() for word in group]
    closed = {word for _, group in FUNCTION.values() for word in group}
    assert len(words) == len(set(words))
    assert not closed & set(words)


@pytest.mark.parametrize(
    ("text", "heads", "labels"),
    [
        (
            "Maria painted the boat with the brush .",
            (2, 0, 4, 2, 7, 7, 2, 2),
            "nsubj root det obj case det obl punct",
        ),
        (
            "Maria painted the boat with the mast .",
            (2, 0, 4, 2, 7, 7, 4, 2),
            "nsubj root det obj case det nmod punct",
        ),
        (
            "The bank managers work .",
            (3, 3, 4, 0, 4),
            "det compound nsubj root punct",
        ),
        (
            "The bank rewards work .",
            (2, 3, 0, 3, 3),
            "det nsubj root obj punct",
        ),
        (
            "She showed the student letters .",
            (2, 0, 4, 2, 2, 2),
            "nsubj root det iobj obj punct",
        ),
        (
            "She collected the student letters .",
            (2, 0, 5, 5, 2, 2),
            "nsubj root det compound obj punct",
        ),
        (
            "Feeding dogs annoyed him .",
            (3, 1, 0, 3, 3),
            "csubj obj root obj punct",
        ),
        (
            "Barking dogs annoyed him .",
            (2, 3, 0, 3, 3),
            "amod nsubj root obj punct",
        ),
        (
            "He believed the sailors trained near Rome .",
            None,
            None,
        ),
    ],
)
def test_trees_worked_out_by_hand(
    text: str, heads: tuple[int, ...] | None, labels: str | None
) -> None:
    if heads is None or labels is None:
        with pytest.raises(InputError, match="'sailors', is not in"):
            read(text.split())
    else:
        assert read(text.split()).tree == DependencyTree(heads, tuple(labels.split()))


def test_the_verb_decides_between_a_clause_and_a_participle() -> None:
    clause = read(["He", "believed", "the", "workers", "trained", "near", "Rome", "."])
    participle = read(["He", "praised", "the", "workers", "trained", "near", "Rome", "."])
    assert (clause.xpos[4], clause.tree.heads[3:5]) == ("VBD", (5, 2))
    assert (participle.xpos[4], participle.tree.heads[3:5]) == ("VBN", (2, 4))


def test_case_does_not_matter() -> None:
    words = ["the", "bank", "rewards", "work", "."]
    assert read(words) == read([word.upper() for word in words])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("The blockchain rewards work .", "word 2, 'blockchain', is not in"),
        ("The bank rewards work", "in 0 ways"),
        ("Rewards the bank work .", "in 0 ways"),
        ("", "in 0 ways"),
    ],
)
def test_sentences_outside_the_grammar(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(text.split())
