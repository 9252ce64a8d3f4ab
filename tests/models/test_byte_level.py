"""Byte-level tokenizers, whose pieces tell a word's first from those after it by a blank."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tokenizers import Regex, Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, PreTokenizer, Sequence, Split
from transformers import (
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
    RobertaTokenizer,
)

from robustparse.errors import InputError
from robustparse.models.checkpoint import KEY, instantiate, specification
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.transformer import TransformerEncoder

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
MERGES = ["t h", "Ġ th", "Ġth e", "d o", "Ġ do", "Ġdo g", "c a", "ca t", "Ġ cat", "' s"]
PIECES = [*SPECIAL, *"Ġthedogcas'", *(merge.replace(" ", "") for merge in MERGES)]
IDS = {piece: id_ for id_, piece in enumerate(dict.fromkeys(PIECES))}
NAMES = {id_: piece for piece, id_ in IDS.items()}
PAIRS = [(first, second) for first, second in (merge.split(" ") for merge in MERGES)]


def of_roberta() -> PreTrainedTokenizerBase:
    return RobertaTokenizer(vocab=IDS, merges=PAIRS)


def generic(pre_tokenizer: PreTokenizer) -> PreTrainedTokenizerBase:
    backend = Tokenizer(BPE(vocab=IDS, merges=PAIRS))
    backend.pre_tokenizer = pre_tokenizer
    names = zip(("bos", "pad", "eos", "unk", "mask"), SPECIAL, strict=True)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, **{f"{name}_token": piece for name, piece in names}
    )


def plain() -> PreTrainedTokenizerBase:
    return generic(ByteLevel(add_prefix_space=False))


def split_before() -> PreTrainedTokenizerBase:
    """Words are split by a pattern first, whose parts are no words of their own."""
    parts = Split(Regex(r"'s| ?[a-z]+"), "isolated")
    return generic(Sequence([parts, ByteLevel(add_prefix_space=False, use_regex=False)]))


def with_blank() -> PreTrainedTokenizerBase:
    return generic(Sequence([ByteLevel(add_prefix_space=True)]))


MADE = [of_roberta, plain, split_before, with_blank]
Make = Callable[[], PreTrainedTokenizerBase]


def save(folder: Path, make: Make) -> Path:
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = RobertaConfig(**sizes, vocab_size=len(IDS), intermediate_size=16, pad_token_id=1)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        RobertaModel(config).save_pretrained(folder)
    make().save_pretrained(folder)
    return folder


def pieces(encoder: TransformerEncoder, *words: str) -> list[list[str]]:
    ids, counts = encoder.table.describe(words)
    return [
        [NAMES[id_] for id_ in row[:count]]
        for row, count in zip(ids.tolist(), counts[:, 0].tolist(), strict=True)
    ]


@pytest.mark.parametrize("make", MADE)
def test_every_word_begins_one(make, tmp_path, vocabulary):
    folder = save(tmp_path / "model", make)
    parser = BiaffineParser(TransformerEncoder(str(folder), mix=1), vocabulary=vocabulary).eval()
    found = pieces(parser.encoder, "the", "dog", "cats", "dog's")
    assert found == [["Ġthe"], ["Ġdog"], ["Ġcat", "s"], ["Ġdog", "'s"]]
    # A checkpoint holds what was read.
    held = json.loads(json.dumps(specification(parser)))
    shutil.rmtree(folder)
    again = instantiate(held, vocabulary=vocabulary).eval()
    again.load_state_dict(parser.state_dict())
    assert pieces(again.encoder, "the", "dog", "cats", "dog's") == found
    assert again.predict([["the", "dog", "cats"]]) == parser.predict([["the", "dog", "cats"]])


def test_a_checkpoint_from_before_keeps_its_pieces(tmp_path, vocabulary):
    folder = save(tmp_path / "model", plain)
    new = BiaffineParser(TransformerEncoder(str(folder), mix=1), vocabulary=vocabulary)
    held = json.loads(json.dumps(specification(new)))
    content = json.loads(held["init_args"]["encoder"]["init_args"]["stored"]["tokenizer"])
    content["normalizer"] = None
    held["init_args"]["encoder"]["init_args"]["stored"]["tokenizer"] = json.dumps(content)
    old = instantiate(held, vocabulary=vocabulary)
    assert pieces(old.encoder, "the", "dog", "cats") == [["th", "e"], ["do", "g"], ["cat", "s"]]
    checkpoint = {KEY: {"model": held}, "state_dict": new.state_dict()}
    with pytest.raises(InputError, match="differs in its tokenizer"):
        new.on_load_checkpoint(checkpoint)
