"""Semantic parsing: a logical form for each utterance, scored by exact match."""

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustparse.data.read_options import FileUse, ReadOptions
from robustparse.data.reading import Reading
from robustparse.data.sample.questions import sample_questions
from robustparse.data.tables import without_raw
from robustparse.data.utterances.forms import read_forms
from robustparse.data.utterances.raw import RawReading, RawUtterance, raw_utterance, slots_in
from robustparse.data.utterances.stems import StemReading
from robustparse.errors import InputError
from robustparse.files.paths import Sources
from robustparse.grammars import (
    NEXT_FORM,
    Tree,
    exact_match,
    language_named,
    language_of,
    tranx_match,
)
from robustparse.metrics import percent
from robustparse.tasks.certificate_drawing import CERTIFICATE_LEGEND, draw_answer
from robustparse.tasks.task import Answers, Pictures, Record, Task
from robustparse.tasks.text import TableFiles, TextScores, template
from robustparse.types import Example, LogicalForm, Row, Sentence

_LISTED = 20  # lines that a warning lists at most


@dataclass(frozen=True)
class SemanticFiles(TableFiles):
    """Tables of utterances and logical forms; examples can be joined (`Concatenates`).

    See `semantic_task` for the arguments.
    """

    language: str | None
    copy: bool
    stems: bool
    corpus = staticmethod(sample_questions)

    def read(self, path: Sources, options: ReadOptions = ReadOptions()) -> list[Example]:
        """See `read_forms`."""
        return read_forms(path, options, self.language)

    def answer(self, text: str) -> LogicalForm:
        """See `WritesPairs.answer`."""
        language = language_named(self.language or language_of(text.split()))
        language.parse(text)
        return LogicalForm(text, language.name)

    def row(self, example: Example, words: Sequence[str] | None, answer: str | None) -> Row:
        """Return the row of an utterance; new words of a raw text keep the other columns."""
        row, raw = example.row, self._raw(example)
        if row is None or raw is None or words is None or row.layout.raw is None:
            return super().row(example, words, answer)
        values = {**row.values, row.layout.raw[0]: " ".join(words)}
        read = Sentence(self.reading(example).of(words))
        changed = replace(example, sentence=read, row=replace(row, values=values))
        return super().row(changed, None, answer)

    def surface(self, example: Example) -> Sentence:
        """Return the raw text if the data hold it."""
        raw = self._raw(example)
        return example.sentence if raw is None else Sentence(raw.words)

    def reading(self, example: Example) -> Reading:
        """Read the raw text as slots and stems, or the utterance, whose words may be stems.

        Slots are not replaced: without them, the gold form would be wrong.
        """
        raw = self._raw(example)
        if raw is not None:
            return RawReading.aligned(raw, example.sentence)
        kind = StemReading if self.stems else Reading
        return kind.word_for_word(example.sentence, slots_in(example.sentence.words))

    def _raw(self, example: Example) -> RawUtterance | None:
        return raw_utterance(example, self.stems)

    def tagging(self, example: Example) -> tuple[tuple[str, ...], Sequence[int]]:
        """Return the raw text if the utterance follows from it; a slot gets its last word's tag."""
        raw = self._raw(example)
        placed = [] if raw is None else raw.placed(raw.words)
        if raw is None or example.sentence.words != tuple(token for token, _ in placed):
            return super().tagging(example)
        return raw.words, [at for _, at in placed]

    def project(
        self, example: Example, words: Sequence[str], origins: Sequence[int]
    ) -> Example | None:
        """Return the new utterance, a raw text as slots and stems, with the same form.

        None if a slot of the form is lost, or if the stems do not change.
        """
        raw = self._raw(example)
        parsed = tuple(words) if raw is None else raw.parsed(words)
        same = raw is not None and parsed in (example.sentence.words, raw.parsed(raw.words))
        if same or not parsed or not self.needed(example) <= set(parsed):
            return None
        row = example.row and (example.row if raw is None else without_raw(example.row))
        return replace(example, sentence=Sentence(parsed), row=row)

    def needed(self, example: Example) -> frozenset[str]:
        """Return the slots of the form that occur in the utterance."""
        return frozenset(slots_in(example.gold.split()).intersection(example.sentence.words))

    def concatenated(self, first: Example, second: Example, separator: str) -> Example:
        """See `Concatenates`; the forms are joined by `NEXT_FORM`."""
        words = (*first.sentence.words, separator, *second.sentence.words)
        form = LogicalForm(f"{first.gold} {NEXT_FORM} {second.gold}", first.gold.language)
        return Example(first.id, Sentence(words), form)

    def warnings(
        self, examples: Sequence[Example], known: Collection[str], use: FileUse
    ) -> Iterator[str]:
        """Warn of tokens of forms that the parser does not know, and of slots without a word."""
        names = set(known)
        unknown = [(each, new) for each in examples if (new := self._unknown_tokens(each, names))]
        if unknown:
            tokens = sorted(set().union(*(new for _, new in unknown)))
            yield (
                f"{unknown[0][0].place(use.path)}: tokens of logical forms that the parser never "
                f"saw in training ({', '.join(tokens)}): the {len(unknown)} utterances with them "
                f"{'are not learnt' if use.training else 'count as wrong'}"
            )
        lost = [each for each in examples if _lacks_slots(each)]
        if lost:
            places = [each.place(use.path) for each in lost[:_LISTED]]
            more = ", …" if len(lost) > _LISTED else ""
            yield (
                f"{use.path}: {len(lost)} utterances do not hold every slot of their logical "
                f"forms, which a parser could only guess: {', '.join(places)}{more}"
            )

    def _unknown_tokens(self, example: Example, known: Set[str]) -> set[str]:
        """Return the tokens of a form that are unknown and cannot be copied.

        Variables are left out: their names do not change what a form means.
        """
        words = example.sentence.words if self.copy else ()
        leaf = language_named(example.gold.language).leaf
        unknown = set(example.gold.split()).difference(known, words)
        return {token for token in unknown if leaf(token) != "Variable"}


def _lacks_slots(example: Example) -> bool:
    """Tell whether an utterance lacks a slot of its form; heads such as ``loc_2`` are not slots."""
    form = example.gold
    missing = slots_in(form.split()).difference(example.sentence.words)
    if missing:
        with suppress(InputError):  # other checks refuse a form that cannot be read
            missing &= {*_leaves(language_named(form.language).parse(form))}
    return bool(missing)


def _leaves(tree: Tree) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    else:
        for child in tree[1:]:
            yield from _leaves(child)


@dataclass(frozen=True)
class SemanticAnswers(Answers):
    """`LogicalForm` objects; see `semantic_task` for the language."""

    gold_type = LogicalForm
    language: str | None = None

    def to_record(self, answer: LogicalForm) -> dict[str, Any]:
        """Return the form and its language."""
        return {"form": str(answer), "language": answer.language}

    def from_record(self, record: Record) -> LogicalForm:
        """See `Answers.from_record`."""
        form, language = record.get("form"), record.get("language")
        if not isinstance(form, str):
            raise InputError(f"got {form!r}", key="form", expected="a string")
        return LogicalForm(form, language_named(str(language)).name)

    def difference(
        self, first: LogicalForm, second: LogicalForm, apart: Collection[int] = ()
    ) -> int:
        """Return 1 if the forms differ in meaning, otherwise 0."""
        return int(not exact_match(first, second, second.language))


class SemanticScores(TextScores):
    """Three kinds of matches.

    ``exact_match`` compares canonical forms, in which bound variables have no names and conjuncts
    no order; ``tranx_match`` compares as the released code of TranX does, ``string_match`` tokens.
    """

    headline = "exact_match"
    names = ("exact_match",)
    further = ("tranx_match", "string_match")

    def correct(
        self, answer: LogicalForm, example: Example, counted: NDArray[np.bool_]
    ) -> dict[str, int]:
        """Return 1 as the number of utterances, and whether the form is right by each score."""
        gold = example.gold
        return {
            "counted": 1,
            "correct": int(exact_match(answer, gold, gold.language)),
            "tranx_match": int(tranx_match(answer, gold, gold.language)),
            "string_match": int(answer.split() == gold.split()),
        }

    def score(self, sums: Mapping[str, int]) -> dict[str, float | None]:
        """Compute the scores whose sums are given."""
        whole = sums.get("counted", 0)
        counts = {"exact_match": "correct", **{name: name for name in self.further}}
        return {
            name: percent(sums[count], whole) if whole else None
            for name, count in counts.items()
            if count in sums
        }


def _draw(record: Record) -> str:
    """Draw both utterances, and the logical form before and after."""
    answers = SemanticAnswers()
    gold, before, after = answers.of(record)
    right = [not answers.difference(form, gold) for form in (before, after)]
    return template("forms.html.j2").render(
        record=record, gold=gold, forms=(before, after), right=right
    )


def _draw_certificate(record: Record) -> str:
    """Draw an utterance, its logical form, and the utterances with another form."""
    form_of = SemanticAnswers().from_record
    return draw_answer(record, "exact_match", form_of(record["gold"]), form_of, code=True)


_LEGEND = (
    '<ul class="legend"><li><mark>word</mark>substituted</li><li>A wrong logical form has '
    "another color.</li></ul>"
)


def semantic_task(language: str | None = None, copy: bool = False, stems: bool = True) -> Task:
    """Return the task of semantic parsing.

    Args:
        language: the language of forms that are read, see `read_forms`; None finds it by their
            tokens. A model's task has the language of its training data.
        copy: whether the parser may copy words of an utterance into its form.
        stems: whether the parser reads stems; inflected words of a raw text show this themselves.
    """
    return Task(
        "semantic",
        SemanticFiles(language, copy, stems),
        SemanticAnswers(language),
        SemanticScores(),
        Pictures(_draw, _LEGEND, _draw_certificate, CERTIFICATE_LEGEND),
    )
