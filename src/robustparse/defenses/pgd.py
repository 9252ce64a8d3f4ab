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
    """Trains on offsets found by several steps of projected gradient ascent.

    From zero, the clean backward pass gives the gradient of the first step: a training step of
    K ascent steps costs one clean step, K - 1 passes towards the offset alone and one adversarial
    step. From a random start it costs one such pass more; under ``mix: adv``, which has no clean
    pass, K passes and the adversarial step.

    Dropout is on in all passes. With fresh masks in each, an ascent step goes up the gradient of
    another thinned-out network than the next, and the offset suits their average; see
    ``same_dropout``.

    Args:
        epsilon: norm of an offset, in embedding units.
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
    def first_share(self) -> float:
        """That of the clean loss; under ``adv`` the first pass is the adversarial one."""
        return SHARES[self.mix]

    def first(self, passes: Passes) -> Tensor:
        """A zero offset whose gradient is wanted; under ``adv`` the adversarial offset."""
        if self.mix == "adv":
            return self.ascend(passes, self.start(passes), self.steps)
        return passes.zeros().requires_grad_()

    def later(self, passes: Passes) -> None:
        """Form the offset, add the adversarial loss's gradients."""
        if self.mix == "adv":
            return
        if self.random_start:
            offset = self.ascend(passes, self.start(passes), self.steps)
        else:
            offset = self.step(passes, *passes.latest())
            offset = self.ascend(passes, offset, self.steps - 1)
        passes.learn(offset, SHARES[self.mix] * self.weight)

    def ascend(self, passes: Passes, offset: Tensor, steps: int) -> Tensor:
        """So many steps from an offset, ``(batch, units, dim)``."""
        for _ in range(steps):
            offset = self.step(passes, offset, passes.gradient(offset))
        return offset
