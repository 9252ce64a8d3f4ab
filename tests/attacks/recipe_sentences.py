"""The sentences that each recipe attacks in the tests, and the parser that it is for."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.named_entities import NamedEntities
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.victim import ModelVictim
from robustparse.types import Example
from sample_runs import sentences, trained_parser

# Short sentences, of which each recipe changes some.
EXAMPLES = [sentences(12, "test")[number] for number in (1, 2, 3, 5, 8, 10, 11)]


def kept_out(example: Example, positions: Iterable[int], tag: str) -> Example:
    """The sentence with a tag at some of its words that no attack may touch."""
    tags = list(example.sentence.xpos)
    for position in positions:
        tags[position] = tag
    return replace(example, sentence=replace(example.sentence, xpos=tuple(tags)))


def relabelled(example: Example, relation: str) -> Example:
    """The sentence with every second word attached by one relation."""
    labels = list(example.gold.labels)
    labels[::2] = [relation] * len(labels[::2])
    return replace(example, gold=replace(example.gold, labels=tuple(labels)))


EXAMPLES[:2] = [relabelled(example, "cop") for example in EXAMPLES[:2]]
# No recipe may touch this sentence.
EXAMPLES[2] = kept_out(EXAMPLES[2], range(len(EXAMPLES[2].sentence)), "XX")


def entities(example: Example) -> list[str]:
    """The words that stand for something with a name."""
    slots = [Slot(0, example.sentence, at) for at in range(len(example.sentence))]
    found = NamedEntities(sample=1).propose(slots, 0)
    return [slot.word for slot, others in zip(slots, found, strict=True) if others]


def parser_of(name: str) -> BiaffineParser:
    """One that the recipe is for."""
    return trained_parser(characters=name.endswith("_character"))


@cache
def _victim(characters: bool) -> ModelVictim:
    return ModelVictim([trained_parser(characters)])


def victim_of(name: str) -> ModelVictim:
    """The same parser for all attacks, which leave no state in it (see `test_recipe_laws.py`)."""
    return _victim(name.endswith("_character"))


def examples_of(name: str) -> list[Example]:
    """Some that the recipe can attack; pairs of phrases and uninflected words take long ones."""
    if name.endswith("_character"):
        return [relabelled(example, "punct") for example in EXAMPLES]
    if name == "checklist":  # sentences with names
        named = sorted(sentences(200, "test"), key=lambda one: -len(entities(one)))
        return sorted(named[:7], key=lambda one: one.id)
    if "_phrase_" not in name and name != "yoo2020_hownet":
        return EXAMPLES
    long = [one for one in sentences(120, "test") if len(one.sentence) > 8][:7]
    return [kept_out(one, range(2, len(one.sentence), 5), "ADD") for one in long]
