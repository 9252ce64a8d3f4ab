"""Edit the lines of a sentence in a treebank: change its parse or words, drop or reorder words.

A file of edited sentences passes the validator of Universal Dependencies wherever its source does:

- Enhanced dependencies (column 9) and empty nodes are left out together: they belong to the parse
  of the source.
- A multiword token whose words change becomes the new words joined, if it was the old words joined
  (can not, cannot). It is left out otherwise (French de le, du), and also if its words are no
  longer adjacent or one of them loses an apostrophe (do n't, don't).
- ``SpaceAfter=No`` and the ``text`` comment are updated. Words that stay adjacent keep the blanks
  between them, including no-break spaces, and punctuation stays attached on the same side. Other
  words are separated by a space, except in sentences without spaces.
- A changed word loses its lemma and features, unless only its casing changes, and everything in
  column 10 except spaces and coreference. A changed sentence loses its transliteration, its
  translations and its character offsets.

CoNLL-X has the same first eight columns, but none of these annotations; none are added.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from robustparse.data.conllu import TREEBANKS, is_word
from robustparse.types import DependencyTree, Example

_ID, _FORM, _LEMMA, _FEATS, _HEAD, _LABEL, _GRAPH, _MISC = 0, 1, 2, 5, 6, 7, 8, 9
_GLUED = "SpaceAfter=No"
# Keys of column 10 that remain valid when a word is replaced.
_SPACES = {"SpaceAfter", "SpacesAfter", "SpacesBefore"}
_COREFERENCE = {"Entity", "Bridge", "SplitAnte"}
_CHARACTER_POSITIONS = {"TokenRange", "start_char", "end_char"}

_TEXT = re.compile(r"#\s*text\s*=\s*(.*)")
_ABOUT_THE_TEXT = re.compile(r"#\s*(text_\w+|translit\w*)\s*=")
_SENTENCE_ID = re.compile(r"#\s*sent_id\s*=\s*(\S+)")
_ABOUT_THE_FILE = re.compile(r"#\s*(newdoc|newpar|parallel_id)\b")


def with_parse(block: str, tree: DependencyTree, words: Sequence[str] | None = None) -> str:
    """Replace the parse in the lines of a sentence, and its forms if ``words`` is set.

    Args:
        block: lines of a checked sentence, as in ``Example.block``.
        tree: the new parse.
        words: the new forms, one per word.
    """
    lines = _Lines.of(block)
    if words is not None:
        lines = lines.reworded(words)
    for row, head, label in zip(lines.words, tree.heads, tree.labels, strict=True):
        row[_HEAD], row[_LABEL] = str(head), label
    return lines.joined()


def with_column(
    block: str,
    column: int,
    values: Sequence[str],
    words: Sequence[str] | None = None,
    key: str = "",
) -> str:
    """Replace a column in the lines of a sentence, and its forms if ``words`` is set.

    Args:
        block: as in ``with_parse``.
        column: the column, from 0.
        values: the new values, one per word.
        words: the new forms, one per word.
        key: replaces the value of this key in columns 6 and 10, which hold ``KEY=VALUE`` items;
            ``_`` removes it.
    """
    lines = _Lines.of(block)
    if words is not None:
        lines = lines.reworded(words)
    for row, value in zip(lines.words, values, strict=True):
        if not key:
            row[column] = value
            continue
        items = [item for item in _without(row[column], {key}).split("|") if item != "_"]
        items += [] if value == "_" else [f"{key}={value}"]
        row[column] = "|".join(sorted(items, key=str.lower)) or "_"
    return lines.joined()


def with_words(block: str, positions: Sequence[int]) -> str:
    """Keep some words of a sentence, in this order, and renumber them, but not their heads.

    Args:
        block: as in ``with_parse``.
        positions: positions of the words, from 0.
    """
    lines = _Lines.of(block)
    return lines.reordered(positions).joined()


def as_copy(block: str) -> str:
    """Make the lines of a sentence independent of their file.

    The id of the sentence gets the suffix ``-copy``. Comments that start a document or paragraph
    are removed, and so is ``SpaceAfter=No`` at the end of the sentence.
    """
    lines = _Lines.of(block)
    comments = [line for line in lines.comments if not _ABOUT_THE_FILE.match(line)]
    lines.comments = [_SENTENCE_ID.sub(r"# sent_id = \1-copy", line) for line in comments]
    last = lines.tokens()[-1].columns
    last[_MISC] = _without(last[_MISC], {"SpaceAfter"})
    return lines.joined()


def in_treebank(example: Example) -> bool:
    """Tell whether a sentence was read from a treebank."""
    return bool(example.block) and example.ending in TREEBANKS


def has_graph(block: str) -> bool:
    """Tell whether a sentence has enhanced dependencies or empty nodes, which are not written."""
    rows = [line.split("\t") for line in block.split("\n") if not line.startswith("#")]
    return any("." in row[_ID] or (row[_ID].isdigit() and row[_GRAPH] != "_") for row in rows)


@dataclass(frozen=True)
class _Token:
    """A word or a multiword token.

    Attributes:
        columns: the columns of its line.
        first, last: positions of its first and last word, from 0.
    """

    columns: list[str]
    first: int
    last: int

    @property
    def glued(self) -> bool:
        """Whether no space follows."""
        return _GLUED in self.columns[_MISC].split("|")


@dataclass
class _Lines:
    """The lines of a sentence without its enhanced graph.

    Attributes:
        comments: comment lines.
        words: the columns of each word.
        ranges: multiword tokens, in order.
    """

    comments: list[str]
    words: list[list[str]]
    ranges: list[_Token]

    @classmethod
    def of(cls, block: str) -> "_Lines":
        """Split lines into columns."""
        comments, words, ranges = list[str](), list[list[str]](), list[_Token]()
        for line in block.split("\n"):
            columns = line.split("\t")
            if is_word(line):
                columns[_GRAPH] = "_"
                words.append(columns)
            elif line.startswith("#"):
                comments.append(line)
            elif "-" in columns[_ID]:
                first, last = map(int, columns[_ID].split("-"))
                ranges.append(_Token(columns, first - 1, last - 1))
        return cls(comments, words, ranges)

    def joined(self) -> str:
        """Return the lines, numbered from 1."""
        before = {token.first: token for token in self.ranges}
        lines = [*self.comments]
        for position, columns in enumerate(self.words):
            if token := before.get(position):
                number = f"{token.first + 1}-{token.last + 1}"
                lines.append("\t".join([number, *token.columns[1:]]))
            lines.append("\t".join([str(position + 1), *columns[1:]]))
        return "\n".join(lines)

    def tokens(self) -> list[_Token]:
        """Return the multiword tokens and all words outside of them, in order."""
        before = {token.first: token for token in self.ranges}
        tokens, position = list[_Token](), 0
        while position < len(self.words):
            token = before.get(position) or _Token(self.words[position], position, position)
            tokens.append(token)
            position = token.last + 1
        return tokens

    def gaps(self) -> list[str]:
        """Return the blanks after each word, as in the ``text`` comment; empty if none follow.

        Words inside a multiword token get a space, which is used if the token is left out.
        """
        tokens, gaps = self.tokens(), [" "] * len(self.words)
        text = next((match[1] for line in self.comments if (match := _TEXT.match(line))), "")
        for token in tokens:
            form = token.columns[_FORM]
            rest = text[len(form) :] if text.startswith(form) else ""
            text = rest.lstrip()
            blanks = rest[: len(rest) - len(text)]
            gaps[token.last] = "" if token.glued else blanks or " "
        return gaps

    def reworded(self, words: Sequence[str]) -> "_Lines":
        """Return the lines with these forms, one per word."""
        old = [columns[_FORM] for columns in self.words]
        if list(words) == old:
            return self
        gaps = self.gaps()
        rows = [_changed(columns, form) for columns, form in zip(self.words, words, strict=True)]
        ranges = list[_Token]()
        for token in self.ranges:
            inside = slice(token.first, token.last + 1)
            if list(words[inside]) == old[inside]:
                ranges.append(token)
            elif surface := _surface(token.columns[_FORM], old[inside], words[inside]):
                ranges.append(replace(token, columns=_changed(token.columns, surface)))
        return _Lines(self.comments, rows, ranges).respaced(gaps)

    def reordered(self, positions: Sequence[int]) -> "_Lines":
        """Return the lines of some words, in this order."""
        positions = list(positions)
        if positions == list(range(len(self.words))):
            return self
        gaps = self.gaps()
        between = [self._gap(gaps, left, right) for left, right in pairwise(positions)]
        ranges = list[_Token]()
        for token in self.ranges:
            words = list(range(token.first, token.last + 1))
            first = positions.index(token.first) if token.first in positions else 0
            if positions[first : first + len(words)] == words:
                ranges.append(_Token(token.columns, first, first + len(words) - 1))
        rows = [self.words[position] for position in positions]
        return _Lines(self.comments, rows, ranges).respaced([*between, gaps[-1]])

    def _gap(self, gaps: Sequence[str], left: int, right: int) -> str:
        """Return the blanks to write between two words, from the blanks in the source."""
        if self._is_mark(right) and right > 0 and gaps[right - 1] == "":
            return ""
        if self._is_mark(left) and gaps[left] == "":
            return ""
        if left < right:
            return next((gap for gap in gaps[left:right] if gap), "")
        return " " if any(gaps[:-1]) else ""

    def _is_mark(self, position: int) -> bool:
        return not any(character.isalnum() for character in self.words[position][_FORM])

    def respaced(self, gaps: Sequence[str]) -> "_Lines":
        """Return the lines of a changed sentence with these blanks after its words."""
        text = ""
        for token in self.tokens():
            gap, columns = gaps[token.last], token.columns
            text += columns[_FORM] + gap
            gone = _CHARACTER_POSITIONS | (set() if token.glued == (gap == "") else _SPACES)
            columns[_MISC] = _without(columns[_MISC], gone)
            if gap == "" and not token.glued:
                columns[_MISC] = "|".join(filter("_".__ne__, [columns[_MISC], _GLUED]))
        comments = [line for line in self.comments if not _ABOUT_THE_TEXT.match(line)]
        written = f"# text = {text.strip()}"
        comments = [written if _TEXT.match(line) else line for line in comments]
        return _Lines(comments, self.words, self.ranges)


def _surface(surface: str, old: Sequence[str], new: Sequence[str]) -> str:
    """Return the form of a multiword token with new words; empty if it is unknown."""
    if "".join(old) != surface or len("".join(new).split()) != 1:
        return ""
    pairs = zip(old, new, strict=True)
    contracted = all(_apostrophes(before) <= _apostrophes(after) for before, after in pairs)
    return "".join(new) if contracted else ""


def _apostrophes(word: str) -> int:
    return word.count("'") + word.count("\u2019")


def _changed(columns: Sequence[str], form: str) -> list[str]:
    """Return the columns of a word or multiword token with a new form."""
    columns = list(columns)
    if columns[_FORM] == form:
        return columns
    if columns[_FORM].casefold() != form.casefold():
        columns[_LEMMA] = columns[_FEATS] = "_"
    columns[_FORM] = form
    columns[_MISC] = _only(columns[_MISC], _SPACES | _COREFERENCE)
    return columns


def _only(misc: str, names: set[str]) -> str:
    """Keep the items of column 10 that have these names."""
    return "|".join(item for item in misc.split("|") if item.partition("=")[0] in names) or "_"


def _without(misc: str, names: set[str]) -> str:
    """Leave out the items of column 10 that have these names."""
    return "|".join(item for item in misc.split("|") if item.partition("=")[0] not in names) or "_"
