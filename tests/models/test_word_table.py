"""Rows of word forms: what they hold, and that they never change once given."""

import numpy as np
import torch

from robustparse.data.vocab import Vocabulary
from robustparse.models.encoders.word_table import PADDING, RESERVED, ROOT, UNKNOWN, WordTable

CPU = torch.device("cpu")
VOCABULARY = Vocabulary(
    words=("the", "cat"), tagged=(), tags=(), characters=tuple("catheC"), xpos=(), labels=("root",)
)


def test_reserved_rows_are_padding_unknown_and_root():
    words, characters, _ = WordTable(VOCABULARY, max_characters=3).tensors(CPU)
    assert (PADDING, UNKNOWN, ROOT, RESERVED) == (0, 1, 2, 3)
    assert words[:, 0].tolist() == [PADDING, UNKNOWN, ROOT]
    reserved = WordTable(VOCABULARY).words_of([PADDING, UNKNOWN, ROOT])
    assert reserved == ["[PAD]", "[UNK]", "[ROOT]"]
    assert characters.tolist() == [[0, 0, 0], [UNKNOWN, 0, 0], [ROOT, 0, 0]]


def test_a_row_holds_the_lower_cased_word_and_the_cased_characters():
    table = WordTable(VOCABULARY, max_characters=4)
    rows = table.intern(["the", "Cat", "dog", "cat", "Cat", "thatch"])
    assert rows.tolist() == [3, 4, 5, 6, 4, 7]
    assert rows.dtype == np.int32
    words, characters, _ = table.tensors(CPU)
    assert words[rows, 0].tolist() == [3, 4, UNKNOWN, 4, 4, UNKNOWN]
    spelled = {character: RESERVED + i for i, character in enumerate("catheC")}

    def spell(text: str) -> list[int]:
        ids = [spelled.get(character, UNKNOWN) for character in text[:4]]
        return ids + [PADDING] * (4 - len(ids))

    expected = [spell(word) for word in ("the", "Cat", "dog", "cat", "Cat", "thatch")]
    assert characters[rows].tolist() == expected


def test_rows_never_change_while_the_table_grows():
    table = WordTable(VOCABULARY)
    rng = np.random.default_rng(0)
    known: dict[str, tuple[int, list[int]]] = {}
    held, size = table.tensors(CPU)[0], RESERVED
    for _ in range(30):
        words = ["".join(rng.choice(list("cathe"), size=3)) for _ in range(rng.integers(0, 9))]
        rows = table.intern(words)
        _, characters, _ = table.tensors(CPU)
        for word, row in zip(words, rows.tolist(), strict=True):
            now = (row, characters[row].tolist())
            assert known.setdefault(word, now) == now
        assert table.words_of(rows.tolist()) == words
        assert len(table) == RESERVED + len(known) == len(table.tensors(CPU)[0])
    assert held[:, 0].tolist() == list(range(size))  # an older copy is still what it was
    assert sorted(row for row, _ in known.values()) == list(range(RESERVED, len(table)))


def test_tensors_are_kept_until_a_new_word_comes():
    table = WordTable(VOCABULARY)
    table.intern(["cat"])
    first = table.tensors(CPU)
    table.intern(["cat", "cat"])
    assert table.tensors(CPU) is first
    table.intern(["dog"])
    assert table.tensors(CPU) is not first
    assert table.tensors(torch.device("meta"))[0].device.type == "meta"


def test_no_words_and_the_empty_word():
    table = WordTable(VOCABULARY)
    assert table.intern([]).shape == (0,)
    (row,) = table.intern([""])
    assert not table.tensors(CPU)[1][row].any()
