"""How fast a semantic parser decodes: a file in batches, and utterance by utterance.

    python bench/forms.py --checkpoint CKPT --data atis/test.tsv --beam 5 --json

Both take turns in one process; a value is the best of the rounds.
"""

import argparse
import json
import time
from pathlib import Path

import torch

from robustparse import load
from robustparse.tasks.semantic import SemanticTask

WARMING = 32  # utterances of the round before the clock starts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="utterances with forms")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model = load(options.checkpoint)
    model.beam = options.beam
    sentences = [example.sentence for example in SemanticTask().read(options.data)]
    model.predict(sentences[:WARMING])
    seconds: dict[str, float] = {}
    answers = {}
    for _ in range(options.rounds):
        for name, calls in (
            ("batched", [sentences]),
            ("one by one", [[one] for one in sentences]),
        ):
            begin = time.perf_counter()
            answers[name] = [answer for call in calls for answer in model.predict(call)]
            took = time.perf_counter() - begin
            seconds[name] = min(took, seconds.get(name, took))
    rates = {name: round(len(sentences) / took, 1) for name, took in seconds.items()}
    differing = sum(a != b for a, b in zip(*answers.values(), strict=True))
    print("utterances a second:", rates, "answers that differ:", differing)
    if options.json:
        figures = {"utterances": len(sentences), "beam": options.beam, "differing": differing}
        print(json.dumps({**figures, "rates": rates}))


if __name__ == "__main__":
    main()
