"""The new word must keep the part of speech of the old one, in the sentence as changed so far.

Jin et al. 2020 only keep candidates of the same part of speech. Their released code says in which
text: the original word is tagged in the original text, a candidate in the text as the attack has
changed it, of which the tagger sees four words on either side.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from robustparse.attacks.constraints.sentence_constraint import Edit, Recent, SentenceConstraint
from robustparse.attacks.constraints.tagging.parts_of_speech import interchangeable
from robustparse.attacks.constraints.tagging.perceptron import PerceptronTags
from robustparse.errors import check_least
from robustparse.types import Mask

_REMEMBERED = 1 << 16  # tags of original words

Place = tuple[tuple[str, ...], int]
"""The words of a text, and a position in it."""


class CurrentTag(SentenceConstraint):
    """NLTK's tagger gives the new word the part of speech that it gave the original one.

    The new word is tagged in the *current* sentence, other changes included; the word that it
    stands for is tagged in the whole *original* sentence. `TaggerTag` with `reference: tagger` sees
    only the one change; this constraint sees all of them, and is asked again in each state.

    Args:
        window: words on either side of the change that the tagger sees (4, the released code of
            Jin et al. 2020); None shows it the whole sentence.
        whole: sentences of at most N words are tagged whole, whatever the window (10 there).
        noun_verb: whether a noun may replace a verb and a verb a noun too (their code; their paper
            wants the same part of speech).

    Raises:
        InputError: a setting is below 0; when first used: NLTK's tagger data is missing.
    """

    def __init__(self, *, window: int | None = 4, whole: int = 10, noun_verb: bool = False) -> None:
        check_least("current tag", 0, window=window, whole=whole)
        self.window, self.whole, self.noun_verb = window, whole, noun_verb
        self._own: Recent[Place, str] = Recent(_REMEMBERED)

    def admits(self, edits: Sequence[Edit]) -> Mask:
        """See `SentenceConstraint.admits`."""
        own = self._own.of([(e.sentence.words, e.position) for e in edits], self._tags_at)
        found = self._tagger.substituted(
            [self._seen(edit) for edit in edits], [[edit.word] for edit in edits]
        )
        pairs = zip(own, found, strict=True)
        kept = [interchangeable(tag, other, self.noun_verb) for tag, (other,) in pairs]
        return np.array(kept, dtype=np.bool_)

    def _seen(self, edit: Edit) -> Place:
        """Return what the tagger sees of the current sentence, and where in it the change is."""
        words, at = edit.current, edit.position
        if self.window is None or len(words) <= self.whole:
            return words, at
        begin = max(0, at - self.window)
        return words[begin : at + self.window + 1], at - begin

    def _tags_at(self, places: Sequence[Place]) -> list[str]:
        """Tag the words at some places of their texts."""
        tags = self._tagger.substituted(places, [[words[at]] for words, at in places])
        return [tag for (tag,) in tags]

    @cached_property
    def _tagger(self) -> PerceptronTags:
        return PerceptronTags.load()
