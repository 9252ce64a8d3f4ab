"""Candidates that share a synset with the word in WordNet (Miller 1995), read through NLTK.

Ren et al. 2019 and Wang et al. 2021 substitute such synonyms. They are base forms and are not
inflected, so that a tag constraint keeps only those of uninflected words. Words of languages other
than English come from the Open Multilingual WordNet (Bond and Foster 2013).
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError, check_choice, nltk_data
from robustparse.tagsets import Tagset, check_tagset, class_of

_PARTS = {"NN": "n", "VB": "v", "JJ": "a", "RB": "r"}
"""Map the class of a tag to WordNet's part of speech."""

PARTS = "nvar"


class WordNetSynonyms(CandidateGenerator):
    """Proposes the lemmas of all synsets of a word, the most frequent sense first.

    The word is looked up by its base forms. Lemmas of several words are left out; so are, unless
    `base_forms` is true, the word's own base forms and "be", which stands for nearly everything
    (Wang et al. 2021).

    Args:
        parts: `slot` takes synsets of the part of speech that the slot's tag names, and none for
            other tags; in a sentence without tags it takes all. `all` takes every part of speech
            (Yoo et al. 2020), the senses of nouns before those of verbs, adjectives and adverbs.
        tagset: which tag that is; None: a sentence's Penn tags, or else its universal ones.
        language: of the words, by its code of three letters (ISO 639-3, `fra`). Other words than
            English ones are looked up as they are, since WordNet's rules find only English base
            forms.
        base_forms: whether "look" and "be" may replace "looking" and "were", as in TextAttack,
            which Yoo et al. 2020 used.

    Raises:
        InputError: when first used: NLTK's WordNet is missing, or its words of the language.
    """

    needs = ("WordNet",)
    draws, takes_untagged = False, True

    def __init__(
        self,
        *,
        parts: Literal["slot", "all"] = "slot",
        tagset: Tagset | None = None,
        language: str = "eng",
        base_forms: bool | None = None,
    ) -> None:
        check_choice("WordNet: parts", parts, ("slot", "all"))
        check_tagset("WordNet", tagset)
        self.parts, self.tagset, self.language = parts, tagset, language
        self.base_forms = base_forms
        self.reads_tags = parts == "slot"

    def prepare(self, victim: Victim) -> None:
        """See `Component.prepare`."""
        load_wordnet(self.language)

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        if not slots:
            return []
        wordnet = load_wordnet(self.language)
        parts = [
            PARTS
            if self.parts == "all" or not slot.sentence.tags
            else part_of(slot.tagged(self.tagset)[1])
            for slot in slots
        ]
        keys = [(slot.word.lower(), some) for slot, some in zip(slots, parts, strict=True)]
        known = {key: self._synonyms(wordnet, *key) for key in set(keys)}
        return [list(known[key]) for key in keys]

    def _synonyms(self, wordnet: Any, word: str, parts: str) -> list[str]:
        """Return the lemmas of all senses of a lower-cased word with these parts of speech."""
        left_out = {word} if self.base_forms else {word, "be"}
        if self.language == "eng" and not self.base_forms:
            left_out.update(form for part in parts for form in wordnet._morphy(word, part))
        # "a" covers the head adjectives of a cluster and their satellites.
        senses = [sense for part in parts for sense in wordnet.synsets(word, part, self.language)]
        lemmas = dict.fromkeys(name for s in senses for name in s.lemma_names(self.language))
        return [name for name in lemmas if "_" not in name and name.lower() not in left_out]

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        settings = f"{self.parts} {self.tagset} {self.language}"
        settings += " base forms" if self.base_forms else ""
        return f"WordNetSynonyms {load_wordnet(self.language).get_version()} {settings}"


def part_of(tag: str) -> str:
    """Map a tag to WordNet's part of speech: n, v, a or r; "" for others, such as RP."""
    return _PARTS.get(class_of(tag), "")


@cache
def load_wordnet(language: str = "eng") -> Any:
    """Load NLTK's WordNet with the words of a language."""
    from nltk.corpus import wordnet
    from nltk.corpus.reader.wordnet import WordNetError

    with nltk_data("WordNet", "corpora/wordnet"):
        wordnet.ensure_loaded()
    if language != "eng":
        try:
            with nltk_data("WordNet: language", "corpora/omw-2.0"):
                wordnet.synsets("", lang=language)
        except WordNetError as error:
            raise InputError(
                f"the Open Multilingual WordNet has no words of {language!r}",
                key="WordNet: language",
                expected=f"one of {', '.join(sorted(wordnet.langs()))}",
            ) from error
    return wordnet


def base_form(wordnet: Any, word: str, part: str) -> str:
    """Return the shortest base form WordNet's rules give a lower-cased word, or the word itself."""
    forms = wordnet._morphy(word, part)
    return str(min(forms, key=len)) if forms else word
