"""An attack: a goal, a candidate generator, constraints and a search, run against a victim."""

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain, count, islice
from typing import Any, ClassVar

from robustparse.attacks.candidates.generator import CandidateGenerator
from robustparse.attacks.candidates.union import Union
from robustparse.attacks.component import Component
from robustparse.attacks.constraints.constraint import Constraint
from robustparse.attacks.engine.problem_builder import ProblemBuilder
from robustparse.attacks.engine.scheduler import Scheduler
from robustparse.attacks.engine.search_run import SearchRun
from robustparse.attacks.engine.statistics import Statistics
from robustparse.attacks.features import feature_warnings
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.goals.goal import Goal
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.attacks.goals.tag_errors import TagErrors
from robustparse.attacks.goals.wrong_form import WrongForm
from robustparse.attacks.problem import Problem
from robustparse.attacks.results import AttackResult, unseen_words
from robustparse.attacks.search.rankings import Ranking
from robustparse.attacks.search.requests import Search
from robustparse.attacks.victim import CalledVictim, ScoringVictim, Victim, joined
from robustparse.errors import InputError, check_least, check_seed
from robustparse.metrics import PunctuationPolicy
from robustparse.types import DependencyTree, Example, LogicalForm, TagSequence

_CHUNK = 512  # sentences whose problems are built at once


class Attack:
    """An attack on a model by word substitution.

    Args:
        candidates: proposes substitutes.
        search: decides which changed sentences the victim scores and which one is returned.
        constraints: which words may be changed and which candidates are accepted, in order.
        goal: what the attack tries to achieve. By default it depends on the type of the gold
            answers (`usual_goal`), so that one recipe serves several tasks.
        budget: maximum queries per sentence, including the clean prediction; None is unlimited.
        seed: all random choices follow from the seed and the sentence's id.
        live: maximum number of searches that run at the same time.
        batch_words: padded words per forward pass of the victim; None uses the victim's value.
        batch_queries: maximum texts per forward pass of the victim.

    Attributes:
        PACKING: arguments that affect speed but not results.
        recipe: the name and the settings (``class_path`` and ``init_args``) that made the attack;
            None if it was made in Python.

    Raises:
        InputError: some candidates follow a change, but the search does not ask for them.
    """

    PACKING: ClassVar[tuple[str, ...]] = ("live", "batch_words", "batch_queries")
    recipe: tuple[str, dict[str, Any]] | None = None

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
        if any(generator.follows for generator in self._generators) and not search.follows:
            raise InputError(
                f"{type(search).__name__} asks for no candidates that follow a change",
                key="attack: search",
                remedy="take GreedyByImportance, or leave out `follows`",
            )

    def _goal(self, gold: Any) -> Goal:
        """Return the goal against gold answers of this type."""
        return usual_goal(gold) if self.goal is None else self.goal.against(gold)

    @property
    def _generators(self) -> list[CandidateGenerator]:
        """The candidate generator, or the members of a union."""
        candidates = self.candidates
        return candidates.generators if isinstance(candidates, Union) else [candidates]

    @property
    def punctuation(self) -> PunctuationPolicy:
        """The goal's rule for which words enter the scores; the usual goals count all words."""
        return "none" if self.goal is None else self.goal.punctuation

    def check(self, examples: Sequence[Example]) -> None:
        """Reject sentences without the annotation that a component reads, such as tags.

        Raises:
            InputError: names the first such sentence, counted from 1, and what it lacks.
        """
        self.candidates.check(examples)
        for constraint in self.constraints:
            constraint.check(examples)

    def warnings(self, examples: Sequence[Example], victim: Victim | None = None) -> Iterator[str]:
        """Yield each warning once: which tags are read, tags that a constraint lists and no word
        has, features that cannot be compared, search settings that make the scores unreliable.
        """
        components: list[Component] = [self.candidates, *self.constraints]
        warnings = (warning for each in components for warning in each.warnings(examples))
        yield from dict.fromkeys(warnings)
        optional = [generator.name() for generator in self._generators if generator.optional]
        if optional and examples and self._goal(examples[0].gold).per_word:
            yield f"{', '.join(optional)} proposes nothing, since each word has its own answer"
        yield from feature_warnings(components, examples, victim)
        yield from self.search.warnings()

    def check_scores(self, victim: Victim) -> None:
        """Reject a search that needs probabilities if the victim answers labels or forms only.

        Raises:
            InputError: names the searches that do without.
        """
        ranking = getattr(self.search, "ranking", None)
        needs = (*self.search.needs, *(ranking.needs if isinstance(ranking, Ranking) else ()))
        if "probabilities" not in needs:
            return
        if isinstance(victim, ScoringVictim) and victim.scores == "none":
            from robustparse import attacks  # its names are loaded when they are asked for

            public = [getattr(attacks, name) for name in attacks.__all__]
            able = [
                kind.__name__
                for kind in public
                if isinstance(kind, type)
                and issubclass(kind, Search)
                and not (kind is Search or "probabilities" in kind.needs)
            ]
            raise InputError(
                f"{type(self.search).__name__} needs probabilities, and the victim answers without",
                key="attack: search",
                remedy=f"choose one of {', '.join(able)}",
            )

    def run(
        self, examples: Iterable[Example], victim: Victim, statistics: Statistics | None = None
    ) -> Generator[AttackResult, None, None]:
        """Attack a model, several sentences at a time; yield each result when it is finished.

        At any time, the sentences in progress fill at most two forward passes.

        A sentence without an attackable word counts as unchanged and unsuccessful. The same holds
        after the clean prediction if the goal does not apply to the sentence (`Goal.applies`). A
        sentence whose clean prediction already reaches the goal counts as skipped.

        Args:
            examples: sentences with distinct ids and gold answers of a type that the goal accepts.
            victim: the model. It is in evaluation mode while results are drawn; its previous mode
                is restored when they are exhausted or on `close`.
            statistics: collects totals.

        Raises:
            InputError: a setting is out of range, or a gold answer is not of the goal's type.
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
        """Attack as `run` does, but yield the search runs, whose predictions are arrays.

        Args:
            examples: see `run`.
            victim: see `run`.
            statistics: see `run`.
            reported: whether to make the clean and the closing prediction. Adversarial training
                leaves them out: the victim then predicts only what the search asks for.
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
        first = list(islice(examples, _CHUNK))
        if not first:
            return
        self.check(first)  # before anything is loaded
        self.check_scores(victim)
        goal = self._goal(first[0].gold)
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
        yield from _evaluating(
            victim, scheduler.run(self._problems(chain(first, examples), builder))
        )

    def _problems(self, examples: Iterator[Example], builder: ProblemBuilder) -> Iterator[Problem]:
        """Check the examples with all components prepared, and build their problems.

        Each chunk is sorted by length, in rising and falling order in turn, so that sentences
        attacked at the same time need little padding.
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


def usual_goal(gold: Any) -> Goal:
    """Return the default goal for a gold answer: a tree, tags, a logical form or a label."""
    if isinstance(gold, DependencyTree):
        return AttachmentDrop()
    if isinstance(gold, TagSequence):
        return TagErrors()
    if isinstance(gold, LogicalForm):
        return WrongForm()
    if isinstance(gold, str):
        return LabelFlip()
    raise InputError(
        f"there is no default goal for gold answers of type {type(gold).__name__}",
        key="attack: goal",
        remedy="name a goal",
    )


def _evaluating(
    victim: Victim, runs: Generator[SearchRun, None, None]
) -> Generator[SearchRun, None, None]:
    """Yield the runs; the victim is in evaluation mode only while a run is computed.

    Between runs the consumer finds gradients and modes as it left them, and a generator that
    nobody finishes changes nothing later.
    """
    with closing(runs):
        while True:
            with victim.evaluating():
                run = next(runs, None)
            if run is None:
                return
            yield run


def _results(
    runs: Generator[SearchRun, None, None], victim: Victim, statistics: Statistics
) -> Generator[AttackResult, None, None]:
    """Yield the results of searches; time that the consumer spends between them is not counted."""
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
    edited = problem.changed(run.outcome)
    before, after = problem.example.sentence.words, run.read_words
    new = [after[at] for at in edited]
    if problem.phrases:
        new = " ".join(new).split()
    clean, attacked = victim.answers(joined([run.clean, run.attacked]), [len(problem)] * 2)
    return AttackResult(
        example=problem.example,
        text=problem.sentence,
        words=words,
        read=after,
        edited=tuple(map(problem.text_position, edited)),
        clean=clean,
        attacked=attacked,
        counted=tuple(problem.counted.tolist()),
        targeted=run.targeted,
        skipped=run.skipped,
        success=run.success,
        charged=run.queries.charged,
        unique=run.queries.unique,
        candidates=run.counts,
        unseen=unseen_words(victim, [before[at] for at in edited], new),
    )
