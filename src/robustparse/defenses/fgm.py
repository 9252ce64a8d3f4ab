"""Fast gradient method on word embeddings (Miyato et al. 2017, eq. 4 to 6; Goodfellow et al. 2015).

The delta is one step along the gradient g of a sentence's embeddings, r = epsilon * g / ||g||_2,
which is one step of projected gradient descent from zero, and

    total = loss(x) + weight * loss(x + r)

With ``norm: linf`` the delta is epsilon * sign(g). Miyato et al. also normalise the embeddings by
their words' frequencies (eq. 1), lest the parser outgrow epsilon by longer embeddings; that is a
change of the encoder, which ``parsers.normalized.NormalizedLSTMEncoder`` makes.
"""

from typing import Any

from robustparse.defenses.pgd import PGD, Mix


class FGM(PGD):
    """Trains on worst-case deltas of the embeddings beside the clean batch.

    The clean backward pass gives the delta's gradient with the parameters', so a training step
    costs two clean ones. Dropout is drawn afresh in the adversarial pass, from the step's own seed.

    Args:
        epsilon: L2 norm of a sentence's delta, over all its words, in embedding units; under
            other ``norm`` and ``per`` what they say.
        weight: of the adversarial loss (1).
        mix: ``sum``, ``mean`` or ``adv``, as in ``PGD``.
        same_dropout: draw the clean pass's dropout masks in the adversarial pass again.
        common: ``norm``, ``per``, ``seed``, ``start_step``, ``every``, ``epsilon_warmup_steps``,
            as in ``EmbeddingAdversary``; ``random_start`` as in ``PGD``, at the cost of one pass.

    Raises:
        InputError: a setting is out of range.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        weight: float = 1.0,
        mix: Mix = "sum",
        same_dropout: bool = False,
        **common: Any,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            steps=1,
            step_size=epsilon,
            weight=weight,
            mix=mix,
            same_dropout=same_dropout,
            **common,
        )
