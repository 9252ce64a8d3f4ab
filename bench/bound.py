"""What a parser of a size could reach on this machine: words a second that its products allow.

    python bench/bound.py --threads 2 --json

A word's forward pass multiplies with every weight of the sentence LSTM, of the MLPs and of the arc
scores once; a training step costs three times as much. Left out are characters, embeddings, label
scores, dropout, the optimiser. The rate is that of the fastest of several kernels: torch's matrix
product, its linear layer and oneDNN's with the weight in oneDNN's own layout, each of the shape of
an LSTM layer's input, ``(4096, 800) @ (800, 1600)``, and a whole layer of ``nn.LSTM``; of each the
median of several rounds. A kernel that is none of these may be faster still. Run it on an otherwise
idle machine.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.mkldnn import to_mkldnn

from robustparse.data.sample.treebank import sample_treebank
from robustparse.data.vocab import Vocabulary
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.bilstm import LSTMEncoder

ROWS = 4096
LENGTH = 32  # of the sentences of a batch, for the layer of nn.LSTM; ROWS words in all
TRAINING = 3  # the forward pass, the gradient of the inputs, the gradient of the weights


def flop_a_word(hidden: int, layers: int) -> int:
    """Multiplications and additions of a word's forward pass."""
    encoder = LSTMEncoder(
        word_dim=100, character_dim=50, character_out=100, hidden=hidden, layers=layers, tag_dim=100
    )
    vocabulary = Vocabulary.from_examples(sample_treebank().test)
    parser = BiaffineParser(encoder, arc_dim=500, label_dim=100, vocabulary=vocabulary)
    parts = (parser.encoder.lstm, parser.arc_mlp_d, parser.arc_mlp_h)
    labels = (parser.rel_mlp_d, parser.rel_mlp_h)
    weights = [weight for part in (*parts, *labels) for weight in part.parameters()]
    matrices = [*weights, parser.arc_attn.weight]
    return 2 * sum(weight.numel() for weight in matrices if weight.dim() > 1)


def kernels(dtype: torch.dtype, hidden: int) -> dict[str, tuple[Callable[[], Any], int]]:
    """Return what multiplies as a direction of an LSTM layer does, and its floating-point
    operations.
    """
    given = torch.randn(ROWS, 2 * hidden, dtype=dtype)
    linear = nn.Linear(2 * hidden, 4 * hidden, bias=False, dtype=dtype).eval()
    other = linear.weight.t().contiguous()
    lstm = nn.LSTM(2 * hidden, hidden, batch_first=True, dtype=dtype).eval()
    sentences = given.view(-1, LENGTH, 2 * hidden)
    product = 2 * ROWS * other.numel()
    found: dict[str, tuple[Callable[[], Any], int]] = {
        "product": (lambda: torch.mm(given, other), product),
        "linear": (lambda: linear(given), product),
        "lstm": (lambda: lstm(sentences), product + 2 * ROWS * hidden * 4 * hidden),
    }
    here = dtype is torch.float32 or torch.ops.mkldnn._is_mkldnn_bf16_supported()
    if torch.backends.mkldnn.is_available() and here:
        dense = nn.Linear(2 * hidden, 4 * hidden, bias=False).eval()
        packed, blocked = to_mkldnn(dense, dtype), given.to_mkldnn()
        found["onednn"] = (lambda: packed(blocked), product)
    return found


def rates(dtype: torch.dtype, hidden: int, rounds: int) -> dict[str, float]:
    """Floating-point operations a second of each kernel."""
    found = {}
    with torch.no_grad():
        for name, (run, operations) in kernels(dtype, hidden).items():
            seconds = []
            for _ in range(rounds + 1):
                begin = time.perf_counter()
                for _ in range(20):
                    run()
                seconds.append(time.perf_counter() - begin)
            found[name] = 20 * operations / statistics.median(seconds[1:])
    return found


def main() -> None:
    """Print the figures; with ``--json`` as one object on the last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, default=400, help="LSTM units a direction")
    parser.add_argument("--layers", type=int, default=3, help="LSTM layers")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    word = flop_a_word(options.hidden, options.layers)
    figures = {"mflop_a_word": word / 1e6}
    for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        found = rates(dtype, options.hidden, options.rounds)
        figures |= {f"gflop_a_second_{name}_{key}": one / 1e9 for key, one in found.items()}
        speed = max(found.values())
        figures[f"gflop_a_second_{name}"] = speed / 1e9
        figures[f"training_words_a_second_{name}"] = speed / word / TRAINING
        figures[f"parsed_words_a_second_{name}"] = speed / word
    for key, value in figures.items():
        print(f"{key:>34} {value:10.1f}")
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
