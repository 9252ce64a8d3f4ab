"""The problem that ``vs_textattack.py`` sets to both sides: texts, substitutes, stop words, victim.

All of it is made once, into files that say everything: words in lower case without punctuation, so
that a text has the same words wherever it is split; a table of substitutes; a list of stop words;
a classifier trained here.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from classifier_network import PADDING, UNKNOWN, Classifier
from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.candidates.union import in_casing_of
from robustparse.attacks.constraints.words import StopWords
from robustparse.errors import InputError
from robustparse.files import read_text, write_text
from robustparse.types import Sentence

# What both sides hold to be one word: letters and digits, with apostrophes and hyphens inside.
WORD = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*")
BATCH, EPOCHS, LEARNING_RATE = 64, 4, 3e-3
DROPPED = 0.05  # share of the words hidden in training, so that the unknown word means something


@dataclass(frozen=True)
class Text:
    """A sentence with its class; what the engine needs of an example."""

    id: int
    sentence: Sentence
    gold: str


def read_texts(path: Path, limit: int | None = None) -> list[Text]:
    """Return the first so many texts of a file of ``text TAB label`` lines that have a word.

    Raises:
        InputError: the file cannot be read, or a line has another form.
    """
    texts = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        if len(texts) == limit:
            break
        text, tab, label = line.rpartition("\t")
        if not tab or not label.strip().isdigit():
            raise InputError(
                f"{path}:{number}: found {line[:40]!r}, expected `text<TAB>label` with a whole "
                "number as the label"
            )
        if words := WORD.findall(text.lower()):
            texts.append(Text(number - 1, Sentence(tuple(words)), label.strip()))
    return texts


def kept_texts(path: Path) -> list[Text]:
    """Return the texts of a file that `keep_texts` made."""
    rows = map(json.loads, read_text(path).splitlines())
    return [Text(row["index"], Sentence(tuple(row["text"].split())), row["label"]) for row in rows]


def keep_texts(path: Path, texts: Sequence[Text]) -> None:
    """One JSON object a line: index, text, label."""
    rows = (
        {"index": text.id, "text": " ".join(text.sentence.words), "label": text.gold}
        for text in texts
    )
    write_text(path, "".join(json.dumps(row) + "\n" for row in rows))


def substitutes(
    texts: Iterable[Text], generator: CandidateGenerator, most: int | None
) -> dict[str, list[str]]:
    """Return the first so many candidates of every word of the texts, in the order of the alphabet.

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


def stop_words(texts: Sequence[Text]) -> list[str]:
    """NLTK's English stop words among the words of the texts, in the order of the alphabet.

    Raises:
        InputError: NLTK's list is missing.
    """
    listed = StopWords()
    found = {
        word
        for text in texts
        for word, attackable in zip(text.sentence.words, listed.attackable(text), strict=True)  # type: ignore[arg-type]
        if not attackable
    }
    return sorted(found)


def train(texts: Sequence[Text], seed: int, size: int) -> tuple[Classifier, dict[str, int]]:
    """Return a BiLSTM classifier and the ids of its words; ``size`` of embeddings and each
    direction.
    """
    words = sorted({word for text in texts for word in text.sentence.words})
    vocabulary = {word: number for number, word in enumerate(words, UNKNOWN + 1)}
    rng = torch.Generator().manual_seed(seed)
    classes = 1 + max(int(text.gold) for text in texts)
    network = Classifier(_initial(len(words) + UNKNOWN + 1, classes, size, rng), "lstm")
    rows = [torch.tensor([vocabulary[word] for word in text.sentence.words]) for text in texts]
    labels = torch.tensor([int(text.gold) for text in texts])
    adam = torch.optim.Adam(network.parameters(), LEARNING_RATE)
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(texts), generator=rng).split(BATCH):
            ids, lengths = _batch([rows[number] for number in chosen.tolist()])
            hidden = (torch.rand(ids.shape, generator=rng) < DROPPED) & (ids != PADDING)
            logits = network(network.emb(ids.masked_fill(hidden, UNKNOWN)), lengths)
            adam.zero_grad()
            nn.functional.cross_entropy(logits, labels[chosen]).backward()
            adam.step()
    return network.eval(), vocabulary


def _initial(words: int, classes: int, size: int, rng: torch.Generator) -> dict[str, Tensor]:
    """Weights to begin with: normal embeddings, the rest as torch does it, from one generator."""
    bound = size**-0.5
    weights = {"emb.weight": torch.randn(words, size, generator=rng)}
    weights["emb.weight"][PADDING] = 0
    for end in ("", "_reverse"):
        weights[f"rnn.weight_ih_l0{end}"] = _uniform((4 * size, size), bound, rng)
        weights[f"rnn.weight_hh_l0{end}"] = _uniform((4 * size, size), bound, rng)
        weights[f"rnn.bias_ih_l0{end}"] = _uniform((4 * size,), bound, rng)
        weights[f"rnn.bias_hh_l0{end}"] = _uniform((4 * size,), bound, rng)
    bound = (2 * size) ** -0.5
    weights["out.weight"] = _uniform((classes, 2 * size), bound, rng)
    weights["out.bias"] = _uniform((classes,), bound, rng)
    return weights


def _uniform(shape: tuple[int, ...], bound: float, rng: torch.Generator) -> Tensor:
    return (2 * torch.rand(shape, generator=rng) - 1) * bound


def _batch(rows: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Ids `(n, longest)` and lengths `(n,)`."""
    lengths = torch.tensor([len(row) for row in rows])
    return nn.utils.rnn.pad_sequence(list(rows), batch_first=True), lengths
