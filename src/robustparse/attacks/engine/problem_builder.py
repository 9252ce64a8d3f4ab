"""Builds problems from examples; candidate models and constraints see many sentences at once."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, compress, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.candidates.generator import CandidateGenerator, Merged, Slot
from robustparse.attacks.candidates.union import Union, cased, unite
from robustparse.attacks.component import Component
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.constraints.sentence_constraint import Edit, SentenceConstraint
from robustparse.attacks.constraints.tagging.tags import never_attacked
from robustparse.attacks.engine.candidate_counts import CandidateCounter
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.goals.goal import Goal
from robustparse.attacks.problem import Phrase, Problem, State
from robustparse.attacks.victim import ReadingVictim, Victim
from robustparse.data.reading import Reading
from robustparse.errors import InputError, check_all
from robustparse.metrics import counted_words
from robustparse.types import Example, Floats, Ids, Indices, Mask, Sentence

_Masks = list[Mask]


class _Asked(NamedTuple):
    """A word to replace, by its position among the words that the victim reads."""

    reading: Reading
    position: int


class ProblemBuilder:
    """Builds the problems of many examples.

    Args:
        victim: the model under attack; problems hold its rows and ids.
        candidates: proposes substitutes.
        constraints: which words may be changed and which candidates are accepted, in order.
        goal: says which words count and what predictions are compared with.
        seed: the seed of random candidates.
        statistics: adds up the time of models.

    Attributes:
        candidate_counts: counts candidates.
        free: whether neither candidates nor word constraints need a model.
        constrained: whether there are sentence constraints.
        tells_combined: whether one of them judges combined changes in another way.
    """

    def __init__(
        self,
        victim: Victim,
        candidates: CandidateGenerator,
        constraints: Sequence[Constraint],
        goal: Goal,
        seed: int,
        statistics: Statistics,
    ) -> None:
        self.victim, self.goal, self._constraints = victim, goal, constraints
        self._reading = _word_for_word
        if isinstance(victim, ReadingVictim):
            self._reading = victim.reading
        members = candidates.generators if isinstance(candidates, Union) else [candidates]
        prepared: list[Component] = [*members, *constraints]
        check_all(partial(component.prepare, victim) for component in prepared)
        self.seed, self.statistics = seed, statistics
        bound = candidates.for_victim(victim)
        self._united = isinstance(bound, Union)
        self._generators = bound.generators if isinstance(bound, Union) else [bound]
        # Other constraints accept every candidate: they only say which words may be changed.
        self._on_words = [c for c in constraints if type(c).accept is not Constraint.accept]
        self._on_sentences = [c for c in constraints if isinstance(c, SentenceConstraint)]
        self.candidate_counts = CandidateCounter(
            self._generators, self._on_words, self._on_sentences
        )
        components: list[Component] = [*self._generators, *self._on_words]
        required = [each for each in self._generators if not each.optional] or self._generators
        self._only_texts = any(generator.spans for generator in required)
        usable = required if goal.per_word else self._generators
        self._spans = any(generator.spans for generator in usable)
        self._follows = any(generator.follows for generator in self._generators)
        self.free = not any(component.is_model for component in components)
        self.constrained = bool(self._on_sentences)
        self.tells_combined = not all(each.judges_combined for each in self._on_sentences)

    def build(self, examples: Sequence[Example]) -> list[Problem]:
        """Build the problems of the examples, in order, still without candidates."""
        victim = self.victim
        lengths = [len(example.sentence) for example in examples]
        ends = np.cumsum(lengths).tolist()
        originals = _rows(victim, list(chain.from_iterable(e.sentence.words for e in examples)))
        marks = victim.intern_marks([mark for e in examples for mark in e.sentence.marks])
        golds = self.goal.gold(examples, victim)
        readings = [self._reading(example) for example in examples]
        if self._only_texts:
            self._check_spans(examples, readings)
        once = any(constraint.once for constraint in self._on_sentences)
        return [
            Problem(
                example=example,
                reading=reading,
                original=originals[end - length : end],
                marks=marks[end - length : end],
                eligible=self._eligible(example, reading),
                ptr=np.zeros(length + 1, dtype=np.int64),
                rows=np.zeros(0, dtype=np.int32),
                words=(),
                gold=gold,
                counted=counted_words(example.sentence, self.goal.punctuation),
                once=once,
                follows=self._follows,
                most_edits=min(
                    (each.most_edits(len(reading.sentence)) for each in self._on_sentences),
                    default=length,
                ),
            )
            for example, reading, gold, length, end in zip(
                examples, readings, golds, lengths, ends, strict=True
            )
        ]

    def _eligible(self, example: Example, reading: Reading) -> Mask:
        """Tell which of the words that the victim reads may be changed, `(words,)`."""
        text = example if reading.plain else replace(example, sentence=reading.sentence)
        allowed = ~never_attacked(text)
        for constraint in self._constraints:
            if not constraint.of_read_words:
                mask = constraint.attackable(text)
                allowed = allowed & _mask(constraint, "attackable", mask, len(allowed))
        allowed = allowed[reading.positions] & reading.free & self.goal.editable(example)
        for constraint in self._constraints:
            if constraint.of_read_words:
                mask = constraint.attackable(example)
                allowed = allowed & _mask(constraint, "attackable", mask, len(allowed))
        return allowed

    def extend(self, problems: Sequence[Problem], positions: Sequence[Indices]) -> list[Problem]:
        """Add candidates to each problem at rising positions that have none yet."""
        return self._extend(problems, positions, [problem.sentence for problem in problems])

    def follow(
        self, problems: Sequence[Problem], changed: Sequence[tuple[int, State]]
    ) -> list[Problem]:
        """Add candidates that follow a change (`CandidateGenerator.follows`).

        Args:
            problems: the problems.
            changed: the position of the word and the current state, for each problem. Earlier
                candidates of the word keep their numbers.
        """
        sentences = [
            replace(problem.sentence, words=problem.text(state))
            for problem, (_, state) in zip(problems, changed, strict=True)
        ]
        positions = [np.array([position]) for position, _ in changed]
        return self._extend(problems, positions, sentences, follow=True)

    def _extend(
        self,
        problems: Sequence[Problem],
        positions: Sequence[Indices],
        sentences: Sequence[Sentence],
        follow: bool = False,
    ) -> list[Problem]:
        """Add candidates at rising positions; the generators see the given sentences."""
        slots, asked, follows, known = [], [], [], []
        for problem, sentence, new in zip(problems, sentences, positions, strict=True):
            in_text = problem.reading.positions[new].tolist()
            slots += [Slot(problem.id, sentence, position) for position in in_text]
            asked += [_Asked(problem.reading, position) for position in new.tolist()]
            follows += np.append(problem.eligible[1:], False)[new].tolist()
            known.append(problem.ptr[new + 1] - problem.ptr[new])
        words = self._accepted(slots, asked, follow)
        if self._spans:
            pairs = zip(words, follows, strict=True)
            words = [each if mergeable else _unmerged(each) for each, mergeable in pairs]
        rows, phrases = self._interned(asked, _read(asked, words))
        added = np.fromiter(map(len, words), dtype=np.int64, count=len(slots))
        _check_sizes(slots, added + np.concatenate([added[:0], *known]))
        extended, slot, row = [], 0, 0
        for problem, new in zip(problems, positions, strict=True):
            chunk = slice(slot, slot + len(new))
            end = row + int(added[chunk].sum())
            numbered = _numbered(problem, rows[row:end], phrases)
            extended.append(_extended(numbered[0], new, words[chunk], added[chunk], numbered[1]))
            slot, row = chunk.stop, end
        return extended

    def _interned(
        self, asked: Sequence[_Asked], candidates: Sequence[Sequence[str]]
    ) -> tuple[Ids, list[Phrase]]:
        """Return the victim's rows of all candidates, -1 - k for the k-th phrase, and the phrases.

        Only words that the victim reads as they are can become phrases.
        """
        every = list(chain.from_iterable(candidates))
        if not self._spans:
            return _rows(self.victim, every), []
        plain = (
            word.reading.plain
            for word, of_slot in zip(asked, candidates, strict=True)
            for _ in of_slot
        )
        spelt = {
            index: words
            for index, (candidate, as_it_is) in enumerate(zip(every, plain, strict=True))
            if as_it_is
            and ((words := candidate.split()) != [candidate] or isinstance(candidate, Merged))
        }
        single = np.ones(len(every), dtype=np.bool_)
        single[list(spelt)] = False
        rows = np.empty(len(every), dtype=np.int32)
        rows[single] = _rows(self.victim, list(compress(every, single.tolist())))
        rows[~single] = -1 - np.arange(len(spelt))
        numbers = iter(_rows(self.victim, list(chain.from_iterable(spelt.values()))).tolist())
        phrases = [
            Phrase(tuple(islice(numbers, len(words))), isinstance(every[index], Merged))
            for index, words in spelt.items()
        ]
        return rows, phrases

    def _check_spans(self, examples: Sequence[Example], readings: Sequence[Reading]) -> None:
        """Reject sentences whose words cannot be inserted, merged or left out.

        Raises:
            InputError: the answers have a part for each word, or the victim reads other words.
        """
        problem = None
        if self.goal.per_word:
            problem = "the candidates change the number of words, and each word has an answer"
        elif not all(reading.plain for reading in readings):
            problem = "the candidates change the number of words, and the model reads other words"
        if problem is not None:
            raise InputError(
                problem,
                key=f"sentence {examples[0].id + 1}",
                expected="texts with one answer, which the model reads word for word",
                remedy="choose a recipe that replaces words by words",
            )

    def _accepted(
        self, slots: Sequence[Slot], asked: Sequence[_Asked], follow: bool
    ) -> list[list[str]]:
        """Return each slot's candidates that pass all word constraints, in the generator's order.

        If the victim reads several candidates as the same word, the first one that passes is kept.
        """
        proposals = []
        for generator in self._generators:
            proposed: list[list[str]] = [[] for _ in slots]
            if generator.follows == follow:
                with self._timed(generator):
                    proposed = self._proposed(generator, slots, asked)
            pairs = zip(asked, cased(generator, slots, proposed), strict=True)
            proposals.append([word.reading.candidates(word.position, new) for word, new in pairs])
        words = unite(proposals) if self._united else proposals[0]
        if not self._on_words:
            everything = [np.ones(len(candidates), dtype=np.bool_) for candidates in words]
            words = _kept(words, _read_once(asked, words, everything))
        self.candidate_counts.proposed(slots, words, proposals)
        for constraint in self._on_words:
            judged = _read(asked, words) if constraint.of_read_words else words
            with self._timed(constraint):
                masks = constraint.accept(slots, judged, self.victim)
            masks = _checked(constraint, masks, words)
            if constraint is self._on_words[-1]:
                masks = _read_once(asked, words, masks)
            words = _kept(words, masks)
            self.candidate_counts.kept(masks)
        self.candidate_counts.accepted(words)
        return words

    def _proposed(
        self, generator: CandidateGenerator, slots: Sequence[Slot], asked: Sequence[_Asked]
    ) -> list[list[str]]:
        """Ask a generator; an optional one gets only slots that can take its candidates."""
        if not generator.optional:
            return generator.propose(slots, self.seed)
        able = [
            row for row, word in enumerate(asked) if word.reading.plain and not self.goal.per_word
        ]
        proposed: list[list[str]] = [[] for _ in slots]
        for row, words in zip(
            able, generator.propose([slots[row] for row in able], self.seed), strict=True
        ):
            proposed[row] = words
        return proposed

    def admits(self, problems: Sequence[Problem], edits: Sequence[Sequence[Edit]]) -> list[Mask]:
        """Tell which edits of each problem pass all sentence constraints, `(edits,)` each.

        Each constraint judges only the edits that passed the previous one.
        """
        all_edits = list(chain.from_iterable(edits))
        passed = np.zeros((len(self._on_sentences), len(all_edits)), dtype=np.bool_)
        left = np.arange(len(all_edits))
        for row, constraint in enumerate(self._on_sentences):
            if not left.size:
                break
            with self._timed(constraint):
                admitted = constraint.admits([all_edits[index] for index in left.tolist()])
            left = left[_mask(constraint, "admits", admitted, len(left))]
            passed[row, left] = True
        by_problem = _split(passed, edits)
        for problem, its_edits, verdicts in zip(problems, edits, by_problem, strict=True):
            self.candidate_counts.judged(problem.id, its_edits, verdicts)
        return [verdicts[-1] for verdicts in by_problem]

    def similarities(
        self, problems: Sequence[Problem], edits: Sequence[Sequence[Edit]]
    ) -> Sequence[Floats | None]:
        """Measure the edits of each problem by the first constraint that measures similarity.

        Returns:
            `(edits,)` each; None if no constraint measures similarity.
        """
        all_edits = list(chain.from_iterable(edits))
        for constraint in self._on_sentences:
            with self._timed(constraint):
                similarities = constraint.similarities(all_edits)
            if similarities is not None:
                return _split(similarities, edits)
        return [None] * len(problems)

    @contextmanager
    def _timed(self, component: Component) -> Iterator[None]:
        """Add a model's time to the statistics; name the component if it fails."""
        begin = time.perf_counter()
        try:
            yield
        except InputError:
            raise
        except Exception as error:
            message = f"{type(component).__name__} failed ({type(error).__name__}: {error})"
            raise RuntimeError(message) from error
        if component.is_model:
            seconds = time.perf_counter() - begin
            self.statistics.model_seconds[type(component).__name__] += seconds


def _checked(
    constraint: Constraint, masks: Sequence[Mask], words: Sequence[Sequence[str]]
) -> _Masks:
    """Check that a constraint accepts or rejects each candidate of each slot."""
    listed = isinstance(masks, Sequence | np.ndarray)
    if not listed or len(masks) != len(words):
        problem = f"returns {repr(masks)[:60]} for {len(words)} slots"
        key = f"{type(constraint).__name__}.accept"
        raise InputError(problem, key=key, expected="a list with a mask for each slot")
    pairs = zip(masks, words, strict=True)
    return [_mask(constraint, "accept", mask, len(candidates)) for mask, candidates in pairs]


def _mask(constraint: Constraint, method: str, values: Mask, size: int) -> Mask:
    """Check an answer of a constraint; whole numbers would count as positions in a mask."""
    mask = np.asarray(values)
    if mask.shape != (size,) or (mask.dtype.kind != "b" and size):
        problem = f"returns {repr(values)[:60]} for {size} items"
        key = f"{type(constraint).__name__}.{method}"
        raise InputError(problem, key=key, expected=f"{size} booleans, one for each item")
    return mask.astype(np.bool_, copy=False)


def _word_for_word(example: Example) -> Reading:
    return Reading.word_for_word(example.sentence)


def _unmerged(candidates: list[str]) -> list[str]:
    """Leave out merged candidates of a word whose next word may not be changed."""
    return [candidate for candidate in candidates if not isinstance(candidate, Merged)]


def _read(asked: Sequence[_Asked], words: Sequence[list[str]]) -> list[list[str]]:
    """Return the words that the victim reads for the candidates of each position."""
    return [
        candidates if word.reading.plain else [*map(word.reading.read, candidates)]
        for word, candidates in zip(asked, words, strict=True)
    ]


def _read_once(asked: Sequence[_Asked], words: Sequence[list[str]], masks: _Masks) -> _Masks:
    """Keep only the first of several candidates that the victim reads as the same word."""
    reduced = []
    for word, candidates, mask in zip(asked, words, masks, strict=True):
        if not word.reading.plain:
            kept = np.flatnonzero(mask)[::-1].tolist()
            rows = {word.reading.read(candidates[row]): row for row in kept}
            mask = np.isin(np.arange(len(candidates)), [*rows.values()])
        reduced.append(mask)
    return reduced


def _kept(words: Sequence[list[str]], masks: _Masks) -> list[list[str]]:
    return [
        candidates if mask.all() else list(compress(candidates, mask.tolist()))
        for candidates, mask in zip(words, masks, strict=True)
    ]


def _rows(victim: Victim, words: Sequence[str]) -> Ids:
    """Return the victim's rows of words, `(len(words),)`; each distinct word is interned once."""
    distinct = list(dict.fromkeys(words))
    row = dict(zip(distinct, victim.intern(distinct).tolist(), strict=True))
    return np.fromiter(map(row.__getitem__, words), dtype=np.int32, count=len(words))


def _check_sizes(slots: Sequence[Slot], added: Indices) -> None:
    """Check that the number of candidates of each slot fits into a state."""
    most = np.iinfo(np.int16).max
    if added.max(initial=0) > most:
        slot = slots[int(added.argmax())]
        raise InputError(
            f"{added.max()} candidates for one word of sentence {slot.id + 1}",
            key="attack",
            expected=f"at most {most}",
            remedy="limit them with the generator's option `sample`",
        )


def _numbered(problem: Problem, rows: Ids, phrases: Sequence[Phrase]) -> tuple[Problem, Ids]:
    """Give the phrases among new candidates the problem's next numbers."""
    new = np.flatnonzero(rows < 0) if phrases else rows[:0]
    if not len(new):
        return problem, rows
    its = [phrases[number] for number in (-1 - rows[new]).tolist()]
    rows = rows.copy()
    rows[new] = -1 - len(problem.phrases) - np.arange(len(new))
    return replace(problem, phrases=(*problem.phrases, *its)), rows


def _extended(
    problem: Problem, positions: Indices, words: Sequence[Sequence[str]], added: Indices, rows: Ids
) -> Problem:
    """Add candidates at rising positions: `added[i]` words, with their rows, at position i."""
    new = np.zeros(len(problem), dtype=np.int64)
    new[positions] = added
    ptr = problem.ptr.copy()
    ptr[1:] += new.cumsum()
    joined: list[str] = []
    done = 0
    ends = problem.ptr[positions + 1]
    for end, new_words in zip(ends.tolist(), words, strict=True):
        joined += [*problem.words[done:end], *new_words]
        done = end
    rows = np.insert(problem.rows, np.repeat(ends, added), rows)
    return replace(problem, ptr=ptr, rows=rows, words=(*joined, *problem.words[done:]))


def _split(values: NDArray[Any], edits: Sequence[Sequence[Edit]]) -> list[NDArray[Any]]:
    """Split values `(..., edits)` into one array per problem."""
    return np.split(values, np.cumsum([len(of_problem) for of_problem in edits])[:-1], axis=-1)
