"""HotFlip (Ebrahimi et al. 2018): beam search over the flips that the gradient promises most of."""

from typing import Any, get_args

import numpy as np

from robustparse.attacks.problem import Problem, State
from robustparse.attacks.search.importance import When
from robustparse.attacks.search.requests import (
    Answer,
    Check,
    Gradient,
    Judged,
    Propose,
    Score,
    Search,
    Searching,
)
from robustparse.errors import check_choice, check_least
from robustparse.types import Indices, States


class HotFlip(Search):
    """Estimates by the gradient how much each flip raises the loss, and asks about the best ones.

    With g the gradient of the training loss at a word's embedding, a flip from a to b raises the
    loss by about (b - a) g (equation 1). In each round, the best flips of every member of the beam
    are scored, and the best of these states are the next beam, until the goal is reached or no word
    is left. A word is flipped at most once. The best state of all rounds is returned.

    Args:
        width: members of the beam (10).
        flips: how many flips of a member are scored, those that the gradient promises most of and
            the constraints admit; None scores as many as the beam has members (the paper).
            TextAttack: 1.
        judged: whether the constraints judge flips `before` the best ones are chosen, or `after`,
            so that a rejected one is not replaced by the next (TextAttack).
    """

    needs = ("gradients", "scores")

    def __init__(
        self, *, width: int = 10, flips: int | None = None, judged: When = "before"
    ) -> None:
        check_least("search", width=width, flips=flips)
        check_choice("search: judged", judged, get_args(When))
        self.width, self.flips, self.judged = width, flips, judged

    def run(self, problem: Problem, clean: Answer, rng: np.random.Generator) -> Searching[Any]:
        """See `Search.run`."""
        best, beam = Judged(clean.states, clean.scores, clean.success), clean.states
        problem = (yield Propose(np.flatnonzero(problem.eligible))).problem
        while problem.changeable(beam).any():
            states = beam[:0]
            for state in beam:
                flips = yield from self._flips(problem, state)
                states = np.concatenate([states, flips])
            # Two members may lead to one state.
            states = states[np.sort(np.unique(states, axis=0, return_index=True)[1])]
            if not len(states):
                break
            answer = yield Score(states)
            best = best.better(answer)
            if answer.success.any() or answer.over:
                break
            beam = answer.states[np.argsort(-answer.scores, kind="stable")[: self.width]]
        return best.states[0]

    def _flips(self, problem: Problem, state: State) -> Searching[States]:
        """Return the most promising admissible flips of a state, `(flips, words)`."""
        positions = np.flatnonzero(problem.changeable(state))
        if not len(positions):
            return np.repeat(state[None], 0, axis=0)
        gradients = (yield Gradient(state, loss="cross_entropy")).gradients
        words: list[Indices] = []
        choices: list[Indices] = []
        rises = []
        for position in positions.tolist():
            begin, end = problem.ptr[position : position + 2].tolist()
            slope = gradients.at_words[position]
            products, _ = gradients.embeddings.products(problem.rows[begin:end], slope)
            rises.append(products - gradients.vectors[position] @ slope)
            words.append(np.full(end - begin, position))
            choices.append(np.arange(1, end - begin + 1))
        order = np.argsort(-np.concatenate(rises), kind="stable")
        word, choice = np.concatenate(words)[order], np.concatenate(choices)[order]
        most = self.width if self.flips is None else self.flips
        found = []
        # Constraints judge a few flips at a time: there may be as many as the vocabulary has words.
        for begin in range(0, len(order), most):
            chunk = slice(begin, begin + most)
            states = np.repeat(state[None], len(order[chunk]), axis=0)
            states[np.arange(len(states)), word[chunk]] = choice[chunk]
            found.append(states[(yield Check(state, states)).origins])
            if sum(map(len, found)) >= most or self.judged == "after":
                break
        return np.concatenate(found)[:most]
