"""Candidates must keep the tag of the word they replace: two tests of Zheng et al. 2020.

`DictionaryTag` looks the candidate up out of context; `TaggerTag` tags the changed sentence. Both
compare with the corpus' tag of the original word (the released code leaves the choice open).
Jin et al. 2020 compare parts of speech instead of tags.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.constraints.constraint import Constraint, Masks, Words
from robustparse.attacks.constraints.tagging.perceptron import PerceptronTags
from robustparse.attacks.tagged import tag_dictionary
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError, check_choice

# The twelve universal parts of speech of Petrov, Das and McDonald 2012.
_PENN_TAGS = {
    "NOUN": "NN NNS NNP NNPS",
    "VERB": "MD VB VBD VBG VBN VBP VBZ",
    "ADJ": "JJ JJR JJS",
    "ADV": "RB RBR RBS WRB",
    "PRON": "PRP PRP$ WP WP$",
    "DET": "DT EX PDT WDT",
    "ADP": "IN",
    "NUM": "CD",
    "CONJ": "CC",
    "PRT": "POS RP TO",
    ".": ". , : ! ? ( ) -LRB- -RRB- `` '' # $",
}
_UNIVERSAL = {tag: part for part, tags in _PENN_TAGS.items() for tag in tags.split()}


class DictionaryTag(Constraint):
    """The candidate's most frequent tag in the victim's training data equals the slot's tag.

    Compares with the corpus tag of the original word. Candidates seen less than twice in training
    have no tag and are rejected; sentences without corpus tags are refused.
    """

    reads_tags = True

    def accept(self, slots: Sequence[Slot], candidates: Words, victim: Victim) -> Masks:
        """See `Constraint.accept`."""
        tag_of = tag_dictionary(victim, "DictionaryTag").get
        return [
            np.array([tag_of(word.lower()) == slot.tag for word in words], dtype=np.bool_)
            for slot, words in zip(slots, candidates, strict=True)
        ]


class TaggerTag(Constraint):
    """NLTK's perceptron tagger gives the candidate, in the changed sentence, the slot's tag.

    Compares with the corpus tag of the original word; the sentence tagged is the original with the
    one word changed. The paper's tagger (97.2% on its test set) is not the one NLTK ships.
    Sentences without corpus tags are refused.

    Args:
        tagset: what must be equal: the `penn` tags (Zheng et al. 2020), or the `universal` ones
            they map to (Jin et al. 2020).
        noun_verb: whether a noun may replace a verb and a verb a noun too, as Jin et al. 2020 have
            it; needs the universal tags.

    Raises:
        InputError: when first used: NLTK's tagger data is missing.
    """

    is_model = reads_tags = True

    def __init__(
        self, *, tagset: Literal["penn", "universal"] = "penn", noun_verb: bool = False
    ) -> None:
        check_choice("tagger: tagset", tagset, ("penn", "universal"))
        if noun_verb and tagset != "universal":
            raise InputError(
                f"compares universal tags, got tagset: {tagset}",
                key="tagger: noun_verb",
                remedy="set `tagset: universal`, or leave noun_verb out",
            )
        self.tagset = tagset
        self.noun_verb = noun_verb

    def accept(self, slots: Sequence[Slot], candidates: Words, victim: Victim) -> Masks:
        """See `Constraint.accept`."""
        tags = self._tagger.substituted(
            [(slot.sentence.words, slot.position) for slot in slots], candidates
        )
        return [
            np.array([self._kept(slot.tag, tag) for tag in found], dtype=np.bool_)
            for slot, found in zip(slots, tags, strict=True)
        ]

    def _kept(self, tag: str, found: str) -> bool:
        """Tell whether a candidate of this tag may replace a word of that one."""
        if self.tagset == "penn" or not tag:
            return found == tag
        # X stands for FW, LS, SYM and UH, as in NLTK, and for any other tag.
        parts = {_UNIVERSAL.get(tag, "X"), _UNIVERSAL.get(found, "X")}
        return len(parts) == 1 or (self.noun_verb and parts == {"NOUN", "VERB"})

    @cached_property
    def _tagger(self) -> PerceptronTags:
        return PerceptronTags.load()
