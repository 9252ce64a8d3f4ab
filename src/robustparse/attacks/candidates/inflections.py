"""Candidates that inflect a word in another way (Morpheus; Tan et al. 2020)."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

from robustparse.attacks.candidates.generator import CandidateGenerator, Slot
from robustparse.errors import check_choice, optional_library
from robustparse.tagsets import Tagset, check_tagset, class_of

_PARTS = {"NN": "NOUN", "VB": "VERB", "JJ": "ADJ"}


class Inflections(CandidateGenerator):
    """Proposes the other inflected forms of nouns, verbs and adjectives.

    For each lemma of a word, these are its forms with the same part of speech: "watched",
    "watching" and "watch" for the verb "watches". English only; unknown words have none. Needs the
    optional library lemminflect.

    Args:
        parts: `slot` takes forms of the part of speech that the slot's tag names, and none for
            other tags (Tan et al. 2020); in a sentence without tags it takes all. `all` takes every
            part of speech that the word may have.
        tagset: which tag that is; None: a sentence's Penn tags, or else its universal ones.

    Raises:
        InputError: when first used: the library is not installed.
    """

    needs = ("lemminflect",)
    draws, takes_untagged = False, True
    loads = ("_library",)

    def __init__(
        self, *, parts: Literal["slot", "all"] = "slot", tagset: Tagset | None = None
    ) -> None:
        check_choice("inflections: parts", parts, ("slot", "all"))
        check_tagset("inflections", tagset)
        self.parts, self.tagset = parts, tagset
        self.reads_tags = parts == "slot"

    def propose(self, slots: Sequence[Slot], seed: int) -> list[list[str]]:
        """See `CandidateGenerator.propose`."""
        parts = [
            tuple(_PARTS.values())
            if self.parts == "all" or not slot.sentence.tags
            else (_PARTS.get(class_of(slot.tagged(self.tagset)[1]), ""),)
            for slot in slots
        ]
        keys = [(slot.word.lower(), some) for slot, some in zip(slots, parts, strict=True)]
        known = {key: self._forms(*key) for key in dict.fromkeys(keys)}
        return [list(known[key]) for key in keys]

    def _forms(self, word: str, parts: Sequence[str]) -> list[str]:
        """Return the other forms of a lower-cased word, those of its first lemma first."""
        found: dict[str, None] = {}
        for part in parts:
            # lemminflect takes an empty part of speech for any.
            lemmas = self._library.getAllLemmas(word, upos=part).get(part, ()) if part else ()
            for lemma in lemmas:
                forms = self._library.getAllInflections(lemma, upos=part).values()
                found |= dict.fromkeys(form for some in forms for form in some)
        found.pop(word, None)
        return [form for form in found if form.split() == [form]]

    def fingerprint(self) -> str:
        """See `CandidateGenerator.fingerprint`."""
        return f"Inflections {self._library.__version__} {self.parts} {self.tagset}"

    @cached_property
    def _library(self) -> Any:
        remedy = 'run `pip install "robustparse[inflections]"`'
        return optional_library("lemminflect", "inflections", remedy)
