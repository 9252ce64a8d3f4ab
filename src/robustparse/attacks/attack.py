"""An attack: goal + candidates + constraints + search, all of them plain constructor arguments."""

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from robustparse.attacks.candidates.generator import CandidateGenerator
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.engine.problem_builder import ProblemBuilder
from robustparse.attacks.engine.scheduler import Scheduler
from robustparse.attacks.engine.search_run import SearchRun
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.goals.attachment import Goal
from robustparse.attacks.problem import Problem
from robustparse.attacks.results import AdversarialExample, AttackResult, Status
from robustparse.attacks.search.requests import Search
from robustparse.attacks.unseen import unseen_words
from robustparse.attacks.victim import Predictions, Victim
from robustparse.types import DependencyTree, Example

PACKING = ("live", "batch_words", "batch_queries")
"""Arguments of an `Attack` that outcomes do not depend on."""

_CHUNK = 512  # sentences whose problems are built at once


class Attack:
    """An attack on dependency parsers by word substitution.

    Args:
        goal: what the attack wants.
        candidates: proposes words.
        search: decides what to ask and what to settle on.
        constraints: which words may be changed and which candidates are accepted, in order.
        budget: queries a sentence may charge, the clean parse included; None is unlimited.
        seed: all random choices follow from it and the sentence's id.
        live: searches kept alive at once.
        batch_words: padded words of a forward pass of the victim; None leaves them to it.
        batch_queries: texts of a forward pass of the victim.
    """

    def __init__(
        self,
        goal: Goal,
        candidates: CandidateGenerator,
        search: Search,
        constraints: list[Constraint] | None = None,
        *,
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

    def check(self, examples: Sequence[Example]) -> None:
        """Refuse sentences that lack what the candidates or a constraint go by, tags say.

        Raises:
            InputError: names the first such sentence, counted from 1, and what it lacks.
        """
        self.candidates.check(examples)
        for constraint in self.constraints:
            constraint.check(examples)

    def run(self, examples: Iterable[Example], victim: Victim) -> "AttackRun":
        """Attack a parser, a few hundred sentences at a time; results come as they finish.

        A sentence without an attackable word is kept, unchanged and without success; so is one at
        which there is nothing for the goal to be reached, after its clean parse, and one that
        reaches it as it is, which counts as skipped.

        Args:
            examples: sentences with distinct ids.
            victim: the parser; it is in evaluation mode while results are drawn.

        Raises:
            InputError: a setting is out of range.
            ValueError: two sentences have the same id (raised when the second one is reached).
        """
        return AttackRun(self, examples, victim)

    def adversaries(self, examples: Sequence[Example], victim: Victim) -> list[AdversarialExample]:
        """Return what the attack makes of each sentence; nothing is parsed but what the search
        asks.

        Args:
            examples: sentences with distinct ids.
            victim: the parser, left as it was found.

        Raises:
            InputError, ValueError: as in `run`.
        """
        by_id = {example.id: example for example in examples}
        found = self.sentences(examples, victim, Statistics(), reported=False)
        return [
            AdversarialExample(by_id[one.problem.id], one.problem.text(one.outcome), one.charged)
            for one in found
        ]

    def sentences(
        self,
        examples: Iterable[Example],
        victim: Victim,
        statistics: Statistics,
        reported: bool = True,
    ) -> Generator[SearchRun, None, None]:
        """Return what becomes of each sentence, against any kind of victim; `run` is for parsers.

        Args:
            examples: sentences with distinct ids, and gold answers that the goal can judge by.
            victim: left as it was found once the results are exhausted, or on `close`.
            statistics: where totals are added up.
            reported: whether clean and closing predictions are wanted; else only what the search
                asks is predicted.

        Raises:
            InputError: as in `run`, or a gold answer is not of the goal's kind.
            ValueError: as in `run`.
        """
        builder = ProblemBuilder(
            victim, self.candidates, self.constraints, self.goal, self.seed, statistics
        )
        scheduler = Scheduler(
            victim,
            builder,
            self.goal,
            self.search,
            seed=self.seed,
            budget=self.budget,
            live=self.live,
            batch_words=victim.batch_words if self.batch_words is None else self.batch_words,
            batch_queries=self.batch_queries,
            statistics=statistics,
            reported=reported,
        )

        return self._sentences(iter(examples), victim, builder, scheduler)

    def _sentences(
        self,
        examples: Iterator[Example],
        victim: Victim,
        builder: ProblemBuilder,
        scheduler: Scheduler,
    ) -> Generator[SearchRun, None, None]:
        def problems() -> Iterator[Problem]:
            while chunk := list(islice(examples, _CHUNK)):
                self.check(chunk)
                yield from builder.build(chunk)

        with victim.evaluating():
            yield from scheduler.run(_distinct(problems()))


class AttackRun(Iterator[AttackResult]):
    """The results of a run as they come, and its statistics so far.

    The victim is left as it was found once the results are exhausted, or on `close`.
    """

    def __init__(self, attack: Attack, examples: Iterable[Example], victim: Victim) -> None:
        self.statistics = Statistics()
        self._victim = victim
        self._goal = attack.goal
        self._examples: dict[int, Example] = {}
        self._sentences = attack.sentences(self._kept(examples), victim, self.statistics)

    def __next__(self) -> AttackResult:
        begin = time.perf_counter()
        try:
            return self._result(next(self._sentences))
        finally:
            self.statistics.seconds += time.perf_counter() - begin

    def close(self) -> None:
        """End the run early; the victim is left as it was found."""
        self._sentences.close()

    def _kept(self, examples: Iterable[Example]) -> Iterator[Example]:
        """Yield the examples, each kept until its result is there."""
        for example in examples:
            self._examples.setdefault(example.id, example)
            yield example

    def _result(self, sentence: SearchRun) -> AttackResult:
        problem = sentence.problem
        edited = tuple(np.flatnonzero(sentence.outcome).tolist())
        words = problem.text(sentence.outcome)
        changed = [[text[at] for at in edited] for text in (problem.sentence.words, words)]
        return AttackResult(
            example=self._examples.pop(problem.id),
            words=words,
            edited=edited,
            clean=self._tree(sentence.clean),
            attacked=self._tree(sentence.attacked),
            counted=tuple(problem.counted.tolist()),
            targeted=self._goal.applies(problem),
            skipped=sentence.status is Status.SKIPPED,
            success=sentence.status is Status.SUCCEEDED,
            charged=sentence.charged,
            unique=sentence.unique,
            candidates=problem.counts,
            unseen=unseen_words(self._victim, *changed),
        )

    def _tree(self, predictions: Predictions) -> DependencyTree:
        labels = self._victim.label_names(predictions[1][0])
        return DependencyTree(tuple(predictions[0][0].tolist()), tuple(labels))


def _distinct(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield the problems, as long as their ids differ."""
    seen: set[int] = set()
    for problem in problems:
        if problem.id in seen:
            raise ValueError(f"two sentences of the run have the id {problem.id}")
        seen.add(problem.id)
        yield problem
