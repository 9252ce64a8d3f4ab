"""How fast the stack-pointer parser decodes: in batches, sentence by sentence, against biaffine.

    python bench/pointing.py --folder UD_English-EWT --sentences 300 --json
    python bench/pointing.py --folder UD_English-EWT --sentences 300 --encoder MODEL --json

Both parsers have the encoder of the experiments, with ``--encoder`` that of a pretrained
Transformer, and random weights, on which the number of steps does not depend. They take turns; a
value is the best of the rounds. `over_one_by_one` is the rate in batches over that sentence by
sentence, `of_biaffine` over that of the biaffine parser.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch

from robustparse.data.conllu import find_split, read_treebank
from robustparse.data.vocab import Vocabulary
from robustparse.models import (
    BiaffineParser,
    Encoder,
    LSTMEncoder,
    Model,
    StackPointerParser,
    TransformerEncoder,
)
from robustparse.types import Sentence

WARMING = 32  # sentences of the round before the clock starts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="the treebank")
    parser.add_argument("--encoder", help="folder or name of a pretrained encoder")
    parser.add_argument("--sentences", type=int, help="the first N; by default all")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--beam", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    examples = read_treebank(find_split(options.folder, "test"))[: options.sentences]
    sentences = [example.sentence for example in examples]
    vocabulary = Vocabulary.from_examples(examples)
    encoders = [encoder_of(options.encoder) for _ in range(2)]
    pointer = StackPointerParser(encoders[0], beam=options.beam, vocabulary=vocabulary)
    biaffine = BiaffineParser(encoders[1], vocabulary=vocabulary)
    figures = measured(pointer, biaffine, sentences, options.rounds)
    print("sentences a second:", figures["rates"])
    print("in batches over one by one:", figures["over_one_by_one"])
    print("over the biaffine parser:", figures["of_biaffine"])
    if options.json:
        print(json.dumps({"beam": options.beam, "encoder": options.encoder, **figures}))


def encoder_of(model: str | None) -> Encoder:
    """Return the encoder of the experiments: a BiLSTM, or a Transformer with four layers mixed."""
    return LSTMEncoder() if model is None else TransformerEncoder(model, pooling="mean", mix=4)


def measured(
    pointer: Model, biaffine: Model, sentences: list[Sentence], rounds: int
) -> dict[str, Any]:
    """Return sentences a second of each way to parse, and the ratios of these rates."""
    for parser in (pointer, biaffine):
        parser.predict(sentences[:WARMING])
    seconds: dict[str, float] = {}
    for _ in range(rounds):
        for name, took in (
            ("biaffine", timed(biaffine, [sentences])),
            ("batched", timed(pointer, [sentences])),
            ("one by one", timed(pointer, [[one] for one in sentences])),
        ):
            seconds[name] = min(took, seconds.get(name, took))
    return {
        "sentences": len(sentences),
        "rates": {name: round(len(sentences) / took, 1) for name, took in seconds.items()},
        "over_one_by_one": round(seconds["one by one"] / seconds["batched"], 2),
        "of_biaffine": round(seconds["biaffine"] / seconds["batched"], 2),
    }


def timed(parser: Model, calls: list[list[Sentence]]) -> float:
    """Return the seconds that parsing takes, a call after the other."""
    begin = time.perf_counter()
    for sentences in calls:
        parser.predict(sentences)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
