"""Sentence similarity, with an encoder made by hand."""

import math
import sys
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
import torch

from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.constraints.similarity import SentenceSimilarity
from robustparse.errors import InputError
from robustparse.types import Sentence

# The encoder made by hand: a text's vector is the mean of its words' directions in the plane.
DEGREES = {"north": 90, "east": 0, "up": 80, "right": 10, "a": 45, "nowhere": None}


class Encoder:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def to(self, dtype: torch.dtype) -> "Encoder":
        assert dtype == torch.float32
        return self

    def eval(self) -> "Encoder":
        return self

    def encode(self, texts: list[str], **_: object) -> np.ndarray:
        self.asked += texts
        return np.stack([self.one(text) for text in texts]).astype(np.float32)

    def one(self, text: str) -> np.ndarray:
        angles = [DEGREES[word] for word in text.split()]
        turns = [np.deg2rad(angle) for angle in angles if angle is not None]
        return 3 * sum((np.array([np.cos(x), np.sin(x)]) for x in turns), np.zeros(2))


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Encoder:
    made = Encoder()
    library = ModuleType("sentence_transformers")
    library.SentenceTransformer = lambda *_, **__: made
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    return made


def angle(one: str, other: str) -> float:
    a, b = Encoder().one(one), Encoder().one(other)
    return math.acos(min(1.0, float(a @ b) / (np.linalg.norm(a) * np.linalg.norm(b))))


MEASURES: dict[str, Callable[[float], float]] = {
    "cosine": math.cos,
    "angular": lambda theta: 1 - theta / math.pi,
    "textfooler": lambda theta: 1 - theta,
}
START, CURRENT = "north a east", ("north", "up", "east")


def change(position: int, word: str) -> Edit:
    return Edit(Sentence(tuple(START.split())), CURRENT, position, word)


@pytest.mark.usefixtures("encoder")
@pytest.mark.parametrize("measure", list(MEASURES))
@pytest.mark.parametrize("reference", ["original", "current"])
def test_measures_and_references(measure: str, reference: str) -> None:
    edits = [change(0, "up"), change(2, "north"), change(1, "a"), change(1, "right")]
    of = {"original": START, "current": " ".join(CURRENT)}[reference]
    expected = [MEASURES[measure](angle(of, " ".join(edit.changed))) for edit in edits]
    one = SentenceSimilarity("x", measure=measure, reference=reference)
    assert one.similarities(edits) == pytest.approx(expected, abs=1e-3)
    one.minimum = sorted(expected)[2] - 1e-3
    admitted = one.admits(edits)
    assert admitted.tolist() == [value > one.minimum for value in expected]
    assert admitted.sum() == 2
    assert [one.admits([edit])[0] for edit in edits] == admitted.tolist()
    assert one.admits([]).shape == (0,)


def test_windows_keep_their_size_at_the_ends(encoder: Encoder) -> None:
    words = ("north", "up", "a", "right", "east")
    one = SentenceSimilarity("x", window=3, reference="current")
    for position, begin in ((0, 0), (1, 0), (2, 1), (3, 2), (4, 2)):
        encoder.asked.clear()
        one._known = type(one._known)(99)
        edit = Edit(Sentence(words), words, position, "nowhere")
        one.admits([edit])
        expected = {" ".join(text[begin : begin + 3]) for text in (edit.changed, edit.current)}
        assert set(encoder.asked) == expected
    short = [change(0, "east"), Edit(Sentence(("up", "up")), ("up", "up"), 0, "nowhere")]
    strict, lenient = (SentenceSimilarity("x", window=3, short=mode) for mode in ("check", "pass"))
    strict.minimum = lenient.minimum = 1.1  # nothing is as similar as that
    assert strict.admits(short).tolist() == [False, False]
    assert lenient.admits(short).tolist() == [False, True]
    # What passes unchecked is measured all the same, if a search compares.
    unchecked = Edit(Sentence(("up", "up")), ("up", "up"), 0, "east")
    expected = 1 - angle("up up", "east up") / math.pi
    assert lenient.admits([unchecked])[0]
    assert lenient.similarities([unchecked]) == pytest.approx([expected], abs=1e-3)
    assert expected < 0.9


def test_texts_are_embedded_once(encoder: Encoder) -> None:
    one = SentenceSimilarity("x")
    one.admits([change(0, "up"), change(0, "up"), change(2, "up")])
    one.admits([change(2, "up")])
    assert len(encoder.asked) == len(set(encoder.asked)) == 3


def test_a_missing_library_or_model(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(InputError, match="run `pip install sentence-transformers`"):
        SentenceSimilarity("x").admits([change(0, "up")])
    library = ModuleType("sentence_transformers")
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)

    def missing(*_: object, **settings: object) -> None:
        assert settings["local_files_only"]
        assert settings["model_kwargs"] == {"use_safetensors": True}
        raise OSError("nothing there\nat all")

    library.SentenceTransformer = missing
    for name in ("some-encoder", str(tmp_path)):
        with pytest.raises(InputError, match=r"cannot be loaded \(nothing there\); give the"):
            SentenceSimilarity(name).admits([change(0, "up")])
    with pytest.raises(InputError, match="device gpu: expected auto, cpu or cuda"):
        SentenceSimilarity("some-encoder", device="gpu").admits([change(0, "up")])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"measure": "euclid"}, "measure must be one of cosine, angular, textfooler"),
        ({"reference": "gold"}, "reference must be one of original, current"),
        ({"short": "skip"}, "short must be one of check, pass"),
        ({"window": 4}, "window must be an odd number of words, got 4"),
        ({"minimum": 7.0}, r"minimum must be in \[-1, 1\], got 7.0"),
        ({"minimum": float("nan")}, r"minimum must be in \[-1, 1\], got nan"),
        ({"batch_texts": 0}, "batch_texts must be >= 1"),
    ],
)
def test_bad_similarity_settings(settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SentenceSimilarity("x", **settings)
