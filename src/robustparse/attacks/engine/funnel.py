"""How many candidates each generator makes and each constraint leaves: Wang et al. 2021, Table 4.

One sentence's counts hang on its `Problem`, so that they depend on nothing but the sentence and add
up however sentences are divided over batches, processes and runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.candidates.generator import CandidateGenerator
from robustparse.attacks.candidates.union import Union
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.sentence_constraint import SentenceConstraint

PROPOSED, JUDGED = "proposed", "judged"
ALL = "all"


def _nothing() -> NDArray[np.int64]:
    return np.zeros((0, 0), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class CandidateCounts:
    """Candidates of one sentence, by what they passed and by who proposed them.

    Stages are `proposed` (in the original's casing, without repeats and the word itself), then
    every constraint that looks at candidates, each with what it left of the stage before. Where
    there are filters on changed sentences, `judged` follows (changes the search considered, each
    once for every sentence it would have changed), then every filter.

    Args:
        generators: names of those that proposed. A word that several proposed counts for each.
        stages: their names.
        slots: words for which candidates were made.
        sums: `int64 (1 + generators, stages)`; row 0 counts each word once.
    """

    generators: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    slots: int = 0
    sums: NDArray[np.int64] = field(default_factory=_nothing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CandidateCounts) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((self.generators, self.stages, self.slots))

    def _values(self) -> tuple[Any, ...]:
        return self.generators, self.stages, self.slots, self.sums.tolist()

    def plus(self, slots: int, sums: NDArray[np.int64]) -> "CandidateCounts":
        """With more slots and more candidates, `(1 + generators, stages)`."""
        return CandidateCounts(self.generators, self.stages, self.slots + slots, self.sums + sums)

    def record(self) -> dict[str, Any]:
        """As a line of ``examples.jsonl`` holds it: slots, and sums by generator and stage."""
        rows = zip((ALL, *self.generators), self.sums.tolist(), strict=False)
        return {
            "slots": self.slots,
            "sums": {name: dict(zip(self.stages, row, strict=True)) for name, row in rows},
        }


class Stages:
    """The generators and stages of one attack.

    Args:
        candidates: the generator, or a union of several.
        constraints: in the order in which they apply.

    Attributes:
        members: the generators, one or those of the union.
        united: whether they are a union's.
    """

    def __init__(self, candidates: CandidateGenerator, constraints: Sequence[Constraint]) -> None:
        self.united = isinstance(candidates, Union)
        self.members = candidates.generators if isinstance(candidates, Union) else [candidates]
        # The others let every candidate pass: they say which words may be changed.
        self.tables = [one for one in constraints if _looks_at_candidates(one)]
        self.filters = [one for one in constraints if isinstance(one, SentenceConstraint)]
        constraining = _numbered([type(one).__name__ for one in (*self.tables, *self.filters)])
        names = [PROPOSED, *constraining[: len(self.tables)]]
        if self.filters:
            names += [JUDGED, *constraining[len(self.tables) :]]
        self.names = tuple(names)
        self.generators = tuple(_numbered([one.name() for one in self.members]))
        sums = np.zeros((1 + len(self.generators), len(self.names)), dtype=np.int64)
        self._none = CandidateCounts(self.generators, self.names, 0, sums)

    def none(self) -> CandidateCounts:
        """Return the counts of a sentence without candidates as yet."""
        return self._none

    def judged(self, sources: NDArray[np.bool_], passed: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return what to add for changes that filters judged, `(1 + generators, stages)`.

        Args:
            sources: who proposed the word of each change, `(changes, generators)`.
            passed: whether each passed so many filters, `(filters, changes)`.
        """
        sums = np.zeros_like(self._none.sums)
        reached = np.vstack([np.ones((1, len(sources)), dtype=np.int64), passed])
        sums[0, -len(reached) :] = reached.sum(axis=1)
        sums[1:, -len(reached) :] = (reached @ sources).T
        return sums


class CandidateFunnel:
    """Counts the candidates of slots while constraints thin them out.

    Args:
        stages: of the attack.
        words: the candidates of each slot.
        proposals: of each generator, those it proposed, by slot.
    """

    def __init__(
        self,
        stages: Stages,
        words: Sequence[Sequence[str]],
        proposals: Sequence[Sequence[Sequence[str]]],
    ) -> None:
        self._slots = np.repeat(np.arange(len(words)), [len(some) for some in words])
        self.sources = np.ones((len(self._slots), len(proposals)), dtype=np.bool_)
        if len(proposals) > 1:
            for column, proposed in enumerate(proposals):
                known = [{word.lower() for word in some} for some in proposed]
                told = (
                    word.lower() in own
                    for some, own in zip(words, known, strict=True)
                    for word in some
                )
                self.sources[:, column] = np.fromiter(told, np.bool_, len(self._slots))
        shape = (len(words), 1 + len(proposals), len(stages.names))
        self.sums: NDArray[np.int64] = np.zeros(shape, dtype=np.int64)
        self._stage = 0
        self._count()

    def keep(self, masks: Sequence[NDArray[np.bool_]]) -> None:
        """Go on to the next stage with the candidates that passed, `(candidates,)` a slot."""
        kept = np.concatenate([np.zeros(0, dtype=np.bool_), *masks])
        self._slots, self.sources = self._slots[kept], self.sources[kept]
        self._stage += 1
        self._count()

    def _count(self) -> None:
        rows, size = self._slots, len(self.sums)
        self.sums[:, 0, self._stage] = np.bincount(rows, minlength=size)
        for column in range(self.sources.shape[1]):
            own = rows[self.sources[:, column]]
            self.sums[:, 1 + column, self._stage] = np.bincount(own, minlength=size)


def _looks_at_candidates(constraint: Constraint) -> bool:
    return type(constraint).accept is not Constraint.accept


def _numbered(names: Sequence[str]) -> list[str]:
    """Names told apart: the second of a name gets a 2 behind it, and so on."""
    seen: dict[str, int] = {}
    told = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        told.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return told
