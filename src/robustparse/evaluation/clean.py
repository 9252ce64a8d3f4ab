"""Clean scores of a parser on examples."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch

from robustparse.data.sampler import EvaluationLoader, forward_words
from robustparse.metrics import AttachmentScore, PunctuationPolicy, counted_words, right_words
from robustparse.models.base import Model
from robustparse.models.victim import ModelVictim, Precision
from robustparse.types import Example, Prediction


def evaluate(
    parser: Model,
    examples: Sequence[Example],
    punctuation: PunctuationPolicy = "none",
    batch_words: int | None = None,
) -> dict[str, float]:
    """UAS, LAS, UCM and LCM in percent.

    Args:
        parser: left as it was found.
        examples: sentences with gold trees.
        punctuation: which words count; ``unicode`` looks at the forms of these sentences.
        batch_words: padded words of a forward pass; None leaves them to `forward_words`.
    """
    return scores_of(predictions(parser, examples, batch_words), examples, punctuation)


def scores_of(
    parses: Iterable[Prediction], examples: Sequence[Example], punctuation: PunctuationPolicy
) -> dict[str, float]:
    """UAS, LAS, UCM and LCM in percent, of parses that are there or come as they are asked for.

    Args:
        parses: of the examples, in any order.
        examples: sentences with gold trees and distinct ids.
        punctuation: which words count.

    Raises:
        InputError: see ``counted_words``; raised before any parse is asked for.
    """
    # Padding is false in all three, words that do not count in the last.
    shape = len(examples), max((len(one.sentence) for one in examples), default=0)
    heads, labels, counted = (np.zeros(shape, np.bool_) for _ in range(3))
    for row, one in enumerate(examples):
        counted[row, : len(one.sentence)] = counted_words(one.sentence, punctuation)
    rows = {one.id: row for row, one in enumerate(examples)}
    for parse in parses:
        row, length = rows[parse.id], len(parse.answer.heads)
        right = right_words(parse.answer, examples[row].gold)
        heads[row, :length], labels[row, :length] = right
    score = AttachmentScore()
    score.update(*map(torch.from_numpy, (heads, labels, counted)))
    return score.compute()


def predictions(
    parser: Model,
    examples: Sequence[Example],
    batch_words: int | None = None,
    precision: Precision = "32-true",
) -> Iterator[Prediction]:
    """Yield the parse of each example, shortest first; the parser is then left as it was found.

    Args:
        parser: the parser.
        examples: sentences with distinct ids.
        batch_words: padded words of a forward pass; None leaves them to `forward_words`.
        precision: of the passes, see `ModelVictim`.

    Raises:
        InputError: there is no such precision.
    """
    words = forward_words(parser.device, batch_words)
    with ModelVictim([parser], precision).evaluating():
        for batch in EvaluationLoader(parser.encode(examples, gold=False), words):
            yield from parser.predict_step(batch.to(parser.device), 0)
