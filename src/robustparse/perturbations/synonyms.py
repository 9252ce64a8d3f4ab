"""Replaces words by words with the same meaning (Huang et al. 2021, section 3.1).

The paper calls this substitution (nf): a masked language model proposes candidates, the n most
similar sentences are kept, and crowd workers judge the rest.
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
    """Replaces one word by a candidate of any generator.

    In English, function words, irreplaceable words such as "how" (`MEANT_WORDS`) and words of one
    or two letters are not replaced, and an inflected word is replaced by a word with the same
    ending: neighbours among vectors would otherwise give "job" or "small" for "jobs" or "smallest".
    In any other `language`, every word of letters may be replaced by any candidate.

    Args:
        candidates: proposes substitutes, the best ones first.
        similarity: accepts candidates whose sentence is similar enough to the original by its
            threshold, and ranks them; without it, the generator's order is used.
        top: number of candidates that are considered (10; not in the paper).
        best: the substitute is drawn from the N most similar candidates (3; not in the paper, whose
            released sets have about 3 per word).
        language: the language of the sentences, as a code of three letters (ISO 639-3, `fra`).

    Raises:
        InputError: a number is below 1, or the language is not such a code.
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
                expected="a code of three letters (ISO 639-3), such as eng or fra",
            )
        self.candidates, self.similarity = candidates, similarity
        self.top, self.best, self.language = top, best, language
        self._english = language == "eng"

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        """See `Perturbation.reword`."""
        seed = int(rng.integers(1 << 32))
        (rewording,) = self.rewordings([Example(0, sentence, None)], seed)
        return rewording

    def rewordings(self, examples: Sequence[Example], seed: int) -> list[Rewording]:
        """See `Perturbation.rewordings`; all sentences are processed together."""
        draws = [stream(seed, example.id) for example in examples]
        slots = [self._slot(*pair) for pair in zip(examples, draws, strict=True)]
        known = [slot for slot in slots if slot is not None]
        proposed = iter(self.candidates.propose(known, seed))
        options = [[] if slot is None else self._kept(slot, next(proposed)) for slot in slots]
        chosen = self._most_similar(slots, options)
        rewordings = []
        for example, slot, substitutes, rng in zip(examples, slots, chosen, draws, strict=True):
            words = list(example.sentence.words)
            if slot is not None and substitutes:
                words[slot.position] = substitutes[int(rng.integers(len(substitutes)))]
            rewordings.append(Rewording.of(words))
        return rewordings

    def _slot(self, example: Example, rng: np.random.Generator) -> Slot | None:
        """Draw the word to replace."""
        words = example.sentence.words
        positions = [at for at, word in enumerate(words) if self._is_replaceable(word)]
        if not positions:
            return None
        return Slot(example.id, example.sentence, positions[int(rng.integers(len(positions)))])

    def _is_replaceable(self, word: str) -> bool:
        if not self._english:
            return is_letters(word)
        kept = len(word) < 3 or is_function_word(word) or word.lower() in MEANT_WORDS
        return is_letters(word) and not kept

    def _kept(self, slot: Slot, candidates: Sequence[str]) -> list[str]:
        """Return the first candidates that are other words, in English with the same ending."""
        original = slot.word.lower()
        ending = _INFLECTED.search(original) if self._english else None
        kept = [
            word
            for word in candidates
            if word.lower() != original and is_letters(word)
            if ending is None or word.lower().endswith(ending.group())
        ]
        return list(dict.fromkeys(kept))[: self.top]

    def _most_similar(
        self, slots: Sequence[Slot | None], options: Sequence[Sequence[str]]
    ) -> list[list[str]]:
        if self.similarity is None:
            return [list(words[: self.best]) for words in options]
        edits = [
            Edit(slot.sentence, slot.sentence.words, slot.position, word)
            for slot, words in zip(slots, options, strict=True)
            if slot is not None
            for word in words
        ]
        measured = iter(self.similarity.similarities(edits).tolist())
        best = []
        for words in options:
            ranked = sorted(((next(measured), -at, word) for at, word in enumerate(words)))[::-1]
            similar = [word for value, _, word in ranked if value >= self.similarity.minimum]
            best.append(similar[: self.best])
        return best
