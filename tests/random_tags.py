"""Random sequences of span tags, most of them broken."""

import numpy as np


def random_tags(count: int, seed: int = 0) -> list[list[str]]:
    """Return sequences of one to eleven tags of two classes."""
    rng = np.random.default_rng(seed)
    names = np.array(["O", "B-x", "I-x", "B-y", "I-y"])
    return [rng.choice(names, rng.integers(1, 12)).tolist() for _ in range(count)]
