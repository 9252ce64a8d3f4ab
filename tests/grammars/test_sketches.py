"""Sketches of any tree: heads that bind variables have them, or not, in every language."""

import random

import pytest

from robustparse.grammars import LambdaCalculus, Language, Prolog
from robustparse.grammars.language import Tree
from robustparse.grammars.sketches import places_of, sketch_of, tokens_of, tree_of

HEADS = ("count", "max", "exists", "and", "river", "lambda", "x@")


def random_tree(rng: random.Random, depth: int) -> Tree:
    """A node, whose first child may be a leaf where its head binds variables, or none."""
    children = [
        random_tree(rng, depth - 1)
        if depth and rng.random() < 0.5
        else rng.choice(("$0", "c0", "e", "i"))
        for _ in range(rng.randint(0, 3))
    ]
    return (rng.choice(HEADS), *children)


@pytest.mark.parametrize("language", [LambdaCalculus(), Prolog()], ids=["lambda", "prolog"])
def test_a_form_follows_from_its_sketch_but_for_the_leaves(language: Language):
    rng, whole, typed = random.Random(0), 0, 0
    for _ in range(1000):
        tree = random_tree(rng, 4)
        sketch, tokens = sketch_of(tree, language), tokens_of(tree, language)
        places = places_of(sketch, language)
        brackets = [token if token[0] in "()" else None for token in tokens]
        assert [place.token for place in places] == brackets
        leaves = [token for token, place in zip(tokens, places, strict=True) if not place.token]
        assert tree_of(sketch, leaves, language) == tree
        whole += "(count@" in sketch
        typed += {"lambda@2", "(lambda"} & {*sketch} != set()
    binds = bool(language.binders)
    assert (whole > 20, typed > 4) == (binds, True)


def test_a_bound_variable_is_left_out_and_a_missing_one_is_told():
    language = LambdaCalculus()
    for tree, sketch in [
        (("count", "$0", ("river", "$0")), "(count river@1 )"),
        (("count", ("river", "c0")), "(count@ river@1 )"),
        (("lambda", "$0", "e", ("f", "$0")), "(lambda f@1 )"),
        (("lambda", "$0", "i", ("f", "$0")), "(lambda@ <?> <?> f@1 )"),
        (("lambda", "$0", ("f", "$0")), "(lambda@ <?> f@1 )"),
        (("lambda", "$0", "e", "$0"), "lambda@2"),
        (("lambda", "$0", "i", "$0"), "(lambda@ <?> <?> <?> )"),
        (("lambda", "$0", "$0"), "(lambda@ <?> <?> )"),
    ]:
        assert sketch_of(tree, language) == sketch.split(), tree
    assert sketch_of(("lambda", "x", ("f", "x")), Prolog()) == ["(lambda", "<?>", "f@1", ")"]
