"""Fast gradient method on word embeddings (Miyato et al. 2017, eq. 4 to 6; Goodfellow et al. 2015).

The delta is one step along the gradient g at a sentence's embeddings, r = epsilon * g / ||g||_2,
which is one step of projected gradient descent from zero, and

    total = loss(x) + weight * loss(x + r)

With ``norm: linf`` the delta is epsilon * sign(g). Miyato et al. also normalize the embeddings by
their words' frequencies (eq. 1), since the model could otherwise counteract epsilon by longer
embeddings; the encoder ``robustparse.models.NormalizedLSTMEncoder`` does so.
"""

from typing import Any

from robustparse.defenses.pgd import PGD


class FGM(PGD):
    """Trains on worst-case deltas of the embeddings in addition to the clean batch.

    The clean backward pass gives the gradients of delta and parameters together, so a training step
    costs as much as two clean steps.

    Args:
        epsilon: norm of a delta in embedding units; by default the L2 norm over all words of a
            sentence, see ``norm`` and ``per``.
        common: as in ``PGD``; a ``random_start`` costs an additional pass.
    """

    def __init__(self, *, epsilon: float = 1.0, **common: Any) -> None:
        super().__init__(epsilon=epsilon, steps=1, step_size=epsilon, **common)
