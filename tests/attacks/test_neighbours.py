"""Nearest neighbours against brute force; the table on disk."""

import errno
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from attack_fakes import example

from robustparse.attacks.candidates import neighbours
from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.neighbours import EmbeddingNeighbours, nearest
from robustparse.errors import InputError


def slots(text: str) -> list[Slot]:
    sentence = example(text, "NN " * len(text.split())).sentence
    return [Slot(0, sentence, position) for position in range(len(sentence))]


def write(path: Path, words: list[str], vectors: np.ndarray) -> str:
    rows = zip(words, vectors.tolist(), strict=True)
    path.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows))
    return str(path)


def by_brute_force(vectors: np.ndarray, k: int) -> list[list[int]]:
    unit = vectors / np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    rows = range(len(unit))
    return [
        sorted((j for j in rows if j != i), key=lambda j: (-float(unit[i] @ unit[j]), j))[:k]
        for i in rows
    ]


@pytest.mark.parametrize("rows_at_once", [1, 7, 1024])
def test_neighbours_are_those_of_brute_force(monkeypatch, rows_at_once: int) -> None:
    monkeypatch.setattr(neighbours, "_ROWS_AT_ONCE", rows_at_once)
    vectors = np.random.default_rng(0).normal(size=(90, 6)).astype(np.float32)
    expected = by_brute_force(vectors.astype(np.float64), 9)
    assert nearest(vectors, 9).tolist() == expected


def test_ties_go_to_the_earlier_word() -> None:
    vectors = np.array([[1, 0], [0, 2], [0, 1], [0, 3]], np.float32)
    assert nearest(vectors, 2).tolist() == [[1, 2], [2, 3], [1, 3], [1, 2]]
    assert nearest(vectors, 5).tolist()[1] == [2, 3, 0, -1, -1]


WORDS = ["big", "Large", "nil", "BIG", "huge", "large"]
VECTORS = np.array([[1, 0], [0.9, 0.1], [0, 0], [1, 0], [0.5, 0.5], [0, 1]])


def test_casing_does_not_count(tmp_path) -> None:
    path = write(tmp_path / "v.txt", WORDS, VECTORS)
    generator = EmbeddingNeighbours(path, k=2, cache=None)
    # The first form stands for all: neither BIG nor large is a word of its own, nil has no angle.
    assert generator.propose(slots("BIG big LARGE nil none"), 0) == [
        ["Large", "huge"],
        ["Large", "huge"],
        ["big", "huge"],
        [],
        [],
    ]
    assert EmbeddingNeighbours(path, k=9, cache=None).propose(slots("huge"), 0) == [
        ["Large", "big"]
    ]
    assert EmbeddingNeighbours(path, k=9, limit=2, cache=None).propose(slots("big huge"), 0) == [
        ["Large"],
        [],
    ]


def test_casing_counts_where_words_are_looked_up_as_they_are(tmp_path) -> None:
    path = write(tmp_path / "v.txt", WORDS, VECTORS)
    generator = EmbeddingNeighbours(path, k=2, fold=False, cache=None)
    proposed = generator.propose(slots("Big BIG large Large"), 0)
    # Each form is a word: BIG is as near as big itself, and large has neighbours of its own.
    assert proposed == [[], ["big", "Large"], ["huge", "Large"], ["big", "BIG"]]


def test_words_that_hold_blanks_are_left_out(tmp_path) -> None:
    words = ["big", ". . .", "at name@domain.com", "huge", "very\u00a0big"]
    path = write(tmp_path / "v.txt", words, VECTORS[[0, 1, 3, 4, 5]])
    generator = EmbeddingNeighbours(path, k=4, cache=None)
    assert generator.propose(slots("big"), 0) == [["huge"]]


def test_the_table_is_built_once_for_a_content(tmp_path, monkeypatch) -> None:
    path = write(tmp_path / "v.txt", WORDS, VECTORS)
    cache = str(tmp_path / "cache")

    def propose(vectors: str, **settings) -> list[list[str]]:
        generator = EmbeddingNeighbours(vectors, cache=cache, **settings)
        return generator.propose(slots("big huge"), 0)

    first = propose(path, k=2)
    assert first == [["Large", "huge"], ["Large", "big"]]
    copy = write(tmp_path / "copy.txt", WORDS, VECTORS)
    built = neighbours.nearest
    monkeypatch.setattr(neighbours, "nearest", None)
    assert propose(copy, k=2) == first
    monkeypatch.setattr(neighbours, "nearest", built)
    assert propose(path, k=1) == [["Large"], ["Large"]]
    assert propose(write(tmp_path / "v.txt", WORDS[:2], VECTORS[:2]), k=2) == [["Large"], []]
    assert len(list(Path(cache).iterdir())) == 3  # nothing is left of the writing


def packed(words: str, table: np.ndarray) -> bytes:
    content = BytesIO()
    np.savez(content, words=np.frombuffer(words.encode(), np.uint8), table=table)
    return content.getvalue()


def test_a_damaged_table_is_named(tmp_path) -> None:
    path = write(tmp_path / "v.txt", WORDS, VECTORS)

    def propose() -> list[list[str]]:
        generator = EmbeddingNeighbours(path, k=2, cache=str(tmp_path / "cache"))
        return generator.propose(slots("big huge"), 0)

    expected = propose()
    (file,) = (tmp_path / "cache").iterdir()
    assert propose() == expected
    whole, table = file.read_bytes(), np.zeros((3, 2), np.int32)
    cases = [b"torn", b"", whole[:-30], packed('["a"]', table), packed("{}", table)]
    cases += [packed("[", table), packed("[1, 2, 3]", table), packed('["a", "b", "c"]', table + 3)]
    for content in cases:
        file.write_bytes(content)
        with pytest.raises(InputError) as error:
            propose()
        assert error.value.path == str(file)
        assert error.value.remedy.startswith("delete the file")
    flipped = 0
    for place in range(len(whole)):  # a bit: an error, or a header that says nothing
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        try:
            assert propose() == expected
        except InputError:
            flipped += 1
    assert flipped > len(whole) / 2


def test_a_table_that_cannot_be_written_is_one_message(tmp_path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = write(tmp_path / "v.txt", WORDS, VECTORS)
    generator = EmbeddingNeighbours(path, k=2, cache=str(tmp_path / "cache"))
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match="No space left"):
        generator.propose(slots("big"), 0)


def test_files_that_cannot_be_used(tmp_path) -> None:
    with pytest.raises(InputError) as error:
        EmbeddingNeighbours(str(tmp_path / "none")).fingerprint()
    assert error.value.path == str(tmp_path / "none")
    (tmp_path / "v.txt").write_text("a 1\nb x\n")
    with pytest.raises(InputError, match=r"v\.txt:2: 'x' is not a number"):
        EmbeddingNeighbours(str(tmp_path / "v.txt"), cache=None).propose(slots("a"), 0)
    assert EmbeddingNeighbours("no/such/file").propose([], 0) == []


def test_the_fingerprint_follows_content_and_settings(tmp_path) -> None:
    path = write(tmp_path / "v.txt", WORDS, VECTORS)
    other = write(tmp_path / "w.txt", WORDS, -VECTORS)
    generators = [(path, {}), (path, {"k": 2}), (path, {"limit": 2}), (other, {})]
    generators.append((path, {"fold": False}))
    prints = {EmbeddingNeighbours(file, **some).fingerprint() for file, some in generators}
    assert len(prints) == 5
    assert EmbeddingNeighbours(path, cache=None).fingerprint() in prints


def test_real_vectors(shared, tmp_path) -> None:
    path = shared / "vectors" / "counterfit-minilm-100d.txt.gz"
    generator = EmbeddingNeighbours(str(path), limit=6000, cache=str(tmp_path))
    found = generator.propose(slots("Big quickly"), 0)
    assert "large" in found[0]
    assert [len(words) for words in found] == [50, 50]
