"""Candidates for words of entities: words at the same place in other entities of the class.

Like RockNER (Lin et al. 2021), which replaces entities by others of their class; but here one word
at a time, so that tags do not change.
"""

from collections.abc import Sequence

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.victim import Victim
from robustparse.data.tags.schemes import Span, entities
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
        self._entities: dict[int, list[Span]] = {}

    def prepare(self, victim: Victim) -> None:
        """Read the entities; see `Component.prepare`."""
        super().prepare(victim)
        span_lists(self.training)

    def check(self, examples: Sequence[Example]) -> None:
        """Also store the gold entities, because slots do not contain them."""
        super().check(examples)
        self._entities.update(
            (each.id, entities(each.gold.tags))
            for each in examples
            if isinstance(each.gold, TagSequence)
        )

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        return [slot.drawn(self._words(slot), self.sample, seed) for slot in slots]

    def _words(self, slot: Slot) -> list[str]:
        own = self._entities.get(slot.id, ())
        span = next((each for each in own if each.begin <= slot.position < each.end), None)
        if span is None:
            return []
        at, length = slot.position - span.begin, span.end - span.begin
        others = span_lists(self.training).get(span.kind, ())
        return list(dict.fromkeys(words[at] for words in others if len(words) == length))
