"""Reorders phrases and clauses, using the trees of a dependency parser.

Huang et al. (2021, section 3.1) use a syntactic paraphraser, SOW-REAP, that can no longer be
installed. Here an adverbial moves to the other end of its sentence ("on monday show me the
flights"; "if you can , tell me"), or two adjacent modifiers swap ("to boston from denver"). The
words stay the same.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from robustparse.errors import InputError
from robustparse.models.base import Model
from robustparse.models.load import load
from robustparse.perturbations.perturbation import STOPS, Perturbation, Rewording
from robustparse.randomness import stream
from robustparse.types import DependencyTree, Example, Sentence

ADVERBIALS = frozenset(("obl", "advcl"))
MODIFIERS = frozenset(("obl", "nmod", "advcl"))
MEASURES = frozenset(("obl:npmod", "obl:unmarked"))


class Reordering(Perturbation):
    """Moves an adverbial or swaps two modifiers, using the trees of a parser.

    The parser must use Universal Dependencies: phrases are contiguous subtrees attached by ``obl``,
    ``nmod`` or ``advcl``. One of the possible orders is drawn; without any, the sentence stays
    unchanged. Phrases with "of" and measure phrases ("40000 a year", ``obl:npmod`` or
    ``obl:unmarked``) are not moved.

    Args:
        parser: checkpoint of a dependency parser that needs no tags.

    Raises:
        InputError: when first used: the checkpoint cannot be loaded, or is not that of a dependency
            parser.
    """

    def __init__(self, parser: str) -> None:
        self.parser = parser

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """See `Perturbation.reword`."""
        (tree,) = self._model.predict([sentence], checked=False)
        return _reworded(sentence, tree, rng)

    def rewordings(self, examples: Sequence[Example], seed: int) -> list[Rewording]:
        """See `Perturbation.rewordings`; all sentences are parsed at once."""
        if not examples:
            return []
        sentences = [example.sentence for example in examples]
        trees = self._model.predict(sentences, checked=False)
        return [
            _reworded(example.sentence, tree, stream(seed, example.id))
            for example, tree in zip(examples, trees, strict=True)
        ]

    @cached_property
    def _model(self) -> Model:
        model = load(self.parser)
        if model.task.name != "dependency":
            raise InputError(
                f"is a model for the task {model.task.name}",
                path=self.parser,
                key="reordering: parser",
                expected="a dependency parser",
            )
        return model


def orders(sentence: Sentence, tree: DependencyTree) -> list[list[int]]:
    """Return all orders that one move can give, as positions of words.

    Args:
        sentence: n words; a final stop is not moved.
        tree: the parse of the sentence.
    """
    end = len(sentence) - (sentence.words[-1] in STOPS)
    spans = {
        at: span
        for at in range(end)
        if tree.labels[at] not in MEASURES and (span := _span(tree, at, end)) is not None
        if sentence.words[span[0]].lower() != "of"
    }
    results = []
    for at, (begin, after) in spans.items():
        if tree.labels[at].partition(":")[0] in ADVERBIALS:
            rest = [*range(begin), *range(after, end)]
            moved = [*range(begin, after)]
            # An adverbial at the beginning goes to the end, any other to the beginning.
            results.append([*rest, *moved] if begin == 0 else [*moved, *rest])
        for other, (start, beyond) in spans.items():
            siblings = tree.heads[at] == tree.heads[other] < begin + 1
            if siblings and after == start and _modifies(tree, at) and _modifies(tree, other):
                exchanged = [*range(start, beyond), *range(begin, after)]
                results.append([*range(begin), *exchanged, *range(beyond, end)])
    stop = [*range(end, len(sentence))]
    unchanged = list(range(end))
    return [[*order, *stop] for order in results if order != unchanged]


def _reworded(sentence: Sentence, tree: DependencyTree, rng: np.random.Generator) -> Rewording:
    options = orders(sentence, tree)
    if not options:
        return Rewording.of(sentence.words)
    order = options[int(rng.integers(len(options)))]
    return Rewording(tuple(sentence.words[at] for at in order), tuple(order))


def _modifies(tree: DependencyTree, at: int) -> bool:
    return tree.labels[at].partition(":")[0] in MODIFIERS


def _span(tree: DependencyTree, at: int, end: int) -> tuple[int, int] | None:
    """Return the range of a subtree's words (end exclusive); None if it has a gap."""
    inside = {at}
    while grown := {
        word for word in range(end) if tree.heads[word] - 1 in inside and word not in inside
    }:
        inside |= grown
    begin, after = min(inside), max(inside) + 1
    return (begin, after) if after - begin == len(inside) < end else None
