"""Projected gradient descent on word embeddings (Madry et al. 2018, eq. 2.1 and section 2).

The saddle point problem is solved by steps up the gradient g of a sentence's loss, each followed
by a projection back into the ball:

    r <- project(r + step_size * normalize(g(r)), epsilon)

Madry et al. train on the loss at the last r only (``mix: adv``), from a random start, with
``norm: linf``. On text the ascent usually starts from zero, under the L2 norm, and the clean loss
is kept (``mix: sum``); these are the defaults. Huang et al. (2021) name no such settings.
"""

from collections.abc import Iterator
from typing import Any, Literal

from robustparse.defenses.adversary import OWNER, EmbeddingAdversary, check_positive
from robustparse.defenses.perturbed_batch import PerturbedBatch, TrainingPass
from robustparse.errors import InputError, check_choice

Mix = Literal["sum", "mean", "adv"]

# The factor of every training pass's loss.
FACTORS: dict[str, float] = {"sum": 1.0, "mean": 0.5, "adv": 1.0}


class PGD(EmbeddingAdversary):
    """Trains on deltas found by several steps of projected gradient ascent.

    From zero, the clean backward pass gives the gradient of the first step: a training step of
    K ascent steps costs one clean step, K - 1 passes towards the delta and one adversarial step.
    From a random start it costs one such pass more; under ``mix: adv``, which has no clean pass,
    K passes and the adversarial step.

    Dropout is on in all passes. With fresh masks in each, an ascent step goes up the gradient of
    another thinned-out network than the next, and the delta suits their average; see
    ``same_dropout``.

    Args:
        mix: the total loss: ``sum``: clean + weight * adversarial; ``mean``: half of that;
            ``adv``: the adversarial loss only, which ``train/loss`` then shows.
        weight: of the adversarial loss (1); 1 under ``adv``.
        common: as in ``EmbeddingAdversary``.
    """

    def __init__(self, *, mix: Mix = "sum", weight: float = 1.0, **common: Any) -> None:
        super().__init__(**common)
        check_positive(weight=weight)
        check_choice(f"{OWNER}: mix", mix, FACTORS)
        if mix == "adv" and weight != 1.0:
            raise InputError(
                f"is {weight}, but under mix: adv there is no clean loss to weigh against",
                key=f"{OWNER}: weight",
                remedy="leave it out, or choose the mix sum or mean",
            )
        self.mix, self.weight = mix, weight

    def passes(self, batch: PerturbedBatch) -> Iterator[TrainingPass]:
        """Yield the clean pass, if there is one, and the adversarial pass after the ascent."""
        factor = FACTORS[self.mix]
        delta = self.initial_delta(batch)
        if self.mix != "adv":
            yield TrainingPass(batch.zeros(), factor, ascend=not self.random_start)
        for number in range(self.steps):
            # From zero, the clean pass has given the gradient of the first step.
            given = number == 0 and self.mix != "adv" and not self.random_start
            gradient = batch.last_gradient() if given else batch.gradient(delta)
            delta = self.ascend(batch, delta, gradient)
        yield TrainingPass(delta, factor * self.weight, ascend=False)
