"""How much of parsing time goes into decoding: scores to trees, by decoder, plain and labelled.

    python bench/decoding.py --checkpoint best.ckpt --folder UD_English-EWT --json

The test sentences are parsed with every decoder, after a round on a few of them in which numba
compiles. *decoding* is the time between the scores of arcs and the heads; with labels, the scores
of every arc's best label are *scoring*, which the plain decoders do without. Each decoder has one
turn, and a pause of the machine falls on whatever runs then: run it on an otherwise idle machine.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args
from unittest.mock import patch

import torch

from robustparse.data.conllu import find_split, read_treebank
from robustparse.models.dependency import biaffine
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.dependency.trees import Decoder
from robustparse.models.load import load
from robustparse.types import Sentence

COMPILING = 32  # sentences of the round before the clock starts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", type=Path, required=True, help="of a biaffine parser")
    parser.add_argument("--folder", type=Path, required=True, help="the treebank")
    parser.add_argument("--sentences", type=int, help="the first N; by default all")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    examples = read_treebank(find_split(options.folder, "test"))[: options.sentences]
    sentences = [example.sentence for example in examples]
    module = load(options.checkpoint)
    if not isinstance(module, BiaffineParser):
        parser.error(f"{options.checkpoint} holds no biaffine parser")
    shares = {}
    for labelled in (False, True):
        for name in get_args(Decoder):
            module.decoder, module.labelled = name, labelled
            key = f"{name}, labelled" if labelled else name
            shares[key] = measured(module, sentences)
            print(key, shares[key], flush=True)
    if options.json:
        print(json.dumps({"sentences": len(sentences), "decoders": shares}))


def measured(parser: BiaffineParser, sentences: Sequence[Sentence]) -> dict[str, float]:
    """Seconds of parsing, and the percentages of them that decoding and label scores take."""
    parser.predict(sentences[:COMPILING])
    with (
        clocked(biaffine, "decode_heads") as decoding,
        clocked(BiaffineParser, "_best_labels") as scoring,
    ):
        begin = time.perf_counter()
        parser.predict(sentences)
        seconds = time.perf_counter() - begin
    return {
        "seconds": round(seconds, 2),
        "decoding_percent": round(100 * sum(decoding) / seconds, 2),
        "scoring_percent": round(100 * sum(scoring) / seconds, 2),
    }


@contextmanager
def clocked(owner: Any, name: str) -> Iterator[list[float]]:
    """Give the seconds of every call of a function of a module or class."""
    called: Callable[..., Any] = getattr(owner, name)
    seconds: list[float] = []

    def timed(*arguments: Any) -> Any:
        begin = time.perf_counter()
        answer = called(*arguments)
        seconds.append(time.perf_counter() - begin)
        return answer

    with patch.object(owner, name, timed):
        yield seconds


if __name__ == "__main__":
    main()
