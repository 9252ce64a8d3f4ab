"""Training of semantic parsers with the gradients of `models.semantic.unrolled`, and without.

    python bench/unrolled.py

Prints the seconds of an epoch of 200 sample questions on a CPU, in batches of 10, the best of three
rounds in turn. The bar is that Seq2Seq is at least 1.2 times as fast with them; if not, the file
can go.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from robustparse.data.sample.questions import sample_questions
from robustparse.data.sampler import TrainingLoader
from robustparse.data.vocab import Vocabulary
from robustparse.models import LSTMEncoder, Seq2Seq, TranX
from robustparse.models.semantic import seq2seq, tranx, unrolled

ROUNDS = 3


@contextmanager
def plain(*_: object, **__: object) -> Iterator[None]:
    """Leave the gradients to autograd."""
    yield


def epoch(model: Any, loader: TrainingLoader) -> float:
    """Return the seconds of an epoch."""
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    start = time.perf_counter()
    for batch in loader:
        optimizer.zero_grad()
        (model.loss(model(batch), batch).sum() / batch.weight).backward()
        optimizer.step()
    return time.perf_counter() - start


def main() -> None:
    """Measure both parsers and print the seconds as JSON."""
    examples = sample_questions(0).train[:200]
    vocabulary = Vocabulary.from_examples(examples)
    for kind, module in ((Seq2Seq, seq2seq), (TranX, tranx)):
        encoder = LSTMEncoder(word_dim=128, character_dim=0, hidden=128, layers=1)
        model = kind(encoder, vocabulary=vocabulary).train()
        loader = TrainingLoader(model.encode(examples), 10_000, 0, unit="texts", batch_texts=10)
        seconds: dict[str, list[float]] = {"unrolled": [], "autograd": []}
        for _ in range(ROUNDS):
            for name, context in (("unrolled", unrolled.unrolled), ("autograd", plain)):
                vars(module)["unrolled"] = context
                seconds[name].append(epoch(model, loader))
        best = {name: round(min(values), 2) for name, values in seconds.items()}
        speedup = round(best["autograd"] / best["unrolled"], 2)
        print(json.dumps({"model": kind.__name__, **best, "speedup": speedup}), flush=True)


if __name__ == "__main__":
    main()
