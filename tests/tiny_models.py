"""Tiny pretrained models, and sentences for them: known and unknown words, one without a piece."""

from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    BertTokenizer,
    CanineConfig,
    CanineModel,
)

from robustparse.data.vocab import Vocabulary
from robustparse.models.dependency.biaffine import BiaffineParser
from robustparse.models.encoders.base import Encoder
from robustparse.types import DependencyTree, Example, Sentence

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s", "dog", "saw", "##ing"]
NO_PIECE = "\u200b"  # a zero-width blank, which the tokenizer drops


def save_bert(
    folder: Path,
    positions: int = 24,
    layers: int = 2,
    dtype: torch.dtype = torch.float32,
    pieces: Sequence[str] = PIECES,
    rows: int | None = None,
) -> Path:
    """A random BERT without a pooler's or any head's weights of use; `rows` of them for pieces."""
    config = BertConfig(
        vocab_size=rows or len(pieces),
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=positions,
        initializer_range=0.5,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(config).to(dtype).save_pretrained(folder)
    BertTokenizer(vocab={piece: id_ for id_, piece in enumerate(pieces)}).save_pretrained(folder)
    return folder


def save_classifier(
    folder: Path, labels: Sequence[str] = ("negative", "neutral", "positive")
) -> Path:
    """A random BERT with a label for each text; it reads 24 pieces at most."""
    config = BertConfig(
        **{"vocab_size": len(PIECES), "hidden_size": 16, "num_hidden_layers": 2},
        **{"num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 24},
        initializer_range=0.5,
        id2label=dict(enumerate(labels)),
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertForSequenceClassification(config).save_pretrained(folder)
    vocabulary = {piece: row for row, piece in enumerate(PIECES)}
    BertTokenizer(vocab=vocabulary, model_max_length=24).save_pretrained(folder)
    return folder


def save_canine(folder: Path, positions: int = 64) -> Path:
    """A random CANINE, which comes without a tokenizer."""
    config = CanineConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        num_hash_functions=4,
        num_hash_buckets=64,
        max_position_embeddings=positions,
        local_transformer_stride=16,
        initializer_range=0.3,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        CanineModel(config).save_pretrained(folder)
    return folder


TEXTS = (
    "the cats saw the dog",
    "cats",
    f"the {NO_PIECE} sawing zebra saw dogs",
    "dog saw cats sawing the dog the cats saw the dog",
)


def examples(texts: tuple[str, ...] = TEXTS) -> list[Example]:
    """Sentences with tags, seen and unseen, and chains for trees."""
    made = []
    for id_, text in enumerate(texts):
        words = tuple(text.split(" "))
        tags = tuple("NN" if "s" in word else "XX" for word in words)
        labels = ("root", *["obj"] * (len(words) - 1))
        tree = DependencyTree(tuple(range(len(words))), labels)
        made.append(Example(id_, Sentence(words, xpos=tags), tree))
    return made


def random_parser(encoder: Encoder) -> BiaffineParser:
    """An untrained parser of `examples`, in float64, every weight random: no score is a tie."""
    vocabulary = Vocabulary.from_examples(examples())
    parser = BiaffineParser(encoder, arc_dim=7, label_dim=4, vocabulary=vocabulary).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in parser.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.add_(0.5 * noise)
    return parser.eval()
