"""The ranking of Jin et al. 2020, equation 2: words without which another label is seen.

Checked by a trace worked out by hand and by the equation written out over all words of random
texts, in float64.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from attack_fakes import FakeVictim, HashVictim, corpus
from numpy.typing import NDArray
from search_fakes import Labelled, Traced, trace

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.constraints.words import ProtectedPositions
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.goals.label_flip import LabelFlip
from robustparse.attacks.search.importance import GreedyByImportance
from robustparse.attacks.search.rankings import DeletedWord, UnknownWord
from robustparse.attacks.search.zheng2020_whitebox import Zheng2020WhiteBox
from robustparse.errors import InputError
from robustparse.types import Example, LogicalForm, Sentence, TextRows

LABELS = ("y", "z", "w", "v")


class Probabilities(FakeVictim):
    """Probabilities of four labels by text, in float64: from a table, or drawn from the text."""

    def __init__(self, table: Mapping[str, Sequence[float]] = {}, kinds: int = 4) -> None:
        super().__init__()
        self.table, self.kinds = table, kinds

    def name_ids(self, names: Sequence[str]) -> NDArray[np.int32]:
        ids = {label: number for number, label in enumerate(LABELS)}
        return np.array([ids.get(name, -1) for name in names], dtype=np.int32)

    def of(self, text: Sequence[str]) -> NDArray[np.float64]:
        joined = " ".join(text)
        if joined in self.table:
            return np.array(self.table[joined])
        row = np.random.default_rng(zlib.crc32(joined.encode())).random(4)
        row[self.kinds :] = 0.0
        return row / row.sum()

    def predict(self, texts: TextRows) -> tuple[NDArray[Any], ...]:
        words, _, lengths = texts
        texts = [
            [self.names[row] for row in some[:length]]
            for some, length in zip(words.tolist(), lengths.tolist(), strict=True)
        ]
        return (np.stack([self.of(text) for text in texts]),)


@pytest.mark.parametrize(
    ("flip", "order"),
    # F_y falls from 0.5 by 0.2 without p (z: 0.4 of 0.3), 0.3 without q (w: 0.7 of 0.1), 0.25
    # without r, which leaves y. Equation 2: 0.2 + 0.1, 0.3 + 0.6, 0.25.
    [(False, [1, 2, 0]), (True, [1, 0, 2])],
)
@pytest.mark.parametrize(("ranking", "gone"), [(DeletedWord, ""), (UnknownWord, "<unk> ")])
def test_a_new_label_counts_by_the_rise_of_its_probability(ranking, gone, flip, order) -> None:
    rows = {
        "p q r": [0.5, 0.3, 0.1, 0.1],
        f"{gone}q r": [0.3, 0.4, 0.2, 0.1],
        f"p {gone}r": [0.2, 0.05, 0.7, 0.05],
        f"p q {gone}".strip(): [0.25, 0.25, 0.25, 0.25],  # a tie: the first label is y
    }
    found = trace(GreedyByImportance(ranking(flip=flip)), "p q r", {}, Probabilities(rows)).requests
    assert [int(one.split()[1]) for one in found if one.startswith("Propose")] == order


def equation(victim: Probabilities, text: list[str], at: int, put: list[str]) -> float:
    """I_i of the paper, with the word at a position replaced by some words or none."""
    before, after = victim.of(text), victim.of([*text[:at], *put, *text[at + 1 :]])
    y, z = int(before.argmax()), int(after.argmax())
    importance = before[y] - after[y]
    return float(importance if z == y else importance + after[z] - before[z])


@pytest.mark.parametrize(("ranking", "put"), [(DeletedWord, []), (UnknownWord, ["<unk>"])])
@pytest.mark.parametrize("words", ["eligible", "all"])
def test_it_is_the_equation_on_random_texts(ranking, put, words) -> None:
    victim, moved = Probabilities(), 0
    for number in range(60):
        text = [f"t{number}_{at}" for at in range(2 + number % 7)]
        gold = LABELS[int(victim.of(text).argmax())]
        search = Traced(GreedyByImportance(ranking(words=words, flip=True)))
        attack = Attack(Lexicon({}), search, [ProtectedPositions([0])], goal=LabelFlip())
        example: Any = Labelled(number, Sentence(tuple(text)), gold)
        list(attack.search_runs([example], victim))
        visited = [int(one.split()[1]) for one in search.requests if one.startswith("Propose")]
        weights = {at: equation(victim, text, at, put) for at in range(1, len(text))}
        assert visited == sorted(weights, key=lambda at: -weights[at])
        after = [victim.of([*text[:at], *put, *text[at + 1 :]]) for at in range(len(text))]
        plain = sorted(weights, key=lambda at: after[at][LABELS.index(gold)])
        moved += plain != visited
    assert moved > 10  # the term changes orders


def test_where_it_leaves_the_order_as_it_is() -> None:
    def visited(flip: bool, goal: Any, victim: Any, examples: list[Any]) -> list[list[str]]:
        found = []
        for one in examples:
            search = Traced(GreedyByImportance(DeletedWord(flip=flip)))
            list(Attack(Lexicon({}), search, goal=goal).search_runs([one], victim))
            found.append(search.requests)
        return found

    texts: list[Any] = [
        Labelled(number, Sentence(tuple(f"t{number}_{at}" for at in range(6))), "z")
        for number in range(40)
    ]
    for goal, victim, examples in (
        (LabelFlip(), Probabilities(kinds=2), texts),
        (LabelFlip(target="w"), Probabilities(), texts),  # the score tells of the label wanted
        (AttachmentDrop(least=3), HashVictim(), corpus(20)[0]),
    ):
        assert visited(True, goal, victim, examples) == visited(False, goal, victim, examples)


def test_a_text_that_has_the_label_wanted_is_not_attacked() -> None:
    """Gold labels are all z: with z as the target, making the victim right is no success."""
    texts: list[Any] = [
        Labelled(number, Sentence(tuple(f"t{number}_{at}" for at in range(6))), "z")
        for number in range(20)
    ]
    table = Lexicon({f"t{number}_{at}": ["x", "y"] for number in range(20) for at in range(6)})
    found = {}
    for target in ("z", "w"):
        attack = Attack(table, GreedyByImportance(DeletedWord()), goal=LabelFlip(target=target))
        runs = list(attack.search_runs(texts, Probabilities()))
        found[target] = [run.targeted for run in runs]
    assert (any(found["z"]), all(found["w"])) == (False, True)


class Linear(Probabilities):
    """The softmax of two scores, which are the two numbers of a text's mean embedding."""

    vectors_of: ClassVar = {"a": (0.1, 0.0), "b": (0.0, 0.1), "up": (0.0, 2.0), "down": (2.0, 0.0)}

    def vectors(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        return np.array([self.vectors_of.get(name, (0.0, 0.0)) for name in self.names])[rows]

    def of(self, text: Sequence[str]) -> NDArray[np.float64]:
        scores = np.exp(np.mean([self.vectors_of[word] for word in text], axis=0))
        return np.array([*scores / scores.sum(), 0.0, 0.0])

    def gradient(self, texts: TextRows, gold: Any, loss: str, among: Any):
        words = texts.words
        slopes = [
            self.of([self.names[row] for row in some])[:2] - np.eye(2)[label]
            for some, label in zip(words.tolist(), gold, strict=True)
        ]
        gradient = np.repeat(np.array(slopes)[:, None], words.shape[1], axis=1)
        return gradient, self.vectors(words), np.linalg.norm(gradient, axis=-1)


@pytest.mark.parametrize(
    ("target", "gold", "word", "attacked"),
    # "a" and "down" make y the more probable, "b" and "up" z.
    [(None, "y", "a", "up"), ("z", "y", "a", "up"), ("y", "z", "b", "down")],
)
def test_gradients_lead_from_the_gold_label_or_to_the_target(target, gold, word, attacked) -> None:
    text: Any = Labelled(0, Sentence((word,)), gold)
    attack = Attack(
        Lexicon({"a": ["up", "down"], "b": ["up", "down"]}),
        Zheng2020WhiteBox(trials=1, count="all", loss="cross_entropy"),
        goal=LabelFlip(target=target),
    )
    (found,) = attack.search_runs([text], Linear())
    assert found.words == (attacked,)


def test_logical_forms_are_no_labels() -> None:
    form = Labelled(0, Sentence(("a",)), LogicalForm("( a )", "lambda"))
    with pytest.raises(InputError, match="its gold answer is a LogicalForm; expected a str"):
        LabelFlip().gold([form], Probabilities())


@pytest.mark.parametrize("least", [None, 0.7])
def test_a_text_with_a_label_that_the_classifier_does_not_know_is_skipped(least) -> None:
    """As one that it gets wrong: the score is 1, and nothing but the original text is asked."""
    known, unknown = (Example(at, Sentence(("p",)), gold) for at, gold in enumerate(("y", "maybe")))
    attack = Attack(
        candidates=Lexicon({"p": ["q"]}),
        search=GreedyByImportance(UnknownWord()),
        goal=LabelFlip(least=least),
    )
    victim = Probabilities({"p": [0.9, 0.1, 0.0, 0.0], "q": [0.1, 0.9, 0.0, 0.0]})
    runs = {run.problem.id: run for run in attack.search_runs([known, unknown], victim)}
    assert (runs[0].skipped, runs[0].success) == (False, True)
    assert (runs[1].skipped, runs[1].success, runs[1].queries.charged) == (True, False, 1)
    assert runs[1].verdict.scores.tolist() == [1.0]
