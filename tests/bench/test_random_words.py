"""The bench of thresholds, with vectors and an encoder whose answers are known."""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from random_words import changes, rates
from robustparse.types import Example, Sentence

WORDS = [f"{first}{second}" for first in "abcdefgh" for second in "xy"]


class Encoder:
    """Embeds a text by the first letters of its words: neighbours are all the same to it."""

    def to(self, _: object) -> "Encoder":
        return self

    def eval(self) -> "Encoder":
        return self

    def encode(self, texts: list[str], **_: object) -> np.ndarray:
        counts = [[word[0] for word in text.split()] for text in texts]
        return np.array([[some.count(letter) for letter in "abcdefgh"] for some in counts], float)


def test_neighbours_pass_and_random_words_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = ModuleType("sentence_transformers")
    library.SentenceTransformer = lambda *_, **__: Encoder()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    vectors = tmp_path / "vectors.txt"
    lines = []
    for word in WORDS:
        row = np.eye(8)["abcdefgh".index(word[0])] + 0.1 * (word[1] == "y")
        lines.append(f"{word} {' '.join(map(str, row))}\n")
    vectors.write_text("".join(lines))
    rng = np.random.default_rng(0)
    texts = [[str(rng.choice(WORDS)) for _ in range(12 + at % 8)] for at in range(60)]
    examples = [Example(at, Sentence(tuple(words)), "1") for at, words in enumerate(texts)]
    found = changes(examples, str(vectors), 0.7, windows=20)
    assert {kind: len(edits) for kind, edits in found.items()} == {
        "neighbours": 20,
        "random words": 20,
    }
    for near, other in zip(*found.values(), strict=True):
        assert (near.current, near.position) == (other.current, other.position)
        assert len(near.current) >= 15
        own = near.current[near.position]
        assert near.word != own
        assert near.word[0] == own[0]
    assert len({edit.current for edit in found["neighbours"]}) == 20
    result = rates(found, "x", [0.999, -1.0])
    assert result["0.999"]["neighbours"] == 100.0
    assert result["0.999"]["random words"] < 40.0
    assert result["-1.0"] == {"neighbours": 100.0, "random words": 100.0}
    same = [edit.word[0] == edit.current[edit.position][0] for edit in found["random words"]]
    assert result["0.999"]["random words"] == 100 * sum(same) / 20
