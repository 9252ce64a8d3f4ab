"""What an attack takes from a system, and how much of it a defense keeps, each with its interval.

*Lost* is clean minus attacked score, C - A. A defense is judged by both of two figures: *won back*,
(A_adv - A_clean) / (C_clean - A_clean), also counts what the defended model gains or loses without
an attack; the difference of what the two lose to the attack does not.
"""

from dataclasses import dataclass

from numpy.typing import ArrayLike

from robustparse.evaluation.significance import (
    Interval,
    Scores,
    Statistic,
    paired_bootstrap,
    recovered_share,
)


@dataclass(frozen=True, slots=True)
class AttackedCounts:
    """Correct parts of a system's answers to each sentence, before and after an attack.

    Systems are compared on the same sentences in the same order.

    Args:
        counted: parts that enter the scores, `(sentences,)`.
        clean: correct parts of the answers to the originals, `(sentences,)`.
        attacked: correct parts of the answers to the perturbed sentences, `(sentences,)`.
    """

    counted: ArrayLike
    clean: ArrayLike
    attacked: ArrayLike

    def lost(self) -> Interval:
        """Estimate the points that the system loses to the attack."""

        def lost(scores: Scores) -> Scores:
            c, a = scores
            return c - a

        return self._estimate(lost, self.clean, self.attacked)

    def lost_beyond(self, first: "AttackedCounts") -> Interval:
        """Estimate how many points more than another system this one loses to the attack."""

        def difference(scores: Scores) -> Scores:
            c_first, a_first, c, a = scores
            return (c - a) - (c_first - a_first)

        both = (first.clean, first.attacked, self.clean, self.attacked)
        return self._estimate(difference, *both)

    def gained(self, first: "AttackedCounts") -> Interval:
        """Estimate how many points more than another system this one scores under attack."""

        def difference(scores: Scores) -> Scores:
            a_first, a = scores
            return a - a_first

        return self._estimate(difference, first.attacked, self.attacked)

    def won_back(self, first: "AttackedCounts") -> Interval:
        """Estimate the percentage of what the clean model loses that this one wins back.

        Raises:
            ValueError: the clean model loses nothing.
        """
        return self._estimate(recovered_share, first.attacked, first.clean, self.attacked)

    def won_back_beyond(self, first: "AttackedCounts", control: "AttackedCounts") -> Interval:
        """Estimate how many points more than a control this model wins back; see `won_back`."""

        def difference(scores: Scores) -> Scores:
            return recovered_share(scores[[0, 1, 2]]) - recovered_share(scores[[0, 1, 3]])

        attacked = (self.attacked, control.attacked)
        return self._estimate(difference, first.attacked, first.clean, *attacked)

    def _estimate(self, statistic: Statistic, *correct: ArrayLike) -> Interval:
        return paired_bootstrap(statistic, correct, self.counted, seed=0)
