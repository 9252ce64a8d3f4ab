"""Stems: which corpora hold them."""

import pytest

from robustparse.data.utterances.stems import are_stems, stem

CORPORA = {
    "show me everi citi in s0 with mani peopl": True,
    "pleas show densiti of mani citi": True,  # the stem of "pleas" is another
    "pleas show densiti": None,
    "list job use languageid0": None,
    "how high is c0": None,
    "show me every city in s0 with many people": False,
    "which river traverses most states": False,
    "add n0 to all prices": False,
    "jump opposite right twice": False,
    "Zeige alle Flüsse": False,
    "列出 所有 河流": None,
    "sql csv api ui": None,
}


@pytest.mark.parametrize("words", CORPORA)
def test_a_corpus_of_stems_is_told_by_its_words(words: str) -> None:
    assert are_stems(words.split()) is CORPORA[words]
    assert are_stems(reversed(words.split() * 2)) is CORPORA[words]


def test_stems_of_english_words_are_no_evidence_of_words() -> None:
    words = ["every", "available", "language", "service", "bridge", "possible", "company", "title"]
    assert are_stems(words) is False
    assert are_stems(map(stem, words)) is True
