"""Encodings: files, codes in every casing, vocabularies."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustparse.casing import Casing, cased, in_casing_of
from robustparse.data.robust_encoding import Encoding
from robustparse.data.vocab import Vocabulary
from robustparse.errors import InputError
from robustparse.types import Example, Sentence

ENCODING = Encoding(
    {"big": {"big": 5, "large": 3, "sizeable": 0}, "dog": {"dog": 2}}, {"fidelity": 0.5}
)


def test_an_encoding_is_read_as_it_was_written(tmp_path: Path) -> None:
    ENCODING.write(tmp_path / "encoding.jsonl")
    read = Encoding.read(tmp_path / "encoding.jsonl")
    assert read == ENCODING
    assert read.digest == ENCODING.digest
    assert Encoding.from_lists(ENCODING.to_lists()).clusters == ENCODING.clusters


def test_the_digest_follows_from_the_clusters_alone() -> None:
    words = dict(reversed(ENCODING.clusters["big"].items()))
    assert Encoding({"dog": {"dog": 2}, "big": words}).digest == ENCODING.digest
    assert Encoding({"large": words}).digest != ENCODING.digest
    assert Encoding({"big": {"big": 5, "large": 3}}).digest != ENCODING.digest


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("large", "big"),
        ("big", "big"),
        ("Sizeable", "Big"),
        ("LARGE", "BIG"),
        ("lARGE", "big"),
        ("Dog", "Dog"),  # alone in its cluster
        ("nEW", "nEW"),  # unknown
    ],
)
def test_a_code_is_the_representative_in_the_casing_of_the_word(word: str, code: str) -> None:
    assert ENCODING.code(word) == code
    assert ENCODING.code(code) == code


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        # "ME" may become "I", and so may "Me".
        (["i", "me", "us"], ["ME", "I", "Me", "Us", "US"]),
        # "NINE", "Nine" and "nine" may become "9".
        (["9", "nine"], ["NINE", "9", "Nine", "nine"]),
        # "Noon" may become "9am", and "NOON" may become "9AM".
        (["9am", "noon"], ["Noon", "9am", "noon"]),
        # "Iphone" is a substitute of "Phone", and "iPhone" is replaced by "phone".
        (["iphone", "phone"], ["iPhone", "phone"]),
        (["iphone", "phone"], ["Iphone", "Phone"]),
    ],
)
def test_casings_that_a_word_of_the_cluster_does_not_show_are_one(
    words: list[str], texts: list[str]
) -> None:
    encoding = Encoding({words[0]: dict.fromkeys(words, 1)})
    assert len({encoding.code(word) for word in texts}) == 1
    assert encoding.code("unrelated") == "unrelated"


LETTERS = "abi\u00df\u0131\u01c6\ufb01\u03c3\u03c2\u0149\u1e9e9-'\u4e2d\U0001d41a\U0001d400\u0130"
WORDS = st.lists(
    st.text(LETTERS, min_size=1, max_size=4)
    .map(str.lower)
    .filter(lambda word: word.lower() == word),
    min_size=2,
    max_size=4,
    unique=True,
)
CASINGS: list[Casing] = ["lower", "capitalised", "upper", "mixed"]


@given(WORDS, st.sampled_from(CASINGS), st.text("lu", min_size=4, max_size=4))
def test_words_that_may_be_exchanged_have_equal_codes(
    words: list[str], casing: Casing, pattern: str
) -> None:
    """A substitute takes the casing of the word that it replaces, which may be any."""
    encoding = Encoding({words[0]: dict.fromkeys(words, 1)})
    for word in words:
        letters = zip(cased(word, casing), f"{pattern}llll", strict=False)
        mixed = "".join(c.upper() if case == "u" else c for c, case in letters)
        for original in (cased(word, casing), mixed):
            if original.lower() != word:  # casing has changed its letters: another word
                continue
            for substitute in in_casing_of(original, words):
                if substitute.lower() in words:
                    assert encoding.code(substitute) == encoding.code(original)
            assert encoding.code(encoding.code(original)) == encoding.code(original)


def texts(*lines: str) -> list[Example]:
    return [Example(id_, Sentence(tuple(line.split())), "x") for id_, line in enumerate(lines)]


def test_a_vocabulary_holds_codes_with_the_counts_of_their_clusters() -> None:
    encoding = Encoding(
        {
            "big": {"big": 2, "large": 1, "great": 2},
            "cat": {"cat": 1, "dog": 1},  # each too rare, together frequent enough
            "sun": {"sun": 1, "star": 0},  # too rare
        }
    )
    known = Vocabulary.from_examples(texts("big BIG large great Great", "cat dog sun the the the"))
    assert known.words == ("the", "big", "great")
    encoded = encoding.vocabulary(known)
    assert encoded.words == ("the", "big", "cat")
    assert encoded.counts == (3, 4, 2, 2)
    assert sum(encoded.counts) == sum(known.counts)
    assert (encoded.tagged, encoded.characters) == (known.tagged, known.characters)
    stored = Vocabulary.from_lists(known.to_lists())  # without counts, as in a checkpoint
    assert encoding.vocabulary(stored).words == encoded.words


def test_words_can_be_taken_out() -> None:
    encoding = ENCODING.without({"big"})
    assert encoding.clusters == {"large": {"large": 3, "sizeable": 0}, "dog": {"dog": 2}}
    assert [encoding.code(word) for word in ("Big", "Sizeable")] == ["Big", "Large"]


CLUSTER = '{"code": "big", "words": {"big": 1, "large": 0}}'


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ("", None),
        ('{"code": "big"}', 2),
        ('{"code": "big", "words": ["big"]}', 2),
        ('{"code": "big", "words": {}}', 2),
        ('{"code": "big", "words": {"large": 1}}', 2),
        ('{"code": ["big"], "words": {"big": 1}}', 2),
        ('{"code": "Big", "words": {"Big": 1}}', 2),
        ('{"code": "big", "words": {"big": 1, "very big": 1}}', 2),
        ('{"code": "big", "words": {"big": -1}}', 2),
        ('{"code": "big", "words": {"big": 1.5}}', 2),
        ('{"code": "big", "words": {"big": true}}', 2),
        (f'{CLUSTER}\n{{"code": "great", "words": {{"great": 1, "large": 1}}}}', 3),
        (f"{CLUSTER}\n{CLUSTER}", 3),
        (f"{CLUSTER}\nbig", 3),
    ],
)
def test_a_line_that_is_no_cluster_is_named(tmp_path: Path, lines: str, line: int | None) -> None:
    path = tmp_path / "encoding.jsonl"
    path.write_text("{}\n" + lines)
    with pytest.raises(InputError) as error:
        Encoding.read(path)
    assert (error.value.path, error.value.line) == (str(path), line)


def test_an_encoding_needs_its_settings(tmp_path: Path) -> None:
    (tmp_path / "encoding.jsonl").write_text(CLUSTER)
    with pytest.raises(InputError) as error:
        Encoding.read(tmp_path / "encoding.jsonl")
    assert error.value.line == 1
    for damaged in ("big", [{}], [["big"]], [{"big": "1"}]):
        with pytest.raises(InputError):
            Encoding.from_lists(damaged)  # type: ignore[arg-type]
