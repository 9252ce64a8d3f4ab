"""Sketches of any tree: heads that bind variables have them, or not, in every language."""

import random

from robustparse.grammars.language import Tree
from robustparse.grammars.sketches import places_of, sketch_of, tokens_of, tree_of

HEADS = ("count", "max", "exists", "and", "river")


def random_tree(rng: random.Random, depth: int) -> Tree:
    """A node, whose first child may be a leaf where its head binds variables, or none."""
    children = [
        random_tree(rng, depth - 1) if depth and rng.random() < 0.5 else rng.choice(("$0", "c0"))
        for _ in range(rng.randint(0, 3))
    ]
    return (rng.choice(HEADS), *children)


def test_a_form_follows_from_its_sketch_but_for_the_leaves():
    rng, free = random.Random(0), 0
    for _ in range(500):
        tree = random_tree(rng, 4)
        sketch, tokens = sketch_of(tree), tokens_of(tree)
        brackets = [token if token[0] in "()" else None for token in tokens]
        assert [place.token for place in places_of(sketch)] == brackets
        assert tree_of(tokens) == tree
        free += "(count@" in sketch
    assert free > 20


def test_a_bound_variable_is_left_out_and_a_missing_one_is_told():
    assert sketch_of(("count", "$0", ("river", "$0"))) == ["(count", "river@1", ")"]
    assert sketch_of(("count", ("river", "c0"))) == ["(count@", "river@1", ")"]
