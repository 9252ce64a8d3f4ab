"""An attack: goal + candidates + constraints + search, all of them plain constructor arguments."""

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain, count, islice

import numpy as np

from robustparse.attacks.candidates.generator import CandidateGenerator
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.engine.problem_builder import ProblemBuilder
from robustparse.attacks.engine.scheduler import Scheduler
from robustparse.attacks.engine.search_run import SearchRun
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.features import feature_warnings
from robustparse.attacks.goals.goal import Goal
from robustparse.attacks.goals.usual import usual_goal
from robustparse.attacks.problem import Problem
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.requests import Search
from robustparse.attacks.tagged import Part
from robustparse.attacks.unseen import unseen_words
from robustparse.attacks.victim import CalledVictim, Victim, joined
from robustparse.errors import check_least, check_seed
from robustparse.metrics import PunctuationPolicy
from robustparse.types import Example

PACKING = ("live", "batch_words", "batch_queries")
"""Arguments of an `Attack` that outcomes do not depend on."""

_CHUNK = 512  # sentences whose problems are built at once


class Attack:
    """An attack on a model by word substitution.

    Args:
        candidates: proposes words.
        search: decides what to ask and what to settle on.
        constraints: which words may be changed and which candidates are accepted, in order.
        goal: what the attack wants; by default the usual goal for the gold answers, so that one
            recipe serves several tasks (`goals.usual`).
        budget: queries a sentence may charge, the clean prediction included; None is unlimited.
        seed: all random choices follow from it and the sentence's id.
        live: searches kept alive at once, at most.
        batch_words: padded words of a forward pass of the victim; None leaves them to it.
        batch_queries: texts of a forward pass of the victim.
    """

    def __init__(
        self,
        candidates: CandidateGenerator,
        search: Search,
        constraints: list[Constraint] | None = None,
        *,
        goal: Goal | None = None,
        budget: int | None = None,
        seed: int = 0,
        live: int = 256,
        batch_words: int | None = None,
        batch_queries: int = 4096,
    ) -> None:
        self.goal = goal
        self.candidates = candidates
        self.search = search
        self.constraints = list(constraints or [])
        self.budget = budget
        self.seed = seed
        self.live = live
        self.batch_words = batch_words
        self.batch_queries = batch_queries

    @property
    def punctuation(self) -> PunctuationPolicy:
        """Which words enter the scores, by the goal; the usual goals count all of them."""
        return "none" if self.goal is None else self.goal.punctuation

    def check(self, examples: Sequence[Example]) -> None:
        """Refuse sentences that lack what the candidates or a constraint go by, such as tags.

        Raises:
            InputError: names the first such sentence, counted from 1, and what it lacks.
        """
        self.candidates.check(examples)
        for constraint in self.constraints:
            constraint.check(examples)

    def warnings(self, examples: Sequence[Example], victim: Victim | None = None) -> Iterator[str]:
        """Yield what a user should know of the data, once each: which tags the parts go by, tags
        that a constraint lists and no word has, features that cannot be compared, settings of the
        search that make scores say little.
        """
        parts: list[Part] = [self.candidates, *self.constraints]
        warnings = (warning for part in parts for warning in part.warnings(examples))
        yield from dict.fromkeys(warnings)
        yield from feature_warnings(parts, examples, victim)
        yield from self.search.warnings()

    def run(
        self, examples: Iterable[Example], victim: Victim, statistics: Statistics | None = None
    ) -> Generator[AttackResult, None, None]:
        """Attack a model, several sentences at a time; results come as they finish.

        No more sentences are under way than two forward passes hold.

        A sentence without an attackable word is kept, unchanged and without success. So is one in
        which the goal finds nothing to attack, after its clean prediction. One that reaches the
        goal as it is counts as skipped.

        Args:
            examples: sentences with distinct ids, and gold answers that the goal can judge by.
            victim: the model; it is in evaluation mode while results are drawn, and left as it was
                found once they are exhausted, or on `close`.
            statistics: where totals are added up.

        Raises:
            InputError: a setting is out of range, or a gold answer is not of the goal's kind.
            ValueError: two sentences have the same id (raised when the second one is reached).
        """
        statistics = Statistics() if statistics is None else statistics
        return _results(self.search_runs(examples, victim, statistics), victim, statistics)

    def search_runs(
        self,
        examples: Iterable[Example],
        victim: Victim,
        statistics: Statistics | None = None,
        reported: bool = True,
    ) -> Generator[SearchRun, None, None]:
        """Attack as `run` does, without answers made of the victim's arrays.

        Args:
            examples: as in `run`.
            victim: as in `run`.
            statistics: as in `run`.
            reported: whether clean and closing predictions are wanted; else only what the search
                asks is predicted, which makes adversaries for training.
        """
        check_least(
            "attack",
            budget=self.budget,
            live=self.live,
            batch_words=self.batch_words,
            batch_queries=self.batch_queries,
        )
        check_seed("attack: seed", self.seed)
        return self._search_runs(iter(examples), victim, statistics or Statistics(), reported)

    def _search_runs(
        self, examples: Iterator[Example], victim: Victim, statistics: Statistics, reported: bool
    ) -> Generator[SearchRun, None, None]:
        first = next(examples, None)
        if first is None:
            return
        goal = usual_goal(first.gold) if self.goal is None else self.goal
        builder = ProblemBuilder(
            victim, self.candidates, self.constraints, goal, self.seed, statistics
        )
        texts = victim.batch_texts if isinstance(victim, CalledVictim) else self.batch_queries
        scheduler = Scheduler(
            builder,
            self.search,
            budget=self.budget,
            live=self.live,
            batch_words=victim.batch_words if self.batch_words is None else self.batch_words,
            batch_queries=min(texts, self.batch_queries),
            reported=reported,
        )
        with victim.evaluating():
            yield from scheduler.run(self._problems(chain([first], examples), builder))

    def _problems(self, examples: Iterator[Example], builder: ProblemBuilder) -> Iterator[Problem]:
        """Build the problems, as long as their ids differ.

        Sentences of a chunk come by length, up in one chunk and down in the next, so that those
        that are under way together need little padding.
        """
        seen: set[int] = set()
        for number in count():
            if not (chunk := list(islice(examples, _CHUNK))):
                return
            self.check(chunk)
            chunk.sort(key=lambda example: len(example.sentence), reverse=number % 2 == 1)
            for problem in builder.build(chunk):
                if problem.id in seen:
                    raise ValueError(f"two sentences of the run have the id {problem.id}")
                seen.add(problem.id)
                yield problem


def _results(
    runs: Generator[SearchRun, None, None], victim: Victim, statistics: Statistics
) -> Generator[AttackResult, None, None]:
    """Yield the results of searches; what their consumer does in between takes no time."""
    begin = time.perf_counter()
    with closing(runs):
        for run in runs:
            result = _result(run, victim)
            statistics.seconds += time.perf_counter() - begin
            yield result
            begin = time.perf_counter()
    statistics.seconds += time.perf_counter() - begin


def _result(run: SearchRun, victim: Victim) -> AttackResult:
    problem, words = run.problem, run.words
    edited = np.flatnonzero(run.outcome).tolist()
    before, after = problem.example.sentence.words, run.read
    clean, attacked = victim.answers(joined([run.clean, run.attacked]), [len(problem)] * 2)
    return AttackResult(
        example=problem.example,
        text=problem.sentence,
        words=words,
        read=after,
        edited=tuple(map(problem.place, edited)),
        clean=clean,
        attacked=attacked,
        counted=tuple(problem.counted.tolist()),
        targeted=run.targeted,
        skipped=run.skipped,
        success=run.success,
        charged=run.queries.charged,
        unique=run.queries.unique,
        candidates=run.counts,
        unseen=unseen_words(victim, [before[at] for at in edited], [after[at] for at in edited]),
    )
