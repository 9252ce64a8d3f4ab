"""The genetic algorithm of Alzantot et al. 2018 (algorithm 1), as benchmarked by Yoo et al. 2020.

A population of adversaries evolves: the best member lives on, the others are children that take
each word from one of two parents and then have one word changed for the better.

A crossover of states that keep every constraint on single words keeps them too. Constraints on
whole sentences judge a child's words from left to right in the original sentence: it goes without
those that do not pass. One that keeps none of its words is, as TextAttack's that fails a
constraint, one of its parents.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from robustparse.attacks.problem import Problem
from robustparse.attacks.search.population.population import Population, draw, redraw_repeats
from robustparse.attacks.search.requests import (
    Answer,
    Expand,
    Outcome,
    Propose,
    Score,
    Search,
    Searching,
)
from robustparse.errors import InputError, check_choice, check_least
from robustparse.types import Floats, Indices, Mask


@dataclass(eq=False)
class _Members(Population):
    """A population and how likely each word of each member is picked, `(members, words)`."""

    weights: Floats


class Genetic(Search):
    """Evolves changed sentences.

    A word is picked in proportion to the number of its candidates, and not again once it was
    changed for the better. A sentence without any candidate costs no query, unless repeats are
    treated as TextAttack does.

    Args:
        population: members (60).
        generations: how often they are replaced (20).
        selection: how parents are drawn: `paper` in proportion to their scores, `textattack` in
            proportion to exp(-score / temperature), which favours weak members.
        temperature: of that exponential (0.3).
        repeats: what becomes of a child that is no different from its parent: `ask` asks about it
            like any other; `redraw`, as TextAttack, draws it again up to 20 times and, if that does
            not help, takes one of the parents, which is not charged.
        give_up: stop at a generation whose best score is not above the one before.
        outcome: of the last generation, the `best` member, or the one that was the best before it
            (`last`): neither the paper nor TextAttack looks at its children any more.

    Sizes and temperature are the defaults of TextAttack.
    """

    def __init__(
        self,
        *,
        population: int = 60,
        generations: int = 20,
        selection: Literal["paper", "textattack"] = "paper",
        temperature: float = 0.3,
        repeats: Literal["ask", "redraw"] = "ask",
        give_up: bool = False,
        outcome: Outcome = "best",
    ) -> None:
        check_least("search", population=population, generations=generations)
        check_choice("search: selection", selection, ("paper", "textattack"))
        check_choice("search: repeats", repeats, ("ask", "redraw"))
        if temperature <= 0:
            raise InputError(f"must be above 0, got {temperature}", key="search: temperature")
        self.population, self.generations = population, generations
        self.selection, self.temperature = selection, temperature
        check_choice("search: outcome", outcome, get_args(Outcome))
        self.repeats, self.give_up, self.outcome = repeats, give_up, outcome

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        problem = (yield Propose(np.flatnonzero(problem.eligible))).problem
        if not len(problem.rows) and self.repeats == "ask":
            return problem.start()  # nothing to ask about, a thousand times
        members = self._start(problem, clean)
        over = yield from self._perturb(problem, members, rng)
        highest = float(clean.scores[0])
        for _ in range(self.generations):
            best = members.best()
            if over or members.success[best]:
                break
            if members.scores[best] <= highest and self.give_up:
                break
            highest = max(highest, float(members.scores[best]))
            children, over = yield from self._crossover(problem, members, rng)
            if not over:
                over = yield from self._perturb(problem, children, rng)
            members = _with_elite(members, best, children)
        else:
            best = members.best() if self.outcome == "best" else 0
        return members.states[best]

    def _start(self, problem: Problem, clean: Answer) -> _Members:
        """Return copies of the sentence as it is."""
        counts = np.diff(problem.ptr)
        # A word without candidates is picked at times; the try is then lost.
        weights = np.maximum(counts, max(1, int(0.1 * counts.min()))).astype(np.float64)
        states = np.repeat(problem.start()[None], self.population, axis=0)
        scores = np.repeat(clean.scores, self.population)
        success = np.repeat(clean.success, self.population)
        return _Members(states, scores, success, np.repeat(weights[None], self.population, axis=0))

    def _perturb(
        self, problem: Problem, members: _Members, rng: np.random.Generator
    ) -> Searching[bool]:
        """Change one word of every member for the better, if one is found; whether all is over.

        A member tries as many picks as it has words with a weight; a word whose candidates do not
        raise the score is not picked again. All members are asked about together.
        """
        weights = members.weights.copy()
        admissible = problem.changeable(members.states)
        left = np.count_nonzero(weights, axis=1)
        searching = left > 0
        while searching.any():
            picks = _pick(weights, admissible, left, searching, rng)
            rows = np.flatnonzero(picks >= 0)
            if not len(rows):
                break
            answer = yield Expand(members.states, picks[rows], bases=rows)
            places, best = answer.best_of_each()
            better = answer.scores[best] > members.scores[rows[places]]
            done = rows[places[better]]
            members.weights[done, picks[done]] = 0
            members.put(done, answer, best[better])
            if answer.over:
                return True
            weights[rows, picks[rows]] = 0
            searching = (picks >= 0) & (left > 0)
            searching[done] = False
        return False

    def _crossover(
        self, problem: Problem, members: _Members, rng: np.random.Generator
    ) -> Searching[tuple[_Members, bool]]:
        """One child less than there are members; and whether all is over.

        One that is not asked about is a parent, and no better than the elite.
        """
        states = members.states
        likely = np.repeat(self._fitness(members.scores)[None], len(states) - 1, axis=0)
        first, second = draw(likely, rng), draw(likely, rng)
        of_second = rng.random((len(first), states.shape[1])) < 0.5
        repeats = np.zeros(len(first), dtype=np.bool_)
        if self.repeats == "redraw":
            repeats = redraw_repeats(of_second, states[first], states[second], rng)
        asked = np.flatnonzero(~repeats)
        crossed = np.where(of_second, states[second], states[first])
        answer = yield Score(crossed[asked], base=problem.start())
        born = asked[answer.places]
        heirs = np.where(rng.random(len(first)) < 0.5, first, second)
        young, weights = members.part(heirs), members.weights[heirs]
        young.put(born, answer, np.arange(len(born)))
        mixed = np.where(of_second, members.weights[second], members.weights[first])
        weights[born] = mixed[born]
        return _Members(young.states, young.scores, young.success, weights), answer.over

    def _fitness(self, scores: Floats) -> Floats:
        """Return what each member's chance to be a parent is proportional to, `(members,)`."""
        if self.selection == "textattack":
            fitness: Floats = np.exp((scores.min() - scores) / self.temperature)
            return fitness
        positive = np.maximum(scores, 0.0)
        return positive if positive.any() else np.ones_like(positive)


def _pick(
    weights: Floats, admissible: Mask, left: Indices, searching: Mask, rng: np.random.Generator
) -> Indices:
    """Return a word with candidates for every member that is searching, -1 where its tries ran out.

    Weights and admissible words are `(members, words)`, the others `(members,)`; `left` is counted
    down by the tries used.
    """
    picks = np.full(len(weights), -1, dtype=np.int64)
    searching = searching.copy()
    while searching.any():
        rows = np.flatnonzero(searching)
        words = draw(weights[rows], rng)
        left[rows] -= 1
        found = admissible[rows, words]
        picks[rows[found]] = words[found]
        searching &= (picks < 0) & (left > 0)
    return picks


def _with_elite(members: _Members, best: int, children: _Members) -> _Members:
    """Return the best member, then its successors."""
    pairs = zip(vars(members).values(), vars(children).values(), strict=True)
    return _Members(*(np.concatenate([old[best : best + 1], young]) for old, young in pairs))
