"""FreeLB: free large-batch adversarial training (Zhu et al. 2020, algorithm 1).

Each of the K passes, at deltas r_0 to r_{K-1}, gives the gradients for the ascent and those of the
parameters; the optimizer takes one step along the average of the latter:

    r_0 ~ uniform(-epsilon, epsilon) / sqrt(N), with N numbers in a sentence's delta
    g_t = g_{t-1} + 1/K * d loss(x + r_{t-1}) / d parameters
    r_t = project(r_{t-1} + step_size * normalize(d loss(x + r_{t-1}) / d r), epsilon)
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustparse.defenses.adversary import EmbeddingAdversary
from robustparse.defenses.gradient_adversary import check_positive
from robustparse.defenses.perturbed_batch import PerturbedBatch, TrainingPass


class FreeLB(EmbeddingAdversary):
    """Trains on all deltas of one ascent and averages their gradients.

    A training step costs as much as K clean steps. There is no clean pass; ``train/loss`` shows the
    loss at the start of the ascent.

    Args:
        epsilon: maximum norm of a delta, in embedding units.
        start_size: replaces epsilon in r_0; None: epsilon, as in algorithm 1. The released code
            has a separate option (``adv_init_mag``).
        random_start: as in algorithm 1; if false, r_0 is zero and the first pass is a clean one.
        same_dropout: use the same dropout masks in all passes over a batch (section 3.3); otherwise
            each pass draws new masks.
        common: as in ``EmbeddingAdversary``; ``steps`` is K. With ``per: token``, N is the number
            of values in a token's delta; with ``linf`` r_0 is not divided by sqrt(N).
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        start_size: float | None = None,
        random_start: bool = True,
        same_dropout: bool = True,
        **common: Any,
    ) -> None:
        super().__init__(
            epsilon=epsilon, random_start=random_start, same_dropout=same_dropout, **common
        )
        self.start_size = epsilon if start_size is None else start_size
        check_positive(start_size=self.start_size)

    def draw(self, rng: np.random.Generator, units: int, dim: int) -> NDArray[np.float64]:
        """Draw every number uniformly from the largest cube in the ball."""
        side = self.ball.half_side(units, dim) * self.start_size / self.epsilon
        return rng.uniform(-side, side, (units, dim))

    @property
    def passes_per_step(self) -> int:
        """One for each ascent step."""
        return self.steps

    def passes(self, batch: PerturbedBatch) -> Iterator[TrainingPass]:
        """Yield the passes at r_0 to r_{K-1}."""
        delta = self.initial_delta(batch)
        for _ in range(self.steps):
            yield TrainingPass(delta, 1.0 / self.steps)
            delta = self.ascend(batch, delta, batch.last_gradient())
