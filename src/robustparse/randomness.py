"""Random streams that depend only on (seed, sentence id).

Philox is a counter-based generator: the key is the pair, and the highest word of the counter
separates the independent streams of one sentence (0 for the search, 1 + position for candidates).
Neither the order of the sentences nor the number of processes can change a draw.
"""

import numpy as np

_WORD = (1 << 64) - 1


def stream(seed: int, sentence: int, part: int = 0) -> np.random.Generator:
    """Make the generator of one of a sentence's streams, from seed modulo 2**64 and id."""
    key = np.array([seed & _WORD, sentence & _WORD], dtype=np.uint64)
    counter = np.array([0, 0, 0, part], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def mixed_seed(*numbers: int) -> int:
    """Return one seed that follows from several numbers, as a seed and an epoch."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint32)[0])
