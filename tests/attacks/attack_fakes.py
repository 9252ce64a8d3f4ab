"""Victims without a network, and small corpora, for the attack engine's tests."""

import zlib
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustparse.attacks.results import AttackResult
from robustparse.types import DependencyTree, Example, Sentence, TextRows
from sample_runs import right

UNK = "<unk>"


class FakeVictim:
    """What both fakes share; counts forwards and keeps the texts of each."""

    unknown = 0
    batch_words = 16384
    training_tags: Mapping[str, str] = {}
    training_words: Set[str] = frozenset()

    def __init__(self) -> None:
        self.names = [UNK]
        self.rows = {UNK: 0}
        self.batches: list[list[tuple[str, ...]]] = []
        self.modes: list[str] = []

    def intern(self, words: Sequence[str]) -> NDArray[np.int32]:
        for word in words:
            if word not in self.rows:
                self.rows[word] = len(self.names)
                self.names.append(word)
        return np.array([self.rows[word] for word in words], dtype=np.int32)

    def intern_marks(self, marks: Sequence[str]) -> NDArray[np.int32]:
        return np.array([zlib.crc32(mark.encode()) % 1000 for mark in marks], dtype=np.int32)

    def name_ids(self, names: Sequence[str]) -> NDArray[np.int32]:
        known = {"dep": 0, "punct": 1}
        return np.array([known.get(name, -1) for name in names], dtype=np.int32)

    def answers(self, predictions: Sequence[NDArray[Any]], lengths: Sequence[int]) -> list[Any]:
        return [
            DependencyTree(
                tuple(heads[:length].tolist()),
                tuple(("dep", "punct")[label] for label in labels[:length].tolist()),
            )
            for heads, labels, length in zip(*predictions, lengths, strict=True)
        ]

    def predict(self, texts: TextRows) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        words, marks, lengths = texts
        assert words.shape == marks.shape == (len(lengths), lengths.max())
        heads = np.full(words.shape, 99, dtype=np.int16)  # undefined beyond a text's length
        labels = np.full(words.shape, 99, dtype=np.int16)
        self.batches.append([])
        for index, length in enumerate(lengths.tolist()):
            assert not words[index, length:].any()
            text = tuple(self.names[row] for row in words[index, :length].tolist())
            self.batches[-1].append(text)
            heads[index, :length], labels[index, :length] = self.answer(text)
        return heads, labels

    def answer(self, text: tuple[str, ...]) -> tuple[Sequence[int], Sequence[int]]:
        """Heads and label ids of a text; here every word hangs on ROOT."""
        return [0] * len(text), [0] * len(text)

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        self.modes.append("on")
        try:
            yield
        finally:
            self.modes.append("off")

    @property
    def texts(self) -> list[str]:
        """Every text parsed, in order."""
        return [" ".join(text) for batch in self.batches for text in batch]


class TableVictim(FakeVictim):
    """Answers from a table of heads by text; other texts get the default heads."""

    def __init__(self, default: Sequence[int], table: Mapping[str, Sequence[int]]) -> None:
        super().__init__()
        self.default = default
        self.table = table

    def answer(self, text: tuple[str, ...]) -> tuple[Sequence[int], Sequence[int]]:
        return self.table.get(" ".join(text), self.default), [0] * len(text)


class HashVictim(FakeVictim):
    """Chains each word to the one before, save for a third of all three-word contexts.

    Its embeddings are as arbitrary: two numbers a word, from its name; and so are its gradients.
    """

    codes = np.zeros(0, dtype=np.int64)  # of the names so far

    def gradient(
        self, texts: TextRows, gold: Sequence[Any], loss: str, among: Sequence[NDArray[np.bool_]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        words, _, lengths = texts
        assert loss in ("margin", "cross_entropy")
        assert [len(one) for one in among] == lengths.tolist()
        assert [len(one.heads) for one in gold] == lengths.tolist()
        assert all(not row[length:].any() for row, length in zip(words, lengths, strict=True))
        vectors = self.vectors(words)
        shares = np.array([one.sum() for one in among])[:, None, None]
        gradient = vectors + np.roll(vectors, 1, axis=-1) / (1 + shares)
        return gradient, vectors, np.linalg.norm(gradient, axis=-1)

    def vectors(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        if new := self.names[len(self.codes) :]:
            self.codes = np.append(self.codes, [zlib.crc32(name.encode()) for name in new])
        codes = self.codes[rows]
        return np.stack([codes % 100, codes // 100 % 100], axis=-1).astype(np.float64)

    def answer(self, text: tuple[str, ...]) -> tuple[Sequence[int], Sequence[int]]:
        heads, labels = [], []
        for index in range(len(text)):
            code = zlib.crc32(" ".join(text[max(0, index - 1) : index + 2]).encode())
            heads.append(index if code % 3 else code // 3 % (len(text) + 1))
            labels.append(code % 7 == 0)
        return heads, labels


def example(text: str, tags: str, heads: Sequence[int] | None = None, number: int = 0) -> Example:
    """An example from blank-separated words and tags; a chain of heads unless given."""
    words = tuple(text.split())
    gold = tuple(range(len(words))) if heads is None else tuple(heads)
    return Example(
        id=number,
        sentence=Sentence(words=words, xpos=tuple(tags.split())),
        gold=DependencyTree(heads=gold, labels=("dep",) * len(words)),
    )


def right_heads(result: AttackResult) -> tuple[int, int]:
    """Counted words with the gold head, in the clean and in the attacked parse."""
    return right(result, result.clean)[0], right(result, result.attacked)[0]


def corpus(size: int, seed: int = 0) -> tuple[list[Example], dict[str, list[str]]]:
    """Random sentences of 1 to 14 words, and a lexicon for half of the vocabulary."""
    rng = np.random.default_rng(seed)
    vocabulary = [f"w{number}" for number in range(60)]
    tags = ["NN", "VB", "DT", "JJ", "."]
    examples = []
    for number in range(size):
        length = int(rng.integers(1, 15))
        words = " ".join(rng.choice(vocabulary, length))
        examples.append(example(words, " ".join(rng.choice(tags, length)), number=number))
    lexicon = {
        word: [str(other) for other in rng.choice(vocabulary, int(rng.integers(0, 9)))]
        for word in vocabulary[::2]
    }
    return examples, lexicon


class GradientVictim(TableVictim):
    """Heads by text as above; embeddings by word, and gradients by text, one row a word.

    Words without an embedding stand at 0; other texts have a gradient of 0. What was asked is kept
    as text, loss and the words in the loss.
    """

    def __init__(
        self,
        default: Sequence[int],
        table: Mapping[str, Sequence[int]],
        embeddings: Mapping[str, Sequence[float]],
        gradients: Mapping[str, Sequence[Sequence[float]]],
    ) -> None:
        super().__init__(default, table)
        self.embeddings, self.gradients = embeddings, gradients
        self.passes: list[tuple[str, str, tuple[int, ...]]] = []

    def gradient(
        self, texts: TextRows, gold: Sequence[Any], loss: str, among: Sequence[NDArray[np.bool_]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        words, _, lengths = texts
        vectors = self.vectors(words)
        gradients = np.zeros_like(vectors)
        for row, length in enumerate(lengths.tolist()):
            text = " ".join(self.names[number] for number in words[row, :length].tolist())
            inside = tuple(np.flatnonzero(among[row]).tolist())
            self.passes.append((text, loss, inside))
            gradients[row, :length] = self.gradients.get(f"{text} {inside}") or self.gradients.get(
                text, np.zeros((length, 2))
            )
        return gradients, vectors, np.linalg.norm(gradients, axis=-1)

    def vectors(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        table = np.array([self.embeddings.get(name, (0.0, 0.0)) for name in self.names], np.float64)
        return table[rows]
