"""Replaces entities by others of their class (as RockNER, Lin et al. 2021)."""

from collections.abc import Sequence

import numpy as np

from robustparse.data.tags.schemes import entities
from robustparse.data.tags.span_lists import SpanLists, span_lists
from robustparse.errors import InputError
from robustparse.perturbations.perturbation import Perturbation, Rewording
from robustparse.randomness import stream
from robustparse.types import Example, Sentence, TagSequence


class EntityReplacement(Perturbation):
    """Replaces every entity by another one of its class, which may have more or fewer words.

    Tags are carried along. Entities of a class without another one stay, and so do sentences
    without gold entities.

    Args:
        training: a file of tagged sentences, whose entities are taken.

    Raises:
        InputError: the file cannot be read or has no entities.
    """

    def __init__(self, training: str) -> None:
        self.training = training

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """Return the words; only gold tags tell the entities, see `rewordings`."""
        return Rewording.of(sentence.words)

    def rewordings(self, examples: Sequence[Example], seed: int) -> list[Rewording]:
        """See `Perturbation.rewordings`; the gold tags are used.

        Raises:
            InputError: the answers are no tags.
        """
        lists = span_lists(self.training)
        return [_replaced(example, lists, stream(seed, example.id)) for example in examples]


def _replaced(example: Example, lists: SpanLists, rng: np.random.Generator) -> Rewording:
    if not isinstance(example.gold, TagSequence):
        problem = f"a gold answer of type {type(example.gold).__name__}"
        raise InputError(problem, key="entity_replacement", expected="tags of entities")
    old = example.sentence.words
    words, origins, end = list[str](), list[int](), 0
    for span in entities(example.gold.tags):
        kept = old[span.begin : span.end]
        others = [entity for entity in lists.get(span.kind, ()) if entity != kept]
        if not others:
            continue
        new = others[int(rng.integers(len(others)))]
        words += [*old[end : span.begin], *new]
        aligned = (min(span.begin + at, span.end - 1) for at in range(len(new)))
        origins += [*range(end, span.begin), *aligned]
        end = span.end
    return Rewording(
        (*words, *old[end:]),
        (*origins, *range(end, len(old))),
    )
