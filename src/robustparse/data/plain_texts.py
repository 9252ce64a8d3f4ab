"""Texts from Python code: lists of words or sentences with tags, without gold answers."""

from collections.abc import Iterable, Sequence

from robustparse.errors import InputError
from robustparse.types import Example, Sentence

Text = Sentence | Sequence[str]
"""A list of words, or a sentence with its tags."""


def examples_of(sentences: Sequence[Text]) -> list[Example]:
    """Return each sentence as an example without a gold answer; ids count them from 0.

    Raises:
        InputError: the sentences are not a list; or a sentence is a string or not a sequence, has
            no words, a word that is not a string, a context that is a string, or a wrong number of
            tags.
    """
    if isinstance(sentences, Sentence) or not isinstance(sentences, Iterable):
        raise InputError(
            f"got {repr(sentences)[:40]}",
            expected="a list of sentences",
            remedy="put a single sentence into a list",
        )
    return [_example(index, text) for index, text in enumerate(sentences)]


def _example(index: int, text: Text) -> Example:
    words: object = text.words if isinstance(text, Sentence) else text
    key, expected = f"sentence {index + 1}", "a list of words, as ['The', 'cat', 'sleeps']"
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise InputError(f"got {repr(words)[:40]}", key=key, expected=expected)
    sentence = text if isinstance(text, Sentence) else Sentence(tuple(words))
    if not len(sentence):
        raise InputError("has no words", key=key, expected=expected)
    if isinstance(sentence.context, str):
        raise InputError(f"got {sentence.context!r:.40}", key=f"{key}, context", expected=expected)
    for name, all_words in (("word", sentence.words), ("context, word", sentence.context)):
        for number, word in enumerate(all_words, start=1):
            if not isinstance(word, str):
                problem, where = f"got {word!r}", f"{key}, {name} {number}"
                raise InputError(problem, key=where, expected="a string")
    for name in ("upos", "xpos", "feats"):
        tags = getattr(sentence, name)
        if tags and len(tags) != len(sentence):
            problem = f"has {len(sentence)} words and {len(tags)} tags in {name}"
            raise InputError(problem, key=key, expected="a tag for each word, or no tags")
    return Example(index, sentence, gold=None)
