"""Whether a module's training depends on how its sentences are shared over processes.

Every process draws the dropout masks of its own sentences from (seed, epoch, batch, process), so
that with dropout another number of processes draws other masks.
"""

from torch import nn


def drops_out(module: nn.Module) -> bool:
    """Whether a module draws dropout masks in training.

    PyTorch calls the probability ``p`` in modules of its own for dropout and ``dropout`` in others;
    transformers has names that end in ``dropout`` or ``dropout_prob``, and our modules have
    ``dropout``. Parts in evaluation mode, as a network that is not tuned, draw none.

    Args:
        module: as it is trained.
    """
    return any(
        isinstance(value, int | float) and value > 0
        for part in module.modules()
        if part.training
        for name, value in vars(part).items()
        if (name == "p" and "dropout" in type(part).__name__.lower())
        or name.endswith(("dropout", "dropout_prob"))
    )
