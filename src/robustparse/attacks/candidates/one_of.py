"""Draws one of several generators for each sentence, so that all its changes are of one kind.

In online training the seed changes with the epoch: a model sees a sentence with synonyms in one
epoch, and with typos or words of a masked language model in another.
"""

from collections.abc import Sequence

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.candidates.union import GeneratorGroup, cased
from robustparse.randomness import mixed_seed, stream
from robustparse.types import Example

_DRAW = 1  # mixed into the seed, so that this draw is independent of the generators' own draws


class OneOf(GeneratorGroup):
    """Draws one of several generators for each sentence, and proposes its candidates.

    All are equally probable. The draw follows from (seed, sentence id).

    Args:
        generators: the generators to draw from, such as `TableCandidates` of several tables.
    """

    owner = "one of"

    def __init__(self, generators: list[CandidateGenerator]) -> None:
        super().__init__(generators)
        self.draws = True

    def check(self, examples: Sequence[Example]) -> None:
        """Accept sentences that every generator accepts."""
        for generator in self.generators:
            generator.check(examples)

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        drawn = [self._draw(seed, slot.id) for slot in slots]
        proposals: list[list[str]] = [[] for _ in slots]
        for number, generator in enumerate(self.generators):
            indices = [index for index, choice in enumerate(drawn) if choice == number]
            asked = [slots[index] for index in indices]
            if asked:
                words = cased(generator, asked, generator.propose(asked, seed))
                for index, candidates in zip(indices, words, strict=True):
                    proposals[index] = candidates
        return proposals

    def _draw(self, seed: int, sentence: int) -> int:
        """Return the index of the sentence's generator."""
        rng = stream(mixed_seed(seed, _DRAW), sentence)
        return int(rng.integers(len(self.generators)))
