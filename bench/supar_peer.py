"""SuPar's side of ``vs_supar.py``; run by an interpreter that has supar 1.1.4, not robustparse.

    python bench/supar_peer.py speed --train FILE --batch_words 5000 --steps 8

What is timed is SuPar's own: ``BiaffineDependencyParser`` over words, tags and characters,
``Dataset`` and its bucketing ``Sampler``, ``_train`` (collating, network, loss, clipping, Adam, and
the training score that it keeps), ``predict``. Only what stands around them is made here, because
``Parser.train`` cannot run on torch 2.6 and later: it ends with ``Parser.load``, whose
``torch.load`` refuses the pickled transform (yzhangcs/parser #147). So the lines of ``train`` that
make the optimiser are repeated below, only the weights of a model are kept, and to parse with it
the fields are built anew from the training file. None of that is in a timed part.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch
from supar import BiaffineDependencyParser
from supar.utils import Dataset
from supar.utils.transform import Batch
from torch.optim.lr_scheduler import ExponentialLR
from torch.utils.data import DataLoader

# The released configuration of biaffine-dep-en (LSTM), without its pretrained vectors; ``punct``
# counts punctuation.
SIZES = {
    "n_embed": 100,
    "n_feat_embed": 100,
    "n_char_embed": 50,
    "n_char_hidden": 100,
    "n_lstm_hidden": 400,
    "n_lstm_layers": 3,
    "n_arc_mlp": 500,
    "n_rel_mlp": 100,
    "embed_dropout": 0.33,
    "encoder_dropout": 0.33,
    "mlp_dropout": 0.33,
}
TRAINING = {
    "lr": 2e-3,
    "mu": 0.9,
    "nu": 0.9,
    "eps": 1e-12,
    "weight_decay": 0,
    "decay": 0.75,
    "decay_steps": 5000,
    "clip": 5.0,
    "update_steps": 1,
    "punct": True,
    "partial": False,
    "verbose": False,
}
TRAINING_BUCKETS = 32


def build(train: str) -> BiaffineDependencyParser:
    """Return a parser whose fields know the training file."""
    return BiaffineDependencyParser.build(
        "not_saved",
        train=train,
        build=True,
        encoder="lstm",
        feat=["tag", "char"],
        embed=None,
        **SIZES,
        **TRAINING,
    )


def prepare(parser: BiaffineDependencyParser, train: str, batch_words: int) -> Dataset:
    """Return the batches and the optimiser, as in SuPar's ``Parser.train``."""
    args = parser.args
    parser.optimizer = torch.optim.Adam(
        parser.model.parameters(), args.lr, (args.mu, args.nu), args.eps, args.weight_decay
    )
    parser.scheduler = ExponentialLR(parser.optimizer, args.decay ** (1 / args.decay_steps))
    parser.transform.train()
    data = Dataset(parser.transform, train)
    # SuPar's batch size counts ROOT as well; the bench's counts words.
    words = sum(len(sentence.words) for sentence in data.sentences)
    return data.build(round(batch_words * (1 + len(data) / words)), TRAINING_BUCKETS, True)


def chosen(data: Dataset, number: int) -> list[list[int]]:
    """Batches of the first epoch, evenly from the shortest sentences to the longest."""
    plan = list(data.loader.batch_sampler)
    plan.sort(key=lambda batch: max(len(data[index].words) for index in batch))
    return [plan[(2 * place + 1) * len(plan) // (2 * number)] for place in range(number)]


def speed(options: argparse.Namespace) -> dict[str, Any]:
    """Training words a second over some batches, after a warm-up on others."""
    parser = build(options.train)
    data = prepare(parser, options.train, options.batch_words)

    def train(batches: list[list[int]]) -> tuple[float, float]:
        loader = DataLoader(data, batch_sampler=batches, collate_fn=Batch)
        begin, begin_cpu = time.perf_counter(), time.process_time()
        parser._train(loader)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return time.perf_counter() - begin, time.process_time() - begin_cpu

    train(chosen(data, options.warmup))
    measured = chosen(data, options.steps)
    seconds, cpu_seconds = train(measured)
    words = sum(len(data[index].words) for batch in measured for index in batch)
    rates = {"words_per_second": words / seconds, "words_per_cpu_second": words / cpu_seconds}
    return {**rates, "words": words, "steps": len(measured), "epoch_steps": len(data.loader)}


def fit(options: argparse.Namespace) -> dict[str, Any]:
    """Train for some epochs and keep the last weights."""
    parser = build(options.train)
    data = prepare(parser, options.train, options.batch_words)
    begin = time.perf_counter()
    for epoch in range(options.epochs):
        parser._train(data.loader)
        print(f"epoch {epoch + 1}: {time.perf_counter() - begin:.0f} s", flush=True)
    torch.save(parser.model.state_dict(), options.model)
    return {"steps": options.epochs * len(data.loader), "seconds": time.perf_counter() - begin}


def parse(options: argparse.Namespace) -> dict[str, Any]:
    """Parse files into files; sentences a second of the last, the others warm up."""
    parser = build(options.train)
    parser.model.load_state_dict(torch.load(options.model, weights_only=True))
    network, inner = parser._predict, {"seconds": 0.0}

    def timed(loader: DataLoader) -> Any:
        begin = time.perf_counter()
        answer = network(loader)
        inner["seconds"] = time.perf_counter() - begin
        return answer

    parser._predict = timed
    for source, target in zip(options.data, options.out, strict=True):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        # Trees, not necessarily projective: what its command does by default.
        parsed = parser.predict(source, target, tree=True, proj=False, verbose=False)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
    return {
        "sentences": len(parsed),
        "sentences_per_cpu_second": len(parsed) / cpu,
        "sentences_per_second": len(parsed) / seconds,
        "sentences_per_second_without_files": len(parsed) / inner["seconds"],
    }


def main() -> None:
    """One JSON object as the last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["speed", "fit", "parse"])
    parser.add_argument("--train", help="the training file")
    parser.add_argument("--batch_words", type=int, default=5000)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--data", nargs="*", default=[])
    parser.add_argument("--out", nargs="*", default=[])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    print(json.dumps({"speed": speed, "fit": fit, "parse": parse}[options.action](options)))


if __name__ == "__main__":
    main()
