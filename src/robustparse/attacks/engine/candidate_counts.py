"""Counts how many candidates each generator proposes and how many pass each constraint.

As in Wang et al. 2021, Table 4. The problem builder reports to the counter. Counts are kept per
sentence, so that their sums do not depend on batches, processes and interruptions.
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
"""Counts for one sentence: `slots`, the number of words that got candidates, counted again where
further candidates followed, and `sums`, by generator and stage. In `sums`, `all` counts a word
once; each generator counts the words that it proposed. If there are sentence constraints,
`judged_by_tag` has the counts of their stages by the word's tag."""


class CandidateCounter:
    """Counts candidates while generators propose them and constraints remove some.

    The first stage is `proposed` (in the original's casing, without repeats and the word itself),
    followed by one stage per word constraint with the candidates that pass it. If there are
    sentence constraints, `judged` follows (the changes that the search considered, counted once
    per sentence that they would have changed), then one stage per sentence constraint.

    Args:
        generators: the candidate generators, several if they form a union.
        on_words: constraints on candidate words, in order.
        on_sentences: constraints on changed sentences, in order.
    """

    def __init__(
        self,
        generators: Sequence[CandidateGenerator],
        on_words: Sequence[Constraint],
        on_sentences: Sequence[SentenceConstraint],
    ) -> None:
        names = _numbered([type(constraint).__name__ for constraint in (*on_words, *on_sentences)])
        judged = [JUDGED, *names[len(on_words) :]] if on_sentences else []
        self._stages = (PROPOSED, *names[: len(on_words)], *judged)
        self._proposing = (ALL, *_numbered([generator.name() for generator in generators]))
        self._shape = (len(self._proposing), len(self._stages))
        # By sentence id: number of slots, counts, and who proposed each word at each position.
        self._slots: dict[int, int] = {}
        self._sums: dict[int, Indices] = {}
        self._proposers: dict[int, dict[int, tuple[dict[str, int], Mask]]] = {}
        self._by_tag: dict[int, dict[str, Indices]] = {}
        # Who proposed a word matters later only if there are several generators.
        self._remembers = len(generators) > 1 and bool(on_sentences)

    def proposed(
        self,
        slots: Sequence[Slot],
        words: Sequence[Sequence[str]],
        proposals: Sequence[Sequence[Sequence[str]]],
    ) -> None:
        """Start counting the candidates `words` of slots, given each generator's proposals."""
        ids = dict.fromkeys(slot.id for slot in slots)
        numbers = {id_: number for number, id_ in enumerate(ids)}
        owners = np.array([numbers[slot.id] for slot in slots], dtype=np.int64)
        self._asked, self._ids = slots, list(ids)
        self._owners = np.repeat(owners, [len(candidates) for candidates in words])
        self._sources = _proposers(words, proposals)
        self._stage, self._added = -1, np.zeros((len(ids), *self._shape), dtype=np.int64)
        self._count()

    def kept(self, masks: Sequence[Mask]) -> None:
        """Count the candidates that passed the next constraint; one mask per slot."""
        kept = np.concatenate([np.zeros(0, dtype=np.bool_), *masks])
        self._owners, self._sources = self._owners[kept], self._sources[kept]
        self._count()

    def _count(self) -> None:
        self._stage += 1
        for column, proposed in enumerate(self._sources.T):
            counts = np.bincount(self._owners[proposed], minlength=len(self._ids))
            self._added[:, column, self._stage] = counts

    def accepted(self, words: Sequence[Sequence[str]]) -> None:
        """Add the counts to those of the sentences; `words` are the remaining candidates."""
        for id_, sums in zip(self._ids, self._added, strict=True):
            self._sums[id_] = sums + self._sums.get(id_, 0)
        for slot in self._asked:
            self._slots[slot.id] = self._slots.get(slot.id, 0) + 1
        if self._remembers:
            end = 0
            for slot, candidates in zip(self._asked, words, strict=True):
                begin, end = end, end + len(candidates)
                proposers = self._proposers.setdefault(slot.id, {})
                rows, sources = proposers.get(slot.position, ({}, self._sources[:0]))
                rows = rows | {word: len(sources) + row for row, word in enumerate(candidates)}
                sources = np.concatenate([sources, self._sources[begin:end]])
                proposers[slot.position] = rows, sources

    def judged(self, id_: int, edits: Sequence[Edit], passed: Mask) -> None:
        """Count edits of a sentence.

        Row i of `passed`, `(constraints, edits)`, tells which edits passed constraints 0 to i.
        """
        reached = np.vstack([np.ones((1, len(edits)), dtype=np.int64), passed])
        counts = reached.sum(axis=1)  # of the only generator
        if self._remembers:
            sources = np.ones((len(edits), len(self._proposing)), dtype=np.bool_)
            for row, edit in enumerate(edits):
                rows, proposed = self._proposers[id_][edit.position]
                sources[row] = proposed[rows[edit.word]]
            counts = (reached @ sources).T
        self._sums[id_][:, -len(reached) :] += counts
        if not (edits and edits[0].sentence.tagged()):
            return
        by_tag = self._by_tag.setdefault(id_, {})
        for edit, counts in zip(edits, reached.T, strict=True):
            if edit.tag:
                by_tag[edit.tag] = by_tag.get(edit.tag, 0) + counts

    def finished(self, id_: int) -> CandidateCounts:
        """Return the counts of a sentence and remove them from memory."""
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
    """Tell which generators proposed each candidate, ignoring case, `(candidates, 1 + generators)`.

    The first column, for all generators together, is true.
    """
    sources = np.ones((sum(map(len, words)), 1 + len(proposals)), dtype=np.bool_)
    if len(proposals) == 1:
        return sources
    for column, proposed in enumerate(proposals, start=1):
        lowered = [{word.lower() for word in of_slot} for of_slot in proposed]
        flags = (
            word.lower() in of_slot
            for candidates, of_slot in zip(words, lowered, strict=True)
            for word in candidates
        )
        sources[:, column] = np.fromiter(flags, np.bool_, len(sources))
    return sources


def _numbered(names: Sequence[str]) -> list[str]:
    """Make names unique: append 2 to the second occurrence of a name, and so on."""
    counts = [names[:end].count(name) for end, name in enumerate(names, start=1)]
    return [n if count == 1 else f"{n} {count}" for n, count in zip(names, counts, strict=True)]
