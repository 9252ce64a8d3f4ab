"""Inflected candidates: which forms, of which parts of speech."""

import pytest
from attack_fakes import example

from robustparse.attacks.candidates.generator import Slot
from robustparse.attacks.candidates.inflections import Inflections
from robustparse.errors import InputError
from robustparse.types import Sentence

pytest.importorskip("lemminflect")

NOUN, ADJECTIVE = {"leaf", "leaves"}, {"good", "better", "best"}
VERB = {"leave", "leaves", "leaving", "left"}


@pytest.mark.parametrize(
    ("word", "tag", "forms"),
    [
        ("leaves", "NNS", {"leaf", "leafs", "leave"}),  # the noun "leave", too
        ("leaves", "VBZ", VERB),
        ("better", "JJR", ADJECTIVE),
        ("watching", "VBG", {"watch", "watches", "watched", "watching"}),
        ("quickly", "RB", set()),
        ("the", "DT", set()),
        ("xyzzyq", "XX", set()),
    ],
)
def test_forms_are_those_of_the_words_own_part_of_speech(word, tag, forms) -> None:
    slot = Slot(0, example(word, tag).sentence, 0)
    (found,) = Inflections().propose([slot], 0)
    assert set(found) >= forms - {word}
    assert word not in found
    assert len(found) == len(set(found))
    assert not forms or set(found) <= forms | {"well"}  # a lemma of "better"


def test_without_tags_or_with_all_parts_every_part_of_speech_counts() -> None:
    tagged, plain = example("leaves", "NNS").sentence, Sentence(("Leaves",))
    (everything,) = Inflections(parts="all").propose([Slot(0, tagged, 0)], 0)
    assert Inflections().propose([Slot(0, plain, 0)], 0) == [everything]
    assert set(everything) >= (NOUN | VERB) - {"leaves"}


def test_the_tags_of_a_tagset_are_read() -> None:
    sentence = Sentence(("leaves",), xpos=("NNS",), upos=("VERB",))
    forms = [Inflections(tagset=tagset).propose([Slot(0, sentence, 0)], 0)[0] for tagset in TAGSETS]
    assert set(forms[0]) == VERB - {"leaves"}
    assert "leaf" in forms[1]


TAGSETS = ("upos", "xpos")


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(InputError):
        Inflections(parts="noun")
    assert Inflections().fingerprint() != Inflections(parts="all").fingerprint()
