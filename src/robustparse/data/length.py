"""The limit on the words of a text, which guards the memory against mistakes in the data."""

from robustparse.errors import InputError
from robustparse.types import Sentence


def check_length(sentence: Sentence, most: int | None, limit: str) -> None:
    """Check that no text of an example has more than ``most`` words.

    Args:
        sentence: the text, or the pair of texts.
        most: the largest number of words; None allows any.
        limit: the option that raises it, for the message.

    Raises:
        InputError: a text is longer.
    """
    second = " in the second text" if sentence.context else ""
    for where, words in ((" in the first text", sentence.context), (second, sentence.words)):
        if most is not None and len(words) > most:
            found = f"{len(words)} words{where}, over the limit of {most}"
            raise InputError(found, remedy=f"raise {limit}, or shorten or leave out the text")
