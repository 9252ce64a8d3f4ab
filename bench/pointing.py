"""How fast the stack-pointer parser decodes: in batches, sentence by sentence, against biaffine.

    python bench/pointing.py --folder UD_English-EWT --sentences 300 --json

Both parsers have the encoder of the experiments and random weights, on which the number of steps
does not depend. They take turns; a value is the best of the rounds.
"""

import argparse
import json
import time
from pathlib import Path

import torch

from robustparse.data.conllu import find_split, read_treebank
from robustparse.data.vocab import Vocabulary
from robustparse.models import BiaffineParser, LSTMEncoder, Model, StackPointerParser
from robustparse.types import Sentence

WARMING = 32  # sentences of the round before the clock starts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="the treebank")
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
    pointer = StackPointerParser(LSTMEncoder(), beam=options.beam, vocabulary=vocabulary)
    biaffine = BiaffineParser(LSTMEncoder(), vocabulary=vocabulary)
    for parser_ in (pointer, biaffine):
        parser_.predict(sentences[:WARMING])
    seconds: dict[str, float] = {}
    for _ in range(options.rounds):
        for name, took in (
            ("biaffine", timed(biaffine, [sentences])),
            ("batched", timed(pointer, [sentences])),
            ("one by one", timed(pointer, [[one] for one in sentences])),
        ):
            seconds[name] = min(took, seconds.get(name, took))
    rates = {name: round(len(sentences) / took, 1) for name, took in seconds.items()}
    print("sentences a second:", rates)
    if options.json:
        print(json.dumps({"sentences": len(sentences), "beam": options.beam, "rates": rates}))


def timed(parser: Model, calls: list[list[Sentence]]) -> float:
    """Return the seconds that parsing takes, a call after the other."""
    begin = time.perf_counter()
    for sentences in calls:
        parser.predict(sentences)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
