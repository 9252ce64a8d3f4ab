"""The new word must have the part of speech of the original word, tagged in the current sentence.

Jin et al. 2020 keep only candidates with the same part of speech. In their released code, the
original word is tagged in the original text and the candidate in the current text, with four words
on either side.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import compress

import numpy as np

from robustparse.attacks.candidates.generator import is_word
from robustparse.attacks.constraints.sentence_constraint import Edit, Recent, SentenceConstraint
from robustparse.attacks.constraints.tagging.perceptron import PerceptronTags
from robustparse.errors import check_least
from robustparse.tagsets import interchangeable
from robustparse.types import Mask

_REMEMBERED = 1 << 16  # tags of original words

Occurrence = tuple[tuple[str, ...], int]
"""The words of a text and a position in it."""


class CurrentTag(SentenceConstraint):
    """NLTK's tagger must give the new word the same part of speech as the original word.

    Inserted, merged and omitted words have no original word, so they are not judged.

    The new word is tagged in the *current* sentence, other changes included; the original word is
    tagged in the whole *original* sentence. `TaggerTag` with `reference: tagger` instead ignores
    other changes and is applied only once per candidate.

    Args:
        window: words on either side of the change that the tagger sees (4, the released code of
            Jin et al. 2020); None: the whole sentence.
        whole: sentences of at most N words are tagged whole, regardless of the window (10 there).
        noun_verb: whether nouns and verbs may replace each other (their code; their paper requires
            the same part of speech).

    Raises:
        InputError: a setting is below 0; when first used: NLTK's tagger data is missing.
    """

    loads = ("_tagger",)

    def __init__(self, *, window: int | None = 4, whole: int = 10, noun_verb: bool = False) -> None:
        check_least("current tag", 0, window=window, whole=whole)
        self.window, self.whole, self.noun_verb = window, whole, noun_verb
        self._originals: Recent[Occurrence, str] = Recent(_REMEMBERED)

    def admits(self, edits: Sequence[Edit]) -> Mask:
        """See `SentenceConstraint.admits`."""
        judged = np.array([is_word(edit.word) for edit in edits], dtype=np.bool_)
        edits = [*compress(edits, judged.tolist())]
        old = self._originals.of([(e.sentence.words, e.position) for e in edits], self._tags_at)
        # Most edits of a call share their current sentence, so each is looked at once.
        sentences = {id(edit.current): edit.current for edit in edits}
        uneven = {key for key, words in sentences.items() if len(_words(words)) != len(words)}
        new = self._tagger.substituted(
            [self._seen(edit, id(edit.current) in uneven) for edit in edits],
            [[edit.word] for edit in edits],
        )
        pairs = zip(old, new, strict=True)
        admitted = ~judged
        admitted[judged] = [
            interchangeable(tag, of_new, self.noun_verb) for tag, (of_new,) in pairs
        ]
        return admitted

    def _seen(self, edit: Edit, uneven: bool) -> Occurrence:
        """Return the words that the tagger reads, and the position of the changed word in them.

        In an `uneven` sentence, words were inserted, merged or left out.
        """
        words, at = edit.current, edit.position
        if uneven:
            before = _words(words[:at])
            words, at = (*before, edit.word, *_words(words[at + 1 :])), len(before)
        if self.window is None or len(words) <= self.whole:
            return words, at
        begin = max(0, at - self.window)
        return words[begin : at + self.window + 1], at - begin

    def _tags_at(self, occurrences: Sequence[Occurrence]) -> list[str]:
        """Tag words in their texts."""
        tags = self._tagger.substituted(occurrences, [[words[at]] for words, at in occurrences])
        return [tag for (tag,) in tags]

    @cached_property
    def _tagger(self) -> PerceptronTags:
        return PerceptronTags.load()


def _words(changed: Sequence[str]) -> list[str]:
    """Return the words of a changed sentence, in which phrases and omitted words have a place."""
    return " ".join(changed).split()
