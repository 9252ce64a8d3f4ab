"""From examples to problems, in bulk: candidates and filters run over all sentences at once."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, compress

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.problem import Problem
from robustparse.attacks.randomness import stream
from robustparse.attacks.search.requests import Search
from robustparse.attacks.statistics import Statistics
from robustparse.attacks.victim import Victim
from robustparse.metrics import PunctuationPolicy, counted_words
from robustparse.types import Example

_Masks = list[NDArray[np.bool_]]


class ProblemBuilder:
    """Builds the problems of many examples.

    Args:
        victim: whose rows and ids the problems hold.
        candidates: proposes words.
        constraints: which words may be changed and which candidates are accepted, in order.
        punctuation: which words count.
        search: asked which words it can come to change at all.
        seed: of the candidates drawn.
        statistics: where the seconds of models are added up.
    """

    def __init__(
        self,
        victim: Victim,
        candidates: CandidateGenerator,
        constraints: Sequence[Constraint],
        punctuation: PunctuationPolicy,
        search: Search,
        seed: int,
        statistics: Statistics,
    ) -> None:
        self._victim = victim
        self._candidates = candidates
        self._constraints = constraints
        self._punctuation = punctuation
        self._search = search
        self._seed = seed
        self._statistics = statistics

    def build(self, examples: Sequence[Example]) -> list[Problem]:
        """The problems of the examples, in their order."""
        counted = [counted_words(example.sentence, self._punctuation) for example in examples]
        eligible = self._eligible(examples)
        wanted = [
            self._search.positions(may, counts, stream(self._seed, example.id))
            for example, may, counts in zip(examples, eligible, counted, strict=True)
        ]
        slots = [
            Slot(example.id, example.sentence, position)
            for example, mask in zip(examples, wanted, strict=True)
            for position in np.flatnonzero(mask).tolist()
        ]
        return self._assemble(examples, eligible, counted, wanted, self._accepted(slots))

    def _eligible(self, examples: Sequence[Example]) -> _Masks:
        masks: _Masks = [np.ones(len(example.sentence), dtype=np.bool_) for example in examples]
        for constraint in self._constraints:
            masks = [
                mask & allowed
                for mask, allowed in zip(masks, constraint.attackable(examples), strict=True)
            ]
        return masks

    def _accepted(self, slots: Sequence[Slot]) -> list[list[str]]:
        """The candidates of each slot that pass all constraints, in the generator's order."""
        with self._timed(self._candidates):
            proposals = self._candidates.propose(slots, self._seed)
        words = [
            in_casing_of(slot.word, proposal)
            for slot, proposal in zip(slots, proposals, strict=True)
        ]
        for constraint in self._constraints:
            with self._timed(constraint):
                masks = constraint.accept(slots, words, self._victim)
            words = [
                some if mask.all() else list(compress(some, mask.tolist()))
                for some, mask in zip(words, masks, strict=True)
            ]
        return words

    def _assemble(
        self,
        examples: Sequence[Example],
        eligible: _Masks,
        counted: _Masks,
        wanted: _Masks,
        accepted: Sequence[list[str]],
    ) -> list[Problem]:
        victim = self._victim
        lengths = [len(example.sentence) for example in examples]
        ends = np.cumsum(lengths).tolist()
        originals = _rows(victim, list(chain.from_iterable(e.sentence.words for e in examples)))
        rows = _rows(victim, list(chain.from_iterable(accepted)))
        tags = victim.intern_tags([tag for example in examples for tag in _tags(example)])
        labels = victim.label_ids([label for example in examples for label in example.gold.labels])
        problems, slot, begin = [], 0, 0
        for index, (example, end) in enumerate(zip(examples, ends, strict=True)):
            span = slice(end - lengths[index], end)
            counts = np.zeros(lengths[index], dtype=np.int64)
            slots = int(wanted[index].sum())
            mine = accepted[slot : slot + slots]
            counts[wanted[index]] = [len(words) for words in mine]
            ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            problems.append(
                Problem(
                    id=example.id,
                    sentence=example.sentence,
                    original=originals[span],
                    tags=tags[span],
                    unknown=victim.unknown,
                    eligible=eligible[index],
                    ptr=ptr,
                    rows=rows[begin : begin + int(ptr[-1])],
                    words=tuple(chain.from_iterable(mine)),
                    heads=np.array(example.gold.heads, dtype=np.int16),
                    labels=labels[span],
                    counted=counted[index],
                )
            )
            slot, begin = slot + slots, begin + int(ptr[-1])
        return problems

    @contextmanager
    def _timed(self, part: CandidateGenerator | Constraint) -> Iterator[None]:
        """Adds the seconds of a part to the statistics, if it is a model."""
        begin = time.perf_counter()
        yield
        if part.is_model():
            self._statistics.add_model_seconds(part, time.perf_counter() - begin)


def in_casing_of(original: str, candidates: Sequence[str]) -> list[str]:
    """Candidates in the casing of the original word (lower, UPPER, Capitalised; else as they are).

    Repeats after the first are dropped, and so is the original word in any casing.
    """
    if original.isupper() and len(original) > 1:
        cased = dict.fromkeys(map(str.upper, candidates))
    elif original[:1].isupper():
        cased = dict.fromkeys([word[:1].upper() + word[1:] for word in candidates])
    elif original.islower():
        cased = dict.fromkeys(map(str.lower, candidates))
        cased.pop(original, None)
        return list(cased)
    else:
        cased = dict.fromkeys(candidates)
    lower = original.lower()
    return [word for word in cased if word.lower() != lower]


def _rows(victim: Victim, words: Sequence[str]) -> NDArray[np.int32]:
    """Rows of the words, `(len(words),)`; each distinct word is interned once."""
    distinct = list(dict.fromkeys(words))
    row = dict(zip(distinct, victim.intern(distinct).tolist(), strict=True))
    return np.fromiter(map(row.__getitem__, words), dtype=np.int32, count=len(words))


def _tags(example: Example) -> tuple[str, ...]:
    """The tags a victim may read: Penn tags, or universal ones where the corpus has no others."""
    sentence = example.sentence
    return sentence.xpos or sentence.upos or ("_",) * len(sentence)
