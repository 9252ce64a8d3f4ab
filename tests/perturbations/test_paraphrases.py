"""Operations that need a model, a parser or a program: what they ask, and what they make of it."""

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
import torch
from transformers import BertTokenizer, MarianConfig, MarianMTModel

from robustparse.attacks.candidates.characters import CharacterEdits
from robustparse.attacks.candidates.generator import CandidateGenerator
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.sememes import Sememes
from robustparse.attacks.candidates.training_words import TrainingWords
from robustparse.attacks.candidates.vocabulary import VocabularyWords
from robustparse.attacks.constraints.similarity import SentenceSimilarity
from robustparse.errors import InputError
from robustparse.perturbations import (
    BackTranslation,
    Reordering,
    TranslationCommand,
    TranslationModel,
    Translator,
    WordSubstitution,
)
from robustparse.perturbations.reordering import orders
from robustparse.types import DependencyTree, Example, Sentence
from sample_runs import save_checkpoint, trained_parser
from tiny_language_models import VOCABULARY


def examples(*texts: str) -> list[Example]:
    return [Example(id_, Sentence(tuple(text.split())), None) for id_, text in enumerate(texts)]


class Measured(SentenceSimilarity):
    """Similarities from a table, 0 where it says nothing."""

    def __init__(self, table: dict[str, float], **settings: Any) -> None:
        super().__init__("none", minimum=0.5, **settings)
        self.table = table

    def between(self, texts: Sequence[str], others: Sequence[str]) -> Any:
        assert len(texts) == len(others)
        return np.array([self.table.get(text, 0.0) for text in texts])


LEXICON = Lexicon({"cats": ["Cats", "dogs", "cat-1", "toms", "pets", "queens"]})


@pytest.mark.parametrize(
    ("settings", "texts"),
    [
        ({}, {"the dogs are", "the toms are", "the pets are"}),
        ({"best": 1}, {"the dogs are"}),
        ({"top": 2}, {"the dogs are", "the toms are"}),
        (
            {
                "similarity": Measured(
                    {"the dogs are": 0.6, "the queens are": 0.9, "the toms are": 1}
                )
            },
            {"the toms are", "the queens are", "the dogs are"},
        ),
        ({"similarity": Measured({"the pets are": 0.5, "the toms are": 0.4})}, {"the pets are"}),
        ({"similarity": Measured({})}, {"the cats are"}),
        ({"similarity": Measured({"toms": 0.7}, window=1)}, {"the toms are"}),
    ],
)
def test_one_of_the_best_substitutes_is_drawn(settings: dict[str, Any], texts: set[str]) -> None:
    operation = WordSubstitution(LEXICON, **settings)
    rows = examples(*["the cats are"] * 40)
    found = operation.rewordings(rows, 3)
    assert {" ".join(one.words) for one in found} == texts
    assert all(one.origins == (0, 1, 2) for one in found)
    halves = [operation.rewordings(rows[first::2], 3) for first in (0, 1)]
    assert halves == [found[::2], found[1::2]]
    assert operation.rewordings(examples("the 7 is", "c3po"), 0)[0].words == ("the", "7", "is")
    table = {
        "tallest": ["tall", "highest"],
        "jobs": ["work", "tasks"],
        "virus": ["germ"],
        "need": ["want"],
    }
    inflected = WordSubstitution(Lexicon(table | {"state": ["lands"]}), best=1)
    texts = examples("tallest", "jobs", "virus", "need", "state")
    words = [one.words[0] for one in inflected.rewordings(texts, 0)]
    assert words == ["highest", "tasks", "germ", "want", "lands"]
    asks = WordSubstitution(Lexicon({word: ["cats"] for word in ("how", "many", "than", "Not")}))
    for found in asks.rewordings(examples("How many", "than", "not many"), 0):
        assert "cats" not in found.words


@pytest.mark.parametrize(
    "candidates",
    [
        VocabularyWords(),
        CharacterEdits(alphabet=None),
        TrainingWords(),
        Sememes("unread.json", words="training"),
    ],
)
def test_words_of_a_victim_are_refused_where_there_is_none(candidates: CandidateGenerator) -> None:
    with pytest.raises(InputError, match="proposes words of the victim") as error:
        WordSubstitution(candidates).rewordings(examples("the cats are"), 0)
    assert error.value.key == type(candidates).__name__


def test_english_rules_are_for_english_only() -> None:
    """German "Tests" and "Haus" are no plurals, "was" and "will" no English function words."""
    table = {"Tests": ["Prüfung"], "Haus": ["Gebäude"], "was": ["welches"], "will": ["möchte"]}
    table["Ei"] = ["Huhn"]
    texts = examples(*table)
    german = WordSubstitution(Lexicon(table), language="deu")
    assert [one.words for one in german.rewordings(texts, 0)] == [(to,) for (to,) in table.values()]
    english = WordSubstitution(Lexicon(table))
    found = [one.words[0] for one in english.rewordings(texts, 0)]
    assert found == ["Tests", "Gebäude", "was", "will", "Ei"]


# 0 show 1 me 2 flights 3 to 4 boston 5 from 6 denver 7 on 8 monday 9 .
FLIGHTS = Sentence(("show", "me", "flights", "to", "boston", "from", "denver", "on", "monday", "."))
TREE = DependencyTree(
    heads=(0, 1, 1, 5, 3, 7, 3, 9, 1, 1),
    labels=("root", "iobj", "obj", "case", "nmod", "case", "nmod:from", "case", "obl", "punct"),
)


def test_orders_by_hand() -> None:
    found = [" ".join(FLIGHTS.words[at] for at in order) for order in orders(FLIGHTS, TREE)]
    assert found == [
        "show me flights from denver to boston on monday .",
        "on monday show me flights to boston from denver .",
    ]
    front = Sentence(("on", "monday", "we", "fly"))
    tree = DependencyTree((2, 4, 4, 0), ("case", "obl", "nsubj", "root"))
    assert orders(front, tree) == [[2, 3, 0, 1]]
    # A phrase with a gap, and one that is the whole sentence.
    gap = DependencyTree((3, 0, 2, 2), ("case", "root", "obl", "obj"))
    assert orders(front, gap) == []
    assert orders(Sentence(("fly",)), DependencyTree((0,), ("root",))) == []
    # What belongs to the word before it.
    pay = Sentence(("jobs", "pay", "forty", "a", "year", "in", "june"))
    labels = ("nsubj", "root", "obj", "det", "obl:npmod", "case", "obl")
    tree = DependencyTree((2, 0, 2, 5, 2, 7, 2), labels)
    assert orders(pay, tree) == [[5, 6, 0, 1, 2, 3, 4]]
    city = Sentence(("name", "cities", "of", "texas", "on", "rivers"))
    tree = DependencyTree((0, 1, 4, 2, 6, 2), ("root", "obj", "case", "nmod", "case", "nmod"))
    assert orders(city, tree) == []
    at = Sentence(("name", "cities", "in", "texas", "on", "rivers"))
    assert orders(at, tree) == [[0, 1, 4, 5, 2, 3]]


def test_reordering_by_a_parser(tmp_path: Path) -> None:
    parser = trained_parser(3)
    save_checkpoint(parser, tmp_path / "parser.ckpt")
    operation = Reordering(str(tmp_path / "parser.ckpt"))
    rows = examples("the dog barks at the fox .", "the cat runs", "a dog in the park runs to us")
    found = operation.rewordings(rows, 1)
    for row, one in zip(rows, found, strict=True):
        tree = parser.predict([row.sentence])[0]
        allowed = orders(row.sentence, tree) or [[*range(len(row.sentence))]]
        assert [*one.origins] in allowed
        assert one.words == tuple(row.sentence.words[at] for at in one.origins)
    assert operation.rewordings(rows[1:2], 1) == found[1:2]
    assert operation.rewordings([], 1) == []


class Scripted(Translator):
    """Translates by a table, marks what it is not asked for, and fails at some texts."""

    def __init__(self, table: dict[str, str], name: str = "") -> None:
        self.table, self.name = table, name
        self.asked: list[str] = []
        self.failing = True

    @property
    def settings(self) -> str:
        return self.name

    def translate(self, texts: Sequence[str]) -> list[str]:
        self.asked += texts
        if self.failing and "fail" in texts:
            raise InputError("failed")
        return [self.table.get(text, f"<{text}>") for text in texts]


def test_the_best_of_several_languages_is_kept(tmp_path: Path) -> None:
    there = [Scripted({"he left": "f1", "we ran": "f2"}, "a"), Scripted({"he left": "g1"}, "b")]
    back = [Scripted({"f1": "he quit", "f2": "ran"}, "c"), Scripted({"g1": "He went."}, "d")]
    similarity = Measured({"he quit": 0.5, "He went.": 0.8, "ran": 0.4})
    cache = str(tmp_path / "cache.sqlite")
    operation = BackTranslation(there, back, similarity=similarity, cache=cache)
    rows = examples("he left", "we ran", "he left")
    first = operation.rewordings(rows, 0)
    assert [" ".join(one.words) for one in first] == ["he went .", "we ran", "he went ."]
    assert first[0].origins == (0, -1, -1)
    assert there[0].asked == ["he left", "we ran"]
    assert operation.rewordings(rows, 1) == first
    assert there[0].asked == ["he left", "we ran"]  # the rest is in the cache
    plain = BackTranslation(there[:1], back[:1], cache=None)
    assert [one.words for one in plain.rewordings(rows[:2], 0)] == [("he", "quit"), ("ran",)]
    cased = plain.reword(Sentence(("He", "left")), np.random.default_rng(0))
    assert cased == (("<", "<", "He", "left", ">", ">"), (-1, -1, 0, 1, -1, -1))


@pytest.mark.parametrize("text", ["नमस्ते दुनिया !", "cafe\u0301 noir", "می\u200cروم", "don't 👍🏽 ❤️"])
def test_words_keep_their_marks(text: str) -> None:
    echo = Scripted({text: text})
    operation, words = BackTranslation([echo], [echo], cache=None), tuple(text.split())
    found = operation.reword(Sentence(words), np.random.default_rng(0))
    assert found == (words, tuple(range(len(words))))


def test_what_has_been_translated_is_kept_when_a_command_fails_midway(tmp_path: Path) -> None:
    cache = str(tmp_path / "cache.sqlite")
    there, back = Scripted({}, "there"), Scripted({}, "back")
    rows = examples(*(f"text {number}" for number in range(70)), "fail")
    with pytest.raises(InputError, match="failed"):
        BackTranslation([there], [back], cache=cache).rewordings(rows, 0)
    again = Scripted({}, "there")
    again.failing = False
    found = BackTranslation([again], [back], cache=cache).rewordings(rows, 0)
    assert again.asked == [f"text {number}" for number in range(64, 70)] + ["fail"]
    assert found[70].words == ("<", "<", "fail", ">", ">")


def test_a_row_that_holds_no_text_is_named(tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    operation = BackTranslation([Scripted({})], [Scripted({})], cache=str(cache))
    operation.rewordings(examples("he left"), 0)
    with closing(sqlite3.connect(cache)) as database, database:
        row = f"[1, 2] {crc32(b'[1, 2]'):08x}"
        database.execute("UPDATE candidates SET words = ?", (row,))
    with pytest.raises(InputError, match=r"got \[1, 2\]|\[1, 2\]") as error:
        operation.rewordings(examples("he left"), 0)
    assert "key X'" in str(error.value.key)
    with pytest.raises(InputError, match="translation cache"):
        BackTranslation([Scripted({})], [Scripted({})], cache=str(tmp_path)).rewordings(
            examples("he left"), 0
        )


UPPER = "import sys; [print(line.strip().upper()) for line in sys.stdin]"


def test_settings_are_asked_for_once_a_call() -> None:
    """Those of a model's folder are a digest of all that it holds."""

    class Counted(TranslationCommand):
        asked = 0

        @property
        def settings(self) -> str:
            self.asked += 1
            return super().settings

    there, back = (Counted([sys.executable, "-c", UPPER]) for _ in range(2))
    texts = [Example(id_, Sentence((word,)), None) for id_, word in enumerate("abc")]
    BackTranslation([there], [back], cache=None).rewordings(texts, 0)
    assert (there.asked, back.asked) == (1, 1)


def test_a_command_translates_line_by_line() -> None:
    command = TranslationCommand([sys.executable, "-c", UPPER])
    assert command.translate(["one é", "two\u2028three"]) == ["ONE É", "TWO\u2028THREE"]
    assert command.translate(["half a pair: \ud800"]) == ["HALF A PAIR: ?"]  # JSON may hold it


@pytest.mark.parametrize(
    ("command", "found"),
    [
        (["no-such-translator"], "cannot be run"),
        ([sys.executable, "-c", "import sys; sys.exit('no such language')"], "no such language"),
        ([sys.executable, "-c", "import sys; sys.exit('no mode\\n a\\nb')"], "no mode … b"),
        ([sys.executable, "-c", "print('one'); print('two')"], "and 2 lines for 1"),
        ([sys.executable, "-c", ""], "and 0 lines for 1"),
        ([sys.executable, "-c", r"import os; os.write(1, b'caf\xe9\n')"], "0xe9"),
        ([sys.executable, "-c", "import time; time.sleep(60)"], "no answer to 1 texts in 0.5 s"),
    ],
)
def test_a_command_that_cannot_translate(command: list[str], found: str) -> None:
    with pytest.raises(InputError, match=found) as error:
        TranslationCommand(command, seconds=0.5).translate(["a text"])
    assert "run again" in str(error.value)


def test_a_model_translates_each_text_by_itself(tmp_path: Path) -> None:
    torch.manual_seed(0)
    sizes = {f"{part}_{what}": 2 for part in ("encoder", "decoder") for what in ("layers",)}
    heads = {f"{part}_attention_heads": 2 for part in ("encoder", "decoder")}
    inner = {f"{part}_ffn_dim": 16 for part in ("encoder", "decoder")}
    config = MarianConfig(
        vocab_size=len(VOCABULARY), d_model=16, max_position_embeddings=40, init_std=0.5,
        pad_token_id=0, eos_token_id=3, decoder_start_token_id=0, max_length=12,
        forced_eos_token_id=None, **sizes, **heads, **inner,
    )  # fmt: skip
    MarianMTModel(config).save_pretrained(tmp_path)
    BertTokenizer(vocab=VOCABULARY).save_pretrained(tmp_path)
    model = TranslationModel(str(tmp_path), device="cpu")
    both = model.translate(["the dog bark", "a cat"])
    assert both == model.translate(["the dog bark"]) + model.translate(["a cat"])
    assert all(both)
    with pytest.raises(InputError, match="translation model"):
        TranslationModel(str(tmp_path / "none")).translate(["a"])


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda: WordSubstitution(LEXICON, top=0), "word substitution: top"),
        (lambda: WordSubstitution(LEXICON, language="fr"), "word substitution: language"),
        (lambda: BackTranslation([Scripted({})], []), "back translation"),
        (lambda: TranslationCommand([]), "translation command"),
        (lambda: TranslationCommand(["x"], seconds=0), "translation command: seconds"),
    ],
)
def test_settings_out_of_range(make: Any, key: str) -> None:
    with pytest.raises(InputError) as error:
        make()
    assert error.value.key == key
