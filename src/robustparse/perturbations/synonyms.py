"""Words exchanged for others of the same meaning (Huang et al. 2021, section 3.1).

The paper calls it substitution (nf). Its candidates are those of a masked language model, of which
the n most similar sentences are kept, and workers judge what is left.
"""

import re
from collections.abc import Sequence

import numpy as np

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.constraints.sentence_constraint import Edit
from robustparse.attacks.constraints.similarity import TextSimilarity
from robustparse.errors import InputError, check_least
from robustparse.graphemes import is_letters
from robustparse.perturbations.function_words import MEANT_WORDS, is_function_word
from robustparse.perturbations.perturbation import Perturbation, Rewording
from robustparse.randomness import stream
from robustparse.types import Example, Sentence

_INFLECTED = re.compile(r"(?<=\w{3})(?:est|ing|(?<!e)ed|(?<![isu])s)$")


class WordSubstitution(Perturbation):
    """Exchanges one word by candidates of any generator.

    English function words stay, and those for which no other word can stand (`MEANT_WORDS`), as
    "how". A word that is inflected in English, by its ending, is exchanged for one with the same
    ending: without this, neighbours among vectors give "job" or "small" for "jobs" or "smallest".
    Words of one or two letters stay too. These rules hold for English only: in another `language`
    any word of letters may be exchanged, for any candidate.

    Args:
        candidates: proposes substitutes, the best ones first.
        similarity: keeps those whose sentence is similar enough to the original, by its own
            threshold, and ranks them; without it the generator's order counts.
        top: candidates of the generator that are looked at (10; the paper gives none).
        best: the substitute is drawn from the N most similar of these (3; the paper gives none,
            its released sets have about 3 a word).
        language: of the sentences, by its code of three letters (ISO 639-3, `fra`).

    Raises:
        InputError: a number is below 1, or the language is no such code.
    """

    def __init__(
        self,
        candidates: CandidateGenerator,
        *,
        similarity: TextSimilarity | None = None,
        top: int = 10,
        best: int = 3,
        language: str = "eng",
    ) -> None:
        check_least("word substitution", top=top, best=best)
        if not re.fullmatch("[a-z]{3}", language):
            raise InputError(
                f"got {language!r}",
                key="word substitution: language",
                expected="a code of three letters (ISO 639-3), as eng or fra",
            )
        self.candidates, self.similarity = candidates, similarity
        self.top, self.best, self.language = top, best, language
        self._english = language == "eng"

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """See `Perturbation.reword`."""
        (found,) = self.rewordings([Example(0, sentence, None)], int(rng.integers(1 << 32)))
        return found

    def rewordings(self, examples: Sequence[Example], seed: int) -> list[Rewording]:
        """See `Perturbation.rewordings`; all sentences are proposed for, and compared, at once."""
        draws = [stream(seed, example.id) for example in examples]
        slots = [self._slot(*pair) for pair in zip(examples, draws, strict=True)]
        known = [slot for slot in slots if slot is not None]
        proposed = iter(self.candidates.propose(known, seed))
        options = [[] if slot is None else self._kept(slot, next(proposed)) for slot in slots]
        chosen = self._most_similar(slots, options)
        found = []
        for example, slot, some, rng in zip(examples, slots, chosen, draws, strict=True):
            words = list(example.sentence.words)
            if slot is not None and some:
                words[slot.position] = some[int(rng.integers(len(some)))]
            found.append(Rewording.of(words))
        return found

    def _slot(self, example: Example, rng: np.random.Generator) -> Slot | None:
        """Draw the word to exchange."""
        places = [at for at, word in enumerate(example.sentence.words) if self._exchanged(word)]
        if not places:
            return None
        return Slot(example.id, example.sentence, places[int(rng.integers(len(places)))])

    def _exchanged(self, word: str) -> bool:
        """Tell whether a word may be drawn."""
        return is_letters(word) and not (self._english and _stays(word))

    def _kept(self, slot: Slot, candidates: Sequence[str]) -> list[str]:
        """Return the first candidates that are one other word, inflected as it is in English."""
        same = slot.word.lower()
        ending = _INFLECTED.search(same) if self._english else None
        found = [
            word
            for word in candidates
            if word.lower() != same and is_letters(word)
            if ending is None or word.lower().endswith(ending.group())
        ]
        return list(dict.fromkeys(found))[: self.top]

    def _most_similar(
        self, slots: Sequence[Slot | None], options: Sequence[Sequence[str]]
    ) -> list[list[str]]:
        if self.similarity is None:
            return [list(some[: self.best]) for some in options]
        edits = [
            Edit(slot.sentence, slot.sentence.words, slot.position, word)
            for slot, some in zip(slots, options, strict=True)
            if slot is not None
            for word in some
        ]
        measured = iter(self.similarity.similarities(edits).tolist())
        found = []
        for some in options:
            ranked = sorted(((next(measured), -at, word) for at, word in enumerate(some)))[::-1]
            enough = [word for value, _, word in ranked if value >= self.similarity.minimum]
            found.append(enough[: self.best])
        return found


def _stays(word: str) -> bool:
    """Tell whether an English word stays as it is."""
    return len(word) < 3 or is_function_word(word) or word.lower() in MEANT_WORDS
