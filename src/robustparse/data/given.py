"""Texts as Python code gives them: lists of words, or with tags, without gold answers."""

from collections.abc import Iterable, Sequence

from robustparse.errors import InputError
from robustparse.types import Example, Sentence

Text = Sentence | Sequence[str]
"""A list of words, or a sentence with its tags."""


def examples_of(sentences: Sequence[Text]) -> list[Example]:
    """Return each sentence as an example without a gold answer; ids count them from 0.

    Raises:
        InputError: one sentence instead of a list, or no sequence; or a sentence is a string, which
            is a sequence of letters, or no sequence, has no words, a word that is no
            string, a context that is a string, or tags and not as many as words.
    """
    if isinstance(sentences, Sentence) or not isinstance(sentences, Iterable):
        raise InputError(
            f"got {repr(sentences)[:40]}",
            expected="a list of sentences",
            remedy="put a single sentence into a list",
        )
    return [_example(index, given) for index, given in enumerate(sentences)]


def _example(index: int, given: Text) -> Example:
    words: object = given.words if isinstance(given, Sentence) else given
    key, expected = f"sentence {index + 1}", "a list of words, as ['The', 'cat', 'sleeps']"
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise InputError(f"got {repr(words)[:40]}", key=key, expected=expected)
    sentence = given if isinstance(given, Sentence) else Sentence(tuple(words))
    if not len(sentence):
        raise InputError("has no words", key=key, expected=expected)
    if isinstance(sentence.context, str):
        raise InputError(f"got {sentence.context!r:.40}", key=f"{key}, context", expected=expected)
    for part, all_words in (("word", sentence.words), ("context, word", sentence.context)):
        for place, word in enumerate(all_words, start=1):
            if not isinstance(word, str):
                raise InputError(f"got {word!r}", key=f"{key}, {part} {place}", expected="a string")
    for name in ("upos", "xpos", "feats"):
        tags = getattr(sentence, name)
        if tags and len(tags) != len(sentence):
            found = f"has {len(sentence)} words and {len(tags)} tags in {name}"
            raise InputError(found, key=key, expected="one tag a word, or none at all")
    return Example(index, sentence, gold=None)
