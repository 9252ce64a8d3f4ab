"""What LEAP changes in a particle swarm, and the recipe against its algorithm written out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from search_fakes import Labelled
from test_label_flips import LABELS, Probabilities
from test_recipe_traces import CANDIDATES, STOP, Found, installed, replaced, texts

from robustparse.attacks.search import leap
from robustparse.attacks.search.leap import LEAP
from robustparse.attacks.search.particle_swarm import Neighbourhood
from robustparse.attacks.search.population import Population
from robustparse.attacks.search.requests import Judged
from robustparse.randomness import stream
from robustparse.types import Sentence

Rated = tuple[bool, float, list[str]]  # whether a text succeeds, its score, the text

PARTICLES, ITERATIONS = 4, 3


class Stubborn(Probabilities):
    """Probabilities that single words change little."""

    def of(self, text: Sequence[str]) -> np.ndarray:
        share = 0.05 + 0.1 * sum(len(word) > 4 for word in text)
        return (1 - share) * super().of([word[:4] for word in text]) + share * super().of(text)


def test_flights_are_levy_stable() -> None:
    """By the characteristic function exp(-|t|^1.5) of a symmetric distribution."""
    steps = leap._levy(200_000, None, np.random.default_rng(0))
    for t in (0.3, 1.0, 2.0):
        assert np.cos(t * steps).mean() == pytest.approx(np.exp(-(t**1.5)), abs=0.03)
        assert np.sin(t * steps).mean() == pytest.approx(0, abs=0.01)
    inside = leap._levy(2000, (0.5, 0.8), np.random.default_rng(1))
    assert inside.min() >= 0.5
    assert inside.max() <= 0.8
    assert np.histogram(inside, 3)[0].min() > 400


def test_first_velocities_are_uniform_or_flights_within_the_limits() -> None:
    velocities = LEAP(population=4000)._velocities(np.random.default_rng(0))
    assert velocities.shape == (4000,)
    assert np.abs(velocities).max() <= 3.0
    assert abs(velocities.mean()) < 0.1
    # A flight is mostly short: the middle third has more than a third.
    assert (np.abs(velocities) < 1).mean() > 0.45


def test_inertia_rises_with_the_score_up_to_the_first_average() -> None:
    begun = np.array([0.2, 0.4, 0.6])
    scores = np.array([0.1, 0.2, 0.3, 0.4, 0.9])
    inertia = LEAP()._inertia(3, scores, begun, np.random.default_rng(0))
    # 0.2 at the lowest first score, 0.8 at the average of 0.4; below, the line goes on.
    assert inertia[:3] == pytest.approx([-0.1, 0.2, 0.5])
    assert ((inertia[3:] >= 0.5) & (inertia[3:] <= 0.8)).all()
    same = LEAP()._inertia(0, scores, np.full(3, 0.4), np.random.default_rng(0))
    assert ((same >= 0.5) & (same <= 0.8)).all()


def test_words_share_the_probability_of_a_turn() -> None:
    velocities = np.array([[0.0, np.log(3.0)], [1000.0, 0.0]])
    assert LEAP()._likely(velocities) == pytest.approx(np.array([[0.25, 0.75], [1.0, 0.0]]))


def test_mutants_take_the_best_change_of_all() -> None:
    states = np.array([[0, 0], [1, 0]], dtype=np.int16)
    chosen = Population(states, np.array([0.1, 0.2]), np.zeros(2, dtype=bool))
    changed = np.array([[1, 0], [0, 1], [1, 1]], dtype=np.int16)
    judged = Judged(changed, np.array([0.3, 0.6, 0.1]), np.array([False, True, False]))
    # The second state's only change does not help: its gains are alike, and it is taken.
    around = Neighbourhood(judged, np.array([[0, 1], [-1, 2]]), np.array([[0.2, 0.5], [1.0, 1.0]]))
    mutants = LEAP()._mutants(around, chosen, np.random.default_rng(0))
    assert mutants.states.tolist() == [[0, 1], [1, 0]]  # a word without a change stays
    assert mutants.success.tolist() == [True, False]
    assert LEAP()._unmoved(chosen) is chosen.states


class ByHand:
    """LEAP on one text, particle by particle, over words.

    Random numbers come from the sentence's own stream; the flights, which are tested above, from
    `leap._levy`.
    """

    def __init__(self, text: list[str], victim: Probabilities, number: int) -> None:
        self.text, self.victim, self.rng = text, victim, stream(0, number)
        self.y, self.most = int(victim.of(text).argmax()), -(-2 * len(text) // 5)
        self.charged, self.known = 1, (False, self.score(text), text)

    def score(self, words: list[str]) -> float:
        return 1.0 - float(self.victim.of(words)[self.y])

    def rated(self, words: list[str]) -> Rated:
        return int(self.victim.of(words).argmax()) != self.y, self.score(words), words

    def note(self, tried: list[list[str]]) -> None:
        """Charge texts; remember the best one of all."""
        self.charged += len(tried)
        for words in tried:
            self.known = max(self.known, self.rated(words), key=lambda each: each[:2])

    def changed(self, words: list[str]) -> list[int]:
        return [at for at, word in enumerate(words) if word != self.text[at]]

    def neighbours(self, particles: list[list[str]]) -> list[list[tuple[float, list[str]]]]:
        """For each word of each particle, what its best change gains, and the changed text."""
        found, every = [], []
        for words in particles:
            best = []
            for at, word in enumerate(words):
                full = len(self.changed(words)) == self.most or word != self.text[at]
                tried = [] if full or word in STOP else CANDIDATES[word]
                texts = [replaced(words, at, other) for other in tried]
                every += texts
                chosen = max(texts, key=lambda one: self.rated(one)[1], default=words)
                best.append((max(0.0, self.score(chosen) - self.score(words)), chosen))
            found.append(best)
        self.note(every)
        return found

    def best(self, particles: list[list[str]]) -> int:
        return max(range(len(particles)), key=lambda at: self.rated(particles[at])[:2])

    def first(self) -> list[list[str]]:
        """Particles with one changed word each, drawn by the gains."""
        (around,) = self.neighbours([self.text])
        gains = np.array([gain for gain, _ in around])
        passed = np.cumsum(gains if gains.any() else np.ones(len(gains)))
        points = self.rng.random(PARTICLES) * passed[-1]
        return [around[int(np.argmax(passed > point))][1] for point in points]

    def turned(self, words: list[str], elite: list[str], likely: Any, drawn: Any) -> list[str]:
        taken = [elite[at] if drawn[at] < likely[at] else word for at, word in enumerate(words)]
        return taken

    def run(self) -> Found:
        if not any(CANDIDATES[word] and word not in STOP for word in self.text):
            return " ".join(self.text), False, 1
        particles, rng = self.first(), self.rng
        leader = self.best(particles)
        if self.rated(particles[leader])[0]:
            return " ".join(particles[leader]), True, self.charged
        uniform = rng.uniform(-3, 3, (2, PARTICLES))
        flights = leap._levy(PARTICLES, (-3, 3), rng)
        chosen = np.where(uniform[0] < leap._levy(PARTICLES, None, rng), uniform[1], flights)
        velocities = np.repeat(chosen[:, None], len(self.text), axis=1)
        elites, begun = list(particles), [self.score(words) for words in particles]
        for iteration in range(ITERATIONS):
            self.turn(iteration, particles, velocities, elites, elites[leader], begun)
            if self.rated(particles[self.best(particles)])[0]:
                break
            points = rng.random(PARTICLES)
            differ = [
                np.mean([*map(str.__ne__, words, elite)])
                for words, elite in zip(particles, elites, strict=True)
            ]
            mutating = [at for at in range(PARTICLES) if points[at] < 1 - 2 * differ[at]]
            for at, best in zip(
                mutating, self.neighbours([particles[at] for at in mutating]), strict=True
            ):
                gains = [gain for gain, _ in best]
                particles[at] = best[gains.index(max(gains)) if any(gains) else 0][1]
            if self.rated(particles[self.best(particles)])[0]:
                break
            if self.score(particles[self.best(particles)]) > self.score(elites[leader]):
                leader = self.best(particles)
            for at in range(PARTICLES):
                elites[at] = max(elites[at], particles[at], key=self.score)
        end = self.rated(particles[self.best(particles)])
        success, _, words = end if end[0] else self.known
        return " ".join(words), success, self.charged

    def turn(self, iteration, particles, velocities, elites, lead, begun) -> None:
        """Move all particles towards their own best text, then towards the best of all."""
        lowest, average = min(begun), float(np.mean(begun))
        inertia = leap._levy(PARTICLES, (0.5, 0.8), self.rng)
        done = iteration / ITERATIONS
        for at, words in enumerate(particles):
            score = self.score(words)
            if score < average and not np.isclose(average, lowest):
                inertia[at] = 0.2 + 0.6 * (score - lowest) / (average - lowest)
            for place, word in enumerate(words):
                pull = sum(-3 if word == elite[place] else 3 for elite in (elites[at], lead))
                velocities[at, place] *= inertia[at]
                velocities[at, place] += (1 - inertia[at]) * pull
        likely = np.exp(velocities) / np.exp(velocities).sum(axis=1, keepdims=True)
        for chance, towards in ((0.8 - 0.6 * done, elites), (0.2 + 0.6 * done, [lead] * PARTICLES)):
            moving, drawn = self.rng.random(PARTICLES) < chance, self.rng.random(likely.shape)
            for at in np.flatnonzero(moving).tolist():
                particles[at] = self.turned(particles[at], towards[at], likely[at], drawn[at])
        for at, words in enumerate(particles):
            for place in self.changed(words)[self.most :]:  # beyond the budget
                words = replaced(words, place, self.text[place])
            particles[at] = words
        self.note(particles)


@pytest.mark.parametrize("kind", [Probabilities, Stubborn])
def test_outcomes_and_queries_are_those_of_the_algorithm(kind: Any) -> None:
    settings = {
        "EditBudget": {"gamma": 0.4},
        "LEAP": {"population": PARTICLES, "iterations": ITERATIONS},
    }
    victim, examples = kind(), []
    for number, text in enumerate(texts(30)):
        one: Any = Labelled(number, Sentence(tuple(text)), LABELS[int(victim.of(text).argmax())])
        examples.append(one)
    results = {
        run.problem.id: (" ".join(run.words), run.success, run.queries.charged)
        for run in installed("leap", settings).search_runs(examples, victim)
    }
    assert results == {at: ByHand(text, kind(), at).run() for at, text in enumerate(texts(30))}
    assert len({success for _, success, _ in results.values()}) == 2
