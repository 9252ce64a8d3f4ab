"""``predict``: the test sentences with their predicted parses, as CoNLL-U."""

from collections.abc import Sequence
from pathlib import Path

import torch

from robustparse.data.conllu import block_of, with_parse, write_treebank
from robustparse.types import Example, Prediction


def gather(own: Sequence[Prediction]) -> list[Prediction]:
    """The predictions of all processes."""
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return list(own)
    parts: list[list[Prediction]] = [[] for _ in range(torch.distributed.get_world_size())]
    torch.distributed.all_gather_object(parts, list(own))
    return [prediction for part in parts for prediction in part]


def write_predictions(
    path: Path, examples: Sequence[Example], predictions: Sequence[Prediction]
) -> None:
    """Write each sentence as it stands in its file, with another parse."""
    trees = {prediction.id: prediction.tree for prediction in predictions}
    write_treebank(
        path,
        (
            with_parse(example.block or block_of(example.sentence, example.gold), trees[example.id])
            for example in examples
        ),
    )
