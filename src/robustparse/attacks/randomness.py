"""Random streams that follow from (seed, sentence id) alone.

Philox is a counter-based generator: the key is the pair, the highest word of the counter tells
independent streams of one sentence apart (0 for the search, 1 + position for candidates), so
neither the order of the sentences nor the number of processes can change a draw.
"""

import numpy as np

_WORD = (1 << 64) - 1


def stream(seed: int, sentence: int, part: int = 0) -> np.random.Generator:
    """Return the generator of one sentence.

    Args:
        seed: the run's seed, see `errors.check_seed`: larger ones are others modulo 2**64.
        sentence: the example's id.
        part: which of the sentence's independent streams.
    """
    key = np.array([seed & _WORD, sentence & _WORD], dtype=np.uint64)
    counter = np.array([0, 0, 0, part], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))
