"""Clean scores of a parser on examples."""

from collections.abc import Iterator, Sequence

import torch

from robustparse.data.sampler import EvaluationLoader, forward_words
from robustparse.metrics import AttachmentScore, PunctuationPolicy
from robustparse.parsers.base import ParserModule
from robustparse.parsers.victim import ParserVictim
from robustparse.types import Example, Prediction


def evaluate(
    parser: ParserModule,
    examples: Sequence[Example],
    punctuation: PunctuationPolicy = "none",
    batch_words: int | None = None,
) -> dict[str, float]:
    """UAS, LAS, UCM and LCM in percent.

    Args:
        parser: left as it was found.
        examples: sentences with gold trees.
        punctuation: which words count.
        batch_words: padded words of a forward pass; None leaves them to `forward_words`.
    """
    score = AttachmentScore()
    words = forward_words(parser.device, batch_words)
    loader = EvaluationLoader(parser.number(examples, punctuation), words)
    with ParserVictim(parser).evaluating():
        for batch in loader:
            batch = batch.to(parser.device)
            heads, labels = parser.parse_ids(batch.words, batch.tags, batch.lengths)
            right_heads = torch.from_numpy(heads) == batch.heads.cpu()
            right_labels = torch.from_numpy(labels) == batch.labels.cpu()
            score.update(right_heads, right_labels, batch.counted.cpu())
    return score.compute()


def predictions(
    parser: ParserModule, examples: Sequence[Example], batch_words: int | None = None
) -> Iterator[Prediction]:
    """The parse of each example, shortest first; the parser is then left as it was found."""
    words = forward_words(parser.device, batch_words)
    with ParserVictim(parser).evaluating():
        for batch in EvaluationLoader(parser.number(examples), words):
            yield from parser.decode(batch.to(parser.device))
