"""Keeps hundreds of searches alive and answers all they ask with few, full forward passes.

The design follows from what slows attack libraries down: one sentence at a time and a handful of
texts a forward pass. Here every live sentence has one request outstanding: candidates are made for
all that want some in one call, filters that are models judge them in another, and in one more say
how similar some are, gradients are taken together, and the states not asked about before are sorted
by length and predicted in batches up to a word budget.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.engine.gradients import Gradients
from robustparse.attacks.engine.problem_builder import ProblemBuilder
from robustparse.attacks.engine.search_run import Phase, SearchRun
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.engine.texts import Asked, read
from robustparse.attacks.goals.attachment import Goal
from robustparse.attacks.problem import Problem
from robustparse.attacks.search.requests import Search
from robustparse.attacks.victim import Victim
from robustparse.errors import check_least, check_seed

_FORWARD_SHARE = 16  # a forward pass is worth about 1/16 of a full batch in padding


@dataclass(frozen=True, slots=True)
class _Piece:
    """Pending states `begin:end` of one sentence."""

    sentence: SearchRun
    begin: int
    end: int

    def asked(self) -> Asked:
        return self.sentence.problem.source, self.sentence.pending[self.begin : self.end]


class Scheduler:
    """Runs searches against one victim.

    It alone counts queries: every state asked about is charged, seen before or not, and the clean
    prediction is query 1; unique ones are distinct states, whatever they read.
    Gradients are not charged.

    Args:
        victim: the model under attack.
        builder: makes candidates and judges changes.
        goal: judges its answers.
        search: the strategy, one generator a sentence.
        seed: with a sentence's id, seeds its search.
        budget: queries a sentence may charge; None is unlimited.
        live: searches kept alive at once.
        batch_words: padded words of a forward pass.
        batch_queries: texts of a forward pass.
        statistics: where totals are added up.
        reported: whether clean and closing predictions are wanted; else only what searches ask.

    Raises:
        InputError: a number is out of range; or, from `run`, the search asks for gradients of a
            victim that gives none.
    """

    def __init__(
        self,
        victim: Victim,
        builder: ProblemBuilder,
        goal: Goal,
        search: Search,
        *,
        seed: int,
        budget: int | None,
        live: int,
        batch_words: int,
        batch_queries: int,
        statistics: Statistics,
        reported: bool = True,
    ) -> None:
        check_least(
            "attack",
            budget=budget,
            live=live,
            batch_words=batch_words,
            batch_queries=batch_queries,
        )
        check_seed("attack: seed", seed)
        self._victim = victim
        self._builder, self._filtered, self._ahead = builder, builder.filtered, builder.free
        self._goal = goal
        self._search = search
        self._seed = seed
        self._budget = budget
        self._live = live
        self._batch_words = batch_words
        self._batch_queries = batch_queries
        self._statistics = statistics
        self._gradients = Gradients(victim, self._room, statistics)
        self._reported = reported

    def run(self, problems: Iterable[Problem]) -> Iterator[SearchRun]:
        """Attack all problems; sentences come as they finish."""
        rest = iter(problems)
        sentences: list[SearchRun] = []
        while True:
            # Closing parses leave room for the clean parses of the sentences that follow.
            searching = sum(sentence.phase is not Phase.FINAL for sentence in sentences)
            sentences += map(self._open, islice(rest, self._live - searching))
            if not sentences:
                return
            while self._prepare(sentences):
                pass
            for batch in self._batches(sentences):
                self._parse(batch)
            for sentence in sentences:
                if sentence.phase is not Phase.DONE:
                    sentence.advance()
            for sentence in sentences:
                if sentence.phase is Phase.DONE:
                    self._record(sentence)
                    yield sentence
            sentences = [sentence for sentence in sentences if sentence.phase is not Phase.DONE]

    def _open(self, problem: Problem) -> SearchRun:
        return SearchRun(
            problem,
            self._goal,
            self._search,
            self._seed,
            self._budget,
            filtered=self._filtered,
            ahead=self._ahead,
            reported=self._reported,
        )

    def _prepare(self, sentences: Sequence[SearchRun]) -> bool:
        """Serve all that wait for candidates, filters or gradients; whether there were any."""
        wanting = [one for one in sentences if one.wanted is not None]
        if wanting:
            self._supply(wanting)
        judging = [one for one in sentences if one.unjudged]
        if judging:
            self._judge(judging)
        comparing = [one for one in sentences if one.compared]
        if comparing:
            self._compare(comparing)
        sloped = [one for one in sentences if one.sloped is not None]
        self._gradients.take(sloped)
        return bool(wanting or judging or comparing or sloped)

    def _room(self, longest: int) -> int:
        """Texts of a forward pass whose longest one has so many words."""
        return min(self._batch_queries, max(1, self._batch_words // max(1, longest)))

    def _judge(self, sentences: Sequence[SearchRun]) -> None:
        """Let the filters judge the changes that sentences consider, all in one go."""
        passed = self._builder.admits([edit for one in sentences for edit in one.unjudged])
        begin = 0
        for sentence in sentences:
            edits = sentence.unjudged
            own = passed[:, begin : begin + len(edits)]
            sentence.problem = self._builder.count_judged(sentence.problem, edits, own)
            sentence.take_judgement(own[-1])
            begin += len(edits)

    def _compare(self, sentences: Sequence[SearchRun]) -> None:
        """Let a filter say how similar the changes are that searches compare, all in one go."""
        found = self._builder.similarities([edit for one in sentences for edit in one.compared])
        begin = 0
        for sentence in sentences:
            end = begin + len(sentence.compared)
            sentence.take_similarities(None if found is None else found[begin:end])
            begin = end

    def _supply(self, sentences: Sequence[SearchRun]) -> None:
        """Make the candidates that sentences want, all in one go."""
        wanted = [one.wanted for one in sentences if one.wanted is not None]
        problems = self._builder.extend([one.problem for one in sentences], wanted)
        for sentence, problem in zip(sentences, problems, strict=True):
            sentence.supply(problem)

    def _batches(self, sentences: Sequence[SearchRun]) -> Iterator[list[_Piece]]:
        """All pending states, longest sentences first, in batches of similar length."""
        allowed_padding = self._batch_words // _FORWARD_SHARE
        batch: list[_Piece] = []
        longest = room = padding = 0
        for sentence in sorted(sentences, key=attrgetter("length"), reverse=True):
            length, begin = sentence.length, 0
            rows = len(sentence.pending)
            while begin < rows:
                padding += (longest - length) * min(rows - begin, room)
                if batch and (room == 0 or padding > allowed_padding):
                    yield batch
                    batch = []
                if not batch:
                    longest, padding = max(1, length), 0
                    room = self._room(longest)
                end = min(rows, begin + room)
                batch.append(_Piece(sentence, begin, end))
                room -= end - begin
                begin = end
        if batch:
            yield batch

    def _parse(self, batch: Sequence[_Piece]) -> None:
        """One forward pass; the predictions go back to their sentences."""
        texts = read([piece.asked() for piece in batch])
        begin = time.perf_counter()
        predictions = self._victim.parse(texts.words, texts.tags, texts.lengths)
        self._statistics.victim_seconds += time.perf_counter() - begin
        self._statistics.forwards += 1
        self._statistics.texts += len(texts.lengths)
        words = int(texts.lengths.sum())
        self._statistics.words += words
        closing = (one.sentence for one in batch if one.sentence.phase is Phase.FINAL)
        self._statistics.unique_words += words - sum(one.length for one in closing)
        at = 0
        for piece in batch:
            rows = slice(at, at + piece.end - piece.begin)
            part = tuple([array[rows] for array in predictions])
            if self._goal.per_word:
                length = piece.sentence.length
                part = tuple(_with_columns(array, length) for array in part)
            piece.sentence.take(part)
            at = rows.stop

    def _record(self, sentence: SearchRun) -> None:
        place = self._statistics.sampled()
        if place is not None:
            states = np.concatenate(sentence.account.asked)
            self._statistics.keep(place, (sentence.problem.source, states))


def _with_columns(array: NDArray[Any], width: int) -> NDArray[Any]:
    """Return the array cut to so many columns, or filled up with zeros, `(n, width)`."""
    missing = max(0, width - array.shape[1])
    return np.pad(array[:, :width], ((0, 0), (0, missing))) if missing else array[:, :width]
