"""The vocabulary of a training set, as plain lists that a checkpoint can hold."""

from collections import Counter, defaultdict
from collections.abc import Iterable, KeysView, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from robustparse.errors import InputError
from robustparse.grammars import language_named
from robustparse.grammars.sketches import sketch_of
from robustparse.types import DependencyTree, Example, LogicalForm

TAGGED_FROM = 2  # occurrences of a word in ``Vocabulary.tagged``
_OF_TAGGED = {"tags", "universal", "analyses"}  # lists with an item for each of ``tagged``
T = TypeVar("T", bound=str | tuple[str, ...])
Analysis = tuple[str, str]
"""A universal tag, `_` without one, and morphological features."""


@dataclass(frozen=True)
class Vocabulary:
    """Words, characters, tags and labels of a training set.

    Words and characters are ordered by frequency, the most frequent first; tags, labels and sketch
    tokens by name, so that models trained on the same answers number them equally.

    Args:
        words: lower-cased words.
        tagged: lower-cased words seen at least twice.
        tags: for each word of ``tagged`` its most frequent tag in column 5, such as a Penn tag
            (the dictionary of Zheng et al. 2020 for the part-of-speech constraint), or an empty
            string.
        characters: single characters, with case.
        xpos: tags of column 5, and universal tags of sentences without them.
        labels: the labels of gold answers: dependency labels, classes, or tokens of logical forms.
        universal: for each word of ``tagged`` its most frequent universal tag, or an empty string.
        languages: languages of the logical forms.
        sketches: tokens of the sketches of logical forms.
        root_labels: the dependency labels of words with head 0, if no other word has such a label
            (``root`` in Universal Dependencies); otherwise empty.
        analyses: for each word of ``tagged`` its analyses as lines, the most frequent first: a
            universal tag, a tab and features; empty if the training set has no features.
        counts: the frequency of each of ``words``, and last, the sum of all rarer words. It is not
            in checkpoints; modules that need it keep it with their weights.
    """

    words: tuple[str, ...]
    tagged: tuple[str, ...]
    tags: tuple[str, ...]
    characters: tuple[str, ...]
    xpos: tuple[str, ...]
    labels: tuple[str, ...]
    universal: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    sketches: tuple[str, ...] = ()
    root_labels: tuple[str, ...] = ()
    analyses: tuple[str, ...] = ()
    counts: tuple[int, ...] = field(default=(), compare=False)

    @classmethod
    def from_examples(cls, examples: Iterable[Example], min_count: int = 2) -> "Vocabulary":
        """Count a training set; leave out words rarer than ``min_count`` (2, Zheng et al.)."""
        words: Counter[str] = Counter()
        tags: dict[str, Counter[str]] = defaultdict(Counter)
        universal: dict[str, Counter[str]] = defaultdict(Counter)
        characters: Counter[str] = Counter()
        languages: Counter[str] = Counter()
        xpos, labels, sketches = set[str](), set[str](), set[str]()
        below_root, elsewhere = set[str](), set[str]()
        analyses: dict[str, Counter[Analysis]] = defaultdict(Counter)
        for example in examples:
            lowered = [word.lower() for word in example.sentence.words]
            words.update([*lowered, *map(str.lower, example.sentence.context)])
            characters.update("".join(example.sentence.words + example.sentence.context))
            sentence = example.sentence
            for counts, of_words in ((tags, sentence.xpos), (universal, sentence.upos)):
                for word, tag in zip(lowered, of_words, strict=False):
                    counts[word][tag] += 1
            for word, analysis in zip(lowered, example.sentence.analyses, strict=False):
                analyses[word][analysis] += 1
            xpos.update(example.sentence.tags)
            labels.update(labels_of(example.gold))
            if isinstance(example.gold, DependencyTree):
                for head, label in zip(example.gold.heads, example.gold.labels, strict=True):
                    (elsewhere if head else below_root).add(label)
            if isinstance(example.gold, LogicalForm):
                languages[example.gold.language] += 1
                language = language_named(example.gold.language)
                sketches.update(sketch_of(language.parse(example.gold), language))
        kept = [(word, count) for word, count in _ranked(words) if count >= min_count]
        exclusive = elsewhere and below_root.isdisjoint(elsewhere)
        rare = words.total() - sum(count for _, count in kept)
        tagged = [word for word, count in _ranked(words) if count >= TAGGED_FROM]
        return cls(
            words=tuple(word for word, _ in kept),
            tagged=tuple(tagged),
            tags=_usual(tagged, tags),
            characters=tuple(character for character, _ in _ranked(characters)),
            xpos=tuple(sorted(xpos)),
            labels=tuple(sorted(labels)),
            universal=_usual(tagged, universal),
            languages=tuple(language for language, _ in _ranked(languages)),
            sketches=tuple(sorted(sketches)),
            root_labels=tuple(sorted(below_root)) if exclusive else (),
            analyses=_analyses(tagged, analyses),
            counts=(*(count for _, count in kept), rare),
        )

    def to_lists(self) -> dict[str, list[str]]:
        """Return plain lists, which ``torch.load(weights_only=True)`` accepts."""
        return {name: list(getattr(self, name)) for name in self._listed()}

    @classmethod
    def from_lists(cls, lists: Mapping[str, list[str]]) -> "Vocabulary":
        """Return the inverse of ``to_lists``.

        Raises:
            InputError: a list is missing or unknown, or holds a text twice.
        """
        fields = set(cls._listed())
        if set(lists) != fields:
            expected = ", ".join(sorted(fields))
            raise InputError(f"holds {sorted(lists)}", key="vocabulary", expected=expected)
        for name in fields - _OF_TAGGED:
            if repeated := [text for text, count in Counter(lists[name]).items() if count > 1]:
                problem = f"{name}: {repeated[0]!r} appears twice"
                raise InputError(problem, key="vocabulary", expected="distinct texts")
        return cls(**{name: tuple(values) for name, values in lists.items()})  # type: ignore[arg-type]

    @classmethod
    def _listed(cls) -> list[str]:
        return [name for name in cls.__dataclass_fields__ if name != "counts"]

    @cached_property
    def training_tags(self) -> dict[str, dict[str, str]]:
        """Map each tagset to {word: most frequent tag}, with lower-cased words."""
        return {
            tagset: {word: tag for word, tag in zip(self.tagged, tags, strict=False) if tag}
            for tagset, tags in (("xpos", self.tags), ("upos", self.universal))
        }

    @cached_property
    def training_features(self) -> dict[str, frozenset[Analysis]]:
        """Map lower-cased words to their analyses in the training set."""
        features = {}
        for word, lines in zip(self.tagged, self.analyses, strict=False):
            if lines:
                pairs = (line.partition("\t") for line in lines.split("\n"))
                features[word] = frozenset((tag, feats) for tag, _, feats in pairs)
        return features

    @property
    def training_words(self) -> KeysView[str]:
        """Lower-cased words seen at least twice, the most frequent first."""
        return self._training_words.keys()

    @cached_property
    def _training_words(self) -> dict[str, None]:
        return dict.fromkeys(self.tagged)

    @cached_property
    def held(self) -> frozenset[str]:
        """The lower-cased words of ``words`` and ``tagged``."""
        return frozenset(self.words) | frozenset(self.tagged)

    @cached_property
    def label_ids(self) -> dict[str, int]:
        """Map labels to ids."""
        return {label: index for index, label in enumerate(self.labels)}


def _ranked(counts: Counter[T]) -> list[tuple[T, int]]:
    """Sort by falling count, ties by name, so that the order of the file does not matter."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _usual(words: Sequence[str], tags: Mapping[str, Counter[str]]) -> tuple[str, ...]:
    """Return the most frequent tag of each word, or an empty one."""
    return tuple(_ranked(tags[word])[0][0] if tags[word] else "" for word in words)


def _analyses(words: Sequence[str], analyses: Mapping[str, Counter[Analysis]]) -> tuple[str, ...]:
    """Return the analyses of each word as lines; empty if no word has any."""
    if not analyses:
        return ()
    ranked = (_ranked(analyses[word]) if word in analyses else () for word in words)
    return tuple("\n".join("\t".join(pair) for pair, _ in of_word) for of_word in ranked)


def labels_of(gold: DependencyTree | str) -> tuple[str, ...]:
    """Return the labels in a gold answer."""
    if isinstance(gold, LogicalForm):
        return tuple(gold.split())
    return (gold,) if isinstance(gold, str) else gold.labels
