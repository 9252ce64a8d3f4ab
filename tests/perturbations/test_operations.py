"""Every operation on sentences by hand, its draws scripted; and what holds of all of them."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robustparse import perturbations
from robustparse.errors import InputError
from robustparse.perturbations import (
    Casing,
    Contractions,
    Deletion,
    DoubledLetters,
    FinalStop,
    FunctionWordSubstitution,
    Insertion,
    KeyboardSlips,
    Perturbation,
    Punctuation,
    Rewording,
    Typos,
)
from robustparse.perturbations.back_translation import BackTranslation, TranslationCommand
from robustparse.perturbations.perturbation import NEW, draw_rewordings, plain_name
from robustparse.types import Example, Sentence
from sample_runs import sentences


class Script:
    """Stands for a random stream: draws what it is told, then always the first; keeps orders."""

    def __init__(self, draws: Sequence[int]) -> None:
        self.draws = list(draws)

    def integers(self, below: int) -> int:
        drawn = self.draws.pop(0) if self.draws else 0
        assert drawn < below
        return drawn

    def permutation(self, count: int) -> np.ndarray:
        return np.arange(count)


EVERY = {"fraction": 1.0}
SPLIT, JOINED = Contractions(), Contractions(joined=True)
# Operation, what it draws, the sentence, the sentence afterwards.
CASES: list[tuple[Perturbation, list[int], str, str]] = [
    (Casing(to="lower"), [], "The DOG is n't Here", "the dog is n't here"),
    (Casing(to="lower"), [], "-LRB- The DOG -RRB-", "-LRB- the dog -RRB-"),
    (Casing(to="upper"), [], "The dog is n't", "THE DOG IS N'T"),
    (Casing(to="capitalized"), [], "the dOG is n't élan", "The DOG Is n't Élan"),
    (Casing(to="capitalized"), [], "ﬁlm ქართული", "Film ქართული"),
    (Casing(), [1], "The dog", "THE DOG"),
    (Typos(edits=["swap"], **EVERY), [2], "a letter", "a letetr"),  # no swap of "tt"
    (Typos(edits=["swap"], **EVERY), [], "aaa Zzz", "aaa zZz"),
    (Typos(edits=["drop"], **EVERY), [5, 0, 0], "letter to cat", "lette to at"),
    (Typos(edits=["insert"], **EVERY), [0, 25, 0, 3, 1], "cat DOG", "zcat DOGB"),
    (Typos(**EVERY), [0, 0, 0, 0, 1], "cat", "at"),  # the second of act, at, acat
    (Typos(**EVERY), [], "it 's 1st e-mail", "it 's 1st e-mail"),
    (Typos(edits=["drop"], fraction=0.5), [], "aaa bbb ccc ddd eee", "aa bb ccc ddd eee"),
    (Typos(edits=["drop"], fraction=0.1), [], "of bbb ccc", "of bb ccc"),
    (KeyboardSlips(**EVERY), [0, 1, 1, 3], "Cat DOG", "Vat DLG"),
    (KeyboardSlips(layout="azerty", **EVERY), [0, 0], "aube", "zube"),
    (KeyboardSlips(**EVERY), [], "мир été", "мир éré"),
    (KeyboardSlips(**EVERY), [], "e\u0301te\u0301", "e\u0301re\u0301"),
    (KeyboardSlips(**EVERY), [], "İİİ", "İİİ"),
    # Letters with their marks: accents, vowel signs, vowel points; joined emoji stay.
    (Typos(edits=["swap"], **EVERY), [1], "ce\u0301te", "cte\u0301e"),
    (Typos(edits=["swap"], **EVERY), [0], "किताब", "ताकिब"),
    (Typos(edits=["drop"], **EVERY), [1], "มีนาคม", "มีาคม"),
    (Typos(edits=["insert"], **EVERY), [1, 2], "مُحَمَّد", "مُمَّحَمَّد"),
    (Typos(edits=["insert"], **EVERY), [0, 2, 0, 0], "МИР été", "РМИР aété"),
    (DoubledLetters(**EVERY), [0], "किताब", "किकिताब"),
    (Typos(**EVERY), [], "👩\u200d👩\u200d👧👧👧 हिन्दी", "👩\u200d👩\u200d👧👧👧 हिन्दी"),
    (DoubledLetters(**EVERY), [1, 2], "Cats DOG", "Caats DOGG"),
    (FinalStop(), [], "He left .", "He left"),
    (FinalStop(), [], "Did he ? !", "Did he ?"),
    (FinalStop(), [], "great fun!!", "great fun"),
    (FinalStop(), [], "He left . ''", "He left . ''"),
    (FinalStop(), [], "...", "..."),
    (Punctuation(how="drop"), [], "Well , ( yes ) 5 % !", "Well yes 5 %"),
    (Punctuation(how="drop"), [], ", .", ", ."),
    (Punctuation(how="drop"), [], "Yes -LRB- no -RCB-", "Yes no"),
    (Punctuation(how="change"), [0, 0], "Yes -LRB- no -RSB-", "Yes -LSB- no -RRB-"),
    (Punctuation(how="change"), [2, 0, 2], "Well , ( 5 % .", "Well - [ 5 % ;"),
    (FinalStop(), [], "去吗？", "去吗"),
    (FinalStop(), [], "چلو ۔", "چلو"),
    (Punctuation(how="drop"), [], "「 去 」 ！", "去"),
    (Punctuation(), [1, 2], "Go .", "Go ;"),
    (Punctuation(), [0], "Go .", "Go"),
    (SPLIT, [], "I do not know .", "I do n't know ."),
    (SPLIT, [], "You CAN NOT , they ca n't", "You CA N'T , they can not"),
    (SPLIT, [], "Wo n't you ? Won't you ?", "Wo n't you ? Won't you ?"),
    (SPLIT, [], "I am here , it 's what it is .", "I 'm here , it 's what it is ."),
    (SPLIT, [], "They 're not late ; I 'VE been", "They are not late ; I HAVE been"),
    (SPLIT, [], "it is not so", "it is n't so"),
    (SPLIT, [], "Don't go , I'm late", "Do not go , I am late"),
    (SPLIT, [], "I don’t know", "I do not know"),  # a typographic apostrophe
    (SPLIT, [], "I'M SURE THEY DON'T", "I AM SURE THEY DO NOT"),
    (SPLIT, [], "They Do Not Know", "They Do n't Know"),
    (JOINED, [], "They Do Not Know", "They Don't Know"),
    (JOINED, [], "Do not go , he will wait", "Don't go , he'll wait"),
    (JOINED, [], "they ca n't , it's", "they can not , it's"),
    *((SPLIT, [], text, text) for text in (
        *("what it is is good", "I know what he is now", "what I am is this", "He is ."),
        *("I know who he is .", "where she is today", "taller than he is now", "all I am is here"),
        *("how old it is in years", "if he is and I know", "she is too .", "he will and she would"),
        *("as you are now", "what a fool he is usually", "I wonder where they are , he says"),
        "wherever it is it rains",
        *("the will not to live", "a can not opened", "her need not to know"),
        *("God 's will not mine", "Is n't John here"),
        *("I can not only see but hear", "it is not merely odd"),
        *("good will not to be lost", "that will of his", "why do n't the men go"),
        *("How ca n't the boy", "Do n't the men go"),
    )),
    (SPLIT, [], "Where there is life", "Where there 's life"),
    (SPLIT, [], "when it is warm", "when it 's warm"),
    (SPLIT, [], "it is warm today", "it 's warm today"),
    (SPLIT, [], "I am here now", "I 'm here now"),
    (SPLIT, [], "what he is doing", "what he 's doing"),
    (SPLIT, [], "what you will do", "what you 'll do"),
    (SPLIT, [], "what is this", "what 's this"),
    (SPLIT, [], "who is there", "who 's there"),
    (SPLIT, [], "what was it , it is now mine", "what was it , it 's now mine"),
    (SPLIT, [], "it is too late", "it 's too late"),
    (SPLIT, [], "the men do not know", "the men do n't know"),
    (SPLIT, [], "they need not know", "they need n't know"),
    (SPLIT, [], "what does n't kill", "what does not kill"),
    (SPLIT, [], "Do n't go", "Do not go"),
    (JOINED, [], "why can't the boy , you can't", "why can't the boy , you can not"),
    (Insertion(), [1, 2], "he left", "he the left"),
    (Insertion(), [2, 0], "he left", "he left a"),
    (Insertion(), [2, 0], "he left .", "he left a ."),  # a stop stays last: 3 places
    (Deletion(), [1], "The cat on it ran", "The cat it ran"),
    (Deletion(), [], "he left", "he left"),
    (Deletion(), [], "the", "the"),
    (FunctionWordSubstitution(), [0, 1], "The cat on it", "An cat on it"),
    (FunctionWordSubstitution(), [1, 0], "The cat on it", "The cat a it"),
    (FunctionWordSubstitution(), [], "he left", "he left"),
    (FunctionWordSubstitution(), [0, 1], "THE CAT", "AN CAT"),
    (FunctionWordSubstitution(), [0, 1], "who am I", "who an I"),
    (FunctionWordSubstitution(), [1, 1], "who am I", "who am an"),
]  # fmt: skip


def _id(one: object) -> str:
    return one.name if isinstance(one, Perturbation) else str(one)


@pytest.mark.parametrize(("operation", "draws", "before", "after"), CASES, ids=_id)
def test_by_hand(operation: Perturbation, draws: list[int], before: str, after: str) -> None:
    script: Any = Script(draws)
    found = operation.reword(Sentence(tuple(before.split())), script)
    assert " ".join(found.words) == after
    assert not script.draws


ALL = [
    Casing(),
    Contractions(),
    Contractions(joined=True),
    Deletion(),
    DoubledLetters(fraction=0.4),
    FinalStop(),
    FunctionWordSubstitution(),
    Insertion(),
    KeyboardSlips(),
    Punctuation(),
    Typos(),
]
DRAWING = [one for one in ALL if not isinstance(one, Contractions | FinalStop)]


def texts(count: int = 60) -> list[Example]:
    """Sample sentences, some of them with contractions and without a stop."""
    made = sentences(count)
    for at, ending in ((3, "I do not care ."), (5, "it ca n't be"), (7, "don't go")):
        made[at] = Example(at, Sentence(tuple(ending.split())), None)
    return made


@pytest.mark.parametrize("operation", ALL, ids=lambda one: one.name)
def test_origins_say_how_words_map(operation: Perturbation) -> None:
    changed = 0
    for example, found in zip(texts(), operation.rewordings(texts(), 4), strict=True):
        words = example.sentence.words
        kept = [at for at in found.origins if at != NEW]
        assert kept == sorted(kept)
        same = [at for new, at in zip(*found, strict=True) if at != NEW and new == words[at]]
        assert found.affected(words) == len(words) - len(set(same))
        changed_or_new = found.affected(words) > 0 or NEW in found.origins
        assert changed_or_new == (found.words != words)
        changed += found.words != words
        if isinstance(operation, Typos | KeyboardSlips | DoubledLetters | Casing):
            assert found.origins == tuple(range(len(words)))
    assert changed >= 3


@pytest.mark.parametrize("operation", ALL, ids=lambda one: one.name)
def test_draws_follow_from_seed_and_id(operation: Perturbation) -> None:
    whole = operation.rewordings(texts(), 4)
    halves = [operation.rewordings(texts()[first::2], 4) for first in (1, 0)]
    assert halves == [whole[1::2], whole[::2]]
    assert (operation.rewordings(texts(), 5) != whole) == (operation in DRAWING)


def test_a_fraction_of_the_words_changes() -> None:
    (found,) = Typos(fraction=0.25).rewordings(
        [Example(0, Sentence(("word",) * 10 + (".",) * 10), None)], 0
    )
    assert found.affected(("word",) * 10 + (".",) * 10) == 5


def test_one_operation_is_drawn_and_the_next_where_it_changes_nothing() -> None:
    operations = [FinalStop(), Casing(to="upper")]
    examples = texts(200)
    stops, capitals = (one.rewordings(examples, 1) for one in operations)
    pairs = draw_rewordings(operations, examples, 1)
    drawn = [rewording for rewording, _ in pairs]
    assert all(
        found.words == example.sentence.words or found == operation.rewordings([example], 1)[0]
        for example, (found, operation) in zip(examples, pairs, strict=True)
    )
    assert all(
        found in (stop, capital)
        for found, stop, capital in zip(drawn, stops, capitals, strict=True)
    )
    without_stop = [
        at for at, stop in enumerate(stops) if stop.words == examples[at].sentence.words
    ]
    assert without_stop
    assert all(drawn[at] == capitals[at] for at in without_stop)
    others = [at for at in range(200) if at not in without_stop]
    assert 0.35 < sum(drawn[at] == stops[at] for at in others) / len(others) < 0.65
    halves = [draw_rewordings(operations, examples[first::2], 1) for first in (0, 1)]
    assert halves == [pairs[::2], pairs[1::2]]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (Rewording((), ()), "gives []"),
        (Rewording(("so", ""), (0, 1)), "gives ['so', '']"),
        (Rewording(("so", 1), (0, 1)), "gives ['so', 1]"),
        (Rewording(("so",), (0, 1)), "gives 1 words with the origins [0, 1]"),
        (Rewording(("so",), (2,)), "gives 1 words with the origins [2]"),
        (Rewording(("a\0",), (0,)), "gives a NUL character (U+0000) in the word 'a\\x00'"),
        (Rewording(("a\t",), (0,)), "gives a control character (U+0009) in the word 'a\\t'"),
        (Rewording(("a b",), (0,)), "gives a blank in the word 'a b'"),
        (
            Rewording(("\ud800",), (0,)),
            "gives half a surrogate pair (U+D800) in the word '\\ud800'",
        ),
    ],
)
def test_inconsistent_rewordings_are_refused(given: Rewording, found: str) -> None:
    class MyOwn(Perturbation):
        def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
            return given

    with pytest.raises(InputError) as error:
        draw_rewordings([MyOwn()], [Example(0, Sentence(("So", "?")), None)], 0)
    assert error.value.found == f"{found} for 'So ?'"
    assert error.value.key == "my_own"


class Own(Perturbation):
    """Gives a fixed value for each sentence, or for all of them together."""

    def __init__(self, each: Any = None, *, together: bool = False) -> None:
        self.each, self.together = each, together

    def reword(self, sentence: Sentence, rng: np.random.Generator) -> Rewording:
        return self.each

    def rewordings(self, examples: Sequence[Example], seed: int) -> list[Rewording]:
        return self.each if self.together else super().rewordings(examples, seed)


@pytest.mark.parametrize(
    "operation",
    [
        *(Own(None), Own(("So", "?")), Own(Rewording("So", (0, 1))), Own(Rewording(("So",), None))),
        *(Own(None, together=True), Own([], together=True)),
    ],
)
def test_other_types_than_rewordings_are_refused(operation: Perturbation) -> None:
    with pytest.raises(InputError) as error:
        draw_rewordings([operation], [Example(0, Sentence(("So", "?")), None)], 0)
    assert error.value.key == operation.name


def test_words_of_a_rewording_may_be_a_list() -> None:
    sentence = Sentence(("So", "?"))
    ((rewording, _),) = draw_rewordings(
        [Own(Rewording(["So", "?"], [0, 1]))], [Example(0, sentence, None)], 0
    )
    assert rewording == Rewording.of(sentence.words)  # unchanged


@pytest.mark.parametrize(
    ("kind", "settings", "key"),
    [
        (Typos, {"fraction": 0.0}, "typos: fraction"),
        (Typos, {"edits": []}, "typos: edits"),
        (Typos, {"edits": ["add"]}, "typos: edits"),
        (KeyboardSlips, {"layout": "dvorak"}, "keyboard_slips: layout"),
        (Casing, {"to": "title"}, "casing: to"),
        (Punctuation, {"how": "double"}, "punctuation: how"),
    ],
)
def test_settings_out_of_range(kind: Any, settings: dict[str, Any], key: str) -> None:
    with pytest.raises(InputError) as error:
        kind(**settings)
    assert error.value.key == key


def test_names_say_what_differs_from_the_defaults() -> None:
    assert FinalStop().name == "final_stop"
    assert Typos(edits=["swap"], fraction=0.15).name == "typos(edits=['swap'])"
    assert Casing(to="lower").name == "casing(to=lower)"
    there = [TranslationCommand(["apertium", "eng-spa"])]
    name = BackTranslation(there, there, cache=None).name
    translators = "there=[TranslationCommand], back=[TranslationCommand]"
    assert name == f"back_translation({translators}, cache=None)"


def test_the_page_shows_what_they_do() -> None:
    """A row: a name, a class with a setting, and the sentence at the head with seed and id 0."""
    page = (Path(__file__).parents[2] / "docs" / "guides" / "perturbations.md").read_text("utf-8")
    tables = re.split(r"\| `([^`]*)` becomes \|", page)[1:]
    shown = 0
    for before, table in zip(tables[::2], tables[1::2], strict=True):
        example = Example(0, Sentence(tuple(before.split())), None)
        row = r"^\| (?:`(\w+)`)? ?\| `(\w+)(?:\((\w+)=(\S+)\))?` \| (.*) \|$"
        for plain, kind, setting, value, after in re.findall(row, table, re.M):
            cls = getattr(perturbations, kind)
            settings = {setting: [value[1:-1]] if value[0] == "[" else value} if setting else {}
            (found,) = cls(**settings).rewordings([example], 0)
            assert " ".join(found.words) == after
            assert plain in ("", plain_name(cls))
            shown += 1
    assert shown == 15


def test_blanks_of_original_words_may_stay() -> None:
    sentence = Sentence(("20\u00a0000", "sinh viên"))
    ((found, _),) = draw_rewordings([Casing(to="upper")], [Example(0, sentence, None)], 0)
    assert found.words == ("20\u00a0000", "SINH VIÊN")


@pytest.mark.parametrize("answer", ["a\0b", "a\x07b", "a\ud800b", "a\rb"])
def test_no_translation_has_a_character_that_no_file_holds(answer: str, tmp_path: Path) -> None:
    class Foreign(TranslationCommand):
        def translate(self, texts: Sequence[str]) -> list[str]:
            return [answer for _ in texts]

    cache = str(tmp_path / "cache.sqlite")
    operation = BackTranslation([Foreign(["there"])], [Foreign(["back"])], cache=cache)
    for _ in range(2):  # and none is kept
        with pytest.raises(InputError) as error:
            operation.rewordings([Example(0, Sentence(("so",)), None)], 0)
        assert error.value.key == 'Foreign ["there"]'
