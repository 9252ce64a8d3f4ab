"""Fast gradient method on word embeddings (Miyato et al. 2017, eq. 4 to 6; Goodfellow et al. 2015).

The delta is one step along the gradient g of a sentence's embeddings, r = epsilon * g / ||g||_2,
which is one step of projected gradient descent from zero, and

    total = loss(x) + weight * loss(x + r)

With ``norm: linf`` the delta is epsilon * sign(g). Miyato et al. also normalize the embeddings by
their words' frequencies (eq. 1), so that the model cannot outgrow epsilon by longer embeddings;
the encoder ``robustparse.models.NormalizedLSTMEncoder`` does so.
"""

from typing import Any

from robustparse.defenses.pgd import PGD


class FGM(PGD):
    """Trains on worst-case deltas of the embeddings in addition to the clean batch.

    The clean backward pass gives the delta's gradient with the parameters', so a training step
    costs two clean ones.

    Args:
        epsilon: L2 norm of a sentence's delta, over all its words, in embedding units; under
            other ``norm`` and ``per`` what they say.
        common: as in ``PGD``; a ``random_start`` costs one pass more.
    """

    def __init__(self, *, epsilon: float = 1.0, **common: Any) -> None:
        super().__init__(epsilon=epsilon, steps=1, step_size=epsilon, **common)
