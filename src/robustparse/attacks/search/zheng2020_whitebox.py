"""White-box word substitution of Zheng et al. 2020, section 3.2 (sentence level).

A trial takes the gradient of F (equation 4) in the current sentence and replaces the word with the
largest gradient by the candidate nearest to the gradient's target, even if the loss does not rise.
Up to kappa words may be changed, each any number of times, or once with the constraint `Repeat`.
The search ends when the next word would exceed kappa, and returns the last sentence.

The paper and its released code differ in these options (the code's values in brackets): `positions`
(2), `trials` with `count` (39 in all), `beyond` (`skip`), `outcome` (`best`), `length` (`rooted`),
and alpha of the substitution (10). The code's figures leave out sentences of fewer than four words;
here they are included.
"""

from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np

from robustparse.attacks.edit_budget import edit_budget
from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.gradient_substitution import NearestWord, Substitution
from robustparse.attacks.search.gradients import WordGradients
from robustparse.attacks.search.requests import (
    Answer,
    Gradient,
    Outcome,
    Propose,
    Score,
    Search,
    Searching,
)
from robustparse.attacks.victim import Loss
from robustparse.data.fractions import check_fraction
from robustparse.errors import InputError, check_choice, check_least
from robustparse.types import Indices, Mask

Keep = Literal["all", "rising"]
"""Which changes a white-box search keeps."""

_ROUNDING = 1e-9  # maximum rounding error of a difference of two fractions


class Zheng2020WhiteBox(Search):
    """Follows the gradient, one word at a time.

    The goal's score must be a fraction of errors, as in the recipe. The search ends early if all
    gradients are zero or no word to be replaced has an admissible candidate. Sentence constraints
    judge the candidates of a word one by one, the nearest first.

    Args:
        gamma: fraction of the words that may be changed; kappa = max(1, floor(gamma * L)). The
            paper uses 0.05, 0.10 and 0.15.
        trials: maximum number of trials (40).
        count: which trials are counted: `fruitless`, those since the score last reached a new
            maximum (paper), or `all` (released code).
        positions: number of words replaced per trial (paper: 1; released code: 2).
        drop: the search ends when the fraction of errors has risen by more than this (0.3).
        beyond: what to do if the next word would exceed kappa: `end` ends the search (paper),
            `skip` goes on to the following words, which include those already changed (released
            code).
        outcome: return the `last` sentence (paper), or the `best` one, with the highest score, the
            earliest on ties (released code).
        length: the definition of L: `words` (paper), or `rooted`, one more for ROOT (released
            code).
        loss: `margin` (equation 4) or `cross_entropy`.
        substitution: chooses substitutes; by default `NearestWord`.
        keep: which changes are kept: `all` (paper), although a step of length alpha often lowers
            the loss instead of raising it; or `rising`, only changes that raise the loss to a new
            maximum. With `rising`, other changes are undone, and the next nearest candidate or the
            next word is tried.
    """

    needs = ("gradients", "probabilities")

    def __init__(
        self,
        *,
        gamma: float = 0.15,
        trials: int = 40,
        count: Literal["fruitless", "all"] = "fruitless",
        positions: int = 1,
        drop: float = 0.3,
        beyond: Literal["end", "skip"] = "end",
        outcome: Outcome = "last",
        length: Literal["words", "rooted"] = "words",
        loss: Loss = "margin",
        substitution: Substitution | None = None,
        keep: Keep = "all",
    ) -> None:
        check_fraction("search: gamma", gamma)
        if not 0.0 < drop <= 1.0:
            raise InputError(f"must be in (0, 1], got {drop}", key="search: drop")
        check_least("search", trials=trials, positions=positions)
        check_choice("search: count", count, ("fruitless", "all"))
        check_choice("search: beyond", beyond, ("end", "skip"))
        check_choice("search: outcome", outcome, get_args(Outcome))
        check_choice("search: length", length, ("words", "rooted"))
        check_choice("search: loss", loss, get_args(Loss))
        check_choice("search: keep", keep, get_args(Keep))
        self.gamma, self.trials, self.count, self.positions = gamma, trials, count, positions
        self.drop, self.beyond, self.length = drop, beyond, length
        self.outcome: Outcome = outcome
        self.loss: Loss = loss
        self.keep: Keep = keep
        self.substitution = substitution or NearestWord()

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        state, best, kept = problem.start(), clean, _Kept()
        substitutes = deepcopy(self.substitution)
        budget = edit_budget(self.gamma, len(problem) + (self.length == "rooted"))
        kappa, spent = min(budget, problem.most_edits), 0
        while spent < self.trials:
            gradients = (yield self._request(state)).gradients
            if self.keep == "rising":
                state, gradients = kept.judged(state, gradients)
            ranked = by_norm(gradients, problem.eligible)
            answer = None
            for chosen in self._turns(ranked, state, kappa, problem.once):
                asking = replaced(problem, state, chosen, gradients, substitutes, kept.refused)
                if answer := (yield from asking):
                    break
            if answer is None:
                break
            state = answer.states[0]
            spent += 1
            if answer.scores[0] > best.scores[0]:
                best, spent = answer, 0 if self.count == "fruitless" else spent
            if best.scores[0] - clean.scores[0] > self.drop + _ROUNDING:
                break
            if answer.over:
                spent = self.trials
        else:
            if self.keep == "rising":  # the last change is still to be judged
                state, _ = kept.judged(state, (yield self._request(state)).gradients)
        return best.states[0] if self.outcome == "best" else state

    def warnings(self) -> Iterator[str]:
        """See `Search.warnings`."""
        if self.loss == "cross_entropy" and self.keep == "all":
            yield (
                "`loss: cross_entropy` with `keep: all`: many changes lower this loss instead of "
                "raising it, so the scores do not measure robustness; set `keep: rising` or "
                "`loss: margin`"
            )

    def _request(self, state: State) -> Gradient:
        characters, measured = self.substitution.characters, self.keep == "rising"
        return Gradient(state, self.loss, characters=characters, measured=measured)

    def _turns(self, ranked: Indices, state: State, kappa: int, once: bool) -> list[Indices]:
        """Return groups of words for a trial: the first group with a candidate is replaced."""
        if self.keep == "all":
            if self.beyond == "end":
                ranked = before_budget(ranked, state, kappa)
            return [within_budget(ranked, state, kappa, once=once)[: self.positions]]
        turns = []
        for words in np.split(ranked, range(self.positions, len(ranked), self.positions)):
            allowed = within_budget(words, state, kappa, once=once)
            if self.beyond == "end" and len(allowed) < len(words):
                break
            turns.append(allowed)
        return turns


class _Kept:
    """The state with the highest loss so far.

    Attributes:
        refused: position -> candidates that did not raise its loss.
    """

    def __init__(self) -> None:
        self._highest: tuple[State, WordGradients] | None = None
        self.refused: dict[int, set[int]] = {}

    def judged(self, state: State, gradients: WordGradients) -> tuple[State, WordGradients]:
        """Return the state if its loss is a new maximum, otherwise the state with the maximum."""
        highest = self._highest
        if highest is None or gradients.loss > highest[1].loss + _ROUNDING:
            self._highest, self.refused = (state, gradients), {}
            return self._highest
        for position in np.flatnonzero(state != highest[0]).tolist():
            self.refused.setdefault(position, set()).add(int(state[position]))
        return highest


def by_norm(gradients: WordGradients, among: Mask) -> Indices:
    """Sort the words in a mask by falling gradient norm; ties go to the leftmost."""
    positions = np.flatnonzero(among)
    order = np.argsort(-gradients.norms[positions], kind="stable")
    return positions[order]


def before_budget(ranked: Indices, state: State, most: int) -> Indices:
    """Return the ranked positions before the first one whose change would exceed `most`."""
    fresh = state[ranked] == 0
    beyond = fresh & (np.cumsum(fresh) > most - np.count_nonzero(state))
    return ranked[: np.argmax(beyond)] if beyond.any() else ranked


def within_budget(ranked: Indices, state: State, most: int, *, once: bool = False) -> Indices:
    """Return the ranked positions that may be changed without exceeding `most` changed words.

    Words that were changed before may be changed again, unless `once` is set.
    """
    fresh = state[ranked] == 0
    room = most - np.count_nonzero(state)
    allowed = np.where(fresh, np.cumsum(fresh) <= room, not once)
    return ranked[allowed]


def replaced(
    problem: Problem,
    state: State,
    positions: Indices,
    gradients: WordGradients,
    substitutes: Substitution,
    barred: Mapping[int, Collection[int]] = MappingProxyType({}),
) -> Searching[Answer | None]:
    """Replace words at some positions and score the new state.

    If the sentence constraints reject all changes, the next nearest substitutes are tried.

    Args:
        problem: the sentence.
        state: the state to change.
        positions: the positions to replace.
        gradients: the gradients of the state.
        substitutes: chooses the candidates.
        barred: position -> candidates that are not tried.

    Returns:
        The answer for the new state; None if no word can be replaced.
    """
    if not len(positions):
        return None
    problem = (yield Propose(positions)).problem
    refused = {position: {*barred.get(position, ())} for position in positions.tolist()}
    while True:
        changed = state.copy()
        for position, tried in refused.items():
            choice = substitutes.choose(problem, state, position, gradients, tried)
            changed[position] = choice or state[position]
        if (changed == state).all():
            return None
        answer = yield Score(changed[None], base=state)
        admitted = answer.states[0] if len(answer.states) else state
        substitutes.settle(np.flatnonzero(admitted != state).tolist())
        if len(answer.states):
            return answer
        for position in np.flatnonzero(changed != state).tolist():
            refused[position].add(int(changed[position]))
