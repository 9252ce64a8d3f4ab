"""How many candidates each generator makes and each constraint leaves: Wang et al. 2021, Table 4.

The funnel watches the problem builder. It counts sentence by sentence, so that counts depend on
nothing but the sentence and add up however sentences are divided over batches, processes and runs.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.sentence_constraint import Edit, SentenceConstraint
from robustparse.types import Indices, Mask

PROPOSED, JUDGED = "proposed", "judged"
ALL = "all"


CandidateCounts = dict[str, Any]
"""Candidates of one sentence: `slots`, the words for which they were made, and `sums`, by who
proposed them and by stage. `all` counts a word once, a generator each of its own. Where constraints
judge changed sentences, `judged_by_tag` holds what they judged and left, by the word's tag."""


class CandidateFunnel:
    """Counts candidates while generators propose them and constraints thin them out.

    Stages are `proposed` (in the original's casing, without repeats and the word itself), then
    every constraint that looks at candidates, each with what it left of the stage before. Where
    constraints judge changed sentences, `judged` follows (changes the search considered, each once
    for every sentence it would have changed), then every such constraint.

    Args:
        generators: those that propose, several of them in a union.
        on_words: constraints that look at candidates, in their order.
        on_sentences: constraints that judge changed sentences, in their order.
    """

    def __init__(
        self,
        generators: Sequence[CandidateGenerator],
        on_words: Sequence[Constraint],
        on_sentences: Sequence[SentenceConstraint],
    ) -> None:
        names = _numbered([type(one).__name__ for one in (*on_words, *on_sentences)])
        judged = [JUDGED, *names[len(on_words) :]] if on_sentences else []
        self._stages = (PROPOSED, *names[: len(on_words)], *judged)
        self._proposing = (ALL, *_numbered([one.name() for one in generators]))
        self._shape = (len(self._proposing), len(self._stages))
        # By sentence: how many slots, the counts, and who proposed each word of each position.
        self._slots: dict[int, int] = {}
        self._sums: dict[int, Indices] = {}
        self._proposers: dict[int, dict[int, tuple[dict[str, int], Mask]]] = {}
        self._by_tag: dict[int, dict[str, Indices]] = {}
        # Only where several generators propose is it asked later who proposed a word.
        self._remembers = len(generators) > 1 and bool(on_sentences)

    def proposed(
        self,
        slots: Sequence[Slot],
        words: Sequence[Sequence[str]],
        proposals: Sequence[Sequence[Sequence[str]]],
    ) -> None:
        """Begin to count the candidates `words` of slots, with what every generator proposed."""
        ids = dict.fromkeys(slot.id for slot in slots)
        numbers = {id_: number for number, id_ in enumerate(ids)}
        owners = np.array([numbers[slot.id] for slot in slots], dtype=np.int64)
        self._asked, self._ids = slots, list(ids)
        self._owners = np.repeat(owners, [len(some) for some in words])
        self._sources = _proposers(words, proposals)
        self._stage, self._added = -1, np.zeros((len(ids), *self._shape), dtype=np.int64)
        self._count()

    def kept(self, masks: Sequence[Mask]) -> None:
        """Count the candidates that passed the next constraint, `(candidates,)` a slot."""
        kept = np.concatenate([np.zeros(0, dtype=np.bool_), *masks])
        self._owners, self._sources = self._owners[kept], self._sources[kept]
        self._count()

    def _count(self) -> None:
        self._stage += 1
        for column, proposed in enumerate(self._sources.T):
            counts = np.bincount(self._owners[proposed], minlength=len(self._ids))
            self._added[:, column, self._stage] = counts

    def accepted(self, words: Sequence[Sequence[str]]) -> None:
        """Add the counts to the sentences'; `words` are the candidates left of each slot."""
        for id_, sums in zip(self._ids, self._added, strict=True):
            self._sums[id_] = sums + self._sums.get(id_, 0)
        for slot in self._asked:
            self._slots[slot.id] = self._slots.get(slot.id, 0) + 1
        if self._remembers:
            end = 0
            for slot, some in zip(self._asked, words, strict=True):
                begin, end = end, end + len(some)
                rows = {word: row for row, word in enumerate(some)}
                mine = self._proposers.setdefault(slot.id, {})
                mine[slot.position] = rows, self._sources[begin:end]

    def judged(self, id_: int, edits: Sequence[Edit], passed: Mask) -> None:
        """Count edits of a sentence.

        `passed` says whether each passed the first N constraints, `(constraints, edits)`.
        """
        reached = np.vstack([np.ones((1, len(edits)), dtype=np.int64), passed])
        sources = np.ones((len(edits), len(self._proposing)), dtype=np.bool_)
        if self._remembers:
            for row, edit in enumerate(edits):
                rows, proposed = self._proposers[id_][edit.position]
                sources[row] = proposed[rows[edit.word]]
        self._sums[id_][:, -len(reached) :] += (reached @ sources).T
        by_tag = self._by_tag.setdefault(id_, {})
        for edit, counts in zip(edits, reached.T, strict=True):
            if edit.tag:
                by_tag[edit.tag] = by_tag.get(edit.tag, 0) + counts

    def finished(self, id_: int) -> CandidateCounts:
        """Return the counts of a sentence, and forget them."""
        self._proposers.pop(id_, None)
        sums = self._sums.pop(id_, np.zeros(self._shape, dtype=np.int64)).tolist()
        rows = [dict(zip(self._stages, row, strict=True)) for row in sums]
        counts: CandidateCounts = {
            "slots": self._slots.pop(id_, 0),
            "sums": dict(zip(self._proposing, rows, strict=True)),
        }
        if by_tag := self._by_tag.pop(id_, {}):
            judging = self._stages[self._stages.index(JUDGED) :]
            counts["judged_by_tag"] = {
                tag: dict(zip(judging, by_tag[tag].tolist(), strict=True)) for tag in sorted(by_tag)
            }
        return counts


def _proposers(
    words: Sequence[Sequence[str]], proposals: Sequence[Sequence[Sequence[str]]]
) -> Mask:
    """Who proposed each candidate, whatever its casing, `(candidates, 1 + generators)`.

    The first column is of all together.
    """
    sources = np.ones((sum(map(len, words)), 1 + len(proposals)), dtype=np.bool_)
    if len(proposals) == 1:
        return sources
    for column, proposed in enumerate(proposals, start=1):
        known = [{word.lower() for word in some} for some in proposed]
        found = (
            word.lower() in own for some, own in zip(words, known, strict=True) for word in some
        )
        sources[:, column] = np.fromiter(found, np.bool_, len(sources))
    return sources


def _numbered(names: Sequence[str]) -> list[str]:
    """Tell names apart: the second of a name gets a 2 after it, and so on."""
    counts = [names[:place].count(name) for place, name in enumerate(names, start=1)]
    return [n if count == 1 else f"{n} {count}" for n, count in zip(names, counts, strict=True)]
