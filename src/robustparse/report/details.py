"""The page's tables about the adversarial examples themselves: effort, fluency, words, candidates.

They show what `summary.json` holds and leave out what it does not: folders of older versions, and
measures that `robustparse measure` did not take.
"""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple, Self

from robustparse.evaluation.lines import SUMMARY
from robustparse.report.fields import Json, figure, get

# Older versions write neither; `robustparse measure` adds the second to their folders.
NEW_KEYS = ("edits_per_success", "word_similarity")
MISSING = "\N{EN DASH}"
ARROW = " \N{RIGHTWARDS ARROW} "

NOTE = (
    "Edits and queries a sentence: over all sentences, and over those on which the attack "
    "succeeded. Perplexity: mean over all sentences, original and perturbed. Words, sentences "
    "alike: mean cosine of changed words and of changed sentences with the originals. Out of "
    "vocabulary: changed words without an embedding of their own, before and after; out of "
    "training: those that the training vocabulary does not hold."
)
TAG_NOTE = (
    "By the part of speech of the changed words: sentences whose changed words are all of the "
    "class, how many of them got worse, and the points of UAS and LAS they lost. Words: changed "
    "words of the class in all sentences."
)
CANDIDATE_NOTE = (
    "Candidates for each word that was tried: proposed, then left by each constraint; where "
    "filters judge changed sentences, the changes judged and those left by each filter. A word "
    "that several generators proposed counts for each of them, and once in all."
)


class _Part(NamedTuple):
    """An object of a summary, and how complaints call it."""

    fields: Json
    where: str

    def part(self, key: str) -> Self:
        """Return the object under a key; an empty one where nothing is."""
        there = self.fields.get(key) is not None
        found = get(self.fields, key, dict, self.where) if there else {}
        return self._replace(fields=found, where=f"{self.where}: {key}")

    def number(self, *keys: str) -> float | None:
        """Return a figure by its keys; None where there is none."""
        part = self
        for key in keys[:-1]:
            part = part.part(key)
        return figure(part.fields, keys[-1], part.where) if keys[-1] in part.fields else None


def details(systems: Sequence[tuple[str, Json]]) -> list[str]:
    """Return the tables, as pieces of HTML; none where no summary holds anything to show.

    Args:
        systems: name and `summary.json` of each.

    Raises:
        InputError: a figure is no number.
    """
    known = [
        (name, _Part(one, f"{name}/{SUMMARY}"))
        for name, one in systems
        if any(key in one for key in NEW_KEYS)
    ]
    if not known:
        return []
    parts = ["<h2>The adversarial examples</h2>", _effort(known)]
    tagged = [(name, tags) for name, one in known if (tags := one.part("by_tag")).fields]
    if tagged:
        parts += ["<h2>Parts of speech</h2>"]
        parts += [_tags(name if len(known) > 1 else "", one) for name, one in tagged]
        parts += [f'<p class="note">{TAG_NOTE}</p>']
    counted = [(name, c) for name, one in known if (c := one.part("candidates")).fields]
    if counted:
        parts += ["<h2>Candidates</h2>"]
        parts += [_candidates(name if len(known) > 1 else "", one) for name, one in counted]
        parts += [f'<p class="note">{CANDIDATE_NOTE}</p>']
    return parts


def _effort(systems: Sequence[tuple[str, _Part]]) -> str:
    heads = (
        *("System", "Edits<br>all", "Edits<br>success", "Queries<br>all", "Queries<br>success"),
        *("Perplexity", "Words<br>alike", "Sentences<br>alike"),
        *("Changed<br>words", "Out of<br>vocabulary", "Out of<br>training"),
    )
    rows = []
    for name, one in systems:
        cells = [
            _shown(one, ".1f", "edits_per_sentence"),
            _shown(one, ".1f", "edits_per_success"),
            _shown(one, ".1f", "queries_per_sentence", "charged"),
            _shown(one, ".1f", "queries_per_success", "charged"),
            _both(one, ".1f", ("perplexity", "clean"), ("perplexity", "attacked")),
            _shown(one, ".2f", "word_similarity", "changed"),
            _shown(one, ".2f", "sentence_similarity", "changed"),
            _shown(one, ",.0f", "unseen", "changed"),
            _both(one, ",.0f", ("unseen", "oov", "before"), ("unseen", "oov", "after")),
            _both(one, ",.0f", ("unseen", "oot", "before"), ("unseen", "oot", "after")),
        ]
        rows.append((name, cells))
    models = escape("; ".join(dict.fromkeys(filter(None, map(_model, systems)))))
    by = f" Perplexity by {models}." if models else ""
    return _panel("Adversarial examples", heads, rows) + f'<p class="note">{NOTE}{by}</p>'


def _model(system: tuple[str, _Part]) -> str:
    """Return the language model that gave a system's perplexities, by the last part of its path."""
    found = system[1].part("perplexity").fields
    if not found.get("model"):
        return ""
    masked = " (masked: pseudo-perplexity)" if found.get("kind") == "masked" else ""
    return str(found["model"]).rstrip("/").rpartition("/")[2] + masked


def _tags(name: str, tags: _Part) -> str:
    heads = ("Class", "Sentences", "Words", "Success<br>rate, %", "UAS lost", "LAS lost")
    figures = {"sentences": ",.0f", "changed": ",.0f", "success_rate": ".1f"}
    figures |= {"uas_drop": ".1f", "las_drop": ".1f"}
    rows = [
        (tag, [_shown(tags, form, tag, key) for key, form in figures.items()])
        for tag in tags.fields
    ]
    return _panel("Parts of speech", heads, rows, name)


def _candidates(name: str, counts: _Part) -> str:
    means = counts.part("means")
    generators = list(means.fields)
    stages = [stage for each in generators[:1] for stage in means.part(each).fields]
    heads = ("Generator", *(escape(stage) for stage in stages))
    # A single generator's row would repeat that of all.
    names = generators[1:] if len(generators) == 2 else generators
    rows = [(each, [_shown(means, ".2f", each, stage) for stage in stages]) for each in names]
    slots = f"{counts.number('slots') or 0:,.0f} words tried"
    return _panel("Candidates a word", heads, rows, f"{name}: {slots}" if name else slots)


def _panel(
    label: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], title: str = ""
) -> str:
    """Return a table whose first column names its rows; headings and cells are HTML."""
    title = f"<h3>{escape(title)}</h3>" if title else ""
    head = "".join(
        f'<th scope="col"{"" if column else " class=text"}>{text}</th>'
        for column, text in enumerate(heads)
    )
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f"<td>{cell}</td>" for cell in cells)
        + "</tr>"
        for name, cells in rows
    )
    return (
        f'<div class="panel">{title}<div class="scroll" tabindex="0" role="region" '
        f'aria-label="{escape(label)}"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div></div>"
    )


def _both(record: _Part, form: str, first: Sequence[str], second: Sequence[str]) -> str:
    shown = [_shown(record, form, *keys) for keys in (first, second)]
    return MISSING if shown == [MISSING] * 2 else ARROW.join(shown)


def _shown(record: _Part, form: str, *keys: str) -> str:
    value = record.number(*keys)
    return MISSING if value is None else format(value, form)
