"""Pass rates of candidates and random words, against rates that follow from the parts."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from pass_rates import pass_rates
from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.sentence_constraint import Edit, SentenceConstraint
from robustparse.attacks.constraints.vector_cosine import WordVectorCosine
from robustparse.attacks.constraints.words import ProtectedPositions
from robustparse.attacks.search.beam import Greedy
from robustparse.types import Example, Label, Mask, Sentence

VECTORS = "good 1 0\nfine 1 0.1\nfair 1 1\nbad -1 0\nfilm 0 1\n"


class Longer(SentenceConstraint):
    """The new word's letters, over ten, reach a minimum."""

    def __init__(self, minimum: float) -> None:
        self.minimum = minimum

    def admits(self, edits: Sequence[Edit]) -> Mask:
        return np.array([len(edit.word) / 10 >= self.minimum for edit in edits], dtype=np.bool_)


@pytest.fixture
def attack(tmp_path: Path) -> Attack:
    path = tmp_path / "vectors.txt"
    path.write_text(VECTORS)
    constraints = [
        ProtectedPositions([0]),
        WordVectorCosine(str(path), minimum=0.9, unknown="reject"),
        Longer(0.4),
    ]
    return Attack(Lexicon({"good": ["fine", "fair"], "bad": ["x"]}), Greedy(), constraints)


EXAMPLES = [Example(number, Sentence(("bad", "film", "good")), Label("1")) for number in range(400)]
EXAMPLES.append(Example(400, Sentence(("bad", "film")), Label("0")))  # nothing to replace


def test_rates_by_constraint_and_minimum(attack: Attack) -> None:
    rows = pass_rates(attack, EXAMPLES, 500, minima=[0.3, 0.5])
    found = [(row["constraint"], row["minimum"]) for row in rows]
    own = [("WordVectorCosine", 0.9), ("Longer", 0.4)]
    assert found == [*own, ("Longer", 0.3), ("Longer", 0.5), ("all together", None)]
    cosine, longer, shorter, longest, together = rows
    # "fine" is near, "fair" is not, "bad" and "film" neither; "film" has four letters.
    assert (cosine["first candidate"], cosine["random word"]) == (100.0, 0.0)
    assert cosine["any candidate"] == together["any candidate"] == pytest.approx(50, abs=8)
    assert longer["first candidate"] == longer["any candidate"] == 100.0
    assert longer["random word"] == pytest.approx(50, abs=8)
    assert set(list(shorter.values())[2:]) == {100.0}
    assert set(list(longest.values())[2:]) == {0.0}
    assert (together["first candidate"], together["random word"]) == (100.0, 0.0)


def test_draws_follow_from_seed_and_text(attack: Attack) -> None:
    first = pass_rates(attack, EXAMPLES, 50, seed=1)
    assert pass_rates(attack, EXAMPLES, 50, seed=1) == first
    assert pass_rates(attack, EXAMPLES, 50, seed=2) != first
