"""NLTK's averaged perceptron tagger, evaluated for many one-word changes at once.

The tagger goes from left to right; a word's tag depends on the two words on either side and the two
tags before it. A change at position i therefore leaves all tags before i - 2 unchanged, and the tag
at i follows from re-tagging only i - 2, i - 1 and i. The result equals that of tagging the whole
changed sentence exactly, since weights are added in NLTK's order.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from robustparse.errors import nltk_data
from robustparse.types import Indices, Sentence

_CONTEXT = ("-START-", "-START2-", "-END-", "-END2-")
_DATA = "averaged_perceptron_tagger_eng"
_ROWS_AT_ONCE = 4096  # rows whose scores stay in the processor's cache

# The tagger's features of a neighbour, in NLTK's order: its word or suffix, and its offset.
_NEIGHBOURS = {
    **{"i-1 word": -1, "i-1 suffix": -1, "i-2 word": -2},
    **{"i+1 word": 1, "i+1 suffix": 1, "i+2 word": 2},
}


class PerceptronTags:
    """Tags changed sentences.

    Args:
        weights: feature -> tag -> weight.
        tag_dict: words that always have the same tag.
        classes: all tags.
    """

    def __init__(
        self,
        weights: Mapping[str, Mapping[str, float]],
        tag_dict: Mapping[str, str],
        classes: Sequence[str],
    ) -> None:
        # Sorted, since NLTK breaks ties in favour of the alphabetically last tag.
        self._classes = sorted(classes)
        self._class_id = {tag: number for number, tag in enumerate(self._classes)}
        self._certain = {word: self._class_id[tag] for word, tag in tag_dict.items() if tag}
        self._row = {feature: row for row, feature in enumerate(weights)}
        # The last row, all zero, belongs to features that were not seen in training.
        self._weights = np.zeros((len(weights) + 1, len(self._classes)))
        for row, by_tag in enumerate(weights.values()):
            for tag, weight in by_tag.items():
                self._weights[row, self._class_id[tag]] = weight
        names = [*self._classes, "-START-", "-START2-"]
        self._tag_names = names
        self._tag_rows = self._rows([f"i-1 tag {tag}" for tag in names])
        self._tag2_rows = self._rows([f"i-2 tag {tag}" for tag in names])
        self._pair_rows = self._rows(
            [f"i tag+i-2 tag {tag} {before}" for tag in names for before in names]
        ).reshape(len(names), len(names))

    @classmethod
    def load(cls) -> "PerceptronTags":
        """Load the English tagger from NLTK's data folders."""
        from nltk.tag.perceptron import PerceptronTagger

        with nltk_data("tagger", f"taggers/{_DATA}"):
            tagger = PerceptronTagger()
        return cls(tagger.model.weights, tagger.tagdict, list(tagger.classes))

    def tagged(self, texts: Sequence[tuple[str, ...]]) -> list[Sentence]:
        """Tag the words of texts."""
        text = _Text(self, texts, [])
        tags = self._tag_all(text)
        sentences = []
        for words, begin in zip(texts, text.offsets, strict=True):
            numbers = tags[begin : begin + len(words)].tolist()
            sentences.append(Sentence(words, xpos=tuple(self._classes[tag] for tag in numbers)))
        return sentences

    def substituted(
        self,
        occurrences: Sequence[tuple[tuple[str, ...], int]],
        candidates: Sequence[Sequence[str]],
    ) -> list[list[str]]:
        """Return the tag of each candidate in the changed sentence.

        Args:
            occurrences: (words of the sentence, position to change).
            candidates: the new words, one list per occurrence.
        """
        sentences = list(dict.fromkeys(words for words, _ in occurrences))
        text = _Text(self, sentences, candidates)
        tags = self._tag_all(text)
        offset = dict(zip(sentences, text.offsets, strict=True))
        counts = [len(words) for words in candidates]
        centre = np.repeat([offset[words] + position for words, position in occurrences], counts)
        candidate = text.ids([word for words in candidates for word in words])
        new_tags = text.certain[candidate]
        for begin in range(0, len(candidate), _ROWS_AT_ONCE):
            rows = begin + np.flatnonzero(new_tags[begin : begin + _ROWS_AT_ONCE] < 0)
            new_tags[rows] = self._tag_centres(text, tags, centre[rows], candidate[rows])
        names = [self._classes[tag] for tag in new_tags.tolist()]
        ends = np.cumsum(counts).tolist()
        return [names[end - count : end] for count, end in zip(counts, ends, strict=True)]

    def _tag_all(self, text: "_Text") -> Indices:
        """Tag the unchanged sentences, one position of all sentences at a time."""
        tags = np.full(len(text.words), -1, dtype=np.int64)
        first = np.array(text.offsets, dtype=np.int64)
        tags[first - 1] = len(self._classes)  # -START- is the tag before the first word,
        tags[first - 2] = len(self._classes) + 1  # -START2- the one before that
        lengths = np.array(text.lengths, dtype=np.int64)
        for position in range(int(lengths.max(initial=0))):
            at = first[lengths > position] + position
            window = [text.words[at + shift] for shift in range(-2, 3)]
            tags[at] = self._predict(text, window, tags[at - 1], tags[at - 2])
        return tags

    def _tag_centres(
        self, text: "_Text", tags: Indices, centre: Indices, candidate: Indices
    ) -> Indices:
        """Tag candidates `(rows,)` put at `centre (rows,)`."""
        before2, before = tags[centre - 4], tags[centre - 3]
        for step in (-2, -1, 0):
            at = centre + step
            tag = tags[at]
            inside = np.flatnonzero(tag < len(self._classes))
            window = [
                candidate[inside] if step + shift == 0 else text.words[at[inside] + shift]
                for shift in range(-2, 3)
            ]
            tag[inside] = self._predict(text, window, before[inside], before2[inside])
            before2, before = before, tag
        return before

    def _predict(
        self, text: "_Text", window: Sequence[Indices], before: Indices, before2: Indices
    ) -> Indices:
        """Tag words, given two neighbours on either side and the two tags before, `(rows,)`."""
        word = window[2]
        features = (
            text.bias,
            text.suffix[word],
            text.prefix[word],
            self._tag_rows[before],
            self._tag2_rows[before2],
            self._pair_rows[before, before2],
            text.context["i word"][word],
            text.tag_word_rows(before, word),
            *(text.context[name][window[2 + at]] for name, at in _NEIGHBOURS.items()),
        )
        scores = np.zeros((len(word), len(self._classes)))
        for rows in features:
            scores += self._weights[rows]
        last_best = len(self._classes) - 1 - scores[:, ::-1].argmax(axis=1)
        certain = text.certain[word]
        return np.where(certain >= 0, certain, last_best)

    def _rows(self, features: Sequence[str]) -> Indices:
        missing = len(self._row)
        return np.array([self._row.get(feature, missing) for feature in features], dtype=np.int64)


class _Text:
    """Sentences with two marks on either side as one array of word ids, and their features."""

    def __init__(
        self,
        tagger: PerceptronTags,
        sentences: Sequence[tuple[str, ...]],
        candidates: Sequence[Sequence[str]],
    ) -> None:
        forms = dict.fromkeys(word for words in (*sentences, *candidates) for word in words)
        self._number = {word: number for number, word in enumerate(forms, start=len(_CONTEXT))}
        plain = [*_CONTEXT, *forms]
        self._normal = [*_CONTEXT, *map(_normal, forms)]
        self._tagger = tagger
        rows = tagger._rows
        self.certain = np.array([-1] * 4 + [tagger._certain.get(word, -1) for word in forms])
        self.bias = rows(["bias"])
        self.suffix = rows([f"i suffix {word[-3:]}" for word in plain])
        self.prefix = rows([f"i pref1 {word[:1]}" for word in plain])
        suffixes = [word[-3:] for word in self._normal]
        self.context = {
            name: rows([f"{name} {part}" for part in (suffixes if "suf" in name else self._normal)])
            for name in ("i word", *_NEIGHBOURS)
        }
        self.offsets: list[int] = []
        self.lengths = [len(words) for words in sentences]
        flat: list[int] = []
        for words in sentences:
            self.offsets.append(len(flat) + 2)
            flat += [0, 1, *(self._number[word] for word in words), 2, 3]
        self.words = np.array(flat, dtype=np.int64)

    def ids(self, words: Sequence[str]) -> Indices:
        """Return the numbers of words, `(words,)`."""
        return np.array([self._number[word] for word in words], dtype=np.int64)

    def tag_word_rows(self, before: Indices, word: Indices) -> Indices:
        """Return the weight rows of the feature (previous tag, word)."""
        pairs, inverse = np.unique(before * len(self._normal) + word, return_inverse=True)
        names, normal = self._tagger._tag_names, self._normal
        features = [
            f"i-1 tag+i word {names[pair // len(normal)]} {normal[pair % len(normal)]}"
            for pair in pairs.tolist()
        ]
        return self._tagger._rows(features)[inverse]


def _normal(word: str) -> str:
    """Normalise a word as NLTK does: hyphenated words, years and numbers become one word each."""
    if "-" in word and word[0] != "-":
        return "!HYPHEN"
    if word.isdigit() and len(word) == 4:
        return "!YEAR"
    if word and word[0].isdigit():
        return "!DIGITS"
    return word.lower()
