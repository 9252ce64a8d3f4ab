"""Lines of sentences with other words, fewer words and moved words, by hand."""

from pathlib import Path

import pytest

from robustparse.data.conllu import read_treebank
from robustparse.data.sentence_lines import as_copy, has_graph, with_parse, with_words
from robustparse.types import Example

TREEBANKS = Path(__file__).parents[1] / "treebanks"


def example(treebank: str, number: int) -> Example:
    return read_treebank(TREEBANKS / f"{treebank}.conllu")[number - 1]


def lines(block: str) -> dict[str, str]:
    """Each comment by its name, and of each other line form, lemma, features and column 10."""
    found = {}
    for line in block.split("\n"):
        name, _, value = line.removeprefix("# ").partition(" = ")
        columns = line.split("\t")
        kept = " ".join(columns[at] for at in (1, 2, 5, 9)) if len(columns) == 10 else value
        found[columns[0] if len(columns) == 10 else name] = kept
    return found


# A sentence; the words that are put in, by position from 0; and lines of the result, None for none.
REWORDED = {
    "a multiword token gets the new form": (
        *("english", 1, {0: "Would"}),
        {
            "text": "Wouldn't feed the small cats, please.",
            "1-2": "Wouldn't _ _ _",
            "1": "Would _ _ _",
            "2": "n't not _ _",
        },
    ),
    "or is left out, if a word loses its apostrophe": (
        *("english", 1, {1: "not"}),
        {"text": "Do not feed the small cats, please.", "1-2": None, "2": "not _ _ _"},
    ),
    "or if its form is not that of its words": (
        *("french", 1, {2: "dans"}),
        {"text": "Le chat dans le voisin parle des oiseaux.", "3-4": None, "7-8": "des _ _ _"},
    ),
    "the space after it stays": (
        *("arabic", 2, {5: "المعلم"}),
        {"text": "يقرأ المعلم كتابا جديدا ل المعلم.", "5-6": None, "6": "المعلم _ _ SpaceAfter=No"},
    ),
    "other words keep all": (
        *("french", 1, {1: "chien"}),
        {"text": "Le chien du voisin parle des oiseaux.", "2": "chien _ _ _", "3-4": "du _ _ _"},
    ),
    "casing keeps lemma and features": (
        *("arabic", 1, {}),
        {"1-2": "وكتب _ _ _", "translit": "wa-kataba l-waladu risālatahu."},
    ),
    "what describes the old word is left out": (
        *("arabic", 1, {1: "قرأ"}),
        {
            "text": "وقرأ الولد رسالته.",
            "translit": None,
            "1-2": "وقرأ _ _ _",
            "1": "و و _ Vform=وَ|Gloss=and|Translit=wa",
            "2": "قرأ _ _ _",
            "4-5": "رسالته _ _ SpaceAfter=No",
        },
    ),
    "casing alone keeps lemma and features": (
        *("english", 2, {1: "EATS"}),
        {"text": "Peter EATS apples and Mary pears.", "2": "EATS eat Number=Sing|Person=3 _"},
    ),
    "coreference stays, empty nodes do not": (
        *("english", 2, {0: "John"}),
        {"1": "John _ _ Entity=(e1)", "5.1": None},
    ),
    "words with spaces": (
        *("english", 3, {6: "cats"}),
        {
            "text": "(They cannot see 10 000 cats; it's dark)",
            "6": "10 000 10000 NumType=Card _",
            "7": "cats _ _ SpaceAfter=No",
        },
    ),
    "positions of characters are left out, spaces stay": (
        *("english", 4, {0: "A"}),
        {"3": "dog dog Number=Sing _", "6": r". . _ SpacesAfter=\s\s"},
    ),
    "a no-break space stays, a translation does not": (
        *("french", 2, {1: "court"}),
        {"text": "Où court-il, l'homme\u00a0?", "text_en": None},
    ),
    "no spaces where there are none": (
        *("chinese", 2, {1: "卖"}),
        {"text": "他卖了iPhone手机。", "2": "卖 _ _ SpaceAfter=No"},
    ),
}


@pytest.mark.parametrize("name", REWORDED)
def test_other_words(name):
    treebank, number, new, expected = REWORDED[name]
    source = example(treebank, number)
    words = [new.get(at, word) for at, word in enumerate(source.sentence.words)]
    found = lines(with_parse(source.block, source.gold, words))
    assert {key: found.get(key) for key in expected} == expected


# A sentence; the positions of the words that are kept, in their new order; and lines of the result.
REORDERED = {
    "words that were neighbours keep what was between them": (
        *("english", 1, (4, 5, 6, 2, 3, 8)),
        {
            "text": "small cats, feed the.",
            "1": "small small Degree=Pos _",
            "2": "cats cat Number=Plur SpaceAfter=No",
            "5": "the the Definite=Def|PronType=Art SpaceAfter=No",
            "1-2": None,
        },
    ),
    "punctuation stays attached": (
        *("english", 3, (0, 4, 11, 7, 9, 8)),
        {"text": "(see); 's it", "1": "( ( _ SpaceAfter=No"},
    ),
    "a gap is as wide as the widest one": (
        *("english", 1, (0, 1, 2, 5, 7)),
        {"text": "Don't feed cats please", "1-2": "Don't _ _ _", "4": "cats cat Number=Plur _"},
    ),
    "whole multiword tokens are moved": (
        *("french", 1, (5, 6, 7, 8, 0, 1, 2, 3, 4, 9)),
        {
            "text": "parle des oiseaux Le chat du voisin.",
            "2-3": "des _ _ _",
            "7-8": "du _ _ _",
            "9": "voisin voisin Gender=Masc|Number=Sing SpaceAfter=No",
        },
    ),
    "parts of them are words": (
        *("french", 1, (2, 4, 5)),
        {"text": "de voisin parle", "1": "de de _ _"},
    ),
    "scripts without spaces get none": (
        *("chinese", 1, (3, 4, 5, 0, 2, 6)),
        {
            "text": "北京的夏天我喜欢。",
            "text_en": None,
            "5": "喜欢 喜欢 _ SpaceAfter=No|Translit=xǐhuan",
        },
    ),
}


@pytest.mark.parametrize("name", REORDERED)
def test_fewer_and_moved_words(name):
    treebank, number, positions, expected = REORDERED[name]
    found = lines(with_words(example(treebank, number).block, positions))
    assert {key: found.get(key) for key in expected} == expected
    assert sum(key.isdigit() for key in found) == len(positions)


def test_nothing_changes_where_no_word_does():
    for path in TREEBANKS.glob("*.conllu"):
        for one in read_treebank(path):
            for block in (
                with_parse(one.block, one.gold),
                with_parse(one.block, one.gold, one.sentence.words),
                with_words(one.block, range(len(one.sentence))),
            ):
                assert not has_graph(block)
                assert lines(block) == {
                    key: line for key, line in lines(one.block).items() if "." not in key
                }
            assert has_graph(one.block) == (path.stem == "english")


def test_a_copy_stands_by_itself():
    found = lines(as_copy(example("english", 1).block))
    assert (found["sent_id"], found.get("newpar"), found.get("newdoc id")) == (
        *("pets-1-copy", None),
        None,
    )
    assert lines(as_copy(example("english", 2).block))["7"] == ". . _ _"
    assert lines(as_copy(example("chinese", 1).block))["7"] == "。 。 _ _"
    assert lines(as_copy(example("arabic", 3).block))["sent_id"] == "ar-3-copy"


def test_conllx_gets_no_column_10(tmp_path):
    path = tmp_path / "a.conllx"
    rows = [("1", "a", "2"), ("2", "b", "0"), ("3", "c", "2")]
    path.write_text(
        "".join(f"{id_}\t{word}\tl\tX\tX\tf\t{head}\tx\t{head}\tx\n" for id_, word, head in rows)
    )
    (one,) = read_treebank(path)
    assert lines(with_words(one.block, (2, 0))) == {"1": "c l f _", "2": "a l f _"}
    assert lines(with_parse(one.block, one.gold, ["a", "d", "c"])) == {
        "1": "a l f _",
        "2": "d _ _ _",
        "3": "c l f _",
    }
