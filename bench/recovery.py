"""How much of what an attack takes a defense wins back, or a demand on the attack leaves of it.

The recovered share is (A_adv - A_clean) / (C_clean - A_clean): A_clean and C_clean are the clean
model's scores under attack and without, A_adv is the defended model's score under attack. 100 %
means that under attack the defended model scores what the clean one scores without.

What a system loses to an attack is C - A. A defense is judged by both: the recovered share also
counts what the defended model gains or loses without an attack, the difference of the two losses
does not.
"""

import numpy as np

from robustparse.evaluation.significance import AttackedCounts, Interval, Scores


def recovered_share(scores: Scores) -> Scores:
    """Compute the share in percent from rows A_clean, C_clean, A_adv; NaN where nothing was lost.

    A statistic of `paired_bootstrap`: how much of the clean model's loss a defense wins back.
    """
    a_clean, c_clean, a_adv = scores
    lost = np.where(c_clean > a_clean, c_clean - a_clean, np.nan)
    share: Scores = 100 * (a_adv - a_clean) / lost
    return share


def won_back(defended: AttackedCounts, clean: AttackedCounts) -> Interval:
    """Estimate the percentage of what the clean model loses that the defended one wins back.

    Raises:
        ValueError: the clean model loses nothing.
    """
    correct = (clean.attacked, clean.clean, defended.attacked)
    return defended.estimate(recovered_share, *correct, others=(clean,))


def won_back_beyond(
    defended: AttackedCounts, clean: AttackedCounts, control: AttackedCounts
) -> Interval:
    """Estimate how many points more than a control a model wins back; see `won_back`."""

    def difference(scores: Scores) -> Scores:
        return recovered_share(scores[[0, 1, 2]]) - recovered_share(scores[[0, 1, 3]])

    correct = (clean.attacked, clean.clean, defended.attacked, control.attacked)
    return defended.estimate(difference, *correct, others=(clean, control))


def harm_left(second: AttackedCounts, first: AttackedCounts) -> Interval:
    """Estimate the percentage of what a first attack on a model takes that a second one takes.

    Raises:
        ValueError: the first attack takes nothing.
    """

    def left(scores: Scores) -> Scores:
        return 100 - recovered_share(scores)

    correct = (first.attacked, first.clean, second.attacked)
    return second.estimate(left, *correct, others=(first,))
