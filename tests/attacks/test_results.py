"""Changed words that a victim does not know: by hand, and None from one that does not tell."""

import numpy as np
from attack_fakes import HashVictim, TableVictim, example
from numpy.typing import NDArray

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.goals.attachment import AttachmentDrop
from robustparse.attacks.results import unseen_words
from robustparse.attacks.search.zheng2020 import Zheng2020


class Knowing(TableVictim):
    """Knows the words of two lists."""

    def __init__(self, embedded: list[str] | None, seen: list[str], *rest) -> None:
        super().__init__(*rest)
        self._embedded, self._seen = embedded, seen

    def embedded(self, words: list[str]) -> NDArray[np.bool_] | None:
        if self._embedded is None:
            return None
        return np.array([word in self._embedded for word in words], np.bool_)

    def seen_in_training(self, words: list[str]) -> NDArray[np.bool_]:
        return np.array([word in self._seen for word in words], np.bool_)


def test_words_before_and_after():
    before, after = ["dog", "old", "dog"], ["cat", "new", "bee"]
    victim = Knowing(["old", "cat"], ["dog", "new"], (), {})
    found = unseen_words(victim, before, after)
    assert found == {"oov": [2, 2], "oot": [1, 2]}
    spelling = unseen_words(Knowing(None, [], (), {}), before, after)
    assert spelling == {"oov": None, "oot": [3, 3]}
    assert unseen_words(victim, [], []) == {"oov": [0, 0], "oot": [0, 0]}
    assert unseen_words(HashVictim(), before, after) is None


def test_of_the_words_that_an_attack_changed():
    sentence = example("dogs chase cats", "NNS VBP NNS", (2, 0, 2))
    attack = Attack(Lexicon({"dogs": ["bees"]}), Zheng2020(gamma=1.0), goal=AttachmentDrop())
    victim = Knowing(["dogs", "chase"], ["cats"], (2, 0, 2), {"bees chase cats": (0, 0, 0)})
    (result,) = attack.run([sentence], victim)
    assert result.edited == (0,)
    assert result.unseen == {"oov": [0, 1], "oot": [1, 1]}
    (result,) = attack.run([sentence], TableVictim((2, 0, 2), {}))
    assert result.unseen is None
