"""What a checkpoint holds of a pretrained encoder: configuration, tokenizer and special pieces.

Each part is a text of JSON, from which network and sub-word table are made again. Models that do
not read sub-word pieces, or not with an encoder alone, are refused here.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tokenizers import Tokenizer

from robustparse.errors import InputError, reason
from robustparse.models.encoders.subwords import MAX_PIECES, SpecialPieces, SubwordTable
from robustparse.pretrained import ENCODER

# Each part with its name, and what of it does not change how a sentence is read.
_PARTS = {
    "tokenizer": ("tokenizer", {"padding", "truncation"}),
    "special": ("special pieces", set[str]()),
    "config": (
        "configuration",
        {"_name_or_path", "architectures", "dtype", "transformers_version"},
    ),
}

# Tables are padded to round sizes: published encoders have up to 1000 rows more than pieces
# (dbmdz/bert-base-italian-xxl); BERT's own two English vocabularies are 1526 apart.
_MOST_SPARE_ROWS = 1024

_EXPECTED = "expected an encoder such as BERT, RoBERTa or ELECTRA"


def to_store(model: str, network: Any, tokenizer: Any) -> dict[str, str]:
    """Return what makes network and tokenizer anew, but for the weights.

    Args:
        model: its name, for errors.
        network: as ``load_encoder`` gives it.
        tokenizer: as well.

    Raises:
        InputError: the model has a decoder too, its tokenizer is written in Python, has another
            vocabulary than the weights or no special pieces.
    """
    if network.config.is_encoder_decoder:
        raise InputError(f"{ENCODER} {model}: it is an encoder with a decoder; {_EXPECTED}")
    pieces = getattr(tokenizer, "backend_tokenizer", None)
    if pieces is None:
        raise InputError(
            f"{ENCODER} {model}: {type(tokenizer).__name__} is a tokenizer without a fast version, "
            f"which checkpoints could not hold; {_EXPECTED}, with a tokenizer.json"
        )
    rows = network.config.vocab_size
    if rows - len(tokenizer) > _MOST_SPARE_ROWS:
        raise InputError(
            f"{ENCODER} {model}: its tokenizer has another vocabulary: {len(tokenizer)} pieces for "
            f"weights of {rows}; expected the tokenizer it was trained with"
        )
    network.config.name_or_path = ""  # where it lies here is nothing that makes it anew
    return {
        "config": network.config.to_json_string(use_diff=False),
        "tokenizer": pieces.to_str(),
        "special": json.dumps(_special(model, tokenizer)._asdict()),
    }


def table_of(model: str, stored: Mapping[str, str], limit: int) -> SubwordTable:
    """Return the sub-word table of a stored tokenizer and its special pieces.

    Args:
        model: its name, for errors.
        stored: the parts.
        limit: pieces that the network reads at once; no word has more.

    Raises:
        InputError: they make none.
    """
    with unbroken(model, "special", stored) as text:
        special = SpecialPieces(**json.loads(text))
        if not all(type(piece) is int for piece in special):
            raise TypeError(f"{special} holds more than numbers")
    with unbroken(model, "tokenizer", stored) as text:
        return SubwordTable(Tokenizer.from_str(text), special, min(limit, MAX_PIECES))


@contextmanager
def unbroken(model: str, part: str, stored: Mapping[str, str]) -> Iterator[str]:
    """Give the text of a part, to make something of; see ``table_of``.

    Raises:
        InputError: nothing could be made of it; says which part it was.
    """
    try:
        yield stored[part]
    except Exception as error:  # garbage may raise anything in transformers and tokenizers
        raise InputError(
            f"{ENCODER} {model}: the {_PARTS[part][0]} that the checkpoint holds of it is broken "
            f"({reason(error)}); take another checkpoint or train the parser again"
        ) from error


def differing(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    """Names of the parts that differ in a key which both have: versions of transformers add some.

    A part that one of them lacks differs.
    """
    names = []
    for part, (name, ignored) in _PARTS.items():
        mine, other = (json.loads(stored.get(part, "{}")) for stored in (ours, theirs))
        keys = (mine.keys() & other.keys()) - ignored
        if not keys or any(mine[key] != other[key] for key in keys):
            names.append(name)
    return names


def _special(model: str, tokenizer: Any) -> SpecialPieces:
    first = tokenizer.cls_token_id if tokenizer.cls_token_id is not None else tokenizer.bos_token_id
    last = tokenizer.sep_token_id if tokenizer.sep_token_id is not None else tokenizer.eos_token_id
    unknown = tokenizer.unk_token_id
    if None in (first, last, unknown):
        raise InputError(
            f"{ENCODER} {model}: its tokenizer has no token for the start, the end or unknown "
            f"words; {_EXPECTED}"
        )
    return SpecialPieces(tokenizer.pad_token_id or 0, unknown, first, last)
