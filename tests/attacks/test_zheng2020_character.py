"""The character attacks of Zheng et al. 2020 against traces worked out by hand."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from attack_fakes import GradientVictim, TableVictim, example, right_heads
from numpy.typing import NDArray
from search_fakes import Scripted, Traced

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates import characters
from robustparse.attacks.candidates.characters import CharacterEdits, CharacterVariant
from robustparse.attacks.constraints.words import ForbiddenRelations
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.gradient_substitution import NearestCharacter
from robustparse.attacks.search.zheng2020 import Zheng2020
from robustparse.attacks.search.zheng2020_whitebox import Zheng2020WhiteBox
from robustparse.attacks.victim import CharacterVictim
from robustparse.types import DependencyTree, Example

WIDTH = 3  # characters of a word that the victim reads


def punctuated(one: Example) -> Example:
    """The example with its last word attached as punctuation."""
    labels = ("dep",) * (len(one.sentence) - 1) + ("punct",)
    return Example(one.id, one.sentence, DependencyTree(one.gold.heads, labels))


def wrong(gold: Sequence[int], count: int) -> tuple[int, ...]:
    """Heads of which the first N are wrong."""
    return tuple(head if index >= count else head + 1 for index, head in enumerate(gold))


class Speller(GradientVictim):
    """Heads by text, gradients towards whole words by text, and towards some words' characters.

    Letters embed by a table; others are unknown. Gradients that no table tells are 0.
    """

    def __init__(
        self,
        heads: Mapping[str, Sequence[int]],
        letters: Mapping[str, Sequence[float]],
        gradients: Mapping[str, Sequence[Sequence[float]]],
        spelled: Mapping[str, Mapping[int, Sequence[Sequence[float]]]],
    ) -> None:
        super().__init__(GOLD, heads, {}, gradients)
        self.letters, self.spelled = letters, spelled

    def character_gradient(
        self, words: NDArray[np.int32], gradients: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        assert gradients.shape == (*words.shape, 2)
        vectors = self.character_vectors(words.ravel()).reshape(*words.shape, WIDTH, 2)
        gradients = np.zeros_like(vectors)
        for row, numbers in enumerate(words.tolist()):
            text = " ".join(self.names[number] for number in numbers if number)
            for position, at_characters in self.spelled.get(text, {}).items():
                gradients[row, position, : len(at_characters)] = at_characters
        return gradients, vectors

    def character_vectors(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        vectors = np.zeros((len(rows), WIDTH, 2))
        for row, number in enumerate(rows.tolist()):
            for place, letter in enumerate(self.names[number][:WIDTH]):
                vectors[row, place] = self.letters.get(letter, (0.0, 0.0))
        return vectors


GOLD = (2, 0, 2)
SENTENCE = punctuated(example("ab ea .", "NN VB .", GOLD))
LETTERS = {"a": (1, 0), "b": (1, 1), "c": (4, 0), "d": (7, 0), "e": (1, 5)}  # q is unknown: (0, 0)
HEADS = {
    "db ea .": wrong(GOLD, 1),
    "bb eb .": wrong(GOLD, 2),
    "cb eb .": wrong(GOLD, 1),
}
# The full stop has the largest gradient, and is not attackable.
GRADIENTS = {
    "ab ea .": ((3, 0), (0, 2), (9, 9)),
    "cb ea .": ((3, 0), (0, 1), (9, 9)),
    "db ea .": ((3, 0), (0, 1), (9, 9)),
    "bb ea .": ((1, 0), (0, 2), (9, 9)),
    "bb eb .": ((2, 0), (0, 1), (9, 9)),
}
# By position, then one row a character. Steps have length 4.
SPELLED = {
    # The first character has more. From a to (5, 0): c at 1, d at 2.
    "ab ea .": {0: ((2, 0), (0, 1))},
    # The second one has more, but the place stays. From c to (8, 0): d at 1.
    "cb ea .": {0: ((1, 0), (0, 9))},
    # From d to (3, 0): c at 1 and d were the last two tried, a at 2 is the word's own ("aa" has it
    # there and differs elsewhere), b at 2.2.
    "db ea .": {0: ((-1, 0), (0, 9))},
    # The other word now, at its second character. From a to (-3, 0): q at 3 is unknown, b at 4.1.
    "bb ea .": {1: ((0.5, 0), (-3, 0))},
    # The first word again. From b to (5, 1): c at 1.4, as only d and b are its last two tried.
    "bb eb .": {0: ((1, 0), (0, 9))},
}


def white_box(victim: Speller, gamma: float = 0.7) -> AttackResult:
    substitution = NearestCharacter(alpha=4.0, recent=2)
    attack = Attack(
        CharacterEdits(edits=["substitute"], sample=None, alphabet="abcdeq"),
        Zheng2020WhiteBox(
            gamma=gamma, drop=1.0, beyond="skip", outcome="best", substitution=substitution
        ),
        [ForbiddenRelations(["punct"])],
        goal=AttachmentDrop(),
    )
    (result,) = attack.run([SENTENCE], victim)
    return result


def test_white_box_by_hand() -> None:
    victim = Speller(HEADS, LETTERS, GRADIENTS, SPELLED)
    assert isinstance(victim, CharacterVictim)
    result = white_box(victim)
    # kappa = floor(0.7 * 3) = 2 words.
    trials = ["ab ea .", "cb ea .", "db ea .", "bb ea .", "bb eb .", "cb eb ."]
    # The last gradient is 0, which ends the search; the worst text met is parsed once more.
    assert victim.passes == [(text, "margin", (0, 1, 2)) for text in trials]
    assert victim.texts == [*trials, "bb eb ."]
    assert " ".join(result.words) == "bb eb ."
    assert (result.edited, result.success) == ((0, 1), True)
    assert (result.charged, result.unique) == (6, 6)
    assert right_heads(result) == (3, 1)


def test_white_box_changes_no_more_words_than_kappa() -> None:
    victim = Speller(HEADS, LETTERS, GRADIENTS, SPELLED)
    # kappa = floor(0.4 * 3) = 1: at "bb ea ." the second word has more, but the first one is
    # changed; towards its own characters there is no gradient, and the search ends.
    result = white_box(victim, gamma=0.4)
    assert victim.texts == ["ab ea .", "cb ea .", "db ea .", "bb ea .", "db ea ."]
    assert (" ".join(result.words), result.charged) == ("db ea .", 4)


class Numbers:
    """Whole numbers in the order in which they are to be drawn."""

    def __init__(self, *draws: int) -> None:
        self.draws = list(draws)

    def integers(self, high: int) -> int:
        draw = self.draws.pop(0)
        assert draw < high
        return draw


def test_black_box_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    gold = (2, 3, 0, 3)
    one = punctuated(example("cab fed ace .", "NN VB NN .", gold, number=7))
    # By seed, id and 1 + position: the character, and which of the others takes its place.
    streams = {
        (4, 7, 3): Numbers(1, 3),  # "ace": c becomes the fourth of abdef
        (4, 7, 2): Numbers(0, 0),  # "fed": f becomes the first of abcde
    }
    monkeypatch.setattr(characters, "stream", lambda *key: streams[key])
    victim = TableVictim(
        gold,
        {
            "<unk> fed ace .": wrong(gold, 2),
            "cab <unk> ace .": wrong(gold, 2),
            "cab fed <unk> .": wrong(gold, 3),
            "cab fed ace <unk>": wrong(gold, 4),  # worst of all, but punctuation
            "cab fed aee .": wrong(gold, 2),
            "cab aed aee .": wrong(gold, 1),
        },
    )
    # "ace" comes first; the draws, one a word, put "fed" before "cab", which has as many errors.
    search = Traced(Zheng2020(gamma=0.5, length="words"), Scripted([0.9, 0.2, 0.5, 0.1]))
    attack = Attack(
        CharacterVariant(alphabet="abcdef"),
        search,
        [ForbiddenRelations(["punct"])],
        goal=AttachmentDrop(),
        seed=4,
    )
    (result,) = attack.run([one], victim)
    # kappa = floor(0.5 * 4) = 2 words, one candidate each.
    assert search.requests == ["Score U000 0U00 00U0 000U", "Propose 2 1", "Expand 0010 0100"]
    assert victim.texts[5:] == ["cab fed aee .", "cab aed ace .", "cab aed aee ."]
    # "aed" does no harm alone and is put in all the same; together they do less than "aee" alone.
    assert (" ".join(result.words), result.edited) == ("cab aed aee .", (1, 2))
    assert (result.charged, result.unique, result.success) == (7, 7, True)
    assert right_heads(result) == (4, 3)
    assert not any(numbers.draws for numbers in streams.values())
