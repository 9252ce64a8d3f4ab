"""Semantic parsing: one logical form an utterance, scored by exact match."""

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustparse.data.columns import Known
from robustparse.data.reading import Reading
from robustparse.data.tables import without_raw
from robustparse.data.utterances.forms import read_forms
from robustparse.data.utterances.raw import RawReading, RawUtterance, raw_utterance, slots_in
from robustparse.data.utterances.stems import StemReading
from robustparse.errors import InputError
from robustparse.grammars import (
    NEXT_FORM,
    exact_match,
    language_named,
    language_of,
    tranx_match,
)
from robustparse.metrics import PunctuationPolicy, percent
from robustparse.tasks.task import MOST_LISTED, Record
from robustparse.tasks.text import TextTask, template
from robustparse.types import Example, LogicalForm, Row, Sentence


class SemanticTask(TextTask):
    """Answers are logical forms, `LogicalForm`; see `Task` for the methods.

    ``exact_match`` compares canonical forms, in which bound variables have no names and conjuncts
    no order; ``tranx_match`` compares as the released code of TranX does, ``string_match`` tokens.

    Args:
        language: of forms that are read, see `read_forms`; a model gives that of its own.
        copy: the parser may copy words of an utterance into its form.
        stems: whether the parser reads stems; a raw text tells by itself what is read of it, unless
            none of its words is inflected.
    """

    name = "semantic"
    gold_type = LogicalForm
    headline = "exact_match"
    scores = ("exact_match",)
    further_scores = ("tranx_match", "string_match")
    legend = (
        '<ul class="legend"><li><mark>word</mark>substituted</li><li>A wrong logical form has '
        "another color.</li></ul>"
    )

    def __init__(self, language: str | None = None, copy: bool = False, stems: bool = True) -> None:
        self.language, self.copy, self.stems = language, copy, stems

    def read(
        self,
        path: str | Path,
        max_length: int | None = None,
        gold: bool = True,
        limit: str = "max_length",
        columns: Sequence[str] | None = None,
        known: Known = Known(),  # noqa: B008 - it is frozen
    ) -> list[Example]:
        """See `read_forms`."""
        return read_forms(path, columns, max_length, gold, limit, self.language, known)

    def sample(self, seed: int, split: str) -> list[Example]:
        """See `Task.sample`."""
        from robustparse.data.sample.questions import sample_questions

        return sample_questions(seed).split(split)

    def row(self, example: Example, words: Sequence[str] | None, answer: str | None) -> Row:
        """Return the row of an utterance; other words of a raw text keep its columns."""
        row, raw = example.row, self._raw(example)
        if row is None or raw is None or words is None or row.layout.raw is None:
            return super().row(example, words, answer)
        values = {**row.values, row.layout.raw[0]: " ".join(words)}
        read = Sentence(self.reading(example).of(words))
        changed = replace(example, sentence=read, row=replace(row, values=values))
        return super().row(changed, None, answer)

    def surface(self, example: Example) -> Sentence:
        """Return the raw text where the data hold it."""
        raw = self._raw(example)
        return example.sentence if raw is None else Sentence(raw.words)

    def reading(self, example: Example) -> Reading:
        """Return the raw text, read as slots and stems, or the utterance, which may be of stems."""
        raw = self._raw(example)
        if raw is not None:
            return RawReading.aligned(raw, example.sentence)
        kind = StemReading if self.stems else Reading
        return kind.word_for_word(example.sentence)

    def _raw(self, example: Example) -> RawUtterance | None:
        return raw_utterance(example, self.stems)

    def tagging(self, example: Example) -> tuple[tuple[str, ...], Sequence[int]]:
        """Return the raw text, if the utterance was made of it; a slot has its last word's tag."""
        raw = self._raw(example)
        placed = [] if raw is None else raw.placed(raw.words)
        if raw is None or example.sentence.words != tuple(token for token, _ in placed):
            return super().tagging(example)
        return raw.words, [at for _, at in placed]

    def project(
        self, example: Example, words: Sequence[str], origins: Sequence[int]
    ) -> Example | None:
        """Return the words, raw ones with slots and stems, and the same form.

        None if a slot of the form is lost, or if the utterance is the same in stems.
        """
        raw = self._raw(example)
        parsed = tuple(words) if raw is None else raw.parsed(words)
        same = raw is not None and parsed in (example.sentence.words, raw.parsed(raw.words))
        if same or not parsed or not self.needed(example) <= set(parsed):
            return None
        row = example.row and (example.row if raw is None else without_raw(example.row))
        return replace(example, sentence=Sentence(parsed), row=row)

    def needed(self, example: Example) -> frozenset[str]:
        """Return the slots of the form that the utterance holds."""
        return frozenset(slots_in(example.gold.split()).intersection(example.sentence.words))

    def concatenated(self, first: Example, second: Example, separator: str) -> Example:
        """See `Task.concatenated`; the forms are joined by `NEXT_FORM`."""
        words = (*first.sentence.words, separator, *second.sentence.words)
        form = LogicalForm(f"{first.gold} {NEXT_FORM} {second.gold}", first.gold.language)
        return Example(first.id, Sentence(words), form)

    def gold(self, text: str) -> LogicalForm:
        """See `Task.gold`."""
        language = language_named(self.language or language_of(text.split()))
        language.parse(text)
        return LogicalForm(text, language.name)

    def warnings(
        self,
        examples: Sequence[Example],
        path: str | Path,
        known: Collection[str],
        punctuation: PunctuationPolicy = "none",
        training: bool = False,
        most: int | None = MOST_LISTED,
    ) -> Iterator[str]:
        """Warn of tokens of logical forms that a parser never saw, and of slots without a word."""
        names = set(known)
        unknown = [(one, new) for one in examples if (new := self._new(one, names))]
        if unknown:
            tokens = sorted(set().union(*(new for _, new in unknown)))
            yield (
                f"{path}:{unknown[0][0].line}: tokens of logical forms that the parser never saw "
                f"in training ({', '.join(tokens)}): the {len(unknown)} utterances with them "
                f"{'are not learnt' if training else 'count as wrong'}"
            )
        lost = [one for one in examples if slots_in(one.gold.split()) - set(one.sentence.words)]
        if lost:
            lines = ", ".join(str(one.line) for one in lost[:most])
            more = "" if most is None or len(lost) <= most else ", …"
            yield (
                f"{path}: {len(lost)} utterances do not hold every slot of their logical forms, "
                f"which a parser could only guess: lines {lines}{more}"
            )

    def _new(self, example: Example, known: Set[str]) -> set[str]:
        """Return the tokens of a form that are neither known nor can be copied.

        Variables are not among them: a form means the same with other names.
        """
        words = example.sentence.words if self.copy else ()
        leaf = language_named(example.gold.language).leaf
        unknown = set(example.gold.split()).difference(known, words)
        return {token for token in unknown if leaf(token) != "Variable"}

    def correct(
        self, answer: LogicalForm, example: Example, counted: NDArray[np.bool_]
    ) -> dict[str, int]:
        """Return 1 for an utterance, and whether its form is right by each score."""
        gold = example.gold
        return {
            "counted": 1,
            "correct": int(exact_match(answer, gold, gold.language)),
            "tranx_match": int(tranx_match(answer, gold, gold.language)),
            "string_match": int(answer.split() == gold.split()),
        }

    def score(self, sums: Mapping[str, int]) -> dict[str, float | None]:
        """Compute the scores whose sums are there."""
        whole = sums.get("counted", 0)
        parts = {"exact_match": "correct", **{name: name for name in self.further_scores}}
        return {
            name: percent(sums[part], whole) if whole else None
            for name, part in parts.items()
            if part in sums
        }

    def to_record(self, answer: LogicalForm) -> dict[str, Any]:
        """Return the form and its language."""
        return {"form": str(answer), "language": answer.language}

    def from_record(self, record: Record) -> LogicalForm:
        """See `Task.from_record`."""
        form, language = record.get("form"), record.get("language")
        if not isinstance(form, str):
            raise InputError(f"got {form!r}", key="form", expected="a string")
        return LogicalForm(form, language_named(str(language)).name)

    def draw(self, record: Record) -> str:
        """Draw both utterances, and the logical form before and after."""
        gold, before, after = self.answers(record)
        right = [not self.difference(form, gold) for form in (before, after)]
        return template("forms.html.j2").render(
            record=record, gold=gold, forms=(before, after), right=right
        )

    def difference(self, one: LogicalForm, other: LogicalForm, apart: Collection[int] = ()) -> int:
        """Tell whether the forms differ: 0 or 1; the answer to an utterance has one part."""
        return int(not exact_match(one, other, other.language))
