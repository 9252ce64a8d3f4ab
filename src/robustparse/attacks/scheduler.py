"""Keeps hundreds of searches alive and answers all they ask with few, full forward passes.

The design follows from what slows attack libraries down: one sentence at a time and a handful of
texts a forward pass. Here every live sentence has one request outstanding: candidates are made for
all that want some in one call, filters that are models judge them in another, and the states not
asked about before are sorted by length and parsed in batches up to a word budget.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from robustparse.attacks.building import ProblemBuilder
from robustparse.attacks.goals import Goal
from robustparse.attacks.live import LiveSentence, Phase
from robustparse.attacks.problem import Problem
from robustparse.attacks.randomness import stream
from robustparse.attacks.search.requests import Search
from robustparse.attacks.statistics import AskedTexts, Statistics
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError

_FORWARD_SHARE = 16  # a forward pass is worth about 1/16 of a full batch in padding


@dataclass(frozen=True, slots=True)
class _Piece:
    """Pending states `begin:end` of one sentence."""

    sentence: LiveSentence
    begin: int
    end: int


class Scheduler:
    """Runs searches against one victim.

    It alone counts queries: every state asked about is charged, seen before or not, and the clean
    parse is query 1; unique ones are told apart by a 64-bit hash of the state.

    Args:
        victim: the parser under attack.
        builder: makes candidates and judges changes.
        goal: judges its answers.
        search: the strategy, one generator a sentence.
        seed: with a sentence's id, seeds its search.
        budget: queries a sentence may charge; None is unlimited.
        live: searches kept alive at once.
        batch_words: padded words of a forward pass.
        batch_queries: texts of a forward pass.
        statistics: where totals are added up.

    Raises:
        InputError: a number is below 1.
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
    ) -> None:
        numbers = {
            "budget": 1 if budget is None else budget,
            "live": live,
            "batch_words": batch_words,
            "batch_queries": batch_queries,
        }
        for key, value in numbers.items():
            if value < 1:
                raise InputError(f"attack: {key} must be at least 1, got {value}")
        self._victim = victim
        self._builder = builder
        self._goal = goal
        self._search = search
        self._seed = seed
        self._budget = budget
        self._live = live
        self._batch_words = batch_words
        self._batch_queries = batch_queries
        self._statistics = statistics

    def run(self, problems: Iterable[Problem]) -> Iterator[LiveSentence]:
        """Attack all problems; sentences come as they finish."""
        waiting = iter(problems)
        sentences: list[LiveSentence] = []
        while True:
            # Closing parses leave room for the clean parses of the sentences that follow.
            searching = sum(sentence.phase is not Phase.FINAL for sentence in sentences)
            sentences += map(self._open, islice(waiting, self._live - searching))
            if not sentences:
                return
            while self._prepare(sentences):
                pass
            for batch in self._batches(sentences):
                self._parse(batch)
            for sentence in sentences:
                sentence.advance()
            for sentence in sentences:
                if sentence.phase is Phase.DONE:
                    self._record(sentence)
                    yield sentence
            sentences = [sentence for sentence in sentences if sentence.phase is not Phase.DONE]

    def _open(self, problem: Problem) -> LiveSentence:
        rng = stream(self._seed, problem.id)
        filtered = self._builder.filtered
        return LiveSentence(problem, self._goal, self._search, rng, self._budget, filtered)

    def _prepare(self, sentences: Sequence[LiveSentence]) -> bool:
        """Serve all that wait for candidates or filters; whether there were any."""
        wanting = [one for one in sentences if one.wanted is not None]
        if wanting:
            self._supply(wanting)
        judging = [one for one in sentences if one.unjudged]
        if judging:
            self._judge(judging)
        return bool(wanting or judging)

    def _judge(self, sentences: Sequence[LiveSentence]) -> None:
        """Let the filters judge the changes that sentences consider, all in one go."""
        admitted = self._builder.admits([edit for one in sentences for edit in one.unjudged])
        begin = 0
        for sentence in sentences:
            end = begin + len(sentence.unjudged)
            sentence.take_judgement(admitted[begin:end])
            begin = end

    def _supply(self, sentences: Sequence[LiveSentence]) -> None:
        """Make the candidates that sentences want, all in one go."""
        wanted = [one.wanted for one in sentences if one.wanted is not None]
        problems = self._builder.extend([one.problem for one in sentences], wanted)
        for sentence, problem in zip(sentences, problems, strict=True):
            sentence.supply(problem)

    def _batches(self, sentences: Sequence[LiveSentence]) -> Iterator[list[_Piece]]:
        """All pending states, longest sentences first, in batches of similar length."""
        allowed_padding = self._batch_words // _FORWARD_SHARE
        batch: list[_Piece] = []
        longest = room = padding = 0
        for sentence in sorted(sentences, key=lambda sentence: -len(sentence.problem)):
            length, begin = len(sentence.problem), 0
            rows = len(sentence.pending)
            while begin < rows:
                padding += (longest - length) * min(rows - begin, room)
                if batch and (room == 0 or padding > allowed_padding):
                    yield batch
                    batch = []
                if not batch:
                    longest, padding = max(1, length), 0
                    room = min(self._batch_queries, max(1, self._batch_words // longest))
                end = min(rows, begin + room)
                batch.append(_Piece(sentence, begin, end))
                room -= end - begin
                begin = end
        if batch:
            yield batch

    def _parse(self, batch: Sequence[_Piece]) -> None:
        """One forward pass; the parses go back to their sentences."""
        texts = sum(piece.end - piece.begin for piece in batch)
        longest = max(1, len(batch[0].sentence.problem))
        words = np.zeros((texts, longest), dtype=np.int32)
        tags = np.zeros((texts, longest), dtype=np.int32)
        lengths = np.zeros(texts, dtype=np.int32)
        at = 0
        for piece in batch:
            problem, span = piece.sentence.problem, slice(at, at + piece.end - piece.begin)
            words[span, : len(problem)] = piece.sentence.rows[piece.begin : piece.end]
            tags[span, : len(problem)] = problem.tags
            lengths[span] = len(problem)
            at = span.stop
        begin = time.perf_counter()
        heads, labels = self._victim.parse(words, tags, lengths)
        self._statistics.victim_seconds += time.perf_counter() - begin
        self._statistics.forwards += 1
        self._statistics.texts += texts
        self._statistics.words += int(lengths.sum())
        at = 0
        for piece in batch:
            sentence, length = piece.sentence, len(piece.sentence.problem)
            span = slice(at, at + piece.end - piece.begin)
            sentence.heads[piece.begin : piece.end] = heads[span, :length]
            sentence.labels[piece.begin : piece.end] = labels[span, :length]
            at = span.stop

    def _record(self, sentence: LiveSentence) -> None:
        self._statistics.unique_words += sentence.unique * len(sentence.problem)
        place = self._statistics.sampled()
        if place is not None:
            rows = np.concatenate(sentence.asked_rows)
            self._statistics.keep(place, AskedTexts(rows, sentence.problem.tags))
