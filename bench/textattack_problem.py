"""The problem that ``vs_textattack.py`` sets to both sides: texts, substitutes, stop words, victim.

All of it is made once, into files that say everything: words in lower case without punctuation, so
that a text has the same words wherever it is split; a table of substitutes; a list of stop words;
a classifier trained here. A text may have a premise, which nobody changes.
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.candidates.neighbours import nearest
from robustparse.attacks.constraints.words import StopWords
from robustparse.casing import in_casing_of
from robustparse.errors import InputError
from robustparse.files.reading import read_text
from robustparse.files.writing import write_text
from robustparse.models import TextClassifier
from robustparse.models.encoders.word_table import UNKNOWN
from robustparse.types import Example, Sentence
from robustparse.vectors import read_lowered
from textattack_victim import untrained

# What both sides hold to be one word: letters and digits, with apostrophes and hyphens inside.
WORD = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*")
ENTAILMENT = ("contradiction", "entailment", "neutral")
VECTORS, NEIGHBOURS = 20_000, 50  # words that have a vector, and near words of each
BATCH, EPOCHS, LEARNING_RATE = 64, 4, 3e-3
DROPPED = 0.05  # share of the words hidden in training, so that the unknown word means something


def read_texts(path: Path, limit: int | None = None) -> list[Example]:
    """Return the first texts of a file that have a word, in each column.

    Lines are ``text TAB label`` or ``premise TAB hypothesis TAB label``; a label is a whole number,
    or one of entailment, which counts from 0 in the order of the alphabet.

    Raises:
        InputError: the file cannot be read, or a line has another form.
    """
    texts = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        if len(texts) == limit:
            break
        *columns, label = line.split("\t")
        label = label.strip()
        named = str(ENTAILMENT.index(label)) if label in ENTAILMENT else label
        if not 1 <= len(columns) <= 2 or not named.isdigit():
            raise InputError(
                f"{path}:{number}: found {line[:40]!r}, expected `text<TAB>label` or a pair, with "
                f"a whole number as the label, or {', '.join(ENTAILMENT)}"
            )
        *context, words = (tuple(WORD.findall(column.lower())) for column in columns)
        if words and all(context):
            sentence = Sentence(words, context=context[0] if context else ())
            texts.append(Example(number - 1, sentence, named))
    return texts


def kept_texts(path: Path) -> list[Example]:
    """Return the texts of a file that `keep_texts` made."""
    rows = map(json.loads, read_text(path).splitlines())
    return [
        Example(
            row["index"],
            Sentence(tuple(row["text"].split()), context=tuple(row["premise"].split())),
            row["label"],
        )
        for row in rows
    ]


def keep_texts(path: Path, texts: Sequence[Example]) -> None:
    """One JSON object a line: index, premise, text, label."""
    rows = (
        {
            "index": text.id,
            "premise": " ".join(text.sentence.context),
            "text": " ".join(text.sentence.words),
            "label": text.gold,
        }
        for text in texts
    )
    write_text(path, "".join(json.dumps(row) + "\n" for row in rows))


def substitutes(
    texts: Iterable[Example], generator: CandidateGenerator, most: int | None
) -> dict[str, list[str]]:
    """Return the first candidates of every word of the texts, in the order of the alphabet.

    None takes all of them. TextAttack sorts candidates by their texts, which decides between equal
    scores. Words without a candidate that is one word to both sides are left out.
    """
    words = sorted({word for text in texts for word in text.sentence.words})
    slots = [Slot(0, Sentence((word,)), 0) for word in words]
    table = {}
    for word, proposed in zip(words, generator.propose(slots, seed=0), strict=True):
        kept = [other for other in in_casing_of(word, proposed) if WORD.fullmatch(other)][:most]
        if kept:
            table[word] = sorted(kept)
    return table


def keep_vectors(path: Path, folder: Path) -> None:
    """Keep the first word vectors of a file, with their neighbours, in a form for each side."""
    rows, vectors = read_lowered(path, VECTORS)
    words = list(rows)
    lines = (f"{word} {' '.join(map(repr, vectors[rows[word]].tolist()))}\n" for word in words)
    write_text(folder / "vectors.txt", "".join(lines))
    np.savez(
        folder / "vectors.npz",
        words=np.frombuffer("\n".join(words).encode(), np.uint8),
        vectors=vectors.astype(np.float32),
        neighbours=nearest(vectors.astype(np.float32), NEIGHBOURS),
    )


def with_settings(spec: Any, settings: dict[str, dict[str, Any]]) -> Any:
    """Return a recipe's text with other arguments, by class; candidates are not cached."""
    if isinstance(spec, list):
        return [with_settings(part, settings) for part in spec]
    if not isinstance(spec, dict):
        return spec
    name = str(spec.get("class_path", "")).rpartition(".")[2]
    if name == "CachedCandidates":
        return with_settings(spec["init_args"]["generator"], settings)
    spec = {key: with_settings(value, settings) for key, value in spec.items()}
    if name in settings:
        spec["init_args"] = {**spec.get("init_args", {}), **settings[name]}
    return spec


def stop_words(texts: Sequence[Example]) -> list[str]:
    """NLTK's English stop words among the words of the texts, in the order of the alphabet.

    Raises:
        InputError: NLTK's list is missing.
    """
    listed = StopWords()
    found = {
        word
        for text in texts
        for word, attackable in zip(text.sentence.words, listed.attackable(text), strict=True)
        if not attackable
    }
    return sorted(found)


def train(texts: Sequence[Example], seed: int, size: int, arch: str = "lstm") -> TextClassifier:
    """Return a classifier in evaluation mode; ``size`` of embeddings and each direction."""
    sentences = [text.sentence for text in texts]
    words = sorted({word for one in sentences for word in (*one.context, *one.words)})
    classes = 1 + max(int(text.gold) for text in texts)
    model = untrained(words, classes, size, size, seed, arch)
    rng = torch.Generator().manual_seed(seed)
    data = model.encode(texts)
    adam = torch.optim.Adam(model.parameters(), LEARNING_RATE)
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(texts), generator=rng).split(BATCH):
            batch = data.batch(chosen.numpy(), len(chosen))
            hidden = (torch.rand(batch.words.shape, generator=rng) < DROPPED) & batch.mask
            batch.words = batch.words.masked_fill(hidden, UNKNOWN)
            adam.zero_grad()
            model.loss(model(batch), batch).mean().backward()
            adam.step()
    model.eval()
    return model
