"""Misspelled words: those that one error turns into a training word, and no others."""

from itertools import product

import pytest

from robustparse.data.word_recognition import WordRecognition, misspells

LETTERS = "abc"
WORDS = ["".join(letters) for size in range(5) for letters in product(LETTERS, repeat=size)]


def misspelled(word: str) -> set[str]:
    """Make each error in turn."""
    whole = range(len(word))
    added = {word[:at] + a + word[at:] for at in (*whole, len(word)) for a in LETTERS}
    left_out = {word[:at] + word[at + 1 :] for at in whole}
    replaced = {word[:at] + a + word[at + 1 :] for at in whole for a in LETTERS}
    swapped = {word[:at] + word[at : at + 2][::-1] + word[at + 2 :] for at in whole}
    return {word} | added | left_out | replaced | swapped


def test_misspellings_are_those_that_one_error_makes() -> None:
    for word in WORDS:
        assert {other for other in WORDS if misspells(other, word)} == misspelled(word) & {*WORDS}


def test_a_word_is_read_as_the_most_frequent_one_that_it_misspells() -> None:
    words = WORDS[::-7]
    recognition = WordRecognition(words)
    for written in WORDS:
        possible = (word for word in words if len(word) > 2 and word in misspelled(written))
        expected = written if written in words else next(possible, written)
        assert recognition.read(written) == expected


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("moive", "movie"),
        ("Movvie", "Movie"),
        ("MVIE", "MOVIE"),
        ("m0vie", "movie"),
        ("movies", "movies"),  # a training word
        ("mooviee", "mooviee"),  # two errors
        ("ot", "ot"),  # "to" is too short
        ("199O", "199O"),
        ("écoule", "école"),
        ("", ""),
    ],
)
def test_casing_and_words_that_are_not_recognized(written: str, read: str) -> None:
    words = ["to", "movie", "movies", "1990", "école"]
    assert WordRecognition(words).read(written) == read
