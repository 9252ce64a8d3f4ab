"""Which trees a parser may answer with, by name.

Zheng et al. (2020) attack greedy heads and evaluate with single-root Eisner; Wang et al. (2021)
decode labelled maximum spanning trees without the single-root constraint; SuPar repairs greedy
heads that are no tree. Scores of different decoders are not to be mixed.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustparse.errors import check_choice
from robustparse.models.dependency import trees

Decoder = Literal["greedy", "repair", "mst", "mst_unrestricted", "eisner"]


def check_decoder(decoder: str) -> None:
    """Refuse an unknown name.

    Raises:
        InputError: names the decoders there are.
    """
    check_choice("decoder", decoder, get_args(Decoder))


def decode_heads(scores: trees.Floats, lengths: ArrayLike, decoder: Decoder) -> NDArray[np.int16]:
    """Heads of a batch.

    Args:
        scores: ``(batch, 1 + length, 1 + length)`` [sentence, dependent, head].
        lengths: ``(batch,)`` in words.
        decoder: ``greedy`` takes each word's best head, which need not make a tree; ``repair``
            does so too, and takes the best single-root tree for sentences where that is none;
            ``mst`` is the best single-root tree, ``mst_unrestricted`` the best tree with any number
            of roots, ``eisner`` the best projective single-root tree.

    Returns:
        ``(batch, length)``, 0 is ROOT.
    """
    if decoder == "greedy":
        return trees.greedy(scores, lengths)
    if decoder == "repair":
        return trees.greedy_with_repair(scores, lengths)
    if decoder == "eisner":
        return trees.eisner(scores, lengths)
    return trees.mst(scores, lengths, single_root=decoder == "mst")
