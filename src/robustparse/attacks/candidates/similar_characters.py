"""Candidates with one character replaced by a similar one: a neighbouring key, or a look-alike.

Pruthi et al. 2019 and Li et al. 2018 (TextBugger) imitate slips on the keyboard; Li et al. and
Boucher et al. 2021 exchange characters that look alike.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.errors import check_choice, check_least
from robustparse.graphemes import graphemes
from robustparse.keyboards import Layout, neighbouring_keys

Glyphs = Literal["unicode", "digits"]

# Latin letters and the Greek or Cyrillic letters that are drawn alike on purpose: the entries of
# basic Latin letters in `intentional.txt` of Unicode Technical Standard 39, version 17.
_LATIN = "ABCEHIJKMNOPSTXYZacdehijopsxy"
_TWINS = (
    "\u0391\u0392\u0421\u0395\u0397\u0399\u0408\u039a\u039c\u039d\u039f\u03a1\u0405\u03a4\u03a7"
    "\u03a5\u0396\u0430\u0441\u0501\u0435\u04bb\u0456\u03f3\u03bf\u0440\u0455\u0445\u0443"
)
_GLYPHS: dict[Glyphs, dict[str, str]] = {
    "unicode": dict(zip(_LATIN, _TWINS, strict=True)),
    "digits": {"o": "0", "l": "1", "a": "@"},
}


class _SimilarCharacters(CandidateGenerator):
    """Replaces one character by a similar one, in every way.

    Args:
        inner: whether the first and the last character stay.
        sample: candidates per slot, drawn uniformly; None takes all, ordered by position.
    """

    changes = "characters"
    verbatim = True

    def __init__(self, inner: bool, sample: int | None) -> None:
        check_least("similar characters", sample=sample)
        self.inner, self.sample = inner, sample
        self.draws = sample is not None

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        return [self._draw(slot, seed) for slot in slots]

    def _draw(self, slot: Slot, seed: int) -> list[str]:
        characters, similar = graphemes(slot.word), self._similar()
        places = range(1, len(characters) - 1) if self.inner else range(len(characters))
        words = [
            "".join([*characters[:at], new, *characters[at + 1 :]])
            for at in places
            for new in similar.get(characters[at], "")
        ]
        return slot.drawn(words, self.sample, seed)

    @abstractmethod
    def _similar(self) -> Mapping[str, str]:
        """Map characters to those that may replace them."""


class KeyboardNeighbours(_SimilarCharacters):
    """Proposes words with one letter replaced by that of a neighbouring key (Pruthi et al. 2019).

    Args:
        layout: the keyboard: `qwerty`, `qwertz` or `azerty`.
        inner: whether the first and the last character stay.
        sample: candidates per slot, drawn uniformly; None takes all, ordered by position.
    """

    def __init__(
        self, *, layout: Layout = "qwerty", inner: bool = False, sample: int | None = None
    ) -> None:
        super().__init__(inner, sample)
        check_choice("keyboard neighbours: layout", layout, get_args(Layout))
        self.layout: Layout = layout
        near = neighbouring_keys(layout)
        upper = {key.upper(): letters.upper() for key, letters in near.items()}
        self._near = near | upper

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return f"KeyboardNeighbours {self.layout} {self.inner} {self.sample}"

    def _similar(self) -> Mapping[str, str]:
        return self._near


class Homoglyphs(_SimilarCharacters):
    """Proposes words with one character replaced by one that looks alike.

    Args:
        glyphs: `unicode`, Greek and Cyrillic letters that no reader can tell from Latin ones
            (Boucher et al. 2021: the pairs of Unicode Technical Standard 39, `intentional.txt`), or
            `digits`, which a reader sees: 0 for o, 1 for l and @ for a (Li et al. 2018).
        inner: whether the first and the last character stay.
        sample: candidates per slot, drawn uniformly; None takes all, ordered by position.
    """

    def __init__(
        self, *, glyphs: Glyphs = "unicode", inner: bool = False, sample: int | None = None
    ) -> None:
        super().__init__(inner, sample)
        check_choice("homoglyphs: glyphs", glyphs, get_args(Glyphs))
        self.glyphs: Glyphs = glyphs

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return f"Homoglyphs {self.glyphs} {self.inner} {self.sample}"

    def _similar(self) -> Mapping[str, str]:
        return _GLYPHS[self.glyphs]
