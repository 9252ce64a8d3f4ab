"""The files of a pretrained encoder in a checkpoint: configuration, tokenizer, special pieces.

Each is stored as JSON, from which the network and the sub-word table are made again. Tokenizers
that cannot be stored are rejected.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModel

from robustparse.errors import InputError, reason
from robustparse.models.encoders.subwords import MAX_PIECES, SpecialPieces, SubwordTable
from robustparse.pretrained.foreign_code import refuse_code
from robustparse.pretrained.loading import ENCODER

# Each stored text with its name and the keys that do not affect how a sentence is read.
_PARTS = {
    "tokenizer": ("tokenizer", {"padding", "truncation"}),
    "special": ("special pieces", set[str]()),
    "config": (
        "configuration",
        {"_name_or_path", "architectures", "dtype", "transformers_version"},
    ),
}

# Embedding tables are padded to round sizes: published encoders have up to 1000 rows more than
# pieces (dbmdz/bert-base-italian-xxl). BERT's two English vocabularies differ by 1526 pieces.
_MOST_SPARE_ROWS = 1024

_EXPECTED = "an encoder such as BERT, RoBERTa or ELECTRA"


def to_store(model: str, network: Any, tokenizer: Any) -> dict[str, str]:
    """Return the texts from which network and tokenizer can be made again, without the weights.

    Raises:
        InputError: the tokenizer is written in Python, does not fit the weights, or has no special
            pieces; names the ``model``.
    """
    key = f"{ENCODER} {model}"
    pieces = getattr(tokenizer, "backend_tokenizer", None)
    if pieces is None:
        raise InputError(
            f"{type(tokenizer).__name__} is a tokenizer without a fast version, which cannot be "
            "stored in checkpoints",
            key=key,
            expected=f"{_EXPECTED}, with a tokenizer.json",
        )
    rows = network.config.vocab_size
    if rows - len(tokenizer) > _MOST_SPARE_ROWS:
        raise InputError(
            f"its tokenizer has another vocabulary: {len(tokenizer)} pieces for weights of {rows}",
            key=key,
            expected="the tokenizer it was trained with",
        )
    return {
        **config_to_store(network),
        "tokenizer": pieces.to_str(),
        "special": json.dumps(_special(key, tokenizer)._asdict()),
    }


def config_to_store(network: Any) -> dict[str, str]:
    """Return the text from which the network can be made again, without the weights."""
    network.config.name_or_path = ""  # checkpoints must not depend on the model's folder
    return {"config": network.config.to_json_string(use_diff=False)}


def network_of(model: str, stored: Mapping[str, str]) -> Any:
    """Make the network of a stored configuration, in float32; the weights are loaded later."""
    configs: Any = AutoConfig
    models: Any = AutoModel
    with _unbroken(model, "config", stored) as text:
        settings = json.loads(text)
        refuse_code(settings, ENCODER)
        made = models.from_config(configs.for_model(**settings), trust_remote_code=False)
    # The configuration may name the precision of the model's file.
    return made.to(dtype=torch.float32)


def table_of(model: str, stored: Mapping[str, str], limit: int) -> SubwordTable:
    """Make the sub-word table of a stored tokenizer and its special pieces.

    A word gets at most ``limit`` pieces, which is what the network reads at once.
    """
    with _unbroken(model, "special", stored) as text:
        special = SpecialPieces(**json.loads(text))
        if not all(type(piece) is int for piece in special):
            raise TypeError(f"{special} holds more than numbers")
    with _unbroken(model, "tokenizer", stored) as text:
        return SubwordTable(Tokenizer.from_str(text), special, min(limit, MAX_PIECES))


@contextmanager
def _unbroken(model: str, part: str, stored: Mapping[str, str]) -> Iterator[str]:
    """Give a stored text; raise an ``InputError`` if it cannot be used."""
    try:
        yield stored[part]
    except Exception as error:  # garbage may raise anything in transformers and tokenizers
        raise InputError(
            f"its {_PARTS[part][0]} in the checkpoint cannot be used ({reason(error)})",
            key=f"{ENCODER} {model}",
            remedy="take another checkpoint or train the parser again",
        ) from error


def differing(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    """Name the stored texts that differ in a common key, or that only one side has.

    Other keys are ignored, since versions of transformers add some.
    """
    names = []
    for part, (name, ignored) in _PARTS.items():
        if part not in ours and part not in theirs:
            continue
        mine, other = (json.loads(stored.get(part, "{}")) for stored in (ours, theirs))
        keys = (mine.keys() & other.keys()) - ignored
        if not keys or any(mine[key] != other[key] for key in keys):
            names.append(name)
    return names


def _special(key: str, tokenizer: Any) -> SpecialPieces:
    first = tokenizer.cls_token_id if tokenizer.cls_token_id is not None else tokenizer.bos_token_id
    last = tokenizer.sep_token_id if tokenizer.sep_token_id is not None else tokenizer.eos_token_id
    unknown = tokenizer.unk_token_id
    if None in (first, last, unknown):
        problem = "its tokenizer has no token for the start, the end or unknown words"
        raise InputError(problem, key=key, expected=_EXPECTED)
    return SpecialPieces(tokenizer.pad_token_id or 0, unknown, first, last)
