"""Attacks on parsers that read stems and slots: what is reworded, what is read, what is asked."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from attack_fakes import FakeVictim
from numpy.typing import NDArray

from robustparse.attacks.attack import Attack
from robustparse.attacks.candidates.lexicon import Lexicon
from robustparse.attacks.candidates.union import Union
from robustparse.attacks.constraints.constraint import Constraint, Masks, Words
from robustparse.attacks.constraints.edits import EditBudget
from robustparse.attacks.constraints.words import SeenInTraining, Slots
from robustparse.attacks.results import AttackResult
from robustparse.attacks.search.beam import Beam
from robustparse.attacks.search.random_substitution import RandomSubstitution
from robustparse.attacks.victim import Victim
from robustparse.data.reading import Reading
from robustparse.tasks.semantic import semantic_task
from robustparse.tasks.task import Task
from robustparse.types import Example, Layout, LogicalForm, Row, Sentence, TextRows

GOLD = LogicalForm("( river:t s0 )", "lambda")
TABLE = {
    "show": ["shows", "list"],
    "rivers": ["river", "streams", "stream", "brooks"],
    "river": ["rivers", "streams", "stream", "brooks"],
    "s0": ["boston"],
}
# What would make or lose a slot or a stop, for raw texts.
WITH_SLOTS = {"in": ["york", "?", "s0", "S0", "near"], "new": ["old"], "york": ["x"], "?": ["now"]}


class FormVictim(FakeVictim):
    """Answers with the gold form unless a text has a word that it gets wrong."""

    training_words = frozenset(["brook", "list"])

    def __init__(self, task: Task, wrong: str) -> None:
        super().__init__()
        self.task, self.wrong = task, wrong

    def reading(self, example: Example) -> Reading:
        return self.task.files.reading(example)

    def name_ids(self, names: Sequence[str]) -> NDArray[np.int32]:
        return np.zeros(len(names), dtype=np.int32)

    def predict(self, texts: TextRows) -> tuple[NDArray[Any], ...]:
        super().predict(texts)
        wrong = np.array([self.wrong in text for text in self.batches[-1]])
        return wrong * 1, wrong * 1, np.full(len(wrong), 0.5)

    def answers(self, predictions: Sequence[NDArray[Any]], lengths: Sequence[int]) -> list[Any]:
        return [LogicalForm("( a )" if row else GOLD, "lambda") for row in predictions[0]]


def example(block: str = "", words: str = "show river in s0") -> Example:
    return Example(0, Sentence(tuple(words.split())), GOLD, row=raw_row(block) if block else None)


def raw_row(line: str) -> Row:
    """The row of a raw text, an utterance, a form and slots."""
    layout = Layout("tsv", texts=(1,), label=2, raw=(0, 3))
    return Row(1, dict(enumerate(line.split("\t"))), layout)


def attacked(
    one: Example, victim: FormVictim, *constraints: Constraint, **table: list[str]
) -> AttackResult:
    generator = Lexicon(table or TABLE)
    (result,) = Attack(generator, Beam(width=9), [*constraints]).run([one], victim)
    return result


SLOTTED = 'show rivers in new york ?\tshow river in s0\t( river:t s0 )\t{"s0": "new york"}'
STEMS = {"list river in s0", "show stream in s0", "show brook in s0"}
# Each utterance, whether the model reads stems, and what is asked that differs by one word.
ASKED: dict[str, tuple[Example, bool, set[str]]] = {
    "raw text": (example(SLOTTED), True, {*STEMS, "show river near s0"}),
    "raw text, told by the row": (example(SLOTTED), False, {*STEMS, "show river near s0"}),
    # The tokens of the utterance that are not made of the raw text stay.
    "another raw text": (
        example(SLOTTED, "show me river within s0"),
        True,
        {"list me river within s0", "show me stream within s0", "show me brook within s0"},
    ),
    "stems": (example(), True, STEMS),
    "words": (
        example(words="show rivers near s0"),
        False,
        {"list rivers near s0", "shows rivers near s0"}
        | {f"show {word} near s0" for word in ("river", "streams", "stream", "brooks")},
    ),
}


@pytest.mark.parametrize("constraints", [[], [Slots()]], ids=["", "Slots"])
@pytest.mark.parametrize("name", ASKED)
def test_only_states_that_read_otherwise_are_asked_each_once(
    name: str, constraints: list[Constraint]
) -> None:
    one, stems, expected = ASKED[name]
    victim = FormVictim(semantic_task(stems=stems), wrong="nothing")
    table = TABLE | WITH_SLOTS if one.row else TABLE
    result = attacked(one, victim, *constraints, EditBudget(), **table)
    # The original is asked about at the beginning and, as what the search ends with, at the end.
    clean = " ".join(one.sentence.words)
    assert (victim.texts[0], victim.texts[-1]) == (clean, clean)
    assert sorted(victim.texts[1:-1]) == sorted(expected)
    assert result.unique == result.charged == len(expected) + 1


@pytest.mark.parametrize("block", [SLOTTED, ""])
def test_a_success_is_told_of_the_text_that_was_reworded(block: str) -> None:
    victim = FormVictim(semantic_task(), wrong="brook")
    result = attacked(example(block), victim)
    assert result.success
    assert result.edited == (1,)
    assert result.read == ("show", "brook", "in", "s0")
    raw = ("show", "brooks", "in", "new", "york", "?")
    assert result.words == (raw if block else result.read)
    text = "show rivers in new york ?" if block else "show river in s0"
    assert result.text.words == tuple(text.split())
    assert victim.texts[-1] == " ".join(result.read)


def test_a_candidate_that_reads_as_the_original_is_none() -> None:
    victim = FormVictim(semantic_task(), wrong="nothing")
    result = attacked(example(SLOTTED), victim, rivers=["river"], show=["shows"])
    assert victim.texts == ["show river in s0"] * 2
    assert result.candidates["sums"]["all"] == {"proposed": 0}
    assert (result.success, result.edited, result.charged) == (False, (), 1)


class Refused(Constraint):
    """Refuses one word."""

    def __init__(self, word: str) -> None:
        self.word = word

    def accept(self, slots: Any, candidates: Words, victim: Victim) -> Masks:
        """See `Constraint`."""
        return [np.array([word != self.word for word in words]) for words in candidates]


@pytest.mark.parametrize(
    ("constraints", "word"),
    [((), "streams"), ((Refused("streams"),), "stream"), ((SeenInTraining(),), "brooks")],
)
def test_of_words_that_read_alike_the_first_that_passes_stays(
    constraints: tuple[Constraint, ...], word: str
) -> None:
    victim = FormVictim(
        semantic_task(), wrong=semantic_task().files.reading(example(SLOTTED)).read(word)
    )
    generator = Union([Lexicon({"rivers": TABLE["rivers"][:2]}), Lexicon(TABLE)])
    (result,) = Attack(generator, Beam(width=9), [*constraints]).run([example(SLOTTED)], victim)
    assert result.words[1] == word
    assert result.success


def test_states_of_raw_texts_are_read_as_the_corpus_is_made() -> None:
    """Whatever words come together, a text is read as it would be from the beginning."""
    lines = (
        SLOTTED,
        'large rivers of the new river ?\tlarg river of the c0\t( a c0 )\t{"c0": "new river"}',
    )
    words = ["new", "york", "river", "rivers", "?", ".", "c0", "larger", "the", "York", "mouths"]
    table = {word: words for line in lines for word in line.split("\t")[0].split()}
    task = semantic_task()
    for turn in range(60):
        block = lines[turn % 2]
        one = Example(turn, Sentence(tuple(block.split("\t")[1].split())), GOLD, row=raw_row(block))
        search = RandomSubstitution(gamma=1.0, trials=1)
        (result,) = Attack(Lexicon(table), search).run([one], FormVictim(task, wrong="nothing"))
        raw = task.files.reading(one).raw  # type: ignore[attr-defined]
        assert raw.parsed(result.words) == result.read != one.sentence.words
        assert task.files.write(one, result.words).split("\t")[:2] == [
            *(" ".join(result.words), " ".join(result.read))
        ]
