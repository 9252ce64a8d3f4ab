"""A Transformer encoder's vectors of texts, and those of transformers run plainly."""

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

from robustparse.models.encoders.transformer import TransformerEncoder
from tiny_models import NO_PIECE


def made(folder, vocabulary, **options) -> TransformerEncoder:
    encoder = TransformerEncoder(str(folder), **{"mix": 2, **options})
    encoder.build(vocabulary)
    return encoder.double().eval()


def read(encoder, *texts: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Vectors ``(batch, 1 + length, out_dim)``, rows and lengths."""
    split = [text.split(" ") for text in texts]
    words = torch.zeros(len(split), max(map(len, split)), dtype=torch.int64)
    for at, one in enumerate(split):
        words[at, : len(one)] = torch.from_numpy(encoder.intern(one).astype(np.int64))
    lengths = torch.tensor([len(one) for one in split])
    with torch.no_grad():
        return encoder(encoder.embed(words, words), words, lengths), words, lengths


def plainly(folder, text: str, pooling: str, mix: int) -> torch.Tensor:
    """ROOT's and each word's vector by transformers' own alignment; uniform mix of layers."""
    network = AutoModel.from_pretrained(folder).double().eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    words = [word if word != NO_PIECE else "[UNK]" for word in text.split(" ")]
    encoded = tokenizer(words, is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        hidden = network(**encoded, output_hidden_states=True).hidden_states
    states = torch.stack(hidden[-mix:]).mean(0)[0]
    vectors = [states[0]]
    for word in range(len(words)):
        pieces = states[[place == word for place in encoded.word_ids()]]
        vectors.append({"first": pieces[0], "last": pieces[-1], "mean": pieces.mean(0)}[pooling])
    return torch.stack(vectors)
