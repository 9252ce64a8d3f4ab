"""The genetic algorithm of Alzantot et al. 2018 (algorithm 1), as benchmarked by Yoo et al. 2020,
and its improvement by Wang et al. 2019.

A population of changed sentences evolves. The best member survives; the others are replaced by
children that take each word from one of two parents and are then improved in one word.

If two states satisfy the word constraints, so does their crossover. Sentence constraints judge a
child's changes from left to right in the original sentence, and rejected changes are left out. A
child that loses all its changes is replaced by one of its parents, as in TextAttack for a child
that fails a constraint.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from robustparse.attacks.problem import Problem
from robustparse.attacks.search.population import Population, draw, redraw_repeats
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
    """A population, and the weight with which each word of each member is drawn,
    `(members, words)`.
    """

    weights: Floats


class Genetic(Search):
    """Evolves changed sentences.

    A word is drawn in proportion to the number of its candidates, and not again after it was
    improved. A sentence without candidates costs no query, unless `repeats` is `redraw`.

    Args:
        population: number of members (60).
        generations: number of generations (20).
        selection: how parents are drawn: `paper` in proportion to their scores, `textattack` in
            proportion to exp(-score / temperature), which favours weak members.
        temperature: the temperature of that exponential (0.3).
        repeats: what to do with a child that equals its parent: `ask` scores it like any other;
            `redraw`, as TextAttack, draws it again up to 20 times and then takes one of the
            parents, which is not charged.
        outcome: without success, return the `best` member of the last generation, or the best
            member before it (`last`): neither the paper nor TextAttack looks at the last children.

    Sizes and temperature are the defaults of TextAttack.
    """

    needs = ("probabilities",)

    def __init__(
        self,
        *,
        population: int = 60,
        generations: int = 20,
        selection: Literal["paper", "textattack"] = "paper",
        temperature: float = 0.3,
        repeats: Literal["ask", "redraw"] = "ask",
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
        self.repeats, self.outcome = repeats, outcome

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        problem = (yield Propose(np.flatnonzero(problem.eligible))).problem
        if not len(problem.rows) and self.repeats == "ask":
            return problem.start()  # no member could ever be changed
        members = self._start(problem, clean)
        over = yield from self._perturb(problem, members, self._first_weights(members), rng)
        for _ in range(self.generations):
            best = members.best()
            if over or members.success[best]:
                break
            children, over = yield from self._crossover(problem, members, rng)
            if not over:
                over = yield from self._perturb(problem, children, children.weights.copy(), rng)
            members = _with_elite(members, best, children)
        else:
            best = members.best() if self.outcome == "best" else 0
        return members.states[best]

    def _start(self, problem: Problem, clean: Answer) -> _Members:
        """Return copies of the original sentence."""
        counts = np.diff(problem.ptr)
        # A word without candidates may be drawn, too; the draw is then wasted.
        weights = np.maximum(counts, max(1, int(0.1 * counts.min()))).astype(np.float64)
        return _copies(problem, clean, weights, self.population)

    def _first_weights(self, members: _Members) -> Floats:
        """Return the weights with which the first change of each copy is drawn."""
        return members.weights.copy()

    def _perturb(
        self, problem: Problem, members: _Members, weights: Floats, rng: np.random.Generator
    ) -> Searching[bool]:
        """Improve one word of every member if possible; return whether the budget is spent.

        A member draws at most as many words as have a weight; a word whose candidates do not raise
        the score is not drawn again. All members are scored together.
        """
        admissible = self._admissible(problem, members)
        left = np.count_nonzero(weights, axis=1)
        searching = left > 0
        while searching.any():
            picks = _pick(weights, admissible, left, searching, rng)
            rows = np.flatnonzero(picks >= 0)
            if not len(rows):
                break
            answer = yield Expand(members.states, picks[rows], bases=rows)
            index, best = answer.best_of_each()
            better = answer.scores[best] > members.scores[rows[index]]
            done = rows[index[better]]
            self._spend(members.weights, done, picks[done])
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
        """Return one child less than there are members, and whether the budget is spent.

        A child that is not scored is replaced by one of its parents.
        """
        states = members.states
        likely = np.repeat(self._fitness(members.scores)[None], len(states) - 1, axis=0)
        first, second = draw(likely, rng), draw(likely, rng)
        of_second = self._mixture(len(first), states.shape[1], rng)
        repeats = np.zeros(len(first), dtype=np.bool_)
        if self.repeats == "redraw":
            repeats = redraw_repeats(of_second, states[first], states[second], rng)
        asked = np.flatnonzero(~repeats)
        crossed = np.where(of_second, states[second], states[first])
        answer = yield Score(crossed[asked], base=problem.start())
        scored = asked[answer.origins]
        parents = np.where(rng.random(len(first)) < 0.5, first, second)
        children, weights = members.select(parents), members.weights[parents]
        children.put(scored, answer, np.arange(len(scored)))
        mixed = np.where(of_second, members.weights[second], members.weights[first])
        weights[scored] = mixed[scored]
        children = _Members(children.states, children.scores, children.success, weights)
        return children, answer.over

    def _admissible(self, problem: Problem, members: _Members) -> Mask:
        """Tell which words of the members may be changed, `(members, words)`."""
        return problem.changeable(members.states)

    def _spend(self, weights: Floats, members: Indices, words: Indices) -> None:
        """Lower the weights of words that were improved."""
        weights[members, words] = 0

    def _mixture(self, children: int, words: int, rng: np.random.Generator) -> Mask:
        """Draw which words each child takes from its second parent, `(children, words)`."""
        mixture: Mask = rng.random((children, words)) < 0.5
        return mixture

    def _fitness(self, scores: Floats) -> Floats:
        """Return the weight of each member as a parent, `(members,)`."""
        if self.selection == "textattack":
            fitness: Floats = np.exp((scores.min() - scores) / self.temperature)
            return fitness
        positive = np.maximum(scores, 0.0)
        return positive if positive.any() else np.ones_like(positive)


class ImprovedGenetic(Genetic):
    """Evolves changed sentences, and may change a word again (Wang et al. 2019).

    The first population has one member for each word, in which that word has its best candidate. A
    child takes its words up to a cut from one parent and the others from the other one. A word is
    drawn in proportion to the changes that it has left. Candidates are always those of the original
    word; in the paper, those of the current word.

    Args:
        population: the number of members; there are fewer in a text with fewer words (60).
        generations: number of generations (20).
        replacements: how often a word of a member may be changed (their lambda, 5).
        selection: see `Genetic`.
        temperature: see `Genetic`.
        outcome: see `Genetic`.
    """

    def __init__(
        self,
        *,
        population: int = 60,
        generations: int = 20,
        replacements: int = 5,
        selection: Literal["paper", "textattack"] = "paper",
        temperature: float = 0.3,
        outcome: Outcome = "best",
    ) -> None:
        super().__init__(
            population=population,
            generations=generations,
            selection=selection,
            temperature=temperature,
            outcome=outcome,
        )
        check_least("search", replacements=replacements)
        self.replacements = replacements

    def _start(self, problem: Problem, clean: Answer) -> _Members:
        weights = np.where(np.diff(problem.ptr) > 0, float(self.replacements), 0.0)
        words = int(np.count_nonzero(weights))
        return _copies(problem, clean, weights, min(self.population, words))

    def _first_weights(self, members: _Members) -> Floats:
        """Return a weight for one word of each member only, another one for each."""
        weights, rows = np.zeros_like(members.weights), np.arange(len(members))
        weights[rows, np.flatnonzero(members.weights[0])[: len(members)]] = 1.0
        return weights

    def _admissible(self, problem: Problem, members: _Members) -> Mask:
        changeable: Mask = (np.diff(problem.ptr) > 0) & (members.weights > 0)
        return changeable

    def _spend(self, weights: Floats, members: Indices, words: Indices) -> None:
        weights[members, words] -= 1

    def _mixture(self, children: int, words: int, rng: np.random.Generator) -> Mask:
        cuts = rng.integers(0, words, children)
        mixture: Mask = np.arange(words) >= cuts[:, None]
        return mixture


def _copies(problem: Problem, clean: Answer, weights: Floats, count: int) -> _Members:
    """Return copies of the original sentence."""
    states = np.repeat(problem.start()[None], count, axis=0)
    scores, success = np.repeat(clean.scores, count), np.repeat(clean.success, count)
    return _Members(states, scores, success, np.repeat(weights[None], count, axis=0))


def _pick(
    weights: Floats, admissible: Mask, left: Indices, searching: Mask, rng: np.random.Generator
) -> Indices:
    """Draw an admissible word for every searching member, `(members,)`; -1 if its draws run out.

    Weights and admissible words are `(members, words)`, the others `(members,)`. Each draw lowers
    `left` by 1.
    """
    picks = np.full(len(weights), -1, dtype=np.int64)
    searching = searching.copy()
    while searching.any():
        rows = np.flatnonzero(searching)
        words = draw(weights[rows], rng)
        left[rows] -= 1
        hit = admissible[rows, words]
        picks[rows[hit]] = words[hit]
        searching &= (picks < 0) & (left > 0)
    return picks


def _with_elite(members: _Members, best: int, children: _Members) -> _Members:
    """Return the best member followed by the children."""
    pairs = zip(vars(members).values(), vars(children).values(), strict=True)
    return _Members(*(np.concatenate([old[best : best + 1], young]) for old, young in pairs))
