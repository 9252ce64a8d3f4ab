"""The words of the built-in samples by lexical class, from text files in this folder.

In the treebank, a class decides an attachment: a tool or a part after "with", a transitive or an
intransitive participle before a plural noun. All words of a class have the same tags, and no form
is in two classes, so that a word may replace another word of its class without changing the parse.
The words of two classes have two tags each (`dual`: work as a noun or a verb; `erg`: trained as a
past tense or a participle); only the rest of the sentence shows which tag is right.
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
    classes: dict[str, WordClass] = {}
    word_class = ""
    for line in (files(__package__) / name).read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            tags, words = classes[word_class]
            classes[word_class] = WordClass(tags, (*words, *line.split()))
        elif not line.startswith("#"):
            word_class, *pairs = line.split()
            tags = tuple((upos, tag) for upos, _, tag in (pair.partition("/") for pair in pairs))
            classes[word_class] = WordClass(tags, ())
    return MappingProxyType(classes)
