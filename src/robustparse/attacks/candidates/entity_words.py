"""Candidates for words of entities: words at the same place in other entities of the class.

Like RockNER (Lin et al. 2021), which replaces entities by others of their class; but here one word
at a time, so that tags do not change.
"""

from collections.abc import Sequence
from typing import Any

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.victim import Victim
from robustparse.data.tags.schemes import in_spans, spans
from robustparse.data.tags.span_lists import span_lists
from robustparse.errors import check_least
from robustparse.types import Example, TagSequence


class EntityWords(CandidateGenerator):
    """Proposes words of training entities that have the class and length of the word's entity.

    They stand at the same position in their entities. Words outside of entities have no candidates.
    Choose a goal with ``edit: entities`` or ``edit: all``.

    Args:
        training: a file of tagged sentences, whose entities are taken.
        sample: candidates per word, drawn uniformly; None takes all.

    Raises:
        InputError: the file cannot be read or has no entities, or sample is below 1.
    """

    tasks = ("tags",)
    needs = ("training entities",)
    verbatim = True

    def __init__(self, training: str, *, sample: int | None = 50) -> None:
        check_least("entity words", sample=sample)
        self.training, self.sample = training, sample
        self._golds: dict[int, Any] = {}

    def prepare(self, victim: Victim) -> None:
        """Read the entities; see `Component.prepare`."""
        super().prepare(victim)
        span_lists(self.training)

    def check(self, examples: Sequence[Example]) -> None:
        """Also store the gold tags, because slots do not contain them."""
        super().check(examples)
        self._golds.update((each.id, each.gold) for each in examples)

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        return [slot.drawn(self._words(slot), self.sample, seed) for slot in slots]

    def _words(self, slot: Slot) -> list[str]:
        gold = self._golds[slot.id]
        tags = gold.tags if isinstance(gold, TagSequence) else ()
        if not tags or not in_spans(tags)[slot.position]:
            return []
        span = next(each for each in spans(tags) if each.begin <= slot.position < each.end)
        lists, at = span_lists(self.training), slot.position - span.begin
        entities = (e for e in lists.get(span.kind, ()) if len(e) == span.end - span.begin)
        return list(dict.fromkeys(entity[at] for entity in entities))
