"""The files of the victims that TextAttack and we attack, as models of ours.

``textattack_network.py`` says what a file holds. A mean of embeddings is an `EncoderClassifier`
without a pretrained encoder, a BiLSTM a `WordLSTM`; labels are the numbers of the classes.
"""

from pathlib import Path

import torch
from torch import Tensor

from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.models import EncoderClassifier, TextClassifier, WordEmbeddings, WordLSTM
from robustparse.models.encoders.word_table import RESERVED
from textattack_network import UNKNOWN

FIRST = UNKNOWN + 1  # the id of a file's first word
DIRECTIONS = {"": "lstm.forwards.0", "_reverse": "lstm.backwards.0"}
LAYER = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


def untrained(words: list[str], classes: int, dim: int, hidden: int, seed: int) -> WordLSTM:
    """Return a classifier of these words, with nothing dropped out in training."""
    encoder = WordEmbeddings(dim, dropout=0.0)
    known = vocabulary(words, classes)
    return WordLSTM(encoder, hidden, dropout=0.0, seed=seed, vocabulary=known)


def vocabulary(words: list[str], classes: int) -> Vocabulary:
    labels = tuple(str(number) for number in range(classes))
    return Vocabulary(tuple(words), (), (), (), (), labels)


def read_victim(path: Path, dtype: torch.dtype = torch.float32) -> TextClassifier:
    """Return the classifier of a file, in evaluation mode.

    Raises:
        InputError: the file is none of a classifier.
    """
    try:
        saved = torch.load(path, weights_only=True, map_location="cpu")
        weights: dict[str, Tensor] = saved["state_dict"]
        words = sorted(saved["vocab"], key=saved["vocab"].__getitem__)
        (classes, inputs), dim = weights["out.weight"].shape, weights["emb.weight"].shape[1]
        model: TextClassifier
        if saved["arch"] == "lstm":
            model = untrained(words, classes, dim, inputs // 2, seed=0)
        else:
            encoder = WordEmbeddings(dim, dropout=0.0)
            known = vocabulary(words, classes)
            model = EncoderClassifier(encoder, "mean", dropout=0.0, vocabulary=known)
        model.load_state_dict(_ours(weights))
    except (OSError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(f"no file of a classifier ({error})", path=path) from error
    return model.to(dtype).eval()


def file_of(model: WordLSTM) -> dict[str, object]:
    """Return what a file holds of a classifier."""
    weights = model.state_dict()
    table = weights["encoder.words.weight"]
    found = {"emb.weight": torch.cat([table[:FIRST], table[RESERVED:]])}
    for end, layer in DIRECTIONS.items():
        found |= {f"rnn.{name}{end}": weights[f"{layer}.{name}"] for name in LAYER}
    found |= {f"out.{name}": weights[f"output.{name}"] for name in ("weight", "bias")}
    ids = {word: id_ for id_, word in enumerate(model.vocabulary.words, start=FIRST)}
    return {"arch": "lstm", "vocab": ids, "state_dict": found}


def _ours(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return a file's weights by our names; our tables have a row for ROOT too."""
    table = weights["emb.weight"]
    root = torch.zeros(RESERVED - FIRST, table.shape[1], dtype=table.dtype)
    found = {"encoder.words.weight": torch.cat([table[:FIRST], root, table[FIRST:]])}
    found |= {f"output.{name}": weights[f"out.{name}"] for name in ("weight", "bias")}
    if "rnn.weight_ih_l0" in weights:
        for end, layer in DIRECTIONS.items():
            found |= {f"{layer}.{name}": weights[f"rnn.{name}{end}"] for name in LAYER}
    return found
