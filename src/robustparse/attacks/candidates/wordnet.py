"""Candidates that share a synset with the word in WordNet (Miller 1995), read through NLTK.

Ren et al. 2019 and Wang et al. 2021 substitute such synonyms; they are base forms and are not
inflected again, so that a constraint on tags keeps only those of uninflected words.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.errors import check_choice, nltk_data

_PARTS = {"NN": "n", "VB": "v", "JJ": "a", "RB": "r"}
"""WordNet's part of speech by the first two letters of a Penn tag."""


class WordNetSynonyms(CandidateGenerator):
    """Proposes the lemmas of all synsets of a word, the most frequent sense first.

    The word is looked up by its base forms. Lemmas of several words are left out, the word's own
    base forms too, and "be", which stands for nearly everything (Wang et al. 2021).

    Args:
        parts: `slot` takes synsets of the part of speech that the slot's Penn tag names, and none
            for other tags; `all` takes every part of speech (Yoo et al. 2020), the senses of nouns
            before those of verbs, adjectives and adverbs.

    Raises:
        InputError: when first used: NLTK's WordNet is missing.
    """

    draws = False

    def __init__(self, *, parts: Literal["slot", "all"] = "slot") -> None:
        check_choice("WordNet: parts", parts, ("slot", "all"))
        self.parts = parts
        self.reads_tags = parts == "slot"

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        if not slots:
            return []
        wordnet = load_wordnet()
        everything = self.parts == "all"
        keys = [(slot.word.lower(), "nvar" if everything else part_of(slot.tag)) for slot in slots]
        known = {key: _synonyms(wordnet, *key) for key in set(keys)}
        return [list(known[key]) for key in keys]

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return f"WordNetSynonyms {load_wordnet().get_version()} {self.parts}"


def part_of(tag: str) -> str:
    """Map a Penn tag to WordNet's part of speech: n, v, a or r; "" for others, such as RP."""
    return _PARTS.get(tag[:2], "")


@cache
def load_wordnet() -> Any:
    """Load NLTK's WordNet."""
    from nltk.corpus import wordnet

    with nltk_data("WordNet", "corpora/wordnet"):
        wordnet.ensure_loaded()
    return wordnet


def base_form(wordnet: Any, word: str, part: str) -> str:
    """Return the shortest base form WordNet's rules give a lower-cased word, or the word itself."""
    forms = wordnet._morphy(word, part)
    return str(min(forms, key=len)) if forms else word


def _synonyms(wordnet: Any, word: str, parts: str) -> list[str]:
    own = {word, "be", *(form for part in parts for form in wordnet._morphy(word, part))}
    found: dict[str, None] = {}
    # The adjectives of a cluster and their satellites both count as "a" here.
    senses = [sense for part in parts for sense in wordnet.synsets(word, part)]
    for sense in senses:
        found.update(dict.fromkeys(sense.lemma_names()))
    return [name for name in found if "_" not in name and name.lower() not in own]
