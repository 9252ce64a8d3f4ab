"""Projected gradient descent on word embeddings (Madry et al. 2018, eq. 2.1 and section 2).

The saddle point problem is solved by steps up the gradient g of a sentence's loss, each followed
by a projection back into the ball:

    r <- project(r + step_size * normalize(g(r)), epsilon)

Madry et al. train on the loss at the last r alone (``mix: adv``), from a random start, with
``norm: linf``. On text (Huang et al. 2021) the ascent starts from zero, under the L2 norm, and the
clean loss is kept (``mix: sum``); these are the defaults.
"""

from typing import Any, Literal

from torch import Tensor

from robustparse.defenses.adversary import EmbeddingAdversary, positive
from robustparse.defenses.passes import Passes
from robustparse.errors import InputError, check_choice

Mix = Literal["sum", "mean", "adv"]

# What the loss of each training pass is multiplied by, the weight of the adversarial one besides.
SHARES: dict[str, float] = {"sum": 1.0, "mean": 0.5, "adv": 1.0}


class PGD(EmbeddingAdversary):
    """Trains on deltas found by several steps of projected gradient ascent.

    From zero, the clean backward pass gives the gradient of the first step: a training step of
    K ascent steps costs one clean step, K - 1 passes towards the delta alone and one adversarial
    step. From a random start it costs one such pass more; under ``mix: adv``, which has no clean
    pass, K passes and the adversarial step.

    Dropout is on in all passes. With fresh masks in each, an ascent step goes up the gradient of
    another thinned-out network than the next, and the delta suits their average; see
    ``same_dropout``.

    Args:
        epsilon: norm of a delta, in embedding units.
        steps: of gradient ascent (3).
        step_size: norm of one of them; none: 2.5 epsilon / steps (Madry et al. 2018).
        random_start: start anywhere in the ball, or at zero.
        mix: the total loss: ``sum``: clean + weight * adversarial; ``mean``: half of that;
            ``adv``: the adversarial loss alone, which ``train/loss`` then shows.
        weight: of the adversarial loss (1); 1 under ``adv``.
        same_dropout: draw the same dropout masks in all passes over a batch, or fresh ones.
        common: ``norm``, ``per``, ``seed``, ``start_step``, ``every``, ``epsilon_warmup_steps``,
            as in ``EmbeddingAdversary``.

    Raises:
        InputError: a setting is out of range.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        steps: int = 3,
        step_size: float | None = None,
        random_start: bool = False,
        mix: Mix = "sum",
        weight: float = 1.0,
        same_dropout: bool = False,
        **common: Any,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            steps=steps,
            step_size=step_size,
            random_start=random_start,
            same_dropout=same_dropout,
            **common,
        )
        positive(weight=weight)
        check_choice("mix", mix, SHARES)
        if mix == "adv" and weight != 1.0:
            raise InputError(
                f"weight is {weight}, but under mix: adv there is nothing to weigh against; leave "
                "it out, or choose sum or mean"
            )
        self.mix, self.weight = mix, weight

    @property
    def clean_weight(self) -> float:
        """That of the clean loss; under ``adv`` the first pass is the adversarial one."""
        return SHARES[self.mix]

    def first(self, passes: Passes) -> Tensor:
        """Return a zero delta whose gradient is wanted; under ``adv`` the adversarial delta."""
        if self.mix == "adv":
            return self.ascend(passes, self.start(passes), self.steps)
        return passes.zeros().requires_grad_()

    def later(self, passes: Passes) -> None:
        """Form the delta, add the adversarial loss's gradients."""
        if self.mix == "adv":
            return
        if self.random_start:
            delta = self.ascend(passes, self.start(passes), self.steps)
        else:
            delta = self.step(passes, *passes.latest())
            delta = self.ascend(passes, delta, self.steps - 1)
        passes.learn(delta, SHARES[self.mix] * self.weight)

    def ascend(self, passes: Passes, delta: Tensor, steps: int) -> Tensor:
        """So many steps from a delta, ``(batch, units, dim)``."""
        for _ in range(steps):
            delta = self.step(passes, delta, passes.gradient(delta))
        return delta
