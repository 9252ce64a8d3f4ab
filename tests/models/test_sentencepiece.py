"""SentencePiece's tokenizers, whose pieces write the blank before a word as a bar."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import Metaspace, PreTokenizer
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from robustparse.models.encoders.transformer import TransformerEncoder

BAR = "\u2581"
MERGES = [("t", "h"), (BAR, "th"), (f"{BAR}th", "e"), ("c", "a"), (BAR, "ca"), (f"{BAR}ca", "t")]
PIECES = ["<pad>", "<eos>", "<bos>", "<unk>", BAR, *"thecas", *(a + b for a, b in MERGES)]
IDS = {piece: id_ for id_, piece in enumerate(PIECES)}
NAMES = {name: f"<{name[:3]}>" for name in ("pad_token", "eos_token", "bos_token", "unk_token")}


def generic(pre_tokenizer: PreTokenizer) -> PreTrainedTokenizerFast:
    backend = Tokenizer(BPE(vocab=IDS, merges=MERGES))
    backend.pre_tokenizer = pre_tokenizer
    return PreTrainedTokenizerFast(tokenizer_object=backend, **NAMES)


MADE: dict[str, Callable[[], PreTrainedTokenizerFast]] = {
    "never": lambda: generic(Metaspace(prepend_scheme="never")),
    "first": lambda: generic(Metaspace(prepend_scheme="first")),
    "always": lambda: generic(Metaspace(prepend_scheme="always")),
}


def save(folder: Path, tokenizer: PreTrainedTokenizerFast) -> Path:
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    BertModel(BertConfig(**sizes, vocab_size=20, intermediate_size=16)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", MADE)
def test_every_word_begins_one(name, tmp_path, vocabulary):
    tokenizer = MADE[name]()
    # As it stands in a text after another word.
    assert tokenizer.tokenize("the cats the")[-3:] == [f"{BAR}cat", "s", f"{BAR}the"]
    encoder = TransformerEncoder(str(save(tmp_path, tokenizer)), mix=1)
    encoder.build(vocabulary)
    ids, counts = encoder.table.describe(["the", "cats"])
    found = [[PIECES[id_] for id_ in row[:n]] for row, (n,) in zip(ids, counts, strict=True)]
    assert found == [[f"{BAR}the"], [f"{BAR}cat", "s"]]
