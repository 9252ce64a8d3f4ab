"""Texts as Python code gives them: lists of words, or with tags, without gold answers."""

from collections.abc import Iterable, Sequence

from robustparse.errors import InputError
from robustparse.types import Example, Sentence


def examples_of(sentences: Sequence[Sentence | Sequence[str]]) -> list[Example]:
    """Return each sentence as an example without a gold answer; ids count them from 0.

    Raises:
        InputError: one sentence instead of a list, or no sequence; or see ``example_of``.
    """
    if isinstance(sentences, Sentence) or not isinstance(sentences, Iterable):
        raise InputError(
            f"expected a list of sentences, got {repr(sentences)[:40]}; put a single sentence into "
            "a list"
        )
    return [example_of(index, given) for index, given in enumerate(sentences)]


def example_of(index: int, given: Sentence | Sequence[str]) -> Example:
    """Return a sentence as an example whose tree says nothing.

    Args:
        index: its place among the others, from 0; the example's id.
        given: the sentence, or its words.

    Raises:
        InputError: it is a string, which is a sequence of letters, or no sequence; a word is no
            string; it has no words; it has tags, and not as many as words.
    """
    words = given.words if isinstance(given, Sentence) else given
    if isinstance(words, str) or not isinstance(words, Iterable):
        found = f"the string {words[:40]!r}" if isinstance(words, str) else repr(words)[:40]
        raise InputError(
            f"sentence {index + 1} is {found}; expected a list of words, as "
            "['The', 'cat', 'sleeps']"
        )
    sentence = given if isinstance(given, Sentence) else Sentence(tuple(words))
    if not len(sentence):
        raise InputError(f"sentence {index + 1} has no words")
    for place, word in enumerate(sentence.words):
        if not isinstance(word, str):
            raise InputError(
                f"sentence {index + 1}, word {place + 1}: expected a string, got {word!r}"
            )
    for name, tags in (("upos", sentence.upos), ("xpos", sentence.xpos)):
        if tags and len(tags) != len(sentence):
            raise InputError(
                f"sentence {index + 1} has {len(sentence)} words and {len(tags)} tags in {name}; "
                "expected one tag a word, or none at all"
            )
    return Example(index, sentence, gold=None)
