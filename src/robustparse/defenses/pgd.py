"""Projected gradient descent on word embeddings (Madry et al. 2018, eq. 2.1 and section 2).

The inner maximisation takes ascent steps along the gradient g of a sentence's loss, each followed
by a projection into the ball:

    r <- project(r + step_size * normalize(g(r)), epsilon)

Madry et al. train only on the loss at the last r (``mix: adv``), from a random start, with
``norm: linf``. For text the ascent usually starts from zero, with the L2 norm, and the clean loss
is added (``mix: sum``); these are the defaults. Huang et al. (2021) do not report these settings.
"""

from collections.abc import Iterator
from typing import Any, Literal

from robustparse.defenses.adversary import EmbeddingAdversary
from robustparse.defenses.gradient_adversary import OWNER, check_positive
from robustparse.defenses.perturbed_batch import PerturbedBatch, TrainingPass
from robustparse.errors import InputError, check_choice

Mix = Literal["sum", "mean", "adv"]

# The factor of each training pass's loss.
FACTORS: dict[str, float] = {"sum": 1.0, "mean": 0.5, "adv": 1.0}


class PGD(EmbeddingAdversary):
    """Trains on deltas found by several steps of projected gradient ascent.

    If the ascent starts from zero, the clean backward pass gives the gradient of the first step. A
    training step with K ascent steps then costs one clean step, K - 1 passes for the delta and one
    adversarial step. A random start costs one pass more. ``mix: adv`` has no clean pass and costs K
    passes and the adversarial step.

    Dropout is active in all passes. If each pass draws new masks, ascent steps use different
    subnetworks, and the delta fits their average; see ``same_dropout``.

    Args:
        mix: the total loss: ``sum``: clean + weight * adversarial; ``mean``: half of that;
            ``adv``: only the adversarial loss, which ``train/loss`` then shows.
        weight: weight of the adversarial loss (1); must be 1 with ``adv``.
        common: as in ``EmbeddingAdversary``.
    """

    def __init__(self, *, mix: Mix = "sum", weight: float = 1.0, **common: Any) -> None:
        super().__init__(**common)
        check_positive(weight=weight)
        check_choice(f"{OWNER}: mix", mix, FACTORS)
        if mix == "adv" and weight != 1.0:
            raise InputError(
                f"got {weight}, but with mix: adv there is no clean loss to balance",
                key=f"{OWNER}: weight",
                remedy="leave it out, or choose the mix sum or mean",
            )
        self.mix, self.weight = mix, weight

    @property
    def passes_per_step(self) -> int:
        """The ascent steps, the adversarial pass and, if it starts no ascent, the clean pass."""
        return self.steps + 1 + (self.random_start and self.mix != "adv")

    def passes(self, batch: PerturbedBatch) -> Iterator[TrainingPass]:
        """Yield the clean pass, unless ``mix: adv``, and the adversarial pass after the ascent."""
        factor = FACTORS[self.mix]
        delta = self.initial_delta(batch)
        if self.mix != "adv":
            yield TrainingPass(batch.zeros(), factor, ascend=not self.random_start)
        for number in range(self.steps):
            # Starting from zero, the clean pass gave the gradient of the first step.
            known = number == 0 and self.mix != "adv" and not self.random_start
            gradient = batch.last_gradient() if known else batch.gradient(delta)
            delta = self.ascend(batch, delta, gradient)
        yield TrainingPass(delta, factor * self.weight, ascend=False)
