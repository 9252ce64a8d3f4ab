"""Tiny language models with random weights, in folders as ``save_pretrained`` writes them."""

from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", "##s", "##ing", "##ly", "un"]
WORDS = ["dog", "cat", "bark", "meow", "loud", "the", "a", "fox", "jump", "run", "eat", "7", "c3po"]
VOCABULARY = {piece: number for number, piece in enumerate(PIECES + WORDS)}


def save_bert(
    folder: Path,
    vocabulary: dict[str, int],
    positions: int = 40,
    layers: int = 2,
    inner: int = 32,
) -> None:
    """A masked language model and its WordPiece tokenizer; torch's generator draws the weights."""
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=inner,
        max_position_embeddings=positions,
        initializer_range=0.5,
    )
    BertForMaskedLM(config).save_pretrained(folder)
    BertTokenizer(vocab=vocabulary).save_pretrained(folder)


def save_gpt2(
    folder: Path,
    vocabulary: dict[str, int],
    positions: int = 40,
    layers: int = 2,
    spread: float = 0.5,
) -> None:
    """A causal one that reads words, without a padding token, as GPT-2 is."""
    config = GPT2Config(
        vocab_size=len(vocabulary),
        n_positions=positions,
        n_embd=16,
        n_layer=layers,
        n_head=2,
        initializer_range=spread,
        bos_token_id=0,
        eos_token_id=0,
    )
    GPT2LMHeadModel(config).save_pretrained(folder)
    words = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    words.pre_tokenizer = Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]").save_pretrained(folder)
