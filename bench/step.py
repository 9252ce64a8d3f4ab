"""A training step of the biaffine parser against its bare products, in one run.

    python bench/step.py --folder UD_English-EWT --json

*Bare* is what no implementation can leave out: the fused ``nn.LSTM`` layers of both directions (of
the sentences and of the spelled words) and the matrix products of the MLPs and of arc and label
scores, forward and backward, on random inputs of the padded shapes that the parser itself meets.
The parser's step has everything: embeddings, dropout, losses, clipping, Adam. Both run in turn on
the same batches; ``share_of_bare`` is bare over step, the median over rounds. The bar is 0.6.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from robustparse.data.batch import Batch
from robustparse.data.sampler import plan_batches
from robustparse.data.treebank_datamodule import TreebankDataModule
from robustparse.data.vocab import Vocabulary
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.bilstm import LSTMEncoder
from robustparse.models.encoders.lstm import BiLSTM
from robustparse.models.encoders.word_table import PADDING
from robustparse.types import Example

Kernel = Callable[[], None]
CLIP = 5.0


def training_step(parser: BiaffineParser, adam: torch.optim.Optimizer, batch: Batch) -> None:
    """Do what Lightning does with a batch, without Lightning."""
    adam.zero_grad()
    sums = parser.loss(parser(batch), batch)
    (sums.sum() / batch.weight).backward()
    nn.utils.clip_grad_norm_(parser.parameters(), CLIP)
    adam.step()


def bare_lstm(module: BiLSTM, batch: int, length: int) -> list[Kernel]:
    """Every layer of a BiLSTM, each direction on its own random input."""
    layers = [layer for part in (module.forwards, module.backwards) for layer in part]
    return [
        _pass(lambda x, layer=layer: layer(x)[0], (batch, length, layer.input_size))
        for layer in (nn.LSTM(x.input_size, x.hidden_size, batch_first=True) for x in layers)
    ]


def bare_products(parser: BiaffineParser, batch: Batch) -> list[Kernel]:
    """MLPs, arc scores of every pair, label scores of the gold arcs."""
    rows, length = batch.words.shape[0], 1 + batch.words.shape[1]
    words = int(batch.lengths.sum())
    arc, label, labels = parser.arc_dim, parser.label_dim + 1, len(parser.rel_attn.weight)
    states = (rows, length, parser.encoder.out_dim)
    sizes = (arc, arc, parser.label_dim, parser.label_dim)
    mlps = [nn.Linear(parser.encoder.out_dim, size) for size in sizes]
    inner = nn.Linear(arc + 1, arc, bias=False)
    mixing = nn.Linear(label, labels * label, bias=False)
    return [
        *(_pass(mlp, states) for mlp in mlps),
        _pass(inner, (rows, length, arc + 1)),
        _pass(torch.bmm, (rows, length, arc), (rows, arc, length)),
        _pass(mixing, (words, label)),
        _pass(torch.bmm, (words, labels, label), (words, label, 1)),
    ]


def _pass(function: Callable[..., Tensor], *shapes: tuple[int, ...]) -> Kernel:
    """Forward and backward of a function on random inputs, towards inputs and weights."""
    inputs = [torch.randn(shape, requires_grad=True) for shape in shapes]
    gradient = torch.randn_like(function(*inputs))

    def run() -> None:
        function(*inputs).backward(gradient)

    return run


def bare_kernels(parser: BiaffineParser, batch: Batch) -> dict[str, list[Kernel]]:
    """Return the bare work of one batch, by part."""
    encoder = parser.encoder
    rows, length = batch.words.shape[0], 1 + batch.words.shape[1]
    kernels = {"sentence_lstm": bare_lstm(encoder.lstm, rows, length)}
    if encoder.character_dim:
        different = batch.words.unique()
        characters = encoder.table.tensors(torch.device("cpu"))[1][different]
        width = int((characters != PADDING).sum(1).max())
        # One more word: ROOT.
        kernels["spelling_lstm"] = bare_lstm(encoder.character_lstm, len(different) + 1, width)
    kernels["products"] = bare_products(parser, batch)
    return kernels


def seconds(kernels: Iterable[Kernel]) -> float:
    """Wall-clock seconds of running them all."""
    start = time.perf_counter()
    for kernel in kernels:
        kernel()
    return time.perf_counter() - start


def chosen_batches(
    parser: BiaffineParser, examples: list[Example], options: argparse.Namespace
) -> list[Batch]:
    """Training batches, evenly from the shortest sentences to the longest."""
    data = parser.encode(examples)
    plan = plan_batches(data.lengths, options.batch_words, seed=0, epoch=0)
    plan.sort(key=lambda batch: data.lengths[batch].max())
    places = range(options.batches)
    picked = [plan[(2 * place + 1) * len(plan) // (2 * options.batches)] for place in places]
    return [data.batch(batch, float(data.lengths[batch].sum())) for batch in picked]


def measure(options: argparse.Namespace) -> dict[str, float]:
    """Return the figures of one run, in seconds a batch."""
    examples = TreebankDataModule(folder=options.folder).examples("train")
    encoder = LSTMEncoder(
        character_dim=options.character_dim, hidden=options.hidden, layers=options.layers
    )
    parser = BiaffineParser(encoder, vocabulary=Vocabulary.from_examples(examples)).train()
    adam = torch.optim.Adam(parser.parameters(), 2e-3, betas=(0.9, 0.9), eps=1e-12)
    batches = chosen_batches(parser, examples, options)
    found: dict[str, list[float]] = {}
    for turn in range(options.rounds + 1):
        spent = dict.fromkeys(("step", "sentence_lstm", "spelling_lstm", "products"), 0.0)
        for batch in batches:
            for part, kernels in bare_kernels(parser, batch).items():
                spent[part] += seconds(kernels)
            spent["step"] += seconds([lambda batch=batch: training_step(parser, adam, batch)])
        if turn:  # the first round warms up
            spent["bare"] = sum(value for part, value in spent.items() if part != "step")
            spent["share_of_bare"] = spent["bare"] / spent["step"] * len(batches)
            for part, value in spent.items():
                found.setdefault(part, []).append(value / len(batches))
    return {part: statistics.median(values) for part, values in found.items()}


def main() -> None:
    """Print the figures; with ``--json`` as one object on the last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="sample", help="a treebank's folder, or sample")
    parser.add_argument("--hidden", type=int, default=400, help="LSTM units a direction")
    parser.add_argument("--layers", type=int, default=3, help="LSTM layers")
    parser.add_argument("--character_dim", type=int, default=50, help="0 leaves characters out")
    parser.add_argument("--batch_words", type=int, default=2000, help="words a batch")
    parser.add_argument("--batches", type=int, default=6, help="batches, from short to long")
    parser.add_argument("--rounds", type=int, default=3, help="rounds over them, after a first")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    figures = measure(options)
    for part, value in figures.items():
        print(f"{part:>14} {value:8.3f}" + ("" if part == "share_of_bare" else " s a batch"))
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
