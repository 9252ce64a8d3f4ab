"""The data every part of robustparse speaks in: frozen, plain, without behaviour beyond checks."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sentence:
    """A list of words with their tags; ROOT is not part of it.

    Args:
        words: the forms, in order.
        upos: universal part-of-speech tags, one a word, or empty where the sentence has none.
        xpos: Penn tags, one a word, or empty.
    """

    words: tuple[str, ...]
    upos: tuple[str, ...] = ()
    xpos: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.words)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags a parser reads: Penn tags, or universal ones if this sentence has no others."""
        return self.xpos or self.upos


@dataclass(frozen=True, slots=True)
class DependencyTree:
    """The parse of a sentence of n words.

    Args:
        heads: n integers in 0..n, the head of each word; words count from 1, 0 is ROOT.
        labels: n dependency labels.
    """

    heads: tuple[int, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence with its gold parse.

    Args:
        id: position in its file, from 0. Random choices follow from (seed, id).
        sentence: the words and tags.
        gold: the gold parse.
        block: the sentence's lines as they stand in its file (comments, ranges and empty nodes
            included), so that a writer can restore what a parse leaves out; empty if made in
            memory.
    """

    id: int
    sentence: Sentence
    gold: DependencyTree
    block: str = ""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A parser's answer for one sentence.

    Args:
        id: the example's id.
        tree: the predicted parse.
    """

    id: int
    tree: DependencyTree

    def to(self, *_: object, **__: object) -> "Prediction":
        """Itself: Lightning moves to the CPU all that a step returns."""
        return self
