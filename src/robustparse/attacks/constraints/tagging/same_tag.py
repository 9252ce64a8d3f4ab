"""Candidates must have the tag of the word that they replace: two tests of Zheng et al. 2020.

`DictionaryTag` looks up the candidate out of context; `TaggerTag` tags the changed sentence. Both
compare with the corpus' tag of the original word (the released code supports other choices, too).
Jin et al. 2020 compare parts of speech instead of tags.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.component import tags_of, training_tags
from robustparse.attacks.constraints.constraint import Constraint, Masks, Words
from robustparse.attacks.constraints.tagging.perceptron import PerceptronTags
from robustparse.attacks.features import training_features
from robustparse.attacks.victim import Victim
from robustparse.errors import InputError, check_choice
from robustparse.tagsets import Tagset, check_tagset, interchangeable
from robustparse.types import Example, View


class DictionaryTag(Constraint):
    """The candidate's most frequent tag in the victim's training data must be the word's tag.

    Compares with the corpus tag of the *original* word. Candidates seen less than twice in training
    have no tag and are rejected; sentences without corpus tags raise an error.

    Args:
        tagset: which tags; None: a sentence's Penn tags, or its universal tags if it has none.
        features: whether the candidate must also occur with the word's analysis (universal tag and
            features) in the victim's training data, or in the treebank file named here. In
            sentences without features, only tags are compared.
    """

    reads_tags = True

    def __init__(self, *, tagset: Tagset | None = None, features: bool | str | None = None) -> None:
        check_tagset("dictionary tag", tagset)
        self.tagset, self.features = tagset, features

    def accept(self, slots: Sequence[Slot], candidates: Words, victim: Victim) -> Masks:
        """See `Constraint.accept`."""
        known, features, masks = training_tags(victim, self), training_features(victim, self), []
        for slot, words in zip(slots, candidates, strict=True):
            tagset, tag = slot.tagged(self.tagset)
            tag_of = tags_of(known, tagset, self).get
            lowered = [word.lower() for word in words]
            mask = np.array([tag_of(word) == tag for word in lowered], dtype=np.bool_)
            if features and (analysis := slot.analysis):
                mask &= [analysis in features.get(word, ()) for word in lowered]
            masks.append(mask)
        return masks


class TaggerTag(Constraint):
    """NLTK's perceptron tagger must give the candidate the word's tag in the changed sentence.

    Only the one word is changed in the *original* sentence. The paper's tagger (97.2% on its test
    set) is not the one that NLTK ships.

    Args:
        reference: the expected tag: the `corpus` tag of the original word (sentences without tags
            raise an error), or the `tagger`'s tag of the original word in the original sentence
            (Jin et al. 2020, Yoo et al. 2020).
        tagset: what must be equal: `xpos`, the Penn tags (Zheng et al. 2020), or `upos`, the parts
            of speech of Penn and universal tags (Jin et al. 2020). None compares Penn tags, in a
            sentence without them with the tagger's tag of the original word.
        noun_verb: whether nouns and verbs may replace each other, as in the released code of Jin et
            al. 2020; needs `tagset: upos`.
        view: which text of a pair is tagged: its own text, or both texts joined (TextAttack).

    Raises:
        InputError: when first used: NLTK's tagger data is missing.
    """

    is_model = True
    without_tags = "set `reference: tagger` for it in the recipe"
    loads = ("_tagger",)

    def __init__(
        self,
        *,
        reference: Literal["corpus", "tagger"] = "corpus",
        tagset: Tagset | None = None,
        noun_verb: bool = False,
        view: View = "text",
    ) -> None:
        check_choice("tagger: reference", reference, ("corpus", "tagger"))
        check_tagset("tagger", tagset)
        check_choice("tagger: view", view, get_args(View))
        if noun_verb and tagset != "upos":
            raise InputError(
                f"compares parts of speech, got tagset: {tagset}",
                key="tagger: noun_verb",
                remedy="set `tagset: upos`, or leave noun_verb out",
            )
        self.tagset, self.noun_verb, self.reference, self.view = tagset, noun_verb, reference, view
        self.reads_tags = reference == "corpus"

    @property
    def looked_at(self) -> Tagset | None:
        """See `Component.looked_at`; parts of speech follow from either tagset."""
        return None if self.tagset == "upos" else self.tagset

    def accept(self, slots: Sequence[Slot], candidates: Words, victim: Victim) -> Masks:
        """See `Constraint.accept`."""
        # The word itself comes first, which gives its tag in the original sentence.
        words = [[slot.word, *some] for slot, some in zip(slots, candidates, strict=True)]
        seen = [slot.seen(self.view) for slot in slots]
        tags = self._tagger.substituted([(s.sentence.words, s.position) for s in seen], words)
        masks = []
        for slot, (original, *new_tags) in zip(slots, tags, strict=True):
            tag = self._expected(slot, original)
            masks.append(np.array([self._same(tag, new) for new in new_tags], dtype=np.bool_))
        return masks

    def warnings(self, examples: Sequence[Example]) -> Iterator[str]:
        """Yield how many sentences lack the Penn tags that are compared."""
        if not self.reads_tags or self.tagset is not None:
            return
        if lacking := sum(example.sentence.tagset == "upos" for example in examples):
            yield (
                f"{lacking} of {len(examples)} sentences have no Penn tags in column 5; their "
                "candidates must have the tag that NLTK's tagger gives the original word"
            )

    def _expected(self, slot: Slot, from_tagger: str) -> str:
        """Return the tag that candidates must have, from the corpus or from the tagger."""
        tagset, tag = slot.tagged(self.looked_at)
        no_penn_tag = tag and tagset == "upos" and self.tagset != "upos"
        return from_tagger if not self.reads_tags or no_penn_tag else tag

    def _same(self, tag: str, new: str) -> bool:
        """Tell whether a candidate with the Penn tag `new` may replace a word with this tag."""
        if not tag or self.tagset != "upos":
            return new == tag
        return interchangeable(tag, new, self.noun_verb)

    @cached_property
    def _tagger(self) -> PerceptronTags:
        return PerceptronTags.load()
