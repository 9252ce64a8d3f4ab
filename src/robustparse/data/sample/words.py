"""The words of the embedded samples, by lexical class, from the text files next to this.

In the treebank a class decides an attachment: a tool or a part after "with", a transitive or an
intransitive participle before a plural noun. All words of one class carry the same tags, and no
form is in two classes, so that one word may replace another of its class without changing the
parse. Words of two classes have two tags each (`dual`: work as a noun or a verb; `erg`: trained as
a past tense or a participle); only the rest of the sentence tells these apart.
"""

from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple


class WordClass(NamedTuple):
    """The words of a lexical class and the (universal, Penn) tags that each of them may carry."""

    tags: tuple[tuple[str, str], ...]
    words: tuple[str, ...]


def read_words(name: str) -> Mapping[str, WordClass]:
    """Read a file: indented lines hold the words of the class that is named before them."""
    found: dict[str, WordClass] = {}
    word_class = ""
    for line in (files(__package__) / name).read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            tags, words = found[word_class]
            found[word_class] = WordClass(tags, (*words, *line.split()))
        elif not line.startswith("#"):
            word_class, *pairs = line.split()
            tags = tuple((upos, tag) for upos, _, tag in (pair.partition("/") for pair in pairs))
            found[word_class] = WordClass(tags, ())
    return MappingProxyType(found)
