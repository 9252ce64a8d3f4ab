"""The files of the victims that TextAttack and we attack, as models of ours.

``textattack_network.py`` says what a file holds. A mean of embeddings is an `EncoderClassifier`
without a pretrained encoder, a BiLSTM a `WordLSTM`; pairs are read by `InferSent` or `ESIM`. Labels
are the numbers of the classes.
"""

from pathlib import Path

import torch
from torch import Tensor

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models import (
    ESIM,
    EncoderClassifier,
    InferSent,
    TextClassifier,
    WordEmbeddings,
    WordLSTM,
)
from robustparse.models.encoders.word_table import RESERVED
from textattack_network import UNKNOWN

FIRST = UNKNOWN + 1  # the id of a file's first word
# Our names of a file's parts, by kind of victim; what a kind has no part of is called the same.
LSTMS = {
    "bow": {},
    "lstm": {"rnn": "lstm"},
    "infersent": {"rnn": "lstm"},
    "esim": {"encoding": "input_encoding", "composition": "composition"},
}
LAYERS = {
    "bow": {"out": "output"},
    "lstm": {"out": "output"},
    "infersent": {"first": "layers.0", "second": "layers.2", "out": "output"},
    "esim": {"projection": "projection", "final": "final", "out": "output"},
}
DIRECTIONS = {"": "forwards.0", "_reverse": "backwards.0"}
GATES = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


def untrained(
    words: list[str], classes: int, dim: int, hidden: int, seed: int, arch: str = "lstm"
) -> TextClassifier:
    """Return a classifier of these words, with nothing dropped out in training."""
    encoder = WordEmbeddings(dim, dropout=0.0)
    labels = tuple(str(number) for number in range(classes))
    settings = {"seed": seed, "vocabulary": Vocabulary(tuple(words), (), (), (), (), labels)}
    if arch == "bow":
        return EncoderClassifier(encoder, "mean", dropout=0.0, **settings)
    if arch == "infersent":
        return InferSent(encoder, hidden, layer_dim=hidden, dropout=0.0, **settings)
    return (ESIM if arch == "esim" else WordLSTM)(encoder, hidden, dropout=0.0, **settings)


def read_victim(path: Path, dtype: torch.dtype = torch.float32) -> TextClassifier:
    """Return the classifier of a file, in evaluation mode.

    Raises:
        InputError: the file is none of a classifier.
    """
    try:
        saved = torch.load(path, weights_only=True, map_location="cpu")
        weights: dict[str, Tensor] = saved["state_dict"]
        words = sorted(saved["vocab"], key=saved["vocab"].__getitem__)
        arch, dim = saved["arch"], weights["emb.weight"].shape[1]
        classes, hidden = len(weights["out.weight"]), 1
        for name in LSTMS[arch]:
            hidden = weights[f"{name}.weight_ih_l0"].shape[0] // 4
        model = untrained(words, classes, dim, hidden, 0, arch)
        model.load_state_dict(_ours(arch, weights))
    except (OSError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(f"no file of a classifier ({error})", path=path) from error
    return model.to(dtype).eval()


def file_of(model: TextClassifier) -> dict[str, object]:
    """Return what a file holds of a classifier."""
    arch = type(model).__name__.lower().removeprefix("word")
    weights = model.state_dict()
    table = weights["encoder.words.weight"]
    found = {"emb.weight": torch.cat([table[:FIRST], table[RESERVED:]])}
    found |= {theirs: weights[own] for theirs, own in _names(arch).items()}
    ids = {word: id_ for id_, word in enumerate(model.vocabulary.words, start=FIRST)}
    return {"arch": arch, "vocab": ids, "state_dict": found}


def _names(arch: str) -> dict[str, str]:
    """Return our names of a file's weights, but for the embeddings'."""
    found = {
        f"{theirs}.{gate}{end}": f"{own}.{direction}.{gate}"
        for theirs, own in LSTMS[arch].items()
        for end, direction in DIRECTIONS.items()
        for gate in GATES
    }
    for theirs, own in LAYERS[arch].items():
        found |= {f"{theirs}.{part}": f"{own}.{part}" for part in ("weight", "bias")}
    return found


def _ours(arch: str, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return a file's weights by our names; our tables have a row for ROOT too."""
    table = weights["emb.weight"]
    root = torch.zeros(RESERVED - FIRST, table.shape[1], dtype=table.dtype)
    found = {own: weights[theirs] for theirs, own in _names(arch).items()}
    return {**found, "encoder.words.weight": torch.cat([table[:FIRST], root, table[FIRST:]])}
