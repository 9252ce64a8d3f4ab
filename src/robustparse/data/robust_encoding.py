"""A robust encoding: words that may replace each other are read as one (Jones et al., ACL 2020).

The words of a substitution table and a training text are divided into clusters. A model with an
encoding reads the code of a word, its cluster's most frequent training word, and nothing else of
the word. A substitution inside a cluster then changes nothing that the model reads.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, get_args

from robustparse.casing import Casing, cased, casing_of
from robustparse.data.vocab import TAGGED_FROM, Vocabulary
from robustparse.errors import InputError, located
from robustparse.files.json_text import decode_json
from robustparse.files.reading import read_lines
from robustparse.files.writing import write_text

Clusters = Mapping[str, Mapping[str, int]]
"""Maps each representative to the words of its cluster and their frequencies in training."""

_REMEDY = "make the encoding again with `robustparse encode`"
_KEYS = {"code", "words"}


@dataclass(frozen=True)
class Encoding:
    """Clusters of words, each with a representative.

    A file has a line for the settings that made the encoding, a JSON object, and then one for each
    cluster: `{"code": "big", "words": {"big": 80, "large": 31, "sizeable": 0}}`.

    Args:
        clusters: for each representative the lower-cased words of its cluster, itself among them,
            with their frequencies in the training text (0 for other words). Words that are alone in
            their cluster may be left out.
        settings: what made the encoding, such as the digest of the substitution table.

    Raises:
        InputError: a cluster lacks its representative, a word is not lower-cased or belongs to two
            clusters, or a frequency is not an integer >= 0.
    """

    clusters: Clusters
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the clusters, which may come from a checkpoint of unknown origin."""
        taken: set[str] = set()
        for representative, words in self.clusters.items():
            _check_cluster(representative, words, taken)

    def code(self, word: str) -> str:
        """Return what a model reads instead of a word.

        This is the representative of the word's cluster in the casing of the word, or the word
        itself if it is unknown or alone in its cluster. Words that may be exchanged in a text have
        equal codes if they belong to the same cluster, see `_casings`.
        """
        forms = self._forms.get(word.lower())
        return word if forms is None else forms[casing_of(word)]

    @cached_property
    def _forms(self) -> dict[str, dict[Casing, str]]:
        """Map each word of a cluster to its code in each casing."""
        forms: dict[str, dict[Casing, str]] = {}
        for representative, words in self.clusters.items():
            if len(words) > 1:
                casings = _casings(list(words))
                cases = {case: cased(representative, casings[case]) for case in casings}
                forms |= dict.fromkeys(words, cases)
        return forms

    def without(self, words: Collection[str]) -> "Encoding":
        """Return the encoding in which these lower-cased words have codes of their own."""
        kept = [
            {word: count for word, count in of_cluster.items() if word not in words}
            for of_cluster in self.clusters.values()
        ]
        return Encoding({_representative(rest): rest for rest in kept if rest}, self.settings)

    def vocabulary(self, vocabulary: Vocabulary) -> Vocabulary:
        """Return the vocabulary of the encoded training text, for the layers of an encoder.

        The codes of known words come first. They are followed by representatives that are too rare
        to be known, while their clusters together are seen at least twice. A code has the counts of
        all words of its cluster. Everything but words and counts stays as it is.
        """
        of_known = [self.code(word) for word in vocabulary.words]
        known = dict.fromkeys(of_known, 0)
        rare = {
            representative: sum(words.values())
            for representative, words in sorted(self.clusters.items())
            if len(words) > 1 and representative not in known
        }
        rare = {word: count for word, count in rare.items() if count >= TAGGED_FROM}
        words = (*known, *rare)
        if not vocabulary.counts:
            return replace(vocabulary, words=words)
        *counts, rest = vocabulary.counts
        for code, count in zip(of_known, counts, strict=True):
            known[code] += count
        rest = max(0, rest - sum(rare.values()))
        return replace(vocabulary, words=words, counts=(*known.values(), *rare.values(), rest))

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the clusters, whatever the settings."""
        content = "".join(self._lines()[1:])
        return hashlib.sha256(content.encode()).hexdigest()

    def to_lists(self) -> list[dict[str, int]]:
        """Return the words of each cluster, its representative first, for a checkpoint."""
        return [{code: words[code]} | dict(words) for code, words in self.clusters.items()]

    @classmethod
    def from_lists(cls, lists: Sequence[Mapping[str, int]]) -> Self:
        """Return the inverse of ``to_lists``, without settings.

        Raises:
            InputError: see `Encoding`.
        """
        if not isinstance(lists, list) or not all(words and type(words) is dict for words in lists):
            raise InputError("not a list of clusters", key="clusters", remedy=_REMEDY)
        return cls({next(iter(words)): words for words in lists})

    def write(self, path: str | Path) -> None:
        """Write the encoding to a file; clusters and their words are in alphabetical order."""
        write_text(Path(path), "".join(self._lines()))

    def _lines(self) -> list[str]:
        rows = [
            {"code": code, "words": dict(sorted(self.clusters[code].items()))}
            for code in sorted(self.clusters)
        ]
        return [f"{json.dumps(row, ensure_ascii=False)}\n" for row in (dict(self.settings), *rows)]

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read an encoding.

        Raises:
            InputError: the file cannot be read, or names the line that is no cluster.
        """
        path = Path(path).expanduser()
        lines = read_lines(path)
        settings = decode_json(next(lines)[1], dict, path=path, line=1, remedy=_REMEDY)
        if _KEYS & set(settings):
            problem = "holds a cluster"
            raise InputError(problem, path=path, line=1, expected="settings", remedy=_REMEDY)
        clusters: dict[str, Mapping[str, int]] = {}
        taken: set[str] = set()
        for line, text in lines:
            row = decode_json(text, dict, path=path, line=line, remedy=_REMEDY)
            with located(path, line):
                if set(row) != _KEYS:
                    expected = "a code and the words of its cluster"
                    raise InputError("not a cluster", expected=expected, remedy=_REMEDY)
                _check_cluster(row["code"], row["words"], taken)
            clusters[row["code"]] = row["words"]
        if not clusters:  # such as a lexicon, one JSON object
            expected = "a line of settings, then one for each cluster"
            raise InputError("no cluster", path=path, expected=expected, remedy=_REMEDY)
        return cls(clusters, settings)


def _representative(words: Mapping[str, int]) -> str:
    """Return the most frequent word of a cluster; on ties, the first by name."""
    return min(words, key=lambda word: (-words[word], word))


def _casings(words: Sequence[str]) -> dict[Casing, Casing]:
    """Return the casing of the code for each casing of a word of this cluster.

    A substitute takes the casing of the word that it replaces, but not every word shows every
    casing: ``i`` for ``ME`` is written ``I`` as for ``Me``, and ``9`` is the same for ``NINE``,
    ``Nine`` and ``nine``. Casings that a word of the cluster does not distinguish are one for the
    whole cluster, so that ``ME``, ``Me`` and ``I`` have the same code. A mixed casing, such as that
    of ``iPhone``, counts as lower, which is how its substitutes are written.
    """
    rank: dict[Casing, int] = {casing: place for place, casing in enumerate(get_args(Casing))}
    merged: dict[Casing, Casing] = {casing: casing for casing in rank} | {"mixed": "lower"}
    for word in words:
        for casing in rank:
            form = cased(word, casing)
            # Some letters change when they are cased ("ß" is "SS"): this form is another word.
            if form.lower() == word:
                pair = merged[casing], merged[casing_of(form)]
                low = min(pair, key=rank.__getitem__)
                merged = {each: low if of in pair else of for each, of in merged.items()}
    return merged


def _check_cluster(representative: object, words: object, taken: set[str]) -> None:
    """Check a cluster from a file, and that its words are not taken yet; then take them."""
    if not isinstance(representative, str) or not isinstance(words, Mapping) or not words:
        expected = "a word, and a mapping from words to frequencies"
        raise InputError("not a cluster", expected=expected, remedy=_REMEDY)
    if representative not in words:
        problem = f"the words of {representative!r:.60} do not include it"
        raise InputError(problem, remedy=_REMEDY)
    for word, count in words.items():
        if not isinstance(word, str) or word.split() != [word] or word != word.lower():
            raise InputError(f"{word!r:.60} is not a lower-cased word", remedy=_REMEDY)
        if type(count) is not int or count < 0:
            problem = f"{word!r:.60} has the frequency {count!r:.40}"
            raise InputError(problem, expected="an integer >= 0", remedy=_REMEDY)
        if word in taken:
            raise InputError(f"{word!r:.60} is in two clusters", remedy=_REMEDY)
        taken.add(word)
