"""Constraints on fluency and on meaning, by models whose answers are plain to see."""

import math

import numpy as np
import pytest

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.constraints.language_model import LanguageModelPerplexity, PerplexityRise
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.constraints.similarity import ThoughtVectors
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.errors import InputError
from robustparse.types import Sentence


def test_a_fall_of_log_probability_is_measured_from_the_original_sentence() -> None:
    original = Sentence(("b", "b", "b"))
    edits = [Edit(original, ("b", "b", before), 0, after) for before in "bd" for after in "acd"]
    settings = {"measure": "log_probability", "reference": "original"}
    constraint = PerplexityRise(ByLetters(), most=1.0, **settings)
    # A letter costs its number in the alphabet: b is 2. From b and b to c and d are 3 nats.
    assert constraint.admits(edits).tolist() == [True, True, False, True, False, False]


class ByLetters:
    """A language model whose words cost the number of their first letter in the alphabet."""

    def log_probabilities(self, texts) -> np.ndarray:
        return np.array([-sum(ord(word[0]) - 96 for word in text) for text in texts], np.float64)


@pytest.mark.parametrize(
    ("settings", "accepted"),
    [
        ({"keep": 2}, [["a", "b"], ["b", "a"]]),
        ({"keep": 9}, [["a", "c", "b"], ["d", "b", "a"]]),
        ({"most": 1.0, "keep": None}, [["a", "b"], ["b", "a"]]),
        ({"most": 0.0, "window": None, "keep": None}, [["a"], ["b", "a"]]),
        ({"most": 2.0, "keep": 1}, [["a"], ["a"]]),
    ],
)
def test_candidates_are_kept_that_are_likely_in_their_place(settings, accepted) -> None:
    sentence, candidates = Sentence(("z", "a", "b", "z")), [["a", "c", "b"], ["d", "b", "a"]]
    slots = [Slot(0, sentence, 1), Slot(0, sentence, 2)]
    masks = LanguageModelPerplexity(ByLetters(), **settings).accept(slots, candidates, None)
    found = [
        [word for word, kept in zip(words, mask.tolist(), strict=True) if kept]
        for words, mask in zip(candidates, masks, strict=True)
    ]
    assert found == accepted
    assert LanguageModelPerplexity(ByLetters(), **settings).accept([], [], None) == []


def test_a_window_holds_so_many_words_on_each_side() -> None:
    read: list[list[str]] = []

    class Reader(ByLetters):
        def log_probabilities(self, texts) -> np.ndarray:
            read.extend(map(list, texts))
            return super().log_probabilities(texts)

    sentence = Sentence(tuple("abcdefg"))
    slots = [Slot(0, sentence, at) for at in (0, 3, 6)]
    LanguageModelPerplexity(Reader(), window=2, keep=1).accept(slots, [["x"]] * 3, None)
    assert ["".join(words) for words in read] == ["abc", "xbc", "bcdef", "bcxef", "efg", "efx"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: LanguageModelPerplexity(ByLetters(), keep=0),
        lambda: LanguageModelPerplexity(ByLetters(), window=0, keep=1),
        lambda: LanguageModelPerplexity(ByLetters(), most=math.nan),
        lambda: PerplexityRise(ByLetters(), measure="nats"),
        lambda: PerplexityRise(ByLetters(), reference="last"),
        lambda: ThoughtVectors("x", most=-0.1),
        lambda: LabelFlip(least=1.5),
    ],
)
def test_settings_out_of_range_are_refused(make) -> None:
    with pytest.raises(InputError):
        make()


def test_thought_vectors_are_means_of_the_words_that_have_one(tmp_path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("a 3 0\nb 0 4\nc 3 1\n")
    constraint = ThoughtVectors(str(path), most=0.5)
    sentence = Sentence(("A", "a", "none"))
    edits = [Edit(sentence, sentence.words, 0, word) for word in ("b", "c", "none", "C")]
    # Means (1.5, 2), (3, 0.5), (3, 0), (3, 0.5) against (3, 0).
    distances = [2.5, 0.5, 0.0, 0.5]
    assert constraint.similarities(edits) == pytest.approx([-one for one in distances])
    assert constraint.admits(edits).tolist() == [False, True, True, True]
