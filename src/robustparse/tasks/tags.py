"""Tagging: one tag per word, scored by accuracy and, for spans, as by seqeval and conlleval.

A tag without a prefix, such as a part of speech, is a span of one word: its F1 is then the
accuracy. Texts may have a label too, such as an intent.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustparse.data.conllu import warn_of_hidden_words
from robustparse.data.read_options import FileUse, ReadOptions
from robustparse.data.sample.treebank import sample_tags
from robustparse.data.sentence_lines import in_treebank, with_words
from robustparse.data.tables import row_text, table_text
from robustparse.data.tags.schemes import INSIDE, OUTSIDE, Span, repaired, spans, split_tag
from robustparse.data.tags.tag_lines import lines_of
from robustparse.data.tags.tag_rows import row_of, tagged_row
from robustparse.data.tags.tagged_sentences import ENDINGS, file_kind, read_tags, tagged_block
from robustparse.errors import InputError
from robustparse.files.paths import Sources
from robustparse.metrics import percent
from robustparse.tasks.certificate_drawing import (
    CERTIFICATE_LEGEND,
    at_edits,
    draw_witnesses,
    most_edits,
    swaps,
    verdict,
)
from robustparse.tasks.task import (
    ANSWERS,
    Answers,
    Files,
    Pictures,
    Record,
    Scores,
    Task,
    Written,
    reworded,
    scored_parts,
)
from robustparse.tasks.text import template
from robustparse.types import Example, TagSequence


class TagFiles(Files):
    """CoNLL files, treebanks, JSON lines and datasets."""

    endings = ENDINGS
    multiline = True
    corpus = staticmethod(sample_tags)

    def read(self, path: Sources, options: ReadOptions = ReadOptions()) -> list[Example]:
        """See `read_tags`; columns are those named, or those of the training data that fit."""
        if options.columns is None:
            try:
                return read_tags(path, replace(options, columns=options.known.columns))
            except InputError as error:
                if error.key != "columns":
                    raise
        return read_tags(path, options)

    def ending(self, path: str | Path) -> str:
        """See `Files.ending`; ``.conll`` for files without one."""
        return file_kind(path)

    def write(
        self,
        example: Example,
        words: Sequence[str] | None = None,
        answer: TagSequence | None = None,
    ) -> str:
        """Return the lines of a sentence and the empty line after it, or its row."""
        if _is_row(example):
            return f"{row_text(tagged_row(example, answer or example.gold, words))}\n"
        return f"{tagged_block(example, answer or example.gold, words)}\n\n"

    def write_all(self, examples: Iterable[Written]) -> Iterator[str]:
        """Yield the pieces of a file, of rows if the examples were read from rows."""
        remaining = iter(examples)
        if (first := next(remaining, None)) is None:
            return
        written = chain([first], remaining)
        if not _is_row(first[0]):
            yield from super().write_all(written)
            return
        yield from table_text(
            tagged_row(example, answer or example.gold, words) for example, words, answer in written
        )

    def warnings(
        self, examples: Sequence[Example], known: Collection[str], use: FileUse
    ) -> Iterator[str]:
        """Warn of missing texts, and of tags or labels that the tagger does not know."""
        yield from warn_of_hidden_words(examples, use.path)
        names = set(known)
        labelled = any(name.startswith(" ") for name in names)
        unknown = [
            (each, new)
            for each in examples
            if (new := {*(each.gold.labels if labelled else each.gold.tags)} - names)
        ]
        if unknown:
            tags = ", ".join(
                sorted(tag.strip() for tag in set().union(*(new for _, new in unknown)))
            )
            effect = "are not learnt" if use.training else "count as wrong"
            yield (
                f"{unknown[0][0].place(use.path)}: tags or labels that the tagger does not know "
                f"({tags}) {effect}, in {len(unknown)} sentences"
            )

    def project(
        self, example: Example, words: Sequence[str], origins: Sequence[int]
    ) -> Example | None:
        """Return the words with the tags of their original words.

        A word that is inserted inside a span gets its I- tag; any other inserted word gets O. If
        the first word of a span is split, the second half gets an I- tag. Returns None if a word
        was inserted and the tags have no O, as parts of speech.
        """
        old = example.gold.tags
        tags: list[str] = []
        for position, origin in enumerate(origins):
            if origin >= 0:
                again = position > 0 and origins[position - 1] == origin
                prefix, kind = split_tag(old[origin])
                tags.append(INSIDE + kind if again and prefix == "B" else old[origin])
                continue
            if OUTSIDE not in old:
                return None
            after = next((old[each] for each in origins[position:] if each >= 0), OUTSIDE)
            tags.append(after if split_tag(after)[0] == "I" else OUTSIDE)
        sentence = reworded(example.sentence, words, origins)
        answer = replace(example.gold, tags=repaired(tags))
        changed = replace(example, sentence=sentence, gold=answer)
        if example.row is not None and _is_row(example):
            changed = replace(changed, row=row_of(example.row, origins))
            return replace(changed, row=tagged_row(changed, answer, words))
        if not example.block:
            return changed
        same = list(origins) == list(range(len(old)))
        if in_treebank(example) and not same:
            if -1 in origins or len(set(origins)) < len(origins):
                return None
            changed = replace(changed, block=with_words(example.block, origins))
        elif not same:
            changed = replace(changed, block=lines_of(example.block, origins))
        return replace(changed, block=tagged_block(changed, answer, words))


def _is_row(example: Example) -> bool:
    """Tell whether a sentence was read from a row of JSON or of a dataset, not from lines."""
    return example.row is not None and bool(example.row.values)


class TagAnswers(Answers):
    """`TagSequence` objects."""

    gold_type = TagSequence
    part_name = "tag"

    def to_record(self, answer: TagSequence) -> dict[str, Any]:
        """Return the tags as a list, and the label if there is one."""
        label = {"text_label": answer.label} if answer.label else {}
        return {"tags": list(answer.tags), **label}

    def from_record(self, record: Record) -> TagSequence:
        """See `Answers.from_record`."""
        tags, label = record.get("tags"), record.get("text_label", "")
        if not isinstance(tags, list) or not all(isinstance(tag, str) and tag for tag in tags):
            raise InputError(f"got {tags!r:.60}", key="tags", expected="a list of strings")
        if not isinstance(label, str):
            raise InputError(f"got {label!r:.60}", key="text_label", expected="a string")
        return TagSequence(tuple(tags), label)

    def lines(self, answer: TagSequence, words: Sequence[str]) -> list[str]:
        """Return for each word its tag, and the label of the text if there is one."""
        pairs = zip(words, answer.tags, strict=True)
        return [*(f"{word}: {tag}" for word, tag in pairs), *filter(None, [answer.label])]

    def parts(self, answer: TagSequence) -> Sequence[str]:
        """Return the tags."""
        return answer.tags

    def difference(
        self, first: TagSequence, second: TagSequence, apart: Collection[int] = ()
    ) -> int:
        """See `Answers.difference`; another label of the text counts as one more part."""
        return super().difference(first, second, apart) + (first.label != second.label)

    def strict_success(self, record: Record) -> dict[str, bool]:
        """Tell whether fewer unchanged words have the right tag, or fewer spans are found.

        Only spans without a changed word are compared (``f1``).
        """
        gold, before, after = self.of(record)
        edited = set(record["edited"])
        words = set(range(len(gold.tags))) - edited - {*record.get("uncounted", [])}
        untouched = [each for each in spans(gold.tags) if edited.isdisjoint(_words(each))]
        correct = [
            (
                sum(answer.tags[word] == gold.tags[word] for word in words),
                len({*spans(answer.tags)} & {*untouched}),
            )
            for answer in (before, after)
        ]
        fewer = [new < old for old, new in zip(*correct, strict=True)]
        return dict(zip(TagScores.names, fewer, strict=True))

    def relations(self, record: Record) -> list[str]:
        """Return the class of the gold span of each changed word, ``O`` for words of the context.

        For other tags than those of spans, return the tag.
        """
        tags = self.from_record(record["gold"]).tags
        classes = ((tags[position], *split_tag(tags[position])) for position in record["edited"])
        return [kind if prefix in ("B", "I") else tag for tag, prefix, kind in classes]

    def kind(self, record: Record) -> str | None:
        """Return the gold label of the text, if texts have labels."""
        return self.from_record(record["gold"]).label or None


class TagScores(Scores):
    """Accuracy, and F1, precision and recall of spans.

    A span is right if its words and its class are (Tjong Kim Sang and De Meulder 2003). ``f1``,
    ``span_precision`` and ``span_recall`` are those of seqeval's default mode and of conlleval; the
    ``strict`` ones are those of its strict mode for BIO tags. ``label_accuracy`` is the share of
    texts with the right label, ``frames`` that of texts with the right label and spans.
    """

    headline = "f1"
    names = ("accuracy", "f1")
    further = (
        *("span_precision", "span_recall", "strict_precision", "strict_recall", "strict_f1"),
        *("label_accuracy", "frames"),
    )
    sums = ("correct", "correct_spans", "predicted_spans", "gold_spans")

    def correct(
        self, answer: TagSequence, example: Example, counted: NDArray[np.bool_]
    ) -> dict[str, int]:
        """See `Scores.correct`."""
        gold = example.gold
        right = _counted(spans(gold.tags), counted)
        predicted = _counted(spans(answer.tags), counted)
        strict = _counted(spans(answer.tags, strict=True), counted)
        pairs = zip(answer.tags, gold.tags, counted.tolist(), strict=True)
        right_label = bool(gold.label) and answer.label == gold.label
        return {
            "counted": int(counted.sum()),
            "correct": sum(a == b for a, b, counts in pairs if counts),
            "correct_spans": len(predicted & right),
            "predicted_spans": len(predicted),
            "gold_spans": len(right),
            "strict_correct_spans": len(strict & right),
            "strict_predicted_spans": len(strict),
            "texts": bool(gold.label),
            "correct_labels": right_label,
            "correct_frames": right_label and predicted == right,
        }

    def score(self, sums: Mapping[str, int]) -> dict[str, float | None]:
        """Compute the scores whose sums are given."""
        gold = sums.get("gold_spans", 0)
        of_spans = _span_scores(sums.get("correct_spans", 0), sums.get("predicted_spans", 0), gold)
        accuracy = _ratio(sums.get("correct", 0), sums.get("counted", 0))
        scores = {"accuracy": accuracy, "f1": of_spans["f1"]}
        if "strict_correct_spans" in sums:
            strict = sums["strict_correct_spans"], sums["strict_predicted_spans"]
            scores |= of_spans
            scores |= {
                f"strict_{name.removeprefix('span_')}": value
                for name, value in _span_scores(*strict, gold).items()
            }
            scores |= {
                "label_accuracy": _ratio(sums["correct_labels"], sums["texts"]),
                "frames": _ratio(sums["correct_frames"], sums["texts"]),
            }
        return scores

    def correct_by_class(
        self, answer: TagSequence, example: Example, counted: NDArray[np.bool_]
    ) -> dict[str, dict[str, int]]:
        """Count the gold, the predicted and the right spans of each class."""
        gold = _counted(spans(example.gold.tags), counted)
        predicted = _counted(spans(answer.tags), counted)
        spans_of = {"gold": gold, "predicted": predicted, "right": gold & predicted}
        return {
            kind: {name: sum(span.kind == kind for span in each) for name, each in spans_of.items()}
            for kind in sorted({span.kind for span in gold | predicted})
        }

    def by_class(self, sums: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, float | None]]:
        """Compute precision, recall and F1 of the spans of each class, and count its gold spans."""
        return {
            kind: {
                **_span_scores(counts["right"], counts["predicted"], counts["gold"]),
                "spans": counts["gold"],
            }
            for kind, counts in sorted(sums.items())
        }

    def fraction(self, name: str, sums: Mapping[str, Any]) -> tuple[Any, Any]:
        """See `Scores.fraction`; F1 is 2 * right / (gold + predicted)."""
        if name == "f1":
            return 2 * sums["correct_spans"], sums["gold_spans"] + sums["predicted_spans"]
        return super().fraction(name, sums)

    def complete(self, sums: Mapping[str, int]) -> bool:
        """See `Scores.complete`; the tags decide."""
        return sums["correct"] == sums["counted"]

    def right(self, record: Record, when: str) -> dict[str, NDArray[np.bool_]]:
        """See `Scores.right`; a span is a part at its first word."""
        gold, *answers = TagAnswers().of(record)
        answer = answers[ANSWERS.index(when) - 1]
        counted = scored_parts(record, len(gold.tags))
        right, predicted = {*spans(gold.tags)}, {*spans(answer.tags)}
        tags = np.array([a == b for a, b in zip(answer.tags, gold.tags, strict=True)], np.bool_)
        starts = (_starts(each, len(counted)) for each in (predicted & right, predicted, right))
        parts = zip(self.sums, (tags, *starts), strict=True)
        return {name: part[counted] for name, part in parts}


def _counted(of_text: Sequence[Span], counted: NDArray[np.bool_]) -> set[Span]:
    return {span for span in of_text if counted[span.begin]}


def _starts(of_text: Collection[Span], words: int) -> NDArray[np.bool_]:
    starts = np.zeros(words, dtype=np.bool_)
    starts[[span.begin for span in of_text]] = True
    return starts


def _words(span: Span) -> range:
    return range(span.begin, span.end)


def _span_scores(right: int, predicted: int, gold: int) -> dict[str, float | None]:
    """Compute precision, recall and F1 from numbers of spans."""
    return {
        "span_precision": _ratio(right, predicted),
        "span_recall": _ratio(right, gold),
        "f1": _ratio(2 * right, gold + predicted),
    }


def _ratio(count: int, total: int) -> float | None:
    return percent(count, total) if total else None


# Pictures


def segments(
    words: Sequence[str], answer: TagSequence, gold: TagSequence, edited: Collection[int] = ()
) -> list[dict[str, Any]]:
    """Divide a text into spans and the words between them.

    Returns:
        For each the ``words`` (pairs of a word and whether it was changed), the ``kind`` of a span
        or ``""``, and whether it is ``right``, a span of the gold answer.
    """
    predicted, right_spans = {span.begin: span for span in spans(answer.tags)}, {*spans(gold.tags)}
    parts: list[dict[str, Any]] = []
    position = 0
    while position < len(words):
        span = predicted.get(position, Span(position, position + 1, ""))
        inside = [(words[word], word in edited) for word in _words(span)]
        right = not span.kind or span in right_spans
        parts.append({"words": inside, "kind": span.kind, "right": right})
        position = span.end
    return parts


def _draw(record: Record) -> str:
    """Draw the spans of the gold answer, and those before and after the attack."""
    gold, before, after = TagAnswers().of(record)
    edited = set(record["edited"])
    rows = [
        ("gold", segments(record["tokens"], gold, gold), gold.label),
        ("before", segments(record["tokens"], before, gold), before.label),
        ("after", segments(record["adversarial_tokens"], after, gold, edited), after.label),
    ]
    return template("spans.html.j2").render(rows=rows, label=gold.label)


def _draw_certificate(record: Record) -> str:
    """List the gold spans with what is certified of them, and the witnesses."""
    answers, words = TagAnswers(), record["tokens"]
    gold = answers.from_record(record["gold"])

    def named(span: Span) -> str:
        return f"{' '.join(words[span.begin : span.end])} ({span.kind})"

    wanted = {span.begin: span for span in spans(gold.tags)}
    uncounted = {*record.get("uncounted", [])}
    facts = [
        (named(span), verdict(record, "f1", begin))
        for begin, span in wanted.items()
        if begin not in uncounted
    ]
    rows = []
    for witness in record["witnesses"]:
        tags = answers.from_record(witness["answer"]).tags
        refuted = witness["refutes"].get("f1", [])
        lost = [named(wanted[word]) for word in refuted if word in wanted]
        lost += [
            f"{words[word]}: {gold.tags[word]} \N{RIGHTWARDS ARROW} {tags[word]}"
            for word in witness["refutes"].get("accuracy", [])
        ]
        if lost:
            rows.append((swaps(record, witness), lost))
    state = f"certified {at_edits(most_edits(record))}"
    return draw_witnesses(record, "Lost spans and tags", rows, facts=facts, state=state)


_LEGEND = (
    '<ul class="legend"><li><mark>word</mark>substituted</li><li>A box is a span, with its class '
    "after it; a dashed box of another color is no span of the gold answer.</li><li>A label in "
    "brackets is that of the text.</li></ul>"
)


TAGS = Task(
    "tags",
    TagFiles(),
    TagAnswers(),
    TagScores(),
    Pictures(_draw, _LEGEND, _draw_certificate, CERTIFICATE_LEGEND),
)
